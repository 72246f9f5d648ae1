//! One directed measurement between two hosts: path MTU, then phase by phase traffic, each
//! between two windows.
//!
//! What fails on a host is recorded as a problem of this measurement and the rest goes on;
//! only a host that is lost ends the check.

use std::thread;
use std::time::Duration;

use hawser_agent::questions::{
    Care, ClosePathMtuResponder, CloseWindow, DropFlow, ExpectFrom, FinishReceiver, HearMulticast,
    ListenMulticast, OpenPathMtuResponder, OpenReceiver, OpenSender, OpenWindow, RunSender,
    SearchPathMtu, SendUnjoined, Sent, StopReason, WatchCluster,
};
use hawser_host::{Host, HostError};
use hawser_model::case::{Measurement, Phase, PhaseKind, Stopped};
use hawser_model::host::{HostFacts, HostWindow};
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::probe::MulticastHeard;
use hawser_model::traffic::{FlowSpec, ReceiverReport, WatchedFlow};
use hawser_model::units::{Mtu, Nanos};

use crate::check::Disturbed;
use crate::schedule::Direction;
use crate::traffic_plan::{self, Path, TrafficOptions};
use crate::{frames, other_family};

/// The receiver's queue must stay empty this long before a flow counts as arrived: longer than
/// any queue on the way holds a packet at the rates a check sends (a 32 KiB token bucket at
/// 1 Mbit/s holds the last one for 260 ms, but never pauses for more than 12).
const SETTLE: Nanos = Nanos::from_millis(60);

/// A request for the neighbour's link-layer address that was lost is repeated after a second (`retrans_time_ms`, arp(7));
/// until then the kernel holds back a few packets and drops the others.
const NEIGHBOUR_AGAIN: Duration = Duration::from_millis(1_100);

/// A path-MTU search on a path with a silent hop takes about this long.
const PATH_MTU_DEADLINE: Nanos = Nanos::from_millis(1_500);

/// The receiving host's cluster engine is watched until it is told that the sender is done;
/// this much longer than the flow should take at the latest.
const WATCH_LONGER: Nanos = Nanos::from_millis(5_000);

/// A host reports that it joined a group after a tick or two of its clock, and a switch takes some
/// time to let the group through: what is sent before is not what a program would miss.
const JOINED: Duration = Duration::from_millis(250);

/// One end of a measurement.
pub(crate) struct End<'a> {
    pub(crate) name: &'a HostName,
    pub(crate) agent: &'a mut dyn Host,
    pub(crate) interface: &'a InterfaceName,
    pub(crate) facts: &'a HostFacts,
}

/// What a measurement came to.
pub(crate) struct Outcome {
    pub(crate) measurement: Measurement,
    pub(crate) stopped: Option<Stopped>,
}

/// How a measurement is to be made.
pub(crate) struct Manner<'a> {
    pub(crate) options: &'a TrafficOptions,
    /// Whether a phase should be measured again.
    pub(crate) disturbed: Disturbed<'a>,
    pub(crate) path: Path,
    pub(crate) care: Care,
    /// Slots of the whole check: they share a time budget.
    pub(crate) slots: usize,
    /// First flow number.
    pub(crate) first_flow: u32,
}

