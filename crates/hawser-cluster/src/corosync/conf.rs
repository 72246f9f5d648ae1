//! The format of `corosync.conf`: sections of `key: value` lines and further sections.

use std::fmt::Write;

use hawser_model::visible::one_line;

use crate::line::Line;

/// Deepest file that is read. Corosync's have two levels; a file of a million, from a node that is hostile, would
/// take the stack of whoever walks it.
const DEEPEST: usize = 20;

/// So many characters of a line that is wrong are shown.
const SHOWN: usize = 60;

/// A section, or the whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conf {
    /// Its entries, in order.
    pub entries: Vec<Entry>,
}

/// One entry of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// `key: value`, and where.
    Value(String, String, Line),
    /// `name { … }`, and where it begins.
    Section(String, Conf, Line),
}

/// A text that is no corosync.conf.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("corosync.conf, line {line}: {found}; allowed: {allowed}")]
pub struct ConfError {
    /// The line, from 1.
    pub line: usize,
    /// What is there, on one line.
    pub found: String,
    /// What may be.
    pub allowed: &'static str,
}

impl Conf {
    /// With one more value.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl ToString) -> Self {
        let (key, value) = (key.to_owned(), value.to_string());
        self.entries.push(Entry::Value(key, value, Line::default()));
        self
    }

    /// With one more value, if there is one.
    #[must_use]
    pub fn with_some(self, key: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// With one more section.
    #[must_use]
    pub fn section(mut self, name: &str, section: Conf) -> Self {
        self.entries
            .push(Entry::Section(name.to_owned(), section, Line::default()));
        self
    }

    /// The value of a key. Corosync takes the last of several.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Value(k, value, _) if k == key => Some(value.as_str()),
            _ => None,
        })
    }

    /// The sections of that name.
    pub fn sections<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Conf> {
        self.entries.iter().filter_map(move |entry| match entry {
            Entry::Section(n, section, _) if n == name => Some(section),
            _ => None,
        })
    }

    /// Reads a file (coroparse.c: `#` begins a comment line, `:` parts key and value).
    pub fn parse(text: &str) -> Result<Self, ConfError> {
        const PAIRED: &str = "one } for each {";
        let mut open = vec![(String::new(), Conf::default(), Line::default())];
        for (line, at) in text.lines().zip(1..) {
            let wrong = |found: &str, allowed| ConfError {
                line: at,
                found: one_line(found).into_owned(),
                allowed,
            };
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_suffix('{') {
                if open.len() > DEEPEST {
                    return Err(wrong("too many sections in each other", "two levels"));
                }
                open.push((name.trim().to_owned(), Conf::default(), Line(at)));
            } else if line.starts_with('}') {
                let (Some((name, section, begins)), Some((_, outer, _))) =
                    (open.pop(), open.last_mut())
                else {
                    return Err(wrong("a section ends that was not begun", PAIRED));
                };
                outer.entries.push(Entry::Section(name, section, begins));
            } else if let Some((key, value)) = line.split_once(':') {
                if let Some((_, section, _)) = open.last_mut() {
                    let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
                    section.entries.push(Entry::Value(key, value, Line(at)));
                }
            } else {
                let cut = if line.chars().count() > SHOWN {
                    "…"
                } else {
                    ""
                };
                let shown: String = line.chars().take(SHOWN).collect();
                return Err(wrong(
                    &format!("\"{shown}{cut}\""),
                    "`key: value`, `name {` or `}`",
                ));
            }
        }
        match (open.pop(), open.is_empty()) {
            (Some((_, whole, _)), true) => Ok(whole),
            _ => Err(ConfError {
                line: text.lines().count().max(1),
                found: "a section that is not closed".into(),
                allowed: PAIRED,
            }),
        }
    }

    /// The file's text.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        let indent = "    ".repeat(depth);
        for (i, entry) in self.entries.iter().enumerate() {
            // Writing into a String cannot fail.
            let _ = match entry {
                Entry::Value(key, value, _) => writeln!(out, "{indent}{key}: {value}"),
                Entry::Section(name, section, _) => {
                    if i > 0 {
                        out.push('\n');
                    }
                    let _ = writeln!(out, "{indent}{name} {{");
                    section.write(out, depth + 1);
                    writeln!(out, "{indent}}}")
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        let conf = Conf::default().section(
            "totem",
            Conf::default()
                .with("version", 2)
                .section("interface", Conf::default().with("linknumber", 0)),
        );
        assert_eq!(Conf::parse(&conf.to_text()).unwrap(), conf);
    }

    #[test]
    fn comments_and_odd_spacing_are_read() {
        let conf = Conf::parse("# hand made\ntotem{\n\tversion:2\n\n}\n").unwrap();
        assert_eq!(
            conf.sections("totem").next().unwrap().value("version"),
            Some("2")
        );
    }

    #[test]
    fn a_broken_file_is_refused_with_its_line() {
        assert_eq!(
            Conf::parse("totem {\n version 2\n}")
                .unwrap_err()
                .to_string(),
            "corosync.conf, line 2: \"version 2\"; allowed: `key: value`, `name {` or `}`"
        );
        assert_eq!(
            Conf::parse("totem {\n").unwrap_err().found,
            "a section that is not closed"
        );
        assert_eq!(Conf::parse("}\n").unwrap_err().line, 1);
    }

    #[test]
    fn a_file_that_is_too_deep_is_an_error_and_no_stack_overflow() {
        let deep = |levels: usize| "a {\n".repeat(levels) + &"}\n".repeat(levels);
        assert!(Conf::parse(&deep(DEEPEST)).is_ok());
        let error = Conf::parse(&deep(1_000_000)).unwrap_err();
        assert_eq!(error.found, "too many sections in each other");
    }
}
