//! What is read of a host each second: nothing that starts a program or looks through all processes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_kernel::{corosync_pid, corosync_stats, interfaces};
use hawser_model::host::Interface;
use hawser_model::names::InterfaceName;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// As the cluster file's generation has it.
const COROSYNC: &str = "/var/log/corosync/corosync.log";

/// As Pacemaker's packages have it.
const PACEMAKER: &str = "/var/log/pacemaker/pacemaker.log";

/// What Pacemaker writes when its CIB, results of operations among it, has changed, and when a fencing has ended. Other
/// lines come from whoever merely asks it, this watch not least (Pacemaker 2.1, `cib_process_request`, `finalize_op`).
const TELLS: [&str; 2] = ["Completed cib_", "Operation '"];

/// No more of what was added to a log is looked through; more than that means something in any case.
const ADDED: u64 = 64 << 10;

/// Reads what changes fast: the interfaces, whether Corosync runs, and whether it or Pacemaker has something to say.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadPulse {
    /// The process that was Corosync's the last time.
    pub corosync: Option<u32>,
    /// The length of Pacemaker's log the last time.
    pub pacemaker_log: Option<u64>,
}

/// A host at this second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulse {
    /// Its interfaces; absent when the kernel did not say.
    pub interfaces: Option<BTreeMap<InterfaceName, Interface>>,
    /// The process of its Corosync; absent when none runs.
    pub corosync: Option<u32>,
    /// The length of Corosync's log, in bytes; absent when there is none. It grows when something happens.
    pub corosync_log: Option<u64>,
    /// The length of Pacemaker's log; absent when there is none.
    pub pacemaker_log: Option<u64>,
    /// Whether what was added to that says that the cluster has changed.
    pub pacemaker_changed: bool,
}

impl Ask for ReadPulse {
    type Answer = Pulse;
    const NAME: &'static str = "the host's pulse";
    const SIZE: Size = Size::Recorded;
}

impl Answers<Node> for ReadPulse {
    fn answer(self, _: &mut Node, _: &Stop) -> Result<Pulse, Declined> {
        let same = |pid: &u32| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm"));
            name.is_ok_and(|name| name.trim_end() == "corosync")
        };
        let length = |path| fs::metadata(path).ok().map(|file| file.len());
        let log = length(PACEMAKER);
        let added = self.pacemaker_log.zip(log);
        Ok(Pulse {
            interfaces: interfaces().ok(),
            corosync: self.corosync.filter(same).or_else(corosync_pid),
            corosync_log: length(COROSYNC),
            pacemaker_log: log,
            pacemaker_changed: added
                .is_some_and(|(from, to)| from != to && tells(PACEMAKER, from, to)),
        })
    }
}

/// Whether what stands between two places of a log tells that the cluster has changed. A log that cannot be read, was cut
/// or has grown by much may tell anything.
fn tells(path: &str, from: u64, to: u64) -> bool {
    let Some(added) = to.checked_sub(from).filter(|added| *added <= ADDED) else {
        return true;
    };
    let read = || {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        let mut text = Vec::new();
        file.take(added).read_to_end(&mut text)?;
        Ok::<_, io::Error>(String::from_utf8_lossy(&text).into_owned())
    };
    read().map_or(true, |text| TELLS.iter().any(|word| text.contains(word)))
}

/// Reads the statistics of Corosync's links and timing (`corosync-cmapctl -m stats`, which is started for it).
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadHeartbeats;

impl Ask for ReadHeartbeats {
    type Answer = BTreeMap<String, String>;
    const NAME: &'static str = "corosync's statistics";
    const SIZE: Size = Size::Recorded;
}

impl Answers<Node> for ReadHeartbeats {
    fn answer(self, _: &mut Node, _: &Stop) -> Result<BTreeMap<String, String>, Declined> {
        Ok(corosync_stats()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_pacemaker_does_not_change_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pacemaker.log");
        let asked = "Nov 25 06:54:17.152 head1 pacemaker-controld  [82] (handle_ping) \tnotice: Current ping state: S_NOT_DC\n";
        let changed = "Nov 25 06:58:18.010 head1 pacemaker-based  [77] (cib_process_request) \tinfo: Completed cib_modify \
                       operation for section status: OK (rc=0, origin=head2/crmd/92, version=0.10.1)\n";
        std::fs::write(&path, format!("{changed}{asked}{changed}")).unwrap();
        let path = path.to_str().unwrap();
        let [first, second] = [changed.len(), changed.len() + asked.len()].map(|n| n as u64);
        assert!(!tells(path, first, second));
        assert!(tells(path, first, second + changed.len() as u64));
        // It was cut, it cannot be read, it has grown by much.
        assert!(tells(path, second, first));
        assert!(tells("/no/such/log", 0, 1));
        assert!(tells(path, 0, ADDED + 1));
    }
}
