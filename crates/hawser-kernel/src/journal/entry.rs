//! An entry of the journal: a change, whose it is, and whether the kernel was told.

use hawser_model::knob::{Change, Standing};
use serde::{Deserialize, Serialize};

use super::owner::Owner;

/// The version that this program writes, and the latest that it reads. Entries from before there was
/// a version are of the first.
const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    #[serde(default = "first")]
    version: u32,
    #[serde(flatten)]
    pub(super) change: Change,
    pub(super) owner: Owner,
    /// The knob was read back after it was turned; until then `after` is only what was asked.
    pub(super) settled: bool,
}

/// What every version has.
#[derive(Deserialize)]
struct Versioned {
    #[serde(default = "first")]
    version: u32,
}

const fn first() -> u32 {
    1
}

impl Entry {
    /// A change that the kernel was not told of yet.
    pub(super) fn new(change: Change, owner: Owner) -> Self {
        Self {
            version: VERSION,
            change,
            owner,
            settled: false,
        }
    }

    /// From a file of that number.
    pub(super) fn parse(text: &[u8], number: u64) -> Result<Self, String> {
        let Versioned { version } = serde_json::from_slice(text).map_err(|e| e.to_string())?;
        if version > VERSION {
            return Err(format!(
                "an entry of version {version}, and this program reads up to {VERSION}"
            ));
        }
        let entry: Self = serde_json::from_slice(text).map_err(|e| e.to_string())?;
        match entry.change.number {
            own if own == number => Ok(entry),
            own => Err(format!("the entry in it has the number {own}")),
        }
    }

    /// Whether it is a trial whose owner is gone.
    pub(super) fn is_left(&self) -> bool {
        self.change.standing == Standing::Trial && !self.owner.lives()
    }

    /// The change, for those who ask what is recorded.
    pub(super) fn told(self) -> Change {
        let left = self.is_left();
        let mut change = self.change;
        if left {
            change.not_persisted = Some("its agent is gone, and it is not undone yet".to_owned());
        }
        change
    }

    pub(super) fn to_text(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("an entry is always JSON")
    }
}
