//! An answer, or why there is none.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An answer, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told<T> {
    /// The answer.
    Said(T),
    /// None came within so many seconds.
    Silent(u32),
    /// It could not be asked.
    Failed(String),
}

impl<T> Told<T> {
    /// The answer, if one came.
    pub fn said(&self) -> Option<&T> {
        match self {
            Self::Said(answer) => Some(answer),
            Self::Silent(_) | Self::Failed(_) => None,
        }
    }

    /// Why no answer came.
    pub fn why_not(&self) -> Option<WhyNot<'_>> {
        match self {
            Self::Said(_) => None,
            Self::Silent(seconds) => Some(WhyNot::Silent(*seconds)),
            Self::Failed(said) => Some(WhyNot::Failed(said)),
        }
    }

    /// Whether it may answer when it is asked again: it did not in its time.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Silent(_))
    }

    /// The same with another answer.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Told<U> {
        match self {
            Self::Said(answer) => Told::Said(make(answer)),
            Self::Silent(seconds) => Told::Silent(seconds),
            Self::Failed(said) => Told::Failed(said),
        }
    }
}

/// Why no answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNot<'a> {
    /// None came within so many seconds.
    Silent(u32),
    /// It could not be asked.
    Failed(&'a str),
}

impl fmt::Display for WhyNot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(seconds) => write!(f, "no answer within {seconds} s"),
            Self::Failed(said) => f.write_str(said),
        }
    }
}
