//! The names of the files in which incidents are kept.

use std::ffi::OsString;

/// What follows the incident's in the name of a file with links alone. The name says what goes first: no file has to be read,
/// and believed, for it.
const OF_LINKS: &str = "-links";

/// Whose, and of what: the name of a file, without its ending.
#[derive(Clone, Copy)]
pub(super) struct Name<'a> {
    pub(super) id: &'a str,
    pub(super) head: Option<&'a str>,
    pub(super) links_alone: bool,
}

impl<'a> Name<'a> {
    /// Of a file that is kept.
    pub(super) fn of(file: &'a str) -> Option<Self> {
        let name = file.strip_suffix(".json")?;
        let (id, head) = match name.split_once('.') {
            Some((id, head)) => (id, Some(head)),
            None => (name, None),
        };
        let of_links = id.strip_suffix(OF_LINKS);
        Self::new(of_links.unwrap_or(id), head, of_links.is_some())
    }

    /// Unless it is none that may be part of a path.
    pub(super) fn new(id: &'a str, head: Option<&'a str>, links_alone: bool) -> Option<Self> {
        let digits = |c: char| c.is_ascii_digit() || c == '-';
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let is_id = !id.is_empty() && id.len() <= 40 && id.chars().all(digits);
        let is_head = |head: &str| !head.is_empty() && head.len() <= 64 && head.chars().all(plain);
        (is_id && head.is_none_or(is_head)).then_some(Self {
            id,
            head,
            links_alone,
        })
    }

    /// Of the same incident, of whatever kind.
    pub(super) fn either(self) -> [Self; 2] {
        [false, true].map(|links_alone| Self {
            links_alone,
            ..self
        })
    }

    pub(super) fn file(&self) -> OsString {
        let of_links = if self.links_alone { OF_LINKS } else { "" };
        match self.head {
            Some(head) => format!("{}{of_links}.{head}.json", self.id).into(),
            None => format!("{}{of_links}.json", self.id).into(),
        }
    }
}

/// What the name of a file says, if it is one of an incident.
pub(super) fn named(file: &OsString) -> Option<Name<'_>> {
    Name::of(file.to_str()?)
}
