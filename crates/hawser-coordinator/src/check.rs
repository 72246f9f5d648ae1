//! A whole check: facts of every host, layer-2 hellos, then slot after slot of measurements.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use hawser_agent::questions::{
    AnnounceHello, AskForOwn, Care, HearHellos, ListenHello, ReadFacts, ReadSockets,
};
use hawser_host::{Ask, Host, HostError, Hosts, at_once, on_all};
use hawser_model::case::{Absent, Case, Intensity, Phase};
use hawser_model::host::{HostFacts, Interface};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::probe::{AddressClaim, HelloHeard};
use hawser_model::topology::Topology;
use hawser_model::units::BitsPerSec;

use crate::address_check::{MissingAddress, missing_addresses};
use crate::compare::setups;
use crate::measure::{ETHERNET_MTU, End, Manner, Outcome, measure};
use crate::schedule::{Direction, Slot, schedule};
use crate::traffic_plan::{FLOWS_PER_MEASUREMENT, Path, TrafficOptions};

/// How long hellos are listened for at least after the last was sent.
const HELLO_WAIT: Duration = Duration::from_millis(50);

/// Why a check could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A host cannot be asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// Addresses are not where the topology says.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    MissingAddress(Vec<MissingAddress>),
    /// There is nothing to measure.
    #[error("no link connects two of the hosts: {0}")]
    NoLink(String),
}

/// Told how far a check has come.
pub trait Progress: Sync {
    /// Measurements are about to begin.
    fn begin(&self, directions: usize);
    /// One is done.
    fn measured(&self, direction: &Direction);
    /// A host was lost while it measured.
    fn lost(&self, error: &HostError);
}

/// The facts of every host, read at the same time.
///
/// # Errors
/// The first host that cannot be asked or cannot read itself.
pub fn facts(agents: &mut Hosts) -> Result<BTreeMap<HostName, HostFacts>, HostError> {
    on_all(agents, |_, agent| agent.ask(&ReadFacts))
}

/// The facts of every host that can tell them, read at the same time; the others are let go.
pub fn facts_of_those_that_answer(
    agents: &mut Hosts,
) -> (BTreeMap<HostName, HostFacts>, Vec<Absent>) {
    let told = those_that_answer(agents, &ReadFacts);
    agents.retain(|host, _| told.0.contains_key(host));
    told
}

/// What each host answers, asked at the same time, and those that do not answer.
pub fn those_that_answer<A: Ask + Sync>(
    agents: &mut Hosts,
    ask: &A,
) -> (BTreeMap<HostName, A::Answer>, Vec<Absent>)
where
    A::Answer: Send,
{
    let answers = on_all(agents, |_, agent| Ok::<_, HostError>(agent.ask(ask)));
    let mut told = BTreeMap::new();
    let mut absent = Vec::new();
    for (host, answer) in answers.into_iter().flatten() {
        match answer {
            Ok(answer) => {
                told.insert(host, answer);
            }
            Err(error) => absent.push(error.into()),
        }
    }
    (told, absent)
}

/// Tells of a phase whether the measuring itself was disturbed, so that it should be made again.
pub type Disturbed<'a> = &'a (dyn Fn(&Phase) -> bool + Sync);

