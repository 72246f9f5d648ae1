//! Lines as tgt-admin reads them, by Perl's Config::General.
//!
//! A value is all that is behind its key, without one pair of quotes around it. `#` begins a comment anywhere but in `\#`,
//! and a line that ends with `\` goes on. What else Config::General knows (other escapes, `/* … */`, `<<END`) its releases
//! read in different ways: it is refused.

use crate::place::{Malformed, SourceLine, quoted};
use crate::source::Source;

/// A line, or several that go on.
pub(super) struct Line {
    pub at: SourceLine,
    pub said: Said,
    /// A comment begins right behind the value, without a blank.
    pub cut: bool,
}

/// What it says.
pub(super) enum Said {
    /// `<NAME VALUE>`, as written and in parts.
    Opens(String, String),
    /// `</NAME>`
    Closes(String),
    /// `KEY VALUE` or `KEY = VALUE`
    Sets(String, String),
}

pub(super) fn lines(source: &Source) -> Result<Vec<Line>, Malformed> {
    let mut all = Vec::new();
    let mut open: Option<(SourceLine, String)> = None;
    for (i, line) in source.text.lines().enumerate() {
        let (text, cut) = without_comment(line);
        let (at, mut whole) = open.take().unwrap_or((source.at(i + 1), String::new()));
        let goes_on = text.ends_with('\\') && !text.ends_with("\\\\");
        let text = if goes_on {
            &text[..text.len() - 1]
        } else {
            text
        };
        whole.push_str(if whole.is_empty() {
            text
        } else {
            text.trim_start()
        });
        if goes_on {
            open = Some((at, whole));
        } else if !whole.trim().is_empty() {
            let said = said(whole.trim(), &at)?;
            all.push(Line { at, said, cut });
        }
    }
    match open {
        Some((at, _)) => Err(Malformed::new(
            &at,
            "a line that goes on at the end of the file",
            "a last line without \\",
        )),
        None => Ok(all),
    }
}

/// A line without its comment, and whether that begins right behind something.
fn without_comment(line: &str) -> (&str, bool) {
    let mut before = None;
    for (i, c) in line.char_indices() {
        if c == '#' && before != Some('\\') {
            let behind = before.is_some_and(|c: char| !c.is_whitespace());
            return (&line[..i], behind);
        }
        before = Some(c);
    }
    (line, false)
}

fn said(text: &str, at: &SourceLine) -> Result<Said, Malformed> {
    if text.starts_with("/*") || text.contains("*/") {
        return Err(Malformed::new(
            at,
            "a comment between /* and */",
            "comments that begin with #",
        ));
    }
    let Some(tag) = text
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'))
    else {
        let (key, value) = parts(text, at)?;
        return Ok(Said::Sets(key, value));
    };
    let (name, value) = parts(tag, at)?;
    match name.strip_prefix('/') {
        Some(name) => Ok(Said::Closes(name.to_owned())),
        None => Ok(Said::Opens(name, value)),
    }
}

fn parts(text: &str, at: &SourceLine) -> Result<(String, String), Malformed> {
    let end = text.find(|c: char| c.is_whitespace() || c == '=');
    let (key, rest) = text.split_at(end.unwrap_or(text.len()));
    let rest = rest.trim_start();
    let value = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let wrong = |found: &str, allowed: &str| {
        let found = format!("{found} in the value of {}", quoted(key));
        Err(Malformed::new(at, found, allowed))
    };
    if value.starts_with("<<") {
        return wrong("<<", "the value on its own line");
    }
    let inner = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let value = inner.unwrap_or(value).replace("\\#", "#");
    if value.contains('\\') {
        return wrong(
            "a backslash",
            "\\# for #, and \\ at the end of a line that goes on",
        );
    }
    if value.contains('"') {
        return wrong(
            "a quotation mark",
            "none, or one at each end: tgt-admin takes others as a part of the value",
        );
    }
    Ok((key.to_owned(), value))
}
