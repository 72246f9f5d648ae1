//! The machines under the cluster: folders, ports, clocks.

use hawser_model::names::HostName;

use super::findings::Findings;
use super::ready::FULL;
use crate::host::view::Folder;
use crate::live::views::StatusFacts;

/// Clocks that are further apart make logs, histories and kept failures of two heads hard to compare, in microseconds.
const APART_US: i64 = 1_000_000;

/// Judges them.
pub(super) fn judge(facts: &StatusFacts, found: &mut Findings) {
    for (head, view) in &facts.views {
        let full = |folder: &&Folder| {
            let room = folder.room;
            !room.read_only && (room.used >= FULL || room.no_inodes)
        };
        let mut full: Vec<&Folder> = view.folders.iter().filter(full).collect();
        full.sort_by_key(|folder| std::cmp::Reverse(folder.room.used));
        if !full.is_empty() {
            let words = |folder: &&Folder| match folder.room {
                room if room.no_inodes => format!("{} (no inode left)", folder.path),
                room => format!("{} ({} % used)", folder.path, room.used),
            };
            let folders: Vec<String> = full.iter().map(words).collect();
            found.costs(format!(
                "on {head} there is no room in {}: Corosync and Pacemaker write there, and without room they forget or \
                 end",
                folders.join(", ")
            ));
        }
        for (link, port) in &view.ports {
            match &port.interface {
                None => found.costs(format!("{head} has no address on {link}")),
                Some(interface) if !port.carrier => found.costs(format!(
                    "{head} has no carrier on {link} ({interface}): a pool there is not reached over it"
                )),
                Some(_) => {}
            }
        }
    }
    clocks(facts, found);
}

fn clocks(facts: &StatusFacts, found: &mut Findings) {
    let earliest = facts.clocks.iter().min_by_key(|(_, ahead)| ahead.most_us);
    let latest = facts.clocks.iter().max_by_key(|(_, ahead)| ahead.least_us);
    let (Some((behind, first)), Some((before, last))) = (earliest, latest) else {
        return;
    };
    let apart = last.least_us.saturating_sub(first.most_us);
    if apart > APART_US {
        let clock = |head: &HostName| format!("`date` on {head}");
        found.costs(format!(
            "the clock of {before} is {:.1} s ahead of that of {behind}: times in their logs and in Pacemaker's \
             history do not fit together; compare {} with {}",
            apart as f64 / 1e6,
            clock(before),
            clock(behind)
        ));
    }
}
