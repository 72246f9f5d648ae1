//! What heads would do at their next boot with pools of the cluster file, asked over agents.

use std::collections::BTreeMap;

use hawser_cluster::host::questions::TakeInventory;
use hawser_cluster::plan::boot::dangers_at_boot;
use hawser_host::{HostError, Hosts, on_all};
use hawser_model::case::BootDanger;
use hawser_model::cluster_file::ClusterFile;

/// Asks each host what it would do at its next boot. A host that does not say is an entry of its own.
pub fn dangers(agents: &mut Hosts, file: &ClusterFile) -> Vec<BootDanger> {
    let answers = on_all(agents, |_, agent| {
        Ok::<_, HostError>(agent.ask(&TakeInventory))
    });
    let mut told = BTreeMap::new();
    let mut all = Vec::new();
    for (host, answer) in answers.into_iter().flatten() {
        let why = match answer {
            Ok(inventory) => {
                told.insert(host, inventory.boot);
                continue;
            }
            Err(e) => e.to_string(),
        };
        all.push(BootDanger {
            what: format!("what {host} would do at its next boot is not known: {why}"),
            remedy: "`hawser status` asks again".to_owned(),
            host,
            file: None,
            by_itself: false,
        });
    }
    let found = dangers_at_boot(file, &told).into_iter();
    all.extend(found.map(|danger| BootDanger {
        what: danger.what(),
        remedy: danger.remedy(),
        by_itself: danger.stops_an_apply(),
        host: danger.node,
        file: Some(danger.file),
    }));
    all
}