/// Runs one measurement.
///
/// # Errors
/// Only when a host cannot be asked any more.
pub(crate) fn measure(
    direction: &Direction,
    mut from: End<'_>,
    mut to: End<'_>,
    manner: &Manner<'_>,
) -> Result<Outcome, HostError> {
    let mut measurement = Measurement {
        from: direction.from.clone(),
        to: direction.to.clone(),
        link: direction.link.clone(),
        path_mtu: None,
        path_mtu_other: None,
        other_family: None,
        frames: None,
        multicast: None,
        phases: Vec::new(),
        set_aside: Vec::new(),
        problems: Vec::new(),
    };
    let mut found = path_mtu(&mut from, &mut to, &manner.path);
    // What is lost to a lossy link is one packet: with a neighbour unknown it would be all of them.
    if found.as_ref().is_ok_and(|found| found.passed.is_none()) {
        from.agent.clock().sleep(NEIGHBOUR_AGAIN);
        found = path_mtu(&mut from, &mut to, &manner.path);
    }
    match found {
        Ok(found) => measurement.path_mtu = Some(found),
        Err(e) => measurement.problems.push(still_there(e)?),
    }
    other_family::search(&mut measurement, &mut from, &mut to, &manner.path)?;
    let phases = traffic_plan::phases(
        manner.options,
        &manner.path,
        manner.slots,
        manner.first_flow,
    );
    for (kind, spec) in phases {
        let listening = kind == PhaseKind::Multicast;
        if listening {
            let listen = ListenMulticast {
                interface: to.interface.clone(),
                unjoined: traffic_plan::unjoined(spec.source),
            };
            if let Err(e) = to.agent.ask(&listen) {
                measurement.problems.push(still_there(e)?);
            }
        }
        for attempt in 1..=traffic_plan::ATTEMPTS {
            let spec = traffic_plan::attempt(&spec, attempt);
            match phase(kind, spec, &mut from, &mut to, manner.care) {
                Ok((phase, None))
                    if attempt < traffic_plan::ATTEMPTS && (manner.disturbed)(&phase) =>
                {
                    measurement.set_aside.push(phase);
                }
                Ok((phase, stopped)) => {
                    measurement.phases.push(phase);
                    if stopped.is_some() {
                        return Ok(Outcome {
                            measurement,
                            stopped,
                        });
                    }
                    break;
                }
                Err(e) => {
                    measurement.problems.push(still_there(e)?);
                    break;
                }
            }
        }
        if listening {
            match multicast_heard(&mut from, &mut to, &manner.path) {
                Ok(heard) => measurement.multicast = Some(heard),
                Err(e) => measurement.problems.push(still_there(e)?),
            }
        }
    }
    if frames::wanted(&measurement) {
        measurement.frames = frames::heard(direction, &mut from, &mut to)?;
    }
    Ok(Outcome {
        measurement,
        stopped: None,
    })
}

/// A querier that hears a group being left asks at once, and again after its last member query
/// interval, a second unless set otherwise (RFC 3376, 8.8).
const AFTER_LEAVE: Nanos = Nanos::from_millis(1_300);

/// What the receiver hears after it has left the group of the flow, and whether it hears a group
/// that it never joined.
fn multicast_heard(
    from: &mut End<'_>,
    to: &mut End<'_>,
    path: &Path,
) -> Result<MulticastHeard, HostError> {
    let sent = from.agent.ask(&SendUnjoined {
        source: path.source,
        group: traffic_plan::unjoined(path.source),
    });
    let heard = to.agent.ask(&HearMulticast { wait: AFTER_LEAVE })?;
    Ok(MulticastHeard {
        unjoined_sent: sent?,
        ..heard
    })
}

/// What a host declined is a problem to record; an error of the connection is fatal.
pub(crate) fn still_there(error: HostError) -> Result<String, HostError> {
    if error.host_goes_on() {
        Ok(error.to_string())
    } else {
        Err(error)
    }
}

pub(crate) fn path_mtu(
    from: &mut End<'_>,
    to: &mut End<'_>,
    path: &Path,
) -> Result<hawser_model::probe::PathMtu, HostError> {
    let port = to.agent.ask(&OpenPathMtuResponder {
        address: path.destination,
    })?;
    let found = from.agent.ask(&SearchPathMtu {
        source: path.source,
        destination: path.destination,
        port,
        interface_mtu: path.mtu,
        deadline: PATH_MTU_DEADLINE,
    });
    to.agent.ask(&ClosePathMtuResponder)?;
    found
}

