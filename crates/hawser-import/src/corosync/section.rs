//! The sections of `corosync.conf`, with the lines of their values.

use crate::Place;
use crate::picture::Said;
use crate::place::{Malformed, quoted};
use crate::source::Source;

/// A section with the lines of its values.
#[derive(Default)]
pub(super) struct Section {
    pub name: String,
    /// Where it begins; the file as a whole begins nowhere.
    pub at: Option<Place>,
    pub values: Vec<(String, String, Place)>,
    pub sections: Vec<Section>,
}

impl Section {
    /// Corosync takes the last of several.
    pub fn get(&self, key: &str) -> Option<(&str, &Place)> {
        let found = self.values.iter().rev().find(|(name, ..)| name == key);
        found.map(|(_, value, at)| (value.as_str(), at))
    }

    pub fn number(&self, key: &str) -> Result<Option<Said<u64>>, Malformed> {
        let Some((value, at)) = self.get(key) else {
            return Ok(None);
        };
        match value.parse::<u32>() {
            Ok(number) => Ok(Some(Said::new(number.into(), at))),
            _ => Err(Malformed::new(
                at,
                format!("{key}: {}", quoted(value)),
                "a whole number",
            )),
        }
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Section> {
        self.sections
            .iter()
            .filter(move |section| section.name == name)
    }
}

/// Reads the sections.
pub(super) fn parse(source: &Source) -> Result<Section, Malformed> {
    const DEEPEST: usize = 20;
    let mut open = vec![Section::default()];
    let mut last = source.at(1);
    for (i, line) in source.text.lines().enumerate() {
        let at = source.at(i + 1);
        last = at.clone();
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_suffix('{') {
            if open.len() > DEEPEST {
                return Err(Malformed::new(
                    &at,
                    "too many sections in each other",
                    "two levels",
                ));
            }
            open.push(Section {
                name: name.trim().to_owned(),
                at: Some(at),
                ..Section::default()
            });
        } else if line.starts_with('}') {
            match (open.pop(), open.last_mut()) {
                (Some(inner), Some(outer)) => outer.sections.push(inner),
                _ => {
                    return Err(Malformed::new(
                        &at,
                        "a section ends that was not begun",
                        "one } for each {",
                    ));
                }
            }
        } else if let (Some((key, value)), Some(section)) = (line.split_once(':'), open.last_mut())
        {
            section
                .values
                .push((key.trim().to_owned(), value.trim().to_owned(), at));
        } else {
            return Err(Malformed::new(
                &at,
                quoted(line),
                "`key: value`, `name {` or `}`",
            ));
        }
    }
    match (open.pop(), open.is_empty()) {
        (Some(whole), true) => Ok(whole),
        _ => Err(Malformed::new(
            &last,
            "a section that is not closed",
            "one } for each {",
        )),
    }
}
