//! The picture as text that a person goes on editing: each part with the line it came from.

mod adopted;
pub(crate) mod cluster;
pub(crate) mod exports;

use std::fmt::Write as _;

use crate::SourceLine;
use hawser_model::visible::{is_hidden, one_line};

/// A text of TOML, in quotes, on one line, in which a reader sees every character.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if is_hidden(c) => match u32::from(c) {
                number if number <= 0xffff => _ = write!(out, "\\u{number:04x}"),
                number => _ = write!(out, "\\U{number:08x}"),
            },
            c => out.push(c),
        }
    }
    out + "\""
}

/// A list of texts.
pub(crate) fn list<S: AsRef<str>>(texts: &[S]) -> String {
    let all: Vec<String> = texts.iter().map(|text| quoted(text.as_ref())).collect();
    format!("[{}]", all.join(", "))
}

/// A key, in quotes if it needs them.
pub(crate) fn key(text: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    match !text.is_empty() && text.chars().all(bare) {
        true => text.to_owned(),
        false => quoted(text),
    }
}

/// A time of so many milliseconds.
fn time(ms: u64) -> String {
    match ms % 1000 {
        0 => format!("\"{}s\"", ms / 1000),
        _ => format!("\"{ms}ms\""),
    }
}

/// A comment that says where something came from.
fn from(place: &SourceLine) -> String {
    format!("# from {}", one_line(&place.to_string()))
}
