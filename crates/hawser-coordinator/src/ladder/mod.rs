//! A whole ladder: each rung of one path measured bare, one after the other, then the path.

mod local;
mod plan;
mod whole;
mod wire;

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_agent::questions::{CloseUsage, OpenUsage, ReadHardware};
use hawser_host::{Host, HostError, Hosts};
use hawser_model::case::{Case, Intensity};
use hawser_model::host::HostFacts;
use hawser_model::ladder::{HostUsage, LadderRun, Rung, RungKind};
use hawser_model::names::{HostName, LinkName};
use hawser_model::topology::Topology;

pub use plan::{LadderOptions, Task, Where, tasks};

use crate::address_check::missing_addresses;
use crate::check::CheckError;
use crate::compare::setups;
use crate::measure::{ETHERNET_MTU, End, both, path_mtu, still_there};
use crate::traffic_plan::Path;

/// Told how far a ladder has come.
pub trait Progress {
    /// So many rungs are about to be measured.
    fn begin(&self, rungs: usize);
    /// One begins.
    fn measuring(&self, task: &Task);
}

/// Why a ladder could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LadderError {
    /// As a check's.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// A host or link that was named is not there.
    #[error("{what} {name} is not known: there are {known}")]
    Unknown {
        /// `host` or `link`.
        what: &'static str,
        /// What was named.
        name: String,
        /// What is there.
        known: String,
    },
    /// The two ends do not share the link.
    #[error("{from} and {to} have no address on {link}")]
    NoLink {
        /// The sending host.
        from: HostName,
        /// The receiving host.
        to: HostName,
        /// The link, or `a common link`.
        link: String,
    },
    /// A cluster engine runs on the path's hosts.
    #[error("Corosync runs on {0}, and a ladder sends as fast as the hosts can")]
    LiveCluster(HostName),
}

impl From<HostError> for LadderError {
    fn from(error: HostError) -> Self {
        Self::Check(error.into())
    }
}

/// The path a ladder is made of, and its two hosts.
pub(crate) struct Ends<'a> {
    pub(crate) from: &'a HostName,
    pub(crate) to: &'a HostName,
    pub(crate) sender: &'a mut dyn Host,
    pub(crate) receiver: &'a mut dyn Host,
    pub(crate) path: Path,
    next_flow: u32,
}

impl Ends<'_> {
    /// A flow number that was not used before.
    pub(crate) fn flow(&mut self) -> u32 {
        self.next_flow += 1;
        self.next_flow
    }

    /// Runs something between two windows on both hosts.
    pub(crate) fn watched<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, HostError>,
    ) -> Result<(T, BTreeMap<HostName, HostUsage>), HostError> {
        let (a, b) = both(
            || self.sender.ask(&OpenUsage),
            || self.receiver.ask(&OpenUsage),
        );
        a.and(b)?;
        let done = run(self);
        let (a, b) = both(
            || self.sender.ask(&CloseUsage),
            || self.receiver.ask(&CloseUsage),
        );
        let usage = [(self.from.clone(), a?), (self.to.clone(), b?)];
        Ok((done?, usage.into_iter().collect()))
    }
}

/// Measures a ladder and returns its case. `now` is the time to record, in seconds since 1970;
/// `key` is fresh and secret.
///
/// # Errors
/// See [`LadderError`]; a rung that could not be measured while the hosts answer says so in the
/// case.
pub fn ladder(
    agents: &mut Hosts,
    topology: Topology,
    hosts: BTreeMap<HostName, HostFacts>,
    options: &LadderOptions,
    key: [u8; 32],
    progress: &dyn Progress,
    now: u64,
) -> Result<Case, LadderError> {
    let missing = missing_addresses(&topology, &hosts);
    if !missing.is_empty() {
        return Err(CheckError::MissingAddress(missing).into());
    }
    let (from, to, link) = choose(&topology, options)?;
    for host in [&from, &to] {
        if hosts[host].corosync.is_some() && !options.beside_a_cluster {
            return Err(LadderError::LiveCluster(host.clone()));
        }
    }
    let address = |host: &HostName| address(&topology, host, &link);
    let (source, destination) = (address(&from), address(&to));
    let port = |host: &HostName, at: IpAddr| hosts[host].interface_with(at);
    let (out, into) = match (port(&from, source), port(&to, destination)) {
        (Some(out), Some(into)) => (out, into),
        _ => unreachable!("missing addresses were refused before"),
    };
    let setups = setups(agents)?;
    let mut free: BTreeMap<&HostName, &mut dyn Host> = agents
        .iter_mut()
        .map(|(name, agent)| (name, agent.as_mut()))
        .collect();
    let (Some(sender), Some(receiver)) = (free.remove(&from), free.remove(&to)) else {
        unreachable!("every host was reached");
    };
    let mut ends = Ends {
        from: &from,
        to: &to,
        sender,
        receiver,
        path: Path {
            source,
            destination,
            mtu: out.1.mtu.unwrap_or(ETHERNET_MTU),
            speed: None,
        },
        next_flow: 0,
    };
    let tasks = tasks(options);
    progress.begin(tasks.len());
    let hardware = BTreeMap::from([
        (from.clone(), ends.sender.ask(&ReadHardware)?),
        (to.clone(), ends.receiver.ask(&ReadHardware)?),
    ]);
    let mut run = LadderRun {
        from: from.clone(),
        to: to.clone(),
        link: link.clone(),
        source: options.source.clone(),
        sink: options.sink.clone(),
        cipher: options.cipher,
        iscsi: options.iscsi.clone(),
        hardware,
        rungs: Vec::new(),
        path_mtu: None,
    };
    let end = |name, agent, interface, facts| End {
        name,
        agent,
        interface,
        facts,
    };
    let found = path_mtu(
        &mut end(&from, &mut *ends.sender, out.0, &hosts[&from]),
        &mut end(&to, &mut *ends.receiver, into.0, &hosts[&to]),
        &ends.path,
    );
    run.path_mtu = match found {
        Ok(found) => Some(found),
        // Without it the ladder only knows less.
        Err(error) => still_there(error).map(|_| None)?,
    };
    for task in &tasks {
        progress.measuring(task);
        // What failed with one request in flight fails with more.
        let failed = |rung: &Rung| rung.kind == task.kind && rung.unavailable.is_some();
        if task.depth > 1 && run.rungs.last().is_some_and(failed) {
            continue;
        }
        let again = again(&run, task);
        let other = match task.kind {
            RungKind::WireTcp | RungKind::WireTcpOther => {
                plan::other_congestion_control(congestion_control(&run), &hosts[&from])
            }
            _ => None,
        };
        // Nothing to take turns with.
        if other.is_none() && (again.is_some() || task.kind == RungKind::WireTcpOther) {
            continue;
        }
        let rung = match task.place {
            Where::Sender => local::measure(ends.from, ends.sender, task, options, source),
            Where::Receiver => local::measure(ends.to, ends.receiver, task, options, destination),
            Where::Between if task.kind == RungKind::Whole => {
                whole::measure(&mut ends, options, &link, key)
            }
            Where::Between => wire::measure(&mut ends, task, options, other),
        };
        let rung = match rung {
            Ok(rung) => rung,
            Err(error) => unavailable(task.kind, still_there(error)?),
        };
        match again {
            // Its start, a fifth as with every rung, would be in the midst of the samples.
            Some(at) => {
                let later = &rung.samples[rung.samples.len() / 5..];
                run.rungs[at].samples.extend(later);
            }
            None => run.rungs.push(rung),
        }
    }
    Ok(Case {
        ladder: Some(run),
        setups,
        block: options.block,
        ..Case::new(now, Intensity::Full, topology, hosts)
    })
}

