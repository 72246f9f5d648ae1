//! Whether root may run what a site brings along.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::hooks::unfit;

/// Which of these programs root must not run, and why, in words that follow the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckPrograms {
    /// Their paths.
    pub programs: BTreeSet<String>,
}

impl Ask for CheckPrograms {
    type Answer = BTreeMap<String, String>;
    const NAME: &'static str = "whether root may run the hooks";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for CheckPrograms {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<BTreeMap<String, String>, Declined> {
        let programs = self.programs.into_iter();
        Ok(programs
            .filter_map(|it| Some((it.clone(), unfit(&it)?)))
            .collect())
    }
}
