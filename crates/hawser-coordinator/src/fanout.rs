//! A fan-out, host after host: at each rate, for each way of spreading the work, the search for the most
//! receivers. What to measure next is `hawser_account`'s to say.

use std::collections::BTreeMap;

use hawser_account::fanout::next;
use hawser_agent::questions::{CloseFanout, MeasureFanout, MeasureGroups, OpenFanout, ReadKnob};
use hawser_host::{Host, HostError, Hosts};
use hawser_model::case::{Case, Intensity};
use hawser_model::fanout::{FanoutHost, FanoutRun, FanoutSeries, Spread};
use hawser_model::host::HostFacts;
use hawser_model::knob::Knob;
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::topology::Topology;
use hawser_model::units::{Nanos, PacketsPerSec};
use hawser_rungs::fanout::{FanoutStep, GroupsStep};

use crate::measure::still_there;

pub use hawser_rungs::fanout::MOST_GROUPS;

/// What the user asked of a fan-out.
#[derive(Clone, Debug, PartialEq)]
pub struct FanoutOptions {
    /// The host; absent: all, one after the other.
    pub host: Option<HostName>,
    /// Packets a second, one search each.
    pub rates: Vec<PacketsPerSec>,
    /// UDP payload, bytes.
    pub payload: u32,
    /// Packets back to back.
    pub burst: u32,
    /// The most receivers to try.
    pub most: u32,
    /// How long a window is.
    pub duration: Nanos,
    /// Receivers count in the kernel and read nothing.
    pub count_only: bool,
    /// Measure with so many groups instead of many receivers; absent: receivers.
    pub groups: Option<u32>,
    /// Also on a host where a cluster engine runs.
    pub beside_a_cluster: bool,
    /// The ways of spreading the work, each a search.
    pub spreads: &'static [Spread],
}

/// Why a fan-out could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum FanoutError {
    /// A host cannot be asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The host that was named is not there.
    #[error("host {name} is not known: there are {known}")]
    Unknown {
        /// What was named.
        name: HostName,
        /// What is there.
        known: String,
    },
    /// A cluster engine runs on the host.
    #[error("Corosync runs on {0}, and a fan-out presses as hard as its processors can")]
    LiveCluster(HostName),
}

/// Told how far a fan-out has come.
pub trait Progress {
    /// A search begins: its number from 1, of how many.
    fn search(
        &self,
        host: &HostName,
        rate: PacketsPerSec,
        spread: Spread,
        number: usize,
        of: usize,
    );
    /// So many groups are about to be joined on a host.
    fn groups(&self, host: &HostName, count: u32);
    /// So many receivers are about to be measured.
    fn receivers(&self, count: u32);
}

/// Measures a fan-out and returns its case. `now` is the time to record, in seconds since 1970.
///
/// # Errors
/// See [`FanoutError`]; what a host could not do while its agent lives is recorded in the case.
pub fn fanout(
    agents: &mut Hosts,
    topology: Topology,
    hosts: BTreeMap<HostName, HostFacts>,
    options: &FanoutOptions,
    progress: &dyn Progress,
    now: u64,
) -> Result<Case, FanoutError> {
    if let Some(name) = options.host.as_ref().filter(|h| !agents.contains_key(*h)) {
        let known: Vec<&str> = agents.keys().map(HostName::as_str).collect();
        return Err(FanoutError::Unknown {
            name: name.clone(),
            known: known.join(", "),
        });
    }
    let wanted = |name: &HostName| options.host.as_ref().is_none_or(|host| host == name);
    let chosen: Vec<&HostName> = hosts.keys().filter(|name| wanted(name)).collect();
    for host in &chosen {
        if hosts[*host].corosync.is_some() && !options.beside_a_cluster {
            return Err(FanoutError::LiveCluster((*host).clone()));
        }
    }
    let of = chosen.len() * options.rates.len() * options.spreads.len();
    let mut measured = BTreeMap::new();
    let mut number = 0;
    if let Some(groups) = options.groups {
        for (host, agent) in agents.iter_mut().filter(|(name, _)| wanted(name)) {
            progress.groups(host, groups);
            measured.insert(
                host.clone(),
                groups_on(agent.as_mut(), &hosts[host], groups)?,
            );
        }
    }
    let searched = |name: &HostName| options.groups.is_none() && wanted(name);
    for (host, agent) in agents.iter_mut().filter(|(name, _)| searched(name)) {
        let bridge = match options.spreads.contains(&Spread::AsSet) {
            true => most_receivers(agent.as_mut(), &hosts[host])?,
            false => None,
        };
        let told = |rate, spread| {
            number += 1;
            progress.search(host, rate, spread, number, of);
        };
        measured.insert(
            host.clone(),
            on_host(agent.as_mut(), bridge, options, told, progress)?,
        );
    }
    Ok(Case {
        fanout: Some(FanoutRun {
            payload: options.payload,
            burst: options.burst,
            duration: options.duration,
            most: options.most,
            count_only: options.count_only,
            hosts: measured,
        }),
        ..Case::new(now, Intensity::Full, topology, hosts)
    })
}