/// One flow, and both hosts' windows around it.
pub(crate) fn phase(
    kind: PhaseKind,
    spec: FlowSpec,
    from: &mut End<'_>,
    to: &mut End<'_>,
    care: Care,
) -> Result<(Phase, Option<Stopped>), HostError> {
    let flow = spec.flow;
    let port = to.agent.ask(&OpenReceiver(spec.clone()))?;
    if spec.membership.is_some() {
        to.agent.clock().sleep(JOINED);
    }
    let opened = from.agent.ask(&OpenSender(spec.clone()));
    let opened = opened.and_then(|source_port| {
        to.agent.ask(&ExpectFrom {
            flow,
            port: source_port,
        })?;
        let watched = |interface: &InterfaceName| WatchedFlow {
            flow,
            source: spec.source,
            source_port,
            destination: spec.destination,
            destination_port: port,
            interface: interface.clone(),
        };
        let (sender, receiver) = both(
            || from.agent.ask(&OpenWindow(vec![watched(from.interface)])),
            || to.agent.ask(&OpenWindow(vec![watched(to.interface)])),
        );
        sender.and(receiver)
    });
    if let Err(e) = opened {
        // Also where one end is lost: the other one measures with others.
        let (sender, receiver) = both(|| give_up(from.agent, &spec), || give_up(to.agent, &spec));
        if e.host_goes_on() {
            sender.and(receiver)?;
        }
        return Err(e);
    }
    let sent = run(&spec, port, from, to, care);
    let finished = sent.and_then(|(sent, stopped)| {
        let received = to.agent.ask(&FinishReceiver {
            flow,
            sent: sent.report.sent,
            settle: SETTLE,
        })?;
        Ok((sent, received, stopped))
    });
    let (sender_window, receiver_window) = both(
        || from.agent.ask(&CloseWindow),
        || to.agent.ask(&CloseWindow),
    );
    match finished {
        Ok((sent, received, stopped)) => Ok((
            record(
                kind,
                spec,
                port,
                sent,
                received,
                sender_window?,
                receiver_window?,
            ),
            stopped,
        )),
        Err(e) => {
            let dropped = to.agent.ask(&DropFlow(flow));
            if e.host_goes_on() {
                dropped?;
            }
            Err(e)
        }
    }
}

fn give_up(agent: &mut dyn Host, spec: &FlowSpec) -> Result<(), HostError> {
    agent.ask(&DropFlow(spec.flow))?;
    // The window may not have been opened; then there is nothing to close.
    match agent.ask(&CloseWindow) {
        Err(e) if !e.host_goes_on() => Err(e),
        _ => Ok(()),
    }
}

/// Sends the flow; meanwhile the receiving host minds its own cluster engine, if one runs.
fn run(
    spec: &FlowSpec,
    port: u16,
    from: &mut End<'_>,
    to: &mut End<'_>,
    care: Care,
) -> Result<(Sent, Option<Stopped>), HostError> {
    let run = RunSender {
        flow: spec.flow,
        peer_port: port,
        care,
        lasts: spec.duration,
    };
    let guard = care == Care::Gentle && to.facts.corosync.is_some();
    let sender_stop = from.agent.stopper();
    let watch_stop = to.agent.stopper();
    let (sent, trouble) = both(
        || {
            let sent = from.agent.ask(&run);
            if guard {
                watch_stop.stop();
            }
            sent
        },
        || {
            if !guard {
                return Ok(None);
            }
            let at_most = spec.duration + WATCH_LONGER;
            let trouble = to.agent.ask(&WatchCluster { at_most })?;
            if trouble.is_some() {
                sender_stop.stop();
            }
            Ok(trouble)
        },
    );
    let (sent, trouble): (Sent, Option<String>) = (sent?, trouble?);
    let stopped = match (&sent.stopped, trouble) {
        (Some(StopReason::Cluster(what)), _) => Some(Stopped {
            host: from.name.clone(),
            what: what.clone(),
        }),
        (_, Some(what)) => Some(Stopped {
            host: to.name.clone(),
            what,
        }),
        _ => None,
    };
    Ok((sent, stopped))
}

fn record(
    kind: PhaseKind,
    spec: FlowSpec,
    port: u16,
    sent: Sent,
    receiver: ReceiverReport,
    sender_window: HostWindow,
    receiver_window: HostWindow,
) -> Phase {
    Phase {
        kind,
        spec,
        port,
        sender: sent.report,
        receiver,
        sender_window,
        receiver_window,
    }
}

/// Both ends at the same time.
pub(crate) fn both<A, B>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B)
where
    A: Send,
    B: Send,
{
    thread::scope(|scope| {
        let other = scope.spawn(b);
        let first = a();
        let second = other
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (first, second)
    })
}

/// MTU assumed where the kernel reports none.
pub(crate) const ETHERNET_MTU: Mtu = Mtu(1_500);
