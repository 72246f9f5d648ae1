//! A host's pulse: what changes fast, and whether the logs of its cluster tell of a change.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::time::UNIX_EPOCH;

use hawser_cluster::host::drill::logs::{COROSYNC, PACEMAKER};
use hawser_cluster::units::WOKEN;
use hawser_kernel::{corosync_pid, interfaces_and_counts};

use crate::node::Node;
use crate::questions::{Pulse, ReadPulse};

/// What Pacemaker writes when its CIB, results of operations among it, has changed, and when a fencing has ended. Other
/// lines come from whoever merely asks it, this watch not least (Pacemaker 2.1, `cib_process_request`, `finalize_op`).
const TELLS: [&str; 2] = ["Completed cib_", "Operation '"];

/// No more of what was added to a log is looked through; more than that means something in any case.
const ADDED: u64 = 64 << 10;

/// The pulse now; `last` is what was read the last time.
pub(crate) fn read(last: &ReadPulse, node: &mut Node) -> Pulse {
    let same = |pid: &u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name.trim_end() == "corosync")
    };
    let length = |path| fs::metadata(path).ok().map(|file| file.len());
    let log = length(PACEMAKER);
    let added = last.pacemaker_log.zip(log);
    let (interfaces, counts) = interfaces_and_counts().ok().unzip();
    let corosync = last.corosync.filter(same).or_else(corosync_pid);
    Pulse {
        interfaces,
        counts: counts.flatten(),
        corosync,
        corosync_log: length(COROSYNC),
        pings_lost: node.lost_pings.count(corosync),
        pacemaker_log: log,
        woken: touched(WOKEN),
        storage: node.storage.pulse(),
        pacemaker_changed: added.is_some_and(|(from, to)| from != to && tells(PACEMAKER, from, to)),
    }
}

/// When a file was touched last.
fn touched(path: &str) -> Option<u64> {
    let at = fs::metadata(path).and_then(|file| file.modified()).ok()?;
    let since = at.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_micros()).ok()
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
