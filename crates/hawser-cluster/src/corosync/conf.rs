//! The format of `corosync.conf`: sections of `key: value` lines and further sections.

use std::fmt::Write;

/// Deepest file that is read. Corosync's have two levels; a file of a million, from a node that is hostile, would
/// take the stack of whoever walks it.
const DEEPEST: usize = 20;

/// A section, or the whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conf {
    /// Its entries, in order.
    pub entries: Vec<Entry>,
}

/// One entry of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// `key: value`.
    Value(String, String),
    /// `name { … }`.
    Section(String, Conf),
}

/// A text that is no corosync.conf.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("corosync.conf, line {line}: {reason}")]
pub struct ConfError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl Conf {
    /// With one more value.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl ToString) -> Self {
        self.entries
            .push(Entry::Value(key.to_owned(), value.to_string()));
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
        self.entries.push(Entry::Section(name.to_owned(), section));
        self
    }

    /// The value of a key. Corosync takes the last of several.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Value(k, value) if k == key => Some(value.as_str()),
            _ => None,
        })
    }

    /// The sections of that name.
    pub fn sections<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Conf> {
        self.entries.iter().filter_map(move |entry| match entry {
            Entry::Section(n, section) if n == name => Some(section),
            _ => None,
        })
    }

    /// Reads a file (coroparse.c: `#` begins a comment line, `:` parts key and value).
    pub fn parse(text: &str) -> Result<Self, ConfError> {
        let mut open = vec![(String::new(), Conf::default())];
        for (i, line) in text.lines().enumerate() {
            let wrong = |reason| ConfError {
                line: i + 1,
                reason,
            };
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_suffix('{') {
                if open.len() > DEEPEST {
                    return Err(wrong("too many sections in each other"));
                }
                open.push((name.trim().to_owned(), Conf::default()));
            } else if line.starts_with('}') {
                let (Some((name, section)), Some((_, outer))) = (open.pop(), open.last_mut())
                else {
                    return Err(wrong("a section ends that was not begun"));
                };
                outer.entries.push(Entry::Section(name, section));
            } else if let Some((key, value)) = line.split_once(':') {
                if let Some((_, section)) = open.last_mut() {
                    let entry = Entry::Value(key.trim().to_owned(), value.trim().to_owned());
                    section.entries.push(entry);
                }
            } else {
                return Err(wrong("this is neither a section nor \"key: value\""));
            }
        }
        let lines = text.lines().count();
        match (open.pop(), open.is_empty()) {
            (Some((_, whole)), true) => Ok(whole),
            _ => Err(ConfError {
                line: lines,
                reason: "a section is not closed",
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
                Entry::Value(key, value) => writeln!(out, "{indent}{key}: {value}"),
                Entry::Section(name, section) => {
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
        assert_eq!(Conf::parse("totem {\n version 2\n}").unwrap_err().line, 2);
        assert_eq!(
            Conf::parse("totem {\n").unwrap_err().reason,
            "a section is not closed"
        );
        assert_eq!(Conf::parse("}\n").unwrap_err().line, 1);
    }

    #[test]
    fn a_file_that_is_too_deep_is_an_error_and_no_stack_overflow() {
        let deep = |levels: usize| "a {\n".repeat(levels) + &"}\n".repeat(levels);
        assert!(Conf::parse(&deep(DEEPEST)).is_ok());
        let error = Conf::parse(&deep(1_000_000)).unwrap_err();
        assert_eq!(error.reason, "too many sections in each other");
    }
}
