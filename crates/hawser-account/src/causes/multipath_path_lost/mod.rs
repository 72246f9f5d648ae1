//! A multipath device has a path that carries nothing: multipathd's checker or the kernel has given it up, or it is not there
//! any more while other multipath devices of the host, or the same one on another host, have more.
//!
//! Evidence: the paths and what multipathd (`show paths`) and sysfs (`device/state`) say of each. Certain where a path is
//! there and does not work; likely where one is missing by comparison. A warning while a path is left, an error when none
//! is. Cases: `multipath-path-failed`, `multipath-path-gone`, `multipath-ghost-paths`.

use std::collections::BTreeMap;

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::storage::{MultipathFacts, StorageFacts};
use serde::Serialize;

use super::disk_not_running::is_stopped;
use crate::cause::{Cause, CheckCause, Found, Words, counted, host};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct MultipathPathLost {
    /// The paths that carry nothing, each with why.
    lost: BTreeMap<String, String>,
    left: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<usize>,
    identity: String,
}

/// The paths of a device that carry nothing, and why.
fn lost(storage: &StorageFacts, map: &MultipathFacts) -> BTreeMap<String, String> {
    let why = |name: &String| {
        let disk = storage.disks.get(name);
        let state = disk.map(|disk| disk.state.as_str());
        let path = &map.paths[name];
        match state.filter(|state| is_stopped(state)) {
            Some(state) => Some(state.to_owned()),
            None if path.is_well() => None,
            None => {
                let words = [&path.used, &path.checked].into_iter().flatten();
                Some(words.cloned().collect::<Vec<_>>().join(" "))
            }
        }
    };
    let names = map.paths.keys();
    names
        .filter_map(|name| Some((name.clone(), why(name)?)))
        .collect()
}

/// How many paths there should be: as many as the same device has on another host, or every other one on this host, which then
/// come from the same controllers.
fn expected(
    view: &View<'_>,
    own: &HostName,
    storage: &StorageFacts,
    identity: &str,
) -> Option<usize> {
    let elsewhere = view.case.hosts.iter().filter(|(host, _)| *host != own);
    let elsewhere = elsewhere.filter_map(|(_, facts)| {
        let map = facts.storage.as_ref()?.multipath.get(identity)?;
        Some(map.paths.len())
    });
    let others = storage.multipath.iter().filter(|(it, _)| *it != identity);
    let mut others = others.map(|(_, map)| map.paths.len());
    let first = others.next();
    let alike = first.filter(|first| others.all(|count| count == *first));
    elsewhere.chain(alike).max()
}

impl CheckCause for MultipathPathLost {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for (host, facts) in &view.case.hosts {
            let Some(storage) = &facts.storage else {
                continue;
            };
            for (identity, map) in &storage.multipath {
                let lost = lost(storage, map);
                let left = map.paths.len() - lost.len();
                let expected = expected(view, host, storage, identity);
                let expected = expected.filter(|count| *count > map.paths.len());
                let confidence = match (lost.is_empty(), expected) {
                    (true, None) => continue,
                    (true, Some(_)) => Confidence::Likely,
                    (false, _) => Confidence::Certain,
                };
                found.push(Found {
                    severity: match left {
                        0 => Severity::Error,
                        _ => Severity::Warning,
                    },
                    confidence,
                    place: Place::of(&map.name, Some(host)),
                    evidence: Self {
                        lost,
                        left,
                        expected,
                        identity: identity.clone(),
                    },
                });
            }
        }
        found
    }
}

impl Cause for MultipathPathLost {
    const CODE: &'static str = "multipath-path-lost";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (host, map) = (
            host(at),
            at.object.as_deref().unwrap_or("a multipath device"),
        );
        let lost: Vec<String> = self
            .lost
            .iter()
            .map(|(disk, why)| format!("{disk} is {why}"))
            .collect();
        let all = self.left + self.lost.len();
        let of_all = match (self.lost.is_empty(), self.expected) {
            (true, expected) => format!(
                "has {} where others have {}: not all are there",
                counted(self.left as u64, "path"),
                expected.unwrap_or(all)
            ),
            (false, expected) => format!(
                "has {} of {} left: {}",
                self.left,
                counted(expected.unwrap_or(all) as u64, "path"),
                lost.join(", ")
            ),
        };
        let then = match self.left {
            0 => "nothing reaches its disk",
            1 => "the next one that is lost takes the disk away",
            _ => "the others go on",
        };
        Words {
            text: format!("{map} on {host} {of_all}; {then}."),
            fix: format!(
                "Follow the path from {host}: its controller's port, the cable, the switch or the expander, the controller of \
                 the array (`multipath -ll {map}`, `journalctl -u multipathd`). A path that comes back is taken by multipathd \
                 itself."
            ),
        }
    }
}
