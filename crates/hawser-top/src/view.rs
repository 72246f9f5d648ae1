//! Where the reader of a picture stands in it.

use std::collections::BTreeMap;

use hawser_model::output::top::TopPicture;

use crate::rows::keys;

/// A part of the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// What is wrong.
    #[default]
    Alarms,
    /// The heads.
    Heads,
    /// The links.
    Links,
    /// The pools.
    Pools,
    /// What would happen if a head died.
    IfLost,
    /// What happened before.
    Incidents,
}

impl Part {
    /// All, in the order in which they stand.
    pub const ALL: [Self; 6] = [
        Self::Alarms,
        Self::Heads,
        Self::Links,
        Self::Pools,
        Self::IfLost,
        Self::Incidents,
    ];

    /// What it is called.
    pub fn title(self) -> &'static str {
        match self {
            Self::Alarms => "Alarms",
            Self::Heads => "Heads",
            Self::Links => "Links",
            Self::Pools => "Pools",
            Self::IfLost => "If a head died now",
            Self::Incidents => "Incidents",
        }
    }

    /// The next part of those.
    pub fn next(self) -> Self {
        Self::at(self as usize + 1)
    }

    /// The part before it.
    pub fn before(self) -> Self {
        Self::at(self as usize + Self::ALL.len() - 1)
    }

    fn at(number: usize) -> Self {
        Self::ALL[number % Self::ALL.len()]
    }
}

/// What is looked at.
#[derive(Clone, Copy)]
pub struct ViewInput<'a> {
    /// The picture.
    pub picture: &'a TopPicture,
    /// What a code means.
    pub explain: &'a dyn Fn(&str) -> Option<String>,
    /// Columns and rows of the screen.
    pub size: (u16, u16),
}

/// Where the reader stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The part that keys act upon.
    pub part: Part,
    /// What is chosen in each part.
    chosen: BTreeMap<Part, Chosen>,
    /// What covers the picture.
    pub over: Option<Over>,
    /// The picture stands still.
    pub paused: bool,
}

/// The row that is chosen: by what it is, and if that is gone by where it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Chosen {
    key: String,
    at: usize,
}

/// What covers the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// What the keys do; so many lines are above the screen.
    Help(usize),
    /// All about the row that is chosen; so many lines are above the screen.
    More(usize),
}

impl View {
    /// The number of the row that is chosen in a part, among those that can be; none in one without rows.
    pub fn chosen(&self, picture: &TopPicture, part: Part) -> Option<usize> {
        let keys = keys(picture, part);
        let last = keys.len().checked_sub(1)?;
        let chosen = self.chosen.get(&part);
        let is = |key: &String| chosen.is_some_and(|chosen| *key == chosen.key);
        let there = keys.iter().position(is);
        Some(there.unwrap_or_else(|| chosen.map_or(0, |chosen| chosen.at.min(last))))
    }

    /// Chooses a row.
    pub(crate) fn choose(&mut self, picture: &TopPicture, at: usize) {
        let keys = keys(picture, self.part);
        let Some(last) = keys.len().checked_sub(1) else {
            return;
        };
        let at = at.min(last);
        let key = keys[at].clone();
        self.chosen.insert(self.part, Chosen { key, at });
    }
}
