//! How wide text for people may be: decided here, and nowhere else.
//!
//! `COLUMNS`, where it is set; else the width of the terminal that standard output is. A pipe or a file has no width:
//! tables keep each row in one line there, so that a script finds it, and sentences are wrapped as on a wide terminal.

use std::io::IsTerminal;

use textwrap::{Options, WordSeparator, WordSplitter};

/// Sentences are easy to read up to this width, however wide the terminal is.
const TEXT: usize = 100;

/// Below this, tables and sentences are as on a terminal so wide.
const LEAST: usize = 40;

/// The columns there are.
pub fn columns() -> usize {
    #[cfg(test)]
    if let Some(columns) = tests::given() {
        return columns;
    }
    match told() {
        Some(columns) => columns,
        None if std::io::stdout().is_terminal() => {
            let (_, columns) = console::Term::stdout().size();
            usize::from(columns).max(LEAST)
        }
        None => usize::MAX,
    }
}

/// The columns there are on standard error.
pub fn error_columns() -> usize {
    match told() {
        Some(columns) => columns,
        None if std::io::stderr().is_terminal() => {
            let (_, columns) = console::Term::stderr().size();
            usize::from(columns).max(LEAST)
        }
        None => usize::MAX,
    }
}

/// What `COLUMNS` says.
pub fn told() -> Option<usize> {
    let told = std::env::var("COLUMNS").ok()?;
    Some(told.parse::<usize>().ok()?.max(LEAST))
}

/// The columns that sentences fill.
pub fn text() -> usize {
    columns().min(TEXT)
}

/// Text of which no line is wider than the columns there are; what is wrapped goes on two columns further in.
pub fn fitted(text: &str) -> String {
    fitted_to(text, columns())
}

/// The same with a number of columns.
pub fn fitted_to(text: &str, columns: usize) -> String {
    let line = |line: &str| match console::measure_text_width(line) > columns {
        false => line.to_owned(),
        true => {
            let begin = line.len() - line.trim_start_matches(' ').len();
            let later = " ".repeat(begin.min(columns / 2) + 2);
            wrapped(&line[begin..], columns, &line[..begin], &later).join("\n")
        }
    };
    let lines: Vec<String> = text.split('\n').map(line).collect();
    lines.join("\n")
}

/// The lines of one paragraph; a word is broken only when it is wider than a line.
pub fn wrapped(text: &str, columns: usize, first: &str, later: &str) -> Vec<String> {
    let options = Options::new(columns)
        .initial_indent(first)
        .subsequent_indent(later)
        .word_splitter(WordSplitter::NoHyphenation)
        // A path is one word.
        .word_separator(WordSeparator::AsciiSpace);
    let text = numbers_held(text);
    let lines = textwrap::wrap(&text, options);
    let spaced = |line: std::borrow::Cow<'_, str>| line.replace(HELD, " ");
    lines.into_iter().map(spaced).collect()
}

/// A space at which no line ends.
const HELD: char = '\u{a0}';

/// `40 500` and `83 %` stay together.
fn numbers_held(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let held = |(at, c): (usize, &char)| {
        let before = at.checked_sub(1).map(|before| characters[before]);
        let after = characters.get(at + 1);
        let in_number = before.is_some_and(|c| c.is_ascii_digit())
            && after.is_some_and(|c| c.is_ascii_digit() || *c == '%');
        if *c == ' ' && in_number { HELD } else { *c }
    };
    characters.iter().enumerate().map(held).collect()
}

#[cfg(test)]
pub mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static GIVEN: Cell<Option<usize>> = const { Cell::new(None) };
    }

    pub(super) fn given() -> Option<usize> {
        GIVEN.get()
    }

    /// Does the work as on a terminal so wide.
    pub fn at<T>(columns: usize, work: impl FnOnce() -> T) -> T {
        GIVEN.set(Some(columns));
        let done = work();
        GIVEN.set(None);
        done
    }

    #[test]
    fn a_long_line_goes_on_further_in_and_a_short_one_stays() {
        let text =
            "  short\n    if head1 died now: head2 mounts the pool and takes its addresses\n";
        let fitted = at(40, || fitted(text));
        assert_eq!(
            fitted,
            "  short\n    if head1 died now: head2 mounts the\n      pool and takes its addresses\n"
        );
    }

    #[test]
    fn a_number_is_not_broken() {
        let lines = wrapped("the ring of the card dropped 40 500 packets", 32, "", "");
        assert_eq!(lines, ["the ring of the card dropped", "40 500 packets"]);
    }

    #[test]
    fn a_path_is_not_broken() {
        let lines = wrapped("Set it in /etc/sysctl.d too", 16, "", "");
        assert_eq!(lines, ["Set it in", "/etc/sysctl.d", "too"]);
    }

    #[test]
    fn a_word_wider_than_the_terminal_is_broken() {
        let fitted = at(40, || fitted(&"x".repeat(100)));
        assert!(fitted.lines().all(|line| line.len() <= 40), "{fitted}");
    }
}
