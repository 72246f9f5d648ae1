//! Text from outside, made so that a reader sees every character of it.
//!
//! A control character moves the cursor, a bidirectional one turns the text around it, others have no
//! shape at all: with them a host, an initiator or a log line shows what it did not say. Each sink (the
//! terminal, a page, XML) calls this on its way out, so that nothing before it has to think of it.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Whether a character is shown by its number: it has no shape, or changes that of its neighbours.
///
/// Line feed and tab are among them; a sink that has lines lets them pass.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Default_Ignorable_Code_Point (Unicode 16, DerivedCoreProperties.txt): joiners, fillers,
            // marks of direction, variation selectors, tags.
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
            // Separators of lines and paragraphs, and marks of annotations.
            | '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}'
            // The braille pattern without dots is drawn as nothing.
            | '\u{2800}'
            // No characters, which XML forbids.
            | '\u{fffe}' | '\u{ffff}')
}

/// Text of which each line stays a line and every other hidden character is escaped.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n')
}

/// Text as one line: a line feed is escaped too.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Text in which the hidden characters are escaped, but for those that may stay.
pub fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let shown = |c: char| !is_hidden(c) || stays(c);
    if text.chars().all(shown) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match shown(c) {
            true => out.push(c),
            false => push_escape(&mut out, c),
        }
    }
    Cow::Owned(out)
}

/// The same value, in which a line feed of a text or key is escaped: a reader who prints it keeps his lines.
///
/// # Errors
/// What is escaped is no value of this type.
pub fn one_lined<T: Serialize + DeserializeOwned>(value: &T) -> serde_json::Result<T> {
    let mut all = serde_json::to_value(value)?;
    fold(&mut all);
    serde_json::from_value(all)
}

fn fold(value: &mut Value) {
    let folded = |text: &str| escaped(text, |c| c != '\n').into_owned();
    match value {
        Value::String(text) => *text = folded(text),
        Value::Array(values) => values.iter_mut().for_each(fold),
        Value::Object(fields) => {
            for (key, mut value) in std::mem::take(fields) {
                fold(&mut value);
                fields.insert(folded(&key), value);
            }
        }
        _ => {}
    }
}

/// Writes a character as JSON does: `\u001b`, two halves for one beyond the first plane. So a JSON text
/// stays one that says the same.
pub fn push_escape(out: &mut String, c: char) {
    for half in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(out, "\\u{half:04x}");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_moves_turns_or_hides_text_is_shown_by_its_number() {
        assert_eq!(
            lines("a\u{1b}]0;x\u{7}\u{9b}2J\r\tb\nc"),
            "a\\u001b]0;x\\u0007\\u009b2J\\u000d\\u0009b\nc"
        );
        assert_eq!(
            one_line("vm\u{202e}01\n\u{2028}"),
            "vm\\u202e01\\u000a\\u2028"
        );
        assert_eq!(one_line("\u{e0041}"), "\\udb40\\udc41");
        // A filler, a variation selector: names that look like another's.
        assert_eq!(one_line("tank\u{3164}\u{fe0f}"), "tank\\u3164\\ufe0f");
        assert!(matches!(one_line("größe → 3 µs, 東京"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left_and_json_says_the_same(text in any::<String>()) {
            prop_assert!(!one_line(&text).chars().any(is_hidden));
            let json = serde_json::to_string(&text).unwrap();
            let shown = lines(&json).into_owned();
            prop_assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        }
    }
}
