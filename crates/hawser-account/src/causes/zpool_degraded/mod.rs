//! A ZFS pool does without a part of its devices, is being made whole again, or reads or writes fail on one that it still
//! uses, or take too long.
//!
//! Evidence: the pool's state as the module shows it, and `zpool status`. Certain. An error if the pool is suspended or
//! faulted, or data is lost; else a warning. Cases: `zpool-resilvers`, `zpool-errors`, `zpool-slow`, `zpool-well`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::storage::ZpoolFacts;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, host};
use crate::losses::Losses;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct ZpoolDegraded {
    state: String,
    /// Devices that are not well, each with its state and errors.
    devices: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resilver: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_errors: Option<String>,
}

/// Groups of devices, which are only as well as what is in them (zpoolconcepts(7)).
const GROUPS: [&str; 5] = ["mirror-", "raidz", "draid", "replacing-", "spare-"];

fn evidence(name: &str, pool: &ZpoolFacts) -> ZpoolDegraded {
    let is_group = |it: &str| it == name || GROUPS.iter().any(|group| it.starts_with(group));
    let leaves = pool.troubled.iter().filter(|it| !is_group(&it.name));
    let device = |it: &hawser_model::storage::ZpoolDevice| {
        let errors = [
            (it.read_errors, "failed read"),
            (it.write_errors, "failed write"),
            (it.checksum_errors, "wrong checksum"),
            (it.slow, "slow request"),
        ];
        let errors = errors.iter().filter(|(count, _)| *count > 0);
        let errors = errors.map(|(count, what)| format!("has {}", counted(*count, what)));
        let state = (it.state != "ONLINE").then(|| format!("is {}", it.state));
        let said: Vec<String> = state.into_iter().chain(errors).collect();
        format!("{} {}", it.name, said.join(", "))
    };
    let scan = pool.scan.as_ref();
    ZpoolDegraded {
        state: pool.state.clone(),
        devices: leaves.map(device).collect(),
        resilver: scan
            .filter(|text| text.starts_with("resilver in progress"))
            .cloned(),
        data_errors: pool.errors.clone(),
    }
}

impl CheckCause for ZpoolDegraded {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for (host, facts) in &view.case.hosts {
            let pools = facts.storage.iter().flat_map(|storage| &storage.zpools);
            for (name, pool) in pools {
                let evidence = evidence(name, pool);
                let is_well = evidence.state == "ONLINE"
                    && evidence.devices.is_empty()
                    && evidence.resilver.is_none()
                    && evidence.data_errors.is_none();
                if is_well {
                    continue;
                }
                let goes_on = matches!(evidence.state.as_str(), "ONLINE" | "DEGRADED");
                found.push(Found {
                    severity: match goes_on && evidence.data_errors.is_none() {
                        true => Severity::Warning,
                        false => Severity::Error,
                    },
                    confidence: Confidence::Certain,
                    place: Place::of(name, Some(host)),
                    evidence,
                });
            }
        }
        found
    }
}

impl Cause for ZpoolDegraded {
    const CODE: &'static str = "zpool-degraded";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (host, pool) = (host(at), at.object.as_deref().unwrap_or("a pool"));
        let mut text = format!("The ZFS pool {pool} on {host} is {}", self.state);
        if !self.devices.is_empty() {
            text += &format!(": {}", self.devices.join("; "));
        }
        text.push('.');
        if let Some(resilver) = &self.resilver {
            text += &format!(" It is being made whole: {resilver}.");
        }
        if let Some(errors) = &self.data_errors {
            text += &format!(" Data is lost: {errors}.");
        }
        let fix = match (self.resilver.is_some(), self.state.as_str()) {
            (true, _) => format!(
                "Let the resilver end (`zpool status {pool}`), and move the pool only if you must: it goes on after an import, \
                 and the load of both adds up."
            ),
            (false, "SUSPENDED") => format!(
                "Every write to it waits. Find what took its devices away (cables, the enclosure's power, `journalctl -k`); when \
                 they are back, `zpool clear {pool}` lets it go on."
            ),
            (false, _) => format!(
                "`zpool status -vs {pool}` names the device and the data. Replace one that is gone (`zpool replace {pool} OLD \
                 NEW`); of one that came back, `zpool online` takes it and `zpool clear` forgets its errors. Errors on several \
                 disks at once are a cable, an expander or memory."
            ),
        };
        Words { text, fix }
    }
}
