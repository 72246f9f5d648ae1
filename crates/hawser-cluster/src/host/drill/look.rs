//! What is mounted on this head now.

use std::fs;
use std::time::Duration;

use hawser_host::Clock;
use hawser_model::mountinfo::{self, mounted};
use serde::{Deserialize, Serialize};

use super::processes;
use crate::exports::nfs::server::is_in_grace;
use crate::host::NodeError;

/// A look at a head, from its own point of view.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Where something is mounted.
    pub mounts: Vec<String>,
    /// The head's clock, microseconds since 1970 UTC.
    pub clock_us: u64,
    /// For how many microseconds its Pacemaker has been running; absent: it does not, or that was not asked.
    pub engine_us: Option<u64>,
    /// Its NFS server is in its grace period.
    #[serde(default)]
    pub nfs_grace: bool,
}

pub(in crate::host) fn now(engine: bool) -> Result<Look, NodeError> {
    let path = mountinfo::OWN;
    let text = fs::read_to_string(path).map_err(NodeError::file("read", path))?;
    let mounts = mounted(&text).map(|it| it.place).collect();
    Ok(Look {
        mounts,
        clock_us: Clock::default().time_of_day().0,
        engine_us: engine.then(processes::engine_age).flatten().map(micros),
        nfs_grace: is_in_grace(),
    })
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_root_and_a_clock() {
        let look = now(true).unwrap();
        assert!(look.mounts.iter().any(|place| place == "/"), "{look:?}");
        assert!(look.clock_us > 1_700_000_000_000_000);
    }
}