/// Runs a check and returns its case. `now` is the time to record, in seconds since 1970.
///
/// # Errors
/// See [`CheckError`]; what a host could not do while its agent lives is recorded in the case, and so is a host that is
/// lost while it measures: the others are measured on.
pub fn check(
    agents: &mut Hosts,
    topology: Topology,
    hosts: BTreeMap<HostName, HostFacts>,
    options: &TrafficOptions,
    disturbed: Disturbed<'_>,
    progress: &dyn Progress,
    now: u64,
) -> Result<Case, CheckError> {
    let topology = topology.without_serial_links();
    let missing = missing_addresses(&topology, &hosts);
    if !missing.is_empty() {
        return Err(CheckError::MissingAddress(missing));
    }
    let slots = schedule(&topology);
    if slots.is_empty() {
        let hosts: Vec<&str> = topology.nodes.iter().map(|n| n.name.as_str()).collect();
        return Err(CheckError::NoLink(hosts.join(", ")));
    }
    progress.begin(slots.iter().map(Vec::len).sum());
    let mut lost = Lost {
        absent: Vec::new(),
        progress,
    };
    let sockets = lost.survive(agents, |agents| {
        on_all(agents, |_, agent| agent.ask(&ReadSockets))
    })?;
    let setups = lost.survive(agents, setups)?;
    let (hellos, address_claims) =
        lost.survive(agents, |agents| link_probes(agents, &topology, &hosts))?;
    let mut case = Case {
        setups,
        block: options.block,
        hellos,
        address_claims,
        sockets,
        ..Case::new(now, options.intensity, topology, hosts)
    };
    let run = Run {
        options,
        slots: slots.len(),
        disturbed,
        progress,
    };
    let mut first_flow = 1;
    for slot in &slots {
        let (measured, errors) = run_slot(agents, slot, &case, &run, first_flow);
        first_flow += FLOWS_PER_MEASUREMENT * slot.len() as u32;
        for error in errors {
            lost.take(agents, error)?;
        }
        for outcome in measured {
            case.measurements.push(outcome.measurement);
            case.stopped = case.stopped.or(outcome.stopped);
        }
        if case.stopped.is_some() {
            break;
        }
    }
    case.absent = lost.absent;
    Ok(case)
}

/// The hosts that a check lost on its way.
struct Lost<'a> {
    absent: Vec<Absent>,
    progress: &'a dyn Progress,
}

impl Lost<'_> {
    /// Goes on without the host of this error.
    ///
    /// # Errors
    /// The error itself, when fewer than two hosts are left.
    fn take(&mut self, agents: &mut Hosts, error: HostError) -> Result<(), HostError> {
        agents.remove(&error.host);
        if agents.len() < 2 {
            return Err(error);
        }
        self.progress.lost(&error);
        self.absent.push(Absent {
            reason: format!("lost while it was measured: {}", error.failure),
            host: error.host,
        });
        Ok(())
    }

    /// Asks again without a host that was lost meanwhile.
    fn survive<T>(
        &mut self,
        agents: &mut Hosts,
        ask: impl Fn(&mut Hosts) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        loop {
            match ask(agents) {
                Err(error) if !error.host_goes_on() => self.take(agents, error)?,
                answer => return answer,
            }
        }
    }
}

/// What is the same for all slots of a check.
struct Run<'a> {
    options: &'a TrafficOptions,
    slots: usize,
    disturbed: Disturbed<'a>,
    progress: &'a dyn Progress,
}

/// Measures all directions of a slot at the same time, except those of a host that was lost before: what was measured,
/// and the hosts that were lost meanwhile.
fn run_slot(
    agents: &mut Hosts,
    slot: &Slot,
    case: &Case,
    run: &Run<'_>,
    first_flow: u32,
) -> (Vec<Outcome>, Vec<HostError>) {
    // Each host is in one direction at most, so it is handed to one thread.
    let mut free: BTreeMap<&HostName, &mut dyn Host> = agents
        .iter_mut()
        .map(|(name, agent)| (name, agent.as_mut()))
        .collect();
    let ready: Vec<_> = slot
        .iter()
        .enumerate()
        .filter_map(|(number, direction)| {
            let ends = (free.remove(&direction.from)?, free.remove(&direction.to)?);
            Some((number, direction, ends))
        })
        .collect();
    let outcomes = at_once(ready, |(number, direction, (from, to))| {
        let (source, from_port) = port(case, &direction.from, &direction.link);
        let (destination, to_port) = port(case, &direction.to, &direction.link);
        let manner = Manner {
            options: run.options,
            disturbed: run.disturbed,
            path: Path {
                source,
                destination,
                mtu: from_port.1.mtu.unwrap_or(ETHERNET_MTU),
                speed: slower(from_port.1.speed, to_port.1.speed),
            },
            care: match run.options.intensity {
                Intensity::Gentle => Care::Gentle,
                Intensity::Full => Care::None,
            },
            slots: run.slots,
            first_flow: first_flow + FLOWS_PER_MEASUREMENT * number as u32,
        };
        let end = |name, agent, interface| End {
            name,
            agent,
            interface,
            facts: &case.hosts[name],
        };
        let outcome = measure(
            direction,
            end(&direction.from, from, from_port.0),
            end(&direction.to, to, to_port.0),
            &manner,
        );
        run.progress.measured(direction);
        outcome
    });
    let mut measured = Vec::new();
    let mut lost = Vec::new();
    for outcome in outcomes {
        match outcome {
            Ok(outcome) => measured.push(outcome),
            Err(error) => lost.push(error),
        }
    }
    (measured, lost)
}

