//! Text on its way to the screen: escaped, as wide as its place, and in a style that is never alone in saying something.

use hawser_model::output::live::Light;
use hawser_model::visible;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use textwrap::core::display_width;

/// Names are shown up to this width, where there is room.
const LONGEST: usize = 28;

/// What the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    /// Colours; without them there are shapes and words.
    pub colours: bool,
    /// Characters beyond ASCII.
    pub unicode: bool,
}

/// How a piece of text is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// As text is anyway.
    Plain,
    /// What matters less.
    Dim,
    /// What begins something.
    Bold,
    /// What is so.
    Of(Light),
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    text: String,
    ink: Ink,
}

/// A piece of a line, escaped.
pub fn piece(ink: Ink, text: impl AsRef<str>) -> Piece {
    let text = one_line(text.as_ref());
    Piece { text, ink }
}

/// The shape that says how something is. None looks like another, in whatever colour.
pub fn shape(light: Light, looks: Looks) -> Piece {
    let text = match (light, looks.unicode) {
        (Light::Good, true) => "●",
        (Light::Unknown, true) => "○",
        (Light::Warning, true) => "▲",
        (Light::Bad, true) => "■",
        (Light::Good, false) => "+",
        (Light::Unknown, false) => "?",
        (Light::Warning, false) => "!",
        (Light::Bad, false) => "X",
    };
    piece(Ink::Of(light), text)
}

/// A line, cut where the screen ends.
#[expect(clippy::disallowed_methods, reason = "this is the gate before them")]
pub fn line(pieces: &[Piece], width: usize, looks: Looks) -> Line<'static> {
    let mut left = width;
    let mut spans = Vec::new();
    for (at, one) in pieces.iter().enumerate() {
        let is_last = at + 1 == pieces.len();
        let rest: usize = pieces[at + 1..]
            .iter()
            .map(|p| display_width(&p.text))
            .sum();
        let fits = display_width(&one.text) + rest <= left;
        let style = style(one.ink, looks);
        if fits || (!is_last && display_width(&one.text) < left) {
            left -= display_width(&one.text);
            spans.push(Span::styled(one.text.clone(), style));
            continue;
        }
        let kept = cut(&one.text, left.saturating_sub(1));
        let end = if left > 0 { more(looks) } else { "" };
        spans.push(Span::styled(format!("{kept}{end}"), style));
        break;
    }
    Line::from(spans)
}

/// How many columns a line takes.
pub fn width(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| display_width(&piece.text)).sum()
}

/// The same text, at least so wide.
pub fn padded(text: &str, width: usize) -> String {
    let text = one_line(text);
    let blank = width.saturating_sub(display_width(&text));
    text + &" ".repeat(blank)
}

/// Text on one line, whatever it holds.
pub fn one_line(text: &str) -> String {
    bounded(&visible::one_line(text))
}

/// Text in lines no wider than the screen; those that were lines are again.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let options = textwrap::Options::new(width)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let text = bounded(&visible::lines(text));
    let lines = text.split('\n').flat_map(|line| {
        let indent = line.len() - line.trim_start_matches(' ').len();
        // What is set further in stays so.
        let indent = " ".repeat(indent.min(width / 2));
        let options = options
            .clone()
            .initial_indent(&indent)
            .subsequent_indent(&indent);
        let lines = textwrap::wrap(line.trim_start_matches(' '), &options);
        lines.iter().map(ToString::to_string).collect::<Vec<_>>()
    });
    lines.collect()
}

/// A character that has no width stands on the one before it. One may; a heap of them would cover the lines above.
fn bounded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut stands_on_another = true;
    for c in text.chars() {
        let wide = c == '\n' || display_width(c.encode_utf8(&mut [0; 4])) > 0;
        match wide || !stands_on_another {
            true => out.push(c),
            false => visible::push_escape(&mut out, c),
        }
        stands_on_another = !wide || c == '\n';
    }
    out
}

/// A name that leaves room for what stands behind it, in so many columns in all.
pub fn name(text: &str, columns: usize, looks: Looks) -> String {
    let text = one_line(text);
    let room = LONGEST.min(columns / 3);
    match display_width(&text) > room {
        true => cut(&text, room.saturating_sub(1)) + more(looks),
        false => text,
    }
}

/// What says that a text goes on.
fn more(looks: Looks) -> &'static str {
    match looks.unicode {
        true => "…",
        false => "~",
    }
}

/// The beginning of a text, so wide at most.
fn cut(text: &str, width: usize) -> String {
    let mut left = width;
    let mut kept = String::new();
    for c in text.chars() {
        let takes = display_width(c.encode_utf8(&mut [0; 4]));
        if takes > left {
            break;
        }
        left -= takes;
        kept.push(c);
    }
    kept
}

fn style(ink: Ink, looks: Looks) -> Style {
    let plain = Style::new();
    let colour = |colour: Color| match looks.colours {
        true => plain.fg(colour),
        false => plain,
    };
    match ink {
        Ink::Plain => plain,
        Ink::Dim => plain.add_modifier(Modifier::DIM),
        Ink::Bold => plain.add_modifier(Modifier::BOLD),
        Ink::Of(Light::Good) => colour(Color::Green),
        Ink::Of(Light::Unknown) => colour(Color::Cyan),
        Ink::Of(Light::Warning) => colour(Color::Yellow).add_modifier(Modifier::BOLD),
        Ink::Of(Light::Bad) => colour(Color::Red).add_modifier(Modifier::BOLD),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOKS: Looks = Looks {
        colours: false,
        unicode: true,
    };

    fn shown(texts: &[&str], width: usize) -> String {
        let pieces: Vec<Piece> = texts.iter().map(|text| piece(Ink::Plain, text)).collect();
        line(&pieces, width, LOOKS).to_string()
    }

    #[test]
    fn a_line_is_cut_at_the_screens_end_and_says_so() {
        assert_eq!(shown(&["abc", "def"], 6), "abcdef");
        assert_eq!(shown(&["abc", "def"], 5), "abcd…");
        assert_eq!(shown(&["abc", "def"], 3), "ab…");
        assert_eq!(shown(&["abc"], 0), "");
        // A character of two columns is not halved.
        assert_eq!(shown(&["東京都"], 6), "東京都");
        assert_eq!(shown(&["東京都"], 5), "東京…");
        assert_eq!(shown(&["東京都"], 4), "東…");
    }

    #[test]
    fn a_heap_of_marks_on_one_letter_is_shown_by_its_numbers() {
        assert_eq!(one_line("e\u{301}x"), "e\u{301}x");
        assert_eq!(one_line("e\u{301}\u{302}"), "e\u{301}\\u0302");
        assert_eq!(one_line("\u{301}"), "\\u0301");
        assert_eq!(wrapped("a\n\u{301}b", 9), ["a", "\\u0301b"]);
    }

    #[test]
    fn what_is_wrapped_keeps_its_lines_and_how_far_in_they_are() {
        assert_eq!(
            wrapped("  one two\n\nthree", 6),
            ["  one", "  two", "", "three"]
        );
    }

    #[test]
    fn no_shape_is_like_another() {
        let all = [Light::Good, Light::Unknown, Light::Warning, Light::Bad];
        for unicode in [true, false] {
            let looks = Looks { unicode, ..LOOKS };
            for (at, light) in all.iter().enumerate() {
                for other in &all[at + 1..] {
                    assert_ne!(shape(*light, looks).text, shape(*other, looks).text);
                }
            }
        }
    }
}
