//! What is asked about incidents that a watch has kept.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::aside::aside;
use crate::host::kept_logs::{self, KeptLogs};

/// Keeps the lines of an incident on this head; those of the same name are replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeepLogs {
    /// The incident.
    pub logs: KeptLogs,
}

impl Ask for KeepLogs {
    type Answer = ();
    const NAME: &'static str = "keep an incident";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for KeepLogs {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        static LASTS: AtomicBool = AtomicBool::new(false);
        aside(&LASTS, LIMIT, move || kept_logs::keep(&self.logs))
            .ok_or("the disk has not taken an incident yet: it hangs")?
            .map_err(Into::into)
    }
}

/// How long the disk may take for an incident before the watch goes on without it.
const LIMIT: Duration = Duration::from_secs(5);

/// The incidents that are kept, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadKeptLogs;

impl Ask for ReadKeptLogs {
    type Answer = Vec<KeptLogs>;
    const NAME: &'static str = "read the incidents that are kept";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ReadKeptLogs {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Vec<KeptLogs>, Declined> {
        Ok(kept_logs::kept()?)
    }
}