/// The bridge of a host behind which most receive; none where nothing does.
fn most_receivers(
    agent: &mut dyn Host,
    facts: &HostFacts,
) -> Result<Option<InterfaceName>, HostError> {
    let mut found: Option<(usize, &InterfaceName)> = None;
    for bridge in facts.bridges.keys() {
        let knob = Knob::ReceiverSteering {
            bridge: bridge.clone(),
        };
        let setting = match agent.ask(&ReadKnob(knob)) {
            Ok(setting) => setting,
            // What cannot be read cannot be copied, and not be turned either.
            Err(error) => {
                still_there(error)?;
                continue;
            }
        };
        let receivers = setting.value.split_whitespace().count();
        if receivers > found.map_or(0, |(most, _)| most) {
            found = Some((receivers, bridge));
        }
    }
    Ok(found.map(|(_, bridge)| bridge.clone()))
}

fn on_host(
    agent: &mut dyn Host,
    bridge: Option<InterfaceName>,
    options: &FanoutOptions,
    mut begins: impl FnMut(PacketsPerSec, Spread),
    progress: &dyn Progress,
) -> Result<FanoutHost, HostError> {
    let processors = match agent.ask(&OpenFanout {
        receivers: options.most,
    }) {
        Ok(processors) => processors,
        Err(error) => {
            return Ok(FanoutHost {
                problem: Some(still_there(error)?),
                ..FanoutHost::default()
            });
        }
    };
    let mut series = Vec::new();
    let mut number = 0;
    for &rate in &options.rates {
        for &spread in options.spreads {
            begins(rate, spread);
            let like = bridge.as_ref().filter(|_| spread == Spread::AsSet);
            let how = (rate, spread, like);
            series.push(search(agent, options, how, &mut number, progress)?);
        }
    }
    agent.ask(&CloseFanout)?;
    Ok(FanoutHost {
        processors,
        bridge,
        series,
        groups: None,
        problem: None,
    })
}

/// Measures with many groups, under the limits that the host has set: of its sockets, and of the bridge that has the
/// most ports.
fn groups_on(
    agent: &mut dyn Host,
    facts: &HostFacts,
    groups: u32,
) -> Result<FanoutHost, HostError> {
    let ports = |name: &InterfaceName| facts.interfaces.get(name).map_or(0, |i| i.lower.len());
    let bridge = facts.bridges.iter().max_by_key(|(name, _)| ports(name));
    let limit = facts.sysctl_number("net.ipv4.igmp_max_memberships");
    let step = GroupsStep {
        groups,
        max_memberships: limit.and_then(|limit| limit.try_into().ok()),
        hash_max: bridge.and_then(|(_, facts)| facts.hash_max),
    };
    let measured = agent
        .ask(&OpenFanout { receivers: 2 })
        .and_then(|processors| {
            let measured = agent.ask(&MeasureGroups(step));
            agent.ask(&CloseFanout)?;
            Ok((processors, measured?))
        });
    Ok(match measured {
        Ok((processors, measured)) => FanoutHost {
            processors,
            bridge: bridge.map(|(name, _)| name.clone()),
            groups: Some(measured),
            ..FanoutHost::default()
        },
        Err(error) => FanoutHost {
            problem: Some(still_there(error)?),
            ..FanoutHost::default()
        },
    })
}

fn search(
    agent: &mut dyn Host,
    options: &FanoutOptions,
    (rate, spread, bridge): (PacketsPerSec, Spread, Option<&InterfaceName>),
    number: &mut u32,
    progress: &dyn Progress,
) -> Result<FanoutSeries, HostError> {
    let mut series = FanoutSeries {
        rate,
        spread,
        windows: Vec::new(),
        problem: None,
    };
    while let Some(receivers) = next(&series.windows, rate, options.most) {
        progress.receivers(receivers);
        *number += 1;
        let step = FanoutStep {
            receivers,
            spread,
            bridge: bridge.cloned(),
            rate,
            payload: options.payload,
            burst: options.burst,
            duration: options.duration,
            count_only: options.count_only,
            number: *number,
        };
        match agent.ask(&MeasureFanout(step)) {
            Ok(window) => series.windows.push(window),
            Err(error) => {
                series.problem = Some(still_there(error)?);
                break;
            }
        }
    }
    Ok(series)
}
