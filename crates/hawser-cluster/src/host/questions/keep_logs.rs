//! Keeping an incident on the head.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::aside::Aside;
use crate::host::kept_logs::{self, KeptLogs};

/// Keeps what there is of an incident on this head; what was kept under the same name of the same head is replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeepLogs {
    /// The incident.
    pub logs: KeptLogs,
    /// Folders of pools: it must not be below one, which another head may have a minute later.
    pub pools: Vec<String>,
}

impl Ask for KeepLogs {
    type Answer = ();
    const NAME: &'static str = "keep an incident";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for KeepLogs {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        static DISK: Aside = Aside::new();
        let kept = DISK.work(LIMIT, move || kept_logs::keep(self.logs, &self.pools));
        let kept = kept.ok_or("the disk has not taken an incident yet: it hangs")?;
        Ok(kept?)
    }
}

/// How long the disk may take for an incident before the watch goes on without it.
const LIMIT: Duration = Duration::from_secs(5);
