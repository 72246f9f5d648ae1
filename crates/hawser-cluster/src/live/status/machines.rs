//! The machines under the cluster: folders, ports, clocks.

use std::collections::BTreeMap;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::finding::Place;
use hawser_model::names::HostName;
use hawser_model::units::Bytes;

use super::findings::Findings;
use super::ready::FULL;
use super::signs::{Mark, Sign};
use crate::host::view::{Folder, Room, Told};
use crate::live::views::StatusFacts;
use crate::plan::WatchUnitFile;
use crate::plan::boot::dangers_at_boot;

/// Clocks that are further apart make logs, histories and kept failures of two heads hard to compare, in microseconds.
const APART_US: i64 = 1_000_000;

/// As long as so many bytes are left a folder has room, however full its file system is: Corosync and Pacemaker write megabytes,
/// and 5 % of a large disk are many gigabytes.
const ENOUGH: u64 = 1 << 30;

/// Judges them.
pub(super) fn judge(file: &ClusterFile, facts: &StatusFacts, found: &mut Findings) {
    for (head, view) in &facts.views {
        let full = |folder: &&Folder| {
            let room = folder.room;
            let short = room.used >= FULL && room.free.is_none_or(|free| free < ENOUGH);
            !room.read_only && (room.no_inodes || short)
        };
        let mut full: Vec<&Folder> = view.folders.iter().filter(full).collect();
        full.sort_by_key(|folder| std::cmp::Reverse(folder.room.used));
        if !full.is_empty() {
            let words = |folder: &&Folder| match folder.room {
                room if room.no_inodes => format!("{} (no inode left)", folder.path),
                Room {
                    used,
                    free: Some(free),
                    ..
                } => format!("{} ({used} % used, {} left)", folder.path, Bytes(free)),
                Room { used, .. } => format!("{} ({used} % used)", folder.path),
            };
            let folders: Vec<String> = full.iter().map(words).collect();
            let text = format!(
                "on {head} there is no room in {}: Corosync and Pacemaker write there, and without room they forget or \
                 end",
                folders.join(", ")
            );
            found.costs(Sign::FolderFull.on(head), text);
        }
        for (link, port) in &view.ports {
            let mark = |sign, interface: Option<&String>| Mark {
                sign,
                place: Place {
                    link: Some(link.as_str().into()),
                    interface: interface.map(|name| name.as_str().into()),
                    ..Place::on(head)
                },
            };
            match &port.interface {
                None => {
                    let text = format!("{head} has no address on {link}");
                    found.costs(mark(Sign::NoAddress, None), text);
                }
                Some(interface) if !port.carrier => {
                    let text = format!(
                        "{head} has no carrier on {link} ({interface}): a pool there is not reached over it"
                    );
                    found.costs(mark(Sign::NoCarrier, Some(interface)), text);
                }
                Some(_) => {}
            }
        }
    }
    clocks(facts, found);
    watches(file, facts, found);
    boots(file, facts, found);
}

/// What heads would do by themselves at their next boot: the one after a fencing is the worst moment for it.
fn boots(file: &ClusterFile, facts: &StatusFacts, found: &mut Findings) {
    let mut read = BTreeMap::new();
    for (head, view) in &facts.views {
        match &view.boot {
            Some(Told::Said(boot)) => {
                read.insert(head.clone(), boot.clone());
            }
            Some(silent) => {
                let why = silent.why_not().map(|why| why.to_string());
                let text = format!(
                    "what {head} would do at its next boot is not known: {}",
                    why.unwrap_or_default()
                );
                found.wrong(Sign::BootUnknown.on(head), text);
            }
            None => {}
        }
    }
    for danger in dangers_at_boot(file, &read) {
        let mark = Sign::PoolAtBoot.of_on(&danger.file, &danger.node);
        match danger.stops_an_apply() {
            true => found.costs(mark, danger.to_string()),
            false => found.note(mark, danger.to_string()),
        }
    }
}

/// Watches that are wanted, by the cluster file or by whoever enabled the unit, and do not run. A head without one serves its
/// pools all the same.
fn watches(file: &ClusterFile, facts: &StatusFacts, found: &mut Findings) {
    for (head, view) in &facts.views {
        let Some(Told::Said(Some(watch))) = &view.watch else {
            continue;
        };
        let wanted = file.watch.unit || watch.enabled;
        if watch.running || !wanted {
            continue;
        }
        let text = match watch.unit {
            WatchUnitFile::None => format!(
                "{head} has no watch, which the cluster file wants: what happens there is neither recorded nor told; `hawser \
                 apply` installs it"
            ),
            _ => format!(
                "the watch of {head} does not run: what happens there is neither recorded nor told; `systemctl status \
                 hawser-watch` on {head} says why"
            ),
        };
        found.wrong(Sign::WatchStopped.on(head), text);
    }
}

fn clocks(facts: &StatusFacts, found: &mut Findings) {
    // One that was stepped while its head was asked is ahead by nothing that is known.
    let known = || {
        facts
            .clocks
            .iter()
            .filter(|(_, it)| it.least_us <= it.most_us)
    };
    let earliest = known().min_by_key(|(_, ahead)| ahead.most_us);
    let latest = known().max_by_key(|(_, ahead)| ahead.least_us);
    let (Some((behind, first)), Some((before, last))) = (earliest, latest) else {
        return;
    };
    let apart = last.least_us.saturating_sub(first.most_us);
    if apart > APART_US {
        let clock = |head: &HostName| format!("`date` on {head}");
        let text = format!(
            "the clock of {before} is {:.1} s ahead of that of {behind}: times in their logs and in Pacemaker's \
             history do not fit together; compare {} with {}",
            apart as f64 / 1e6,
            clock(before),
            clock(behind)
        );
        let pair = [before.clone(), behind.clone()];
        found.costs(Sign::ClocksApart.between(&pair, None), text);
    }
}
