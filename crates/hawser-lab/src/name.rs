//! Names of labs and of what is in them, checked where they come in.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::LabError;

/// The name of a lab: 1 to 32 of `a-z`, `0-9`, `-`, beginning with a letter or digit.
///
/// It becomes a folder's name, so nothing that a path could be made of is let in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct LabName(String);

impl LabName {
    /// What a lab's name may be, in words.
    pub const ALLOWED: &'static str =
        "1 to 32 of a-z, 0-9 and \"-\", beginning with a letter or digit";

    /// Checks a name.
    ///
    /// # Errors
    /// [`LabError::Name`] when it is not allowed.
    pub fn new(text: &str) -> Result<Self, LabError> {
        if label(text, 32) {
            Ok(Self(text.to_owned()))
        } else {
            Err(LabError::Name {
                kind: "lab",
                found: text.to_owned(),
                allowed: Self::ALLOWED,
            })
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LabName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What a node's or client's name may be. It becomes a host name (RFC 1123, 2.1).
pub(crate) const NODE: &str =
    "1 to 32 of a-z, 0-9 and \"-\", beginning and ending with a letter or digit";

/// What a link's or switch's name may be. It becomes an interface's name (15 bytes at most).
pub(crate) const INTERFACE: &str =
    "1 to 12 of a-z, 0-9, \"-\" and \"_\", beginning with a letter; not \"lo\"";

pub(crate) fn is_node(text: &str) -> bool {
    label(text, 32) && !text.ends_with('-') && text != "localhost"
}

pub(crate) fn is_interface(text: &str) -> bool {
    text.len() <= 12
        && text != "lo"
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
}

fn label(text: &str, longest: usize) -> bool {
    text.len() <= longest
        && text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_could_leave_its_folder_or_confuse_a_tool_is_refused() {
        for bad in ["", "..", "a/b", "-x", "A", "a b", "ä", &"x".repeat(33)] {
            assert!(LabName::new(bad).is_err(), "{bad:?}");
        }
        for good in ["default", "0", "t-1", &"x".repeat(32)] {
            assert!(LabName::new(good).is_ok(), "{good:?}");
        }
        for bad in ["", "lo", "0ring", "ring.0", "thirteenchars", "Ring0"] {
            assert!(!is_interface(bad), "{bad:?}");
        }
        assert!(is_interface("ring0") && is_interface("san_01"));
        assert!(is_node("head-1") && !is_node("head-") && !is_node("localhost"));
    }
}
