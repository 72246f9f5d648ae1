//! Where something stands in a source.

use std::fmt;

use hawser_model::visible::one_line;

use crate::Source;

/// A line of a source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLine {
    /// The source, as it was named.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
}

impl SourceLine {
    /// This line of this source.
    pub fn new(file: &str, line: usize) -> Self {
        Self {
            file: file.to_owned(),
            line,
        }
    }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", one_line(&self.file), self.line)
    }
}

/// A source that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {found}")]
pub struct Malformed {
    /// Where.
    pub place: SourceLine,
    /// What was found.
    pub found: String,
    /// What is allowed there.
    pub allowed: String,
}

impl Malformed {
    /// One at this place. What was found may be anything: it is made visible here, and cut.
    pub(crate) fn new(
        place: &SourceLine,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        Self {
            place: place.clone(),
            found: one_line(&found.into()).into_owned(),
            allowed: allowed.into(),
        }
    }
}

impl Malformed {
    /// On a line that is there: what is wrong with the end of a file is behind its last line.
    pub(crate) fn within(mut self, source: &Source) -> Self {
        let lines = source.text.lines().count().max(1);
        self.place.line = self.place.line.clamp(1, lines);
        self
    }
}

/// A word of a source as it is shown: visible, in quotes, and not longer than a line.
pub(crate) fn quoted(word: &str) -> String {
    const LONGEST: usize = 60;
    let shown = one_line(word);
    match shown.chars().count() > LONGEST {
        true => format!("\"{}…\"", shown.chars().take(LONGEST).collect::<String>()),
        false => format!("\"{shown}\""),
    }
}