/// The rung of a stream that is measured once more; its state and what the processors did are those of the first time.
fn again(run: &LadderRun, task: &Task) -> Option<usize> {
    let streams = [RungKind::WireTcp, RungKind::WireTcpOther];
    let mut rungs = run.rungs.iter();
    rungs.position(|r| r.kind == task.kind && streams.contains(&r.kind))
}

/// What the stream of the path was governed by; empty before it was measured.
fn congestion_control(run: &LadderRun) -> &str {
    let rung = run.rung(RungKind::WireTcp, None);
    let stream = rung.and_then(|rung| rung.streams.first());
    stream.map_or("", |stream| stream.congestion.as_str())
}

/// An empty rung.
pub(crate) fn blank(kind: RungKind, how: String) -> Rung {
    Rung {
        kind,
        host: None,
        how,
        depth: None,
        unavailable: None,
        samples: Vec::new(),
        usage: BTreeMap::new(),
        streams: Vec::new(),
        stages: Vec::new(),
    }
}

fn unavailable(kind: RungKind, why: String) -> Rung {
    Rung {
        unavailable: Some(why),
        ..blank(kind, String::new())
    }
}

fn address(topology: &Topology, host: &HostName, link: &LinkName) -> IpAddr {
    topology
        .node(host)
        .and_then(|node| node.addresses.get(link))
        .copied()
        .expect("a link was chosen that both hosts are on")
}

/// The two hosts and the link: as named, else the first that fit.
fn choose(
    topology: &Topology,
    options: &LadderOptions,
) -> Result<(HostName, HostName, LinkName), LadderError> {
    let known: Vec<&str> = topology.nodes.iter().map(|n| n.name.as_str()).collect();
    let named = |name: &Option<HostName>, other: Option<&HostName>| match name {
        Some(name) if topology.node(name).is_none() => Err(LadderError::Unknown {
            what: "host",
            name: name.to_string(),
            known: known.join(", "),
        }),
        Some(name) => Ok(name.clone()),
        None => topology
            .nodes
            .iter()
            .map(|n| n.name.clone())
            .find(|n| Some(n) != other)
            .ok_or_else(|| CheckError::NoLink(known.join(", ")).into()),
    };
    let from = named(&options.from, options.to.as_ref())?;
    let to = named(&options.to, Some(&from))?;
    if let Some(link) = options.link.as_ref().filter(|l| topology.link(l).is_none()) {
        let links: Vec<&str> = topology.links.iter().map(|l| l.name.as_str()).collect();
        return Err(LadderError::Unknown {
            what: "link",
            name: link.to_string(),
            known: links.join(", "),
        });
    }
    let on = |host: &HostName, link: &LinkName| {
        let node = topology.node(host);
        node.is_some_and(|n| n.addresses.contains_key(link))
    };
    let link = topology
        .links
        .iter()
        .filter(|l| !l.serial || options.link.is_some())
        .map(|l| &l.name)
        .filter(|l| options.link.as_ref().is_none_or(|named| named == *l))
        .find(|l| from != to && on(&from, l) && on(&to, l));
    match link {
        Some(link) => Ok((from, to, link.clone())),
        None => Err(LadderError::NoLink {
            from,
            to,
            link: match &options.link {
                Some(link) => link.to_string(),
                None => "a common link".to_owned(),
            },
        }),
    }
}
