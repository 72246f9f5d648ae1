//! What the heads are asked: nothing that `hawser check` and `hawser status` do not ask.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use hawser_agent::questions::ReadStanding;
use hawser_cluster::host::view::Limits;
use hawser_cluster::live::{StatusFacts, observe};
use hawser_host::{Hosts, on_all};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::host::{HostFacts, HostWindow};
use hawser_model::names::HostName;
use hawser_model::sockets::SocketFacts;
use serde::{Deserialize, Serialize};

use crate::probes::probe;

/// What the heads said at a moment, judged nowhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// When they were asked, in seconds since 1970 UTC.
    pub read_at: u64,
    /// What each sees of the cluster, and why others were not reached.
    pub status: StatusFacts,
    /// Each head as it stands.
    pub hosts: BTreeMap<HostName, HostFacts>,
    /// Its UDP sockets.
    pub sockets: BTreeMap<HostName, Vec<SocketFacts>>,
    /// What it counted in the last minute.
    pub counted: BTreeMap<HostName, HostWindow>,
}

/// How the heads are asked.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The cluster file; without one, nothing is asked about the cluster.
    pub file: Option<&'a ClusterFile>,
    /// How long the answers about the cluster may take.
    pub limits: Limits,
    /// For how long the heartbeat links are watched for lost pings.
    pub watch_links: Duration,
}

/// Asks all heads, all at the same time. None fails all: one that does not answer is among the unreached.
pub fn ask(
    heads: &mut Hosts,
    unreached: BTreeMap<HostName, String>,
    asked: Asked<'_>,
    read_at: u64,
) -> Facts {
    let mut facts = Facts {
        read_at,
        ..Facts::default()
    };
    facts.status.unreached = unreached;
    let Ok(answered) = on_all(heads, |_, head| {
        Ok::<_, Infallible>(head.ask(&ReadStanding::default()))
    });
    for (name, answer) in answered {
        match answer {
            Ok(standing) => {
                // Where its sockets could not be read, nothing is said of them.
                if let Some(sockets) = standing.sockets {
                    facts.sockets.insert(name.clone(), sockets);
                }
                if let Some(counted) = standing.counted {
                    facts.counted.insert(name.clone(), counted);
                }
                facts.hosts.insert(name, standing.facts);
            }
            Err(e) => {
                facts.status.unreached.insert(name, e.to_string());
            }
        }
    }
    if let Some(file) = asked.file {
        let unreached = std::mem::take(&mut facts.status.unreached);
        heads.retain(|name, _| !unreached.contains_key(name));
        facts.status = observe(file, heads, unreached, asked.limits, asked.watch_links);
        probe(file, heads, &mut facts.status);
    }
    facts
}
