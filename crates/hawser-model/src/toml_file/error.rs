//! What can be wrong with a file, each kind with its words in one place. `R` are the rules of the
//! one kind of file.

use std::fmt;
use std::ops::Range;

/// A rule that a file of the right shape can still break.
pub trait Rule: fmt::Display {
    /// What to do about it.
    fn help(&self) -> String;
}

/// Everything that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileErrors<R> {
    /// The path the file was read from.
    pub path: String,
    /// The file's text, to show the place.
    pub text: String,
    /// What is wrong, in the file's order; never empty.
    pub errors: Vec<FileError<R>>,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError<R> {
    /// What.
    pub problem: Problem<R>,
    /// Byte range in the file.
    pub span: Range<usize>,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// Byte range of the other place that the problem speaks of, when there is one.
    pub related: Option<Range<usize>>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem<R> {
    /// The text is not TOML.
    #[error("this is not TOML: {0}")]
    Syntax(String),
    /// A key that does not exist here.
    #[error("{table} has no key \"{found}\"")]
    UnknownKey {
        /// The key.
        found: String,
        /// The table it stands in, in words.
        table: String,
        /// The keys that exist.
        allowed: Vec<String>,
    },
    /// A key that must be there is not.
    #[error("{table} has no \"{key}\", and needs one")]
    MissingKey {
        /// The key.
        key: String,
        /// The table, in words.
        table: String,
    },
    /// A value of another type.
    #[error("{key} must be {wanted}, here it is {found}")]
    WrongType {
        /// The key.
        key: String,
        /// What it must be, in words.
        wanted: String,
        /// What it is, in words.
        found: String,
    },
    /// A word that is none of the allowed ones.
    #[error("{key} cannot be \"{found}\"")]
    UnknownWord {
        /// The key.
        key: String,
        /// The word.
        found: String,
        /// The words that exist.
        allowed: Vec<String>,
    },
    /// A text that is not the value it should be.
    #[error("{key}: {reason}")]
    NotA {
        /// The key.
        key: String,
        /// What is wrong with it.
        reason: String,
        /// How it is written.
        written: String,
    },
    /// A name that nothing in the file has.
    #[error("there is no {kind} \"{found}\"")]
    NoSuch {
        /// `node`, `link`, …
        kind: &'static str,
        /// The name.
        found: String,
        /// The names that exist.
        allowed: Vec<String>,
    },
    /// A rule is broken.
    #[error("{0}")]
    Rule(R),
}

impl<R: Rule> Problem<R> {
    /// What is allowed there, when that is a list of words.
    pub fn allowed(&self) -> &[String] {
        match self {
            Self::UnknownKey { allowed, .. }
            | Self::UnknownWord { allowed, .. }
            | Self::NoSuch { allowed, .. } => allowed,
            _ => &[],
        }
    }

    /// The allowed word that the writer most likely meant.
    pub fn suggestion(&self) -> Option<&str> {
        match self {
            Self::UnknownKey { found, allowed, .. }
            | Self::UnknownWord { found, allowed, .. }
            | Self::NoSuch { found, allowed, .. } => nearest(found, allowed),
            _ => None,
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::NotA { written, .. } => Some(format!("write {written}")),
            Self::Rule(broken) => Some(broken.help()),
            Self::UnknownKey { .. } | Self::UnknownWord { .. } | Self::NoSuch { .. } => {
                let listed = match self.allowed() {
                    [] => "there is none".to_owned(),
                    names => format!("there is: {}", names.join(", ")),
                };
                Some(match self.suggestion() {
                    Some(name) => format!("did you mean \"{name}\"? {listed}"),
                    None => listed,
                })
            }
            Self::Syntax(_) | Self::MissingKey { .. } | Self::WrongType { .. } => None,
        }
    }
}

/// The nearest of `names`, when it is near enough to be a typing error. 0.6 lets two letters
/// in a word of three change places and keeps `ring0` from being offered for `san01`. None when
/// two are equally near: `head3` is as near to `head1` as to `head2`, and one of them would be a guess.
pub fn nearest<'a, S: AsRef<str>>(found: &str, names: &'a [S]) -> Option<&'a str> {
    let likeness = |name: &S| strsim::normalized_damerau_levenshtein(found, name.as_ref());
    let mut near: Vec<(f64, &str)> = names
        .iter()
        .map(|name| (likeness(name), name.as_ref()))
        .filter(|(likeness, _)| *likeness >= 0.6)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    match near[..] {
        [(first, _), (second, _), ..] if first == second => None,
        [(_, name), ..] => Some(name),
        [] => None,
    }
}

/// Problems with their byte ranges, gathered before lines are counted.
#[derive(Debug)]
pub struct Found<R>(Vec<Placed<R>>);

/// A problem, where it is, and the other place it speaks of.
type Placed<R> = (Problem<R>, Range<usize>, Option<Range<usize>>);

impl<R> Default for Found<R> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<R> Found<R> {
    /// One more.
    pub fn push(&mut self, problem: impl Into<Problem<R>>, span: Range<usize>) {
        self.0.push((problem.into(), span, None));
    }

    /// One more that speaks of two places.
    pub fn push_with(
        &mut self,
        problem: impl Into<Problem<R>>,
        span: Range<usize>,
        other: Range<usize>,
    ) {
        self.0.push((problem.into(), span, Some(other)));
    }

    /// `Err` with everything found; `Ok` when nothing was.
    pub fn take_result(&mut self, text: &str, path: &str) -> Result<(), FileErrors<R>> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(std::mem::take(self).into_errors(text, path)),
        }
    }

    /// Everything found, in the file's order.
    pub(super) fn into_errors(mut self, text: &str, path: &str) -> FileErrors<R> {
        self.0.sort_by_key(|(_, span, _)| span.start);
        let placed = |(problem, span, related): (_, Range<usize>, _)| {
            let (line, column) = line_and_column(text, span.start);
            FileError {
                problem,
                span,
                line,
                column,
                related,
            }
        };
        FileErrors {
            path: path.to_owned(),
            text: text.to_owned(),
            errors: self.0.into_iter().map(placed).collect(),
        }
    }
}

/// The line and the column, in characters, of a place in a text; both from 1.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}

impl<R: Rule> fmt::Display for FileErrors<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.errors.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            let (line, column) = (error.line, error.column);
            write!(f, "{}:{line}:{column}: {}", self.path, error.problem)?;
            if let Some(help) = error.problem.help() {
                write!(f, "; {help}")?;
            }
        }
        Ok(())
    }
}

impl<R: Rule + fmt::Debug> std::error::Error for FileErrors<R> {}
