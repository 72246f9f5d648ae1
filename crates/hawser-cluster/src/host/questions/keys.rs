//! The keys of encrypted datasets.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use super::Machine;
use crate::host::keys::{self, KeyFile};

/// Whether these files with keys are there, and which are the same as elsewhere. No key is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareKeys {
    /// Their paths.
    pub files: BTreeSet<String>,
    /// Random, and the same for all heads that are compared: it goes into what they answer.
    pub salt: [u8; 32],
}

impl Ask for CompareKeys {
    type Answer = BTreeMap<String, KeyFile>;
    const NAME: &'static str = "whether keys are there";
    const PATIENCE: Duration = Duration::from_secs(10);
}

impl Answers<Machine> for CompareKeys {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<BTreeMap<String, KeyFile>, Declined> {
        Ok(keys::look(self.files, &self.salt))
    }
}
