//! One window of a trial: the flow that showed the fault, once more and shorter.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use hawser_account::stream;
use hawser_agent::questions::Care;
use hawser_host::Hosts;
use hawser_model::case::{Case, Intensity, PhaseKind};
use hawser_model::host::HostFacts;
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::traffic::{FlowId, FlowSpec};
use hawser_model::trial::{TrialTraffic, Window};
use hawser_model::units::{Bytes, Nanos};
use hawser_rungs::fanout::FanoutStep;

use super::{TuneError, engine, fanout};
use crate::measure::{End, phase};
use crate::traffic_plan::fresh_group;

/// Long enough for ten bursts at the gentle rate, and for a loss of one per cent to be seen;
/// a trial has sixteen windows and more.
const WINDOW: Nanos = Nanos::from_millis(250);

/// Flow numbers of trials; those of checks are small.
static NEXT_FLOW: AtomicU32 = AtomicU32::new(1_000_000);

/// Not the groups of a tune before: their memberships may still be known.
static FIRST_GROUP: LazyLock<u16> = LazyLock::new(|| RandomState::new().hash_one(()) as u16);

/// What is measured in each window.
pub(super) enum Measure<'a> {
    /// A flow between two hosts.
    Flow(Box<Flow<'a>>),
    /// What the cluster engine of a host drops.
    Engine(&'a HostName),
    /// One flow to many receivers on a host.
    Fanout(&'a HostName, FanoutStep),
}

/// A flow between two hosts.
pub(super) struct Flow<'a> {
    from: (&'a HostName, &'a InterfaceName, &'a HostFacts),
    to: (&'a HostName, &'a InterfaceName, &'a HostFacts),
    kind: PhaseKind,
    spec: FlowSpec,
    care: Care,
    due: Option<Bytes>,
}

impl<'a> Measure<'a> {
    /// The traffic of the case that showed the fault.
    pub(super) fn of(case: &'a Case, traffic: &'a TrialTraffic) -> Option<Self> {
        if traffic.engine {
            return Some(Self::Engine(&traffic.to));
        }
        match &case.fanout {
            Some(run) => Some(Self::Fanout(&traffic.to, fanout::step(run, traffic)?)),
            None => Flow::of(case, traffic).map(|flow| Self::Flow(Box::new(flow))),
        }
    }
}

impl<'a> Flow<'a> {
    fn of(case: &'a Case, traffic: &'a TrialTraffic) -> Option<Self> {
        let measurement = case
            .measurements
            .iter()
            .find(|m| m.from == traffic.from && m.to == traffic.to && m.link == traffic.link)?;
        let phase = measurement
            .phases
            .iter()
            .find(|p| p.kind == traffic.phase)?;
        let mut spec = phase.spec.clone();
        spec.duration = match traffic.phase {
            PhaseKind::Stream => stream::window(phase),
            _ => spec.duration.min(WINDOW),
        };
        let end = |host: &'a HostName, address| {
            let facts = case.hosts.get(host)?;
            Some((host, facts.interface_with(address)?.0, facts))
        };
        Some(Self {
            from: end(&traffic.from, spec.source)?,
            to: end(&traffic.to, spec.receiver)?,
            kind: traffic.phase,
            care: match case.intensity {
                Intensity::Gentle => Care::Gentle,
                Intensity::Full => Care::None,
            },
            spec,
            due: traffic.due,
        })
    }
}

/// Runs one window.
pub(super) fn measure(agents: &mut Hosts, measure: &Measure<'_>) -> Result<Window, TuneError> {
    match measure {
        Measure::Flow(flow) => send(agents, flow),
        Measure::Engine(host) => engine::measure(agents, host),
        Measure::Fanout(host, step) => {
            let agent = agents.get_mut(*host);
            let step = FanoutStep {
                number: NEXT_FLOW.fetch_add(1, Ordering::Relaxed),
                ..step.clone()
            };
            let agent = agent.expect("the case was made by these agents");
            fanout::measure(agent.as_mut(), &step)
        }
    }
}

fn send(agents: &mut Hosts, measure: &Flow<'_>) -> Result<Window, TuneError> {
    let mut from = None;
    let mut to = None;
    for (name, agent) in agents.iter_mut() {
        if name == measure.from.0 {
            from = Some(agent.as_mut());
        } else if name == measure.to.0 {
            to = Some(agent.as_mut());
        }
    }
    let (Some(from), Some(to)) = (from, to) else {
        unreachable!("the case was made by these agents");
    };
    let end = |(name, interface, facts), agent| End {
        name,
        agent,
        interface,
        facts,
    };
    let number = NEXT_FLOW.fetch_add(1, Ordering::Relaxed);
    let mut spec = FlowSpec {
        flow: FlowId(number),
        ..measure.spec.clone()
    };
    // A membership outlives its window on a switch, and would make the next one good as well.
    if spec.destination.is_multicast() {
        spec.destination = fresh_group(spec.destination, FIRST_GROUP.wrapping_add(number as u16));
    }
    let (phase, stopped) = phase(
        measure.kind,
        spec,
        &mut end(measure.from, from),
        &mut end(measure.to, to),
        measure.care,
    )?;
    if let Some(stopped) = stopped {
        return Err(TuneError::Stopped(stopped));
    }
    Ok(Window {
        sent: phase.sender.sent,
        lost: phase.sender.sent.saturating_sub(phase.receiver.received),
        jitter: phase.receiver.jitter.p99,
        cpu: phase.sender.cpu + phase.receiver.cpu,
        delay: match &phase.sender.stream {
            Some(stream) => Some(stream.round_trip.0 as i64),
            None => phase.receiver.transit,
        },
        buffer: phase.receiver.buffer_granted,
        due: measure.due,
        stream: (measure.kind == PhaseKind::Stream).then(|| stream::rates(&phase)),
        retransmits: None,
    })
}
