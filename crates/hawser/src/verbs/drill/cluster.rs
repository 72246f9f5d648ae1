//! The cluster's administration for a drill, by the code of `hawser status` and `hawser standby`.

use hawser_cluster::live::{Manner, Waiting, set_standby};
use hawser_drill::context::Cluster;
use hawser_model::output::cluster::ClusterStatus;

use crate::cluster::KnownCluster;
use crate::verbs::status::look;

/// Reaches the nodes again for each order: a drill takes them away.
pub struct ClusterAdmin<'a> {
    /// The cluster.
    pub known: &'a KnownCluster,
}

impl Cluster for ClusterAdmin<'_> {
    fn status(&self) -> Result<ClusterStatus, String> {
        let mut reached = self.known.reach_some().map_err(|e| format!("{e}"))?;
        look(self.known, &mut reached).map_err(|e| format!("{e}"))
    }

    fn standby(&self, node: &str, on: bool) -> Result<(), String> {
        let mut reached = self.known.reach().map_err(|e| format!("{e}"))?;
        let mut manner = Manner {
            allow_disruption: false,
            waiting: Waiting {
                timeout: None,
                said: &mut |_| {},
            },
            giving: &mut || {},
        };
        let done = set_standby(&self.known.file, &mut reached.heads, node, on, &mut manner);
        done.map(drop).map_err(|e| e.to_string())
    }
}
