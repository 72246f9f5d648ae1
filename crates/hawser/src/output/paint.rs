//! Colours that only this program can put on its output.
//!
//! A style is written as an escape sequence with a mark in it that is made at random for each run and never
//! leaves the process. [`shown`] takes the mark out on the way to the terminal; an escape sequence without
//! it came from outside, and is shown as text. What measures or wraps text sees a style as what it is.

use std::fmt::{self, Display};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;

use hawser_model::visible::{is_hidden, push_escape};

/// The beginning of each of our sequences: `ESC [`, twenty random digits, and the style follows.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let secret = RandomState::new().build_hasher().finish();
    let digits = format!("{secret:020}");
    // As parameters of four digits, which is what measures of a text's width understand.
    let parameters = (0..5).map(|i| &digits[i * 4..i * 4 + 4]);
    let parameters: Vec<&str> = parameters.collect();
    format!("\u{1b}[{};", parameters.join(";"))
});

/// Text with a style.
pub struct Styled<D> {
    text: D,
    style: Style,
}

/// How text is to look, in the parameters of SGR (ECMA-48, 8.3.117).
#[derive(Clone, Copy, Default)]
pub struct Style {
    weight: Option<u8>,
    colour: Option<u8>,
}

/// Text whose style follows.
pub fn style<D: Display>(text: D) -> Styled<D> {
    Style::new().apply_to(text)
}

impl Style {
    /// As text is anyway.
    pub fn new() -> Self {
        Self::default()
    }

    /// In yellow.
    pub fn yellow(self) -> Self {
        Self {
            colour: Some(33),
            ..self
        }
    }

    /// Text in this style.
    pub fn apply_to<D: Display>(self, text: D) -> Styled<D> {
        Styled { text, style: self }
    }
}

impl<D> Styled<D> {
    /// In bold.
    pub fn bold(self) -> Self {
        self.weight(1)
    }

    /// Fainter.
    pub fn dim(self) -> Self {
        self.weight(2)
    }

    /// In red.
    pub fn red(self) -> Self {
        self.colour(31)
    }

    /// In green.
    pub fn green(self) -> Self {
        self.colour(32)
    }

    /// In yellow.
    pub fn yellow(self) -> Self {
        self.colour(33)
    }

    /// In cyan.
    pub fn cyan(self) -> Self {
        self.colour(36)
    }

    fn weight(mut self, weight: u8) -> Self {
        self.style.weight = Some(weight);
        self
    }

    fn colour(mut self, colour: u8) -> Self {
        self.style.colour = Some(colour);
        self
    }
}

impl<D: Display> Display for Styled<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Style { weight, colour } = self.style;
        let wanted = [weight, colour];
        if !console::colors_enabled() || wanted.iter().all(Option::is_none) {
            return self.text.fmt(f);
        }
        for parameter in wanted.into_iter().flatten() {
            write!(f, "{}{parameter}m", *MARK)?;
        }
        self.text.fmt(f)?;
        write!(f, "{}0m", *MARK)
    }
}

/// Marks the styles of text that holds no escape sequence from outside: that of a renderer whose input was
/// escaped.
pub fn mark_styles(text: &str) -> String {
    text.replace("\u{1b}[", &MARK)
}

/// Text as it may go to a terminal or a log: our styles are styles, line feeds are line feeds, and all else
/// that has no shape is shown by its number.
pub fn shown(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(parameters) = rest.strip_prefix(MARK.as_str()).and_then(style_of) {
            out.push_str("\u{1b}[");
            out.push_str(parameters);
            out.push('m');
            rest = &rest[MARK.len() + parameters.len() + 1..];
            continue;
        }
        match is_hidden(c) && c != '\n' && !stays(c) {
            true => push_escape(&mut out, c),
            false => out.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// Lines of one styled text, each of which begins with the styles that are in force there and ends without any.
pub fn each_line_whole(lines: Vec<String>) -> Vec<String> {
    let mut begun = String::new();
    let whole = |line: String| {
        let before = begun.clone();
        let mut rest = line.as_str();
        while let Some(at) = rest.find(MARK.as_str()) {
            rest = &rest[at + MARK.len()..];
            match style_of(rest) {
                Some("0") => begun.clear(),
                Some(parameters) => begun += &format!("{}{parameters}m", *MARK),
                None => {}
            }
        }
        let end = match begun.is_empty() {
            true => String::new(),
            false => format!("{}0m", *MARK),
        };
        format!("{before}{line}{end}")
    };
    lines.into_iter().map(whole).collect()
}

/// The parameters up to the end of a style; none when another kind of sequence follows.
fn style_of(rest: &str) -> Option<&str> {
    let (parameters, _) = rest.split_once('m')?;
    let plain = |b: u8| b.is_ascii_digit() || b == b';';
    parameters.bytes().all(plain).then_some(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(text: &str) -> String {
        shown(text, |_| false)
    }

    #[test]
    fn our_styles_pass_and_those_from_outside_are_text() {
        let ours = format!("{}31m", *MARK) + "a\u{1b}[31mb" + &format!("{}0m", *MARK);
        assert_eq!(gate(&ours), "\u{1b}[31ma\\u001b[31mb\u{1b}[0m");
        // Half a mark, or another sequence behind it, is none of ours.
        assert_eq!(gate("\u{1b}[1;31mx"), "\\u001b[1;31mx");
        assert!(!gate(&format!("{}2J", *MARK)).contains('\u{1b}'));
        assert!(!gate(&MARK[..MARK.len() - 1]).contains('\u{1b}'));
    }

    #[test]
    fn a_style_takes_no_width() {
        let styled = format!("{}31mab{}0m", *MARK, *MARK);
        assert_eq!(console::measure_text_width(&styled), 2);
        assert_eq!(textwrap::core::display_width(&styled), 2);
    }

    #[test]
    fn a_line_feed_stays_and_a_carriage_return_does_not() {
        assert_eq!(gate("a\nb\r\u{85}\u{202e}"), "a\nb\\u000d\\u0085\\u202e");
    }
}
