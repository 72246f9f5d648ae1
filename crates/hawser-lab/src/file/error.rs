//! What is wrong in a lab file, and where.

use std::fmt;
use std::ops::Range;

/// One thing that is wrong in a lab file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file.
    pub path: String,
    /// Its text, for whoever shows the place.
    pub text: String,
    /// Byte range of what is wrong.
    pub span: Range<usize>,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The field, as a path: `node[2].links[1]`.
    pub field: String,
    /// What is there, in words.
    pub found: String,
    /// What may be there, in words.
    pub allowed: String,
    /// The allowed word that was most likely meant.
    pub suggestion: Option<String>,
}

impl FileError {
    /// What is allowed, and what was most likely meant.
    pub fn help(&self) -> String {
        match &self.suggestion {
            Some(word) => format!("did you mean \"{word}\"? allowed: {}", self.allowed),
            None => format!("allowed: {}", self.allowed),
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = if self.field.is_empty() {
            String::new()
        } else {
            format!("{}: ", self.field)
        };
        write!(
            f,
            "{}:{}:{}: {field}{}; {}",
            self.path,
            self.line,
            self.column,
            self.found,
            self.help()
        )
    }
}

impl std::error::Error for FileError {}