/// A host's address on a link and the interface that carries it; [`missing_addresses`] made sure of both.
fn port<'a>(
    case: &'a Case,
    host: &HostName,
    link: &LinkName,
) -> (IpAddr, (&'a InterfaceName, &'a Interface)) {
    let address = case
        .topology
        .node(host)
        .and_then(|node| node.addresses.get(link))
        .copied()
        .expect("the schedule holds hosts that are on the link");
    let interface = case.hosts[host]
        .interface_with(address)
        .expect("missing addresses were refused before");
    (address, interface)
}

fn slower(a: Option<BitsPerSec>, b: Option<BitsPerSec>) -> Option<BitsPerSec> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// What was found out on the links themselves; `None` when some host cannot (no packet sockets:
/// not root).
type LinkProbes = (Option<Vec<HelloHeard>>, Option<Vec<AddressClaim>>);

/// Every host says hello once on each of its links while all listen on all of theirs, and
/// meanwhile asks for its own addresses there.
fn link_probes(
    agents: &mut Hosts,
    topology: &Topology,
    hosts: &BTreeMap<HostName, HostFacts>,
) -> Result<LinkProbes, HostError> {
    let ports: BTreeMap<HostName, Vec<(InterfaceName, LinkName)>> = topology
        .nodes
        .iter()
        .map(|node| {
            let ports = node
                .addresses
                .iter()
                .filter_map(|(link, &address)| {
                    let (name, _) = hosts.get(&node.name)?.interface_with(address)?;
                    Some((name.clone(), link.clone()))
                })
                .collect();
            (node.name.clone(), ports)
        })
        .collect();
    let listening = on_all(agents, |name, agent| {
        let ports = ports.get(name).cloned().unwrap_or_default();
        possible(agent.ask(&ListenHello(ports))).map(|done| done.is_some())
    })?;
    let announced = on_all(agents, |name, agent| -> Result<bool, HostError> {
        let mut all = true;
        for (interface, link) in ports.get(name).into_iter().flatten().cloned() {
            all &= possible(agent.ask(&AnnounceHello { interface, link }))?.is_some();
        }
        Ok(all)
    })?;
    let clock = hawser_host::clock(agents);
    let said = clock.now();
    let claims = claims(agents, topology)?;
    clock.sleep(HELLO_WAIT.saturating_sub(clock.since(said)));
    let complete = listening.values().chain(announced.values()).all(|&ok| ok);
    let mut heard = Vec::new();
    for (name, agent) in agents.iter_mut() {
        if listening[name] {
            heard.extend(agent.ask(&HearHellos)?);
        }
    }
    heard.sort();
    Ok((complete.then_some(heard), claims))
}

/// Who answers for the hosts' own IPv4 addresses on their links.
fn claims(agents: &mut Hosts, topology: &Topology) -> Result<Option<Vec<AddressClaim>>, HostError> {
    let asked = on_all(agents, |name, agent| {
        let addresses = topology.node(name).into_iter().flat_map(|n| &n.addresses);
        let addresses = addresses.filter_map(|(link, address)| match address {
            IpAddr::V4(v4) => Some((link.clone(), *v4)),
            IpAddr::V6(_) => None,
        });
        let found = agent.ask(&AskForOwn {
            host: name.clone(),
            addresses: addresses.collect(),
        });
        possible(found.map(|found| found.claims))
    })?;
    let all: Option<Vec<Vec<AddressClaim>>> = asked.into_values().collect();
    Ok(all.map(|claims| claims.into_iter().flatten().collect()))
}

/// `None` for what the host refused, an error only for one that is lost.
fn possible<T>(result: Result<T, HostError>) -> Result<Option<T>, HostError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if e.host_goes_on() => Ok(None),
        Err(e) => Err(e),
    }
}
