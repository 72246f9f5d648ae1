//! The sections of `corosync.conf`, with the lines of their values.

use hawser_cluster::corosync::{Conf, Entry};

use crate::SourceLine;
use crate::picture::Said;
use crate::place::{Malformed, quoted};
use crate::source::Source;

/// A section with the lines of its values.
#[derive(Default)]
pub(super) struct Section {
    pub name: String,
    /// Where it begins; the file as a whole begins nowhere.
    pub at: Option<SourceLine>,
    pub values: Vec<(String, String, SourceLine)>,
    pub sections: Vec<Section>,
}

impl Section {
    /// Corosync takes the last of several.
    pub fn get(&self, key: &str) -> Option<(&str, &SourceLine)> {
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
    let whole = Conf::parse(&source.text)
        .map_err(|e| Malformed::new(&source.at(e.line), e.found, e.allowed))?;
    Ok(section(source, String::new(), None, whole))
}

fn section(source: &Source, name: String, at: Option<SourceLine>, conf: Conf) -> Section {
    let mut read = Section {
        name,
        at,
        ..Section::default()
    };
    for entry in conf.entries {
        match entry {
            Entry::Value(key, value, line) => read.values.push((key, value, source.at(line.0))),
            Entry::Section(name, inner, line) => {
                let at = Some(source.at(line.0));
                read.sections.push(section(source, name, at, inner));
            }
        }
    }
    read
}
