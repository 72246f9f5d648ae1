//! The kernel's drop events of a phase, sorted into our own and other people's.

use std::collections::BTreeMap;

use hawser_model::account::Layer;
use hawser_model::drops::{DropRecord, DropScope, DropSubject};
use hawser_model::names::InterfaceName;
use hawser_model::traffic::FlowId;

use super::books::Segment;
use super::facts::{PhaseFacts, Side};
use super::reasons::{self, Stage};

/// Drop events of one kind that concern the flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) side: Side,
    pub(crate) stage: Stage,
    pub(crate) reason: String,
    /// Whole datagrams or first fragments.
    pub(crate) packets: u64,
    /// Later fragments.
    pub(crate) fragments: u64,
}

/// Which packets of a flow an account is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the flow's sender to its receiver.
    Forward,
    /// The echoes.
    Echo,
}

/// How the reason of a line begins when the sender's routes led its packets to another
/// interface, where they died.
pub(crate) const ROUTED_ELSEWHERE: &str = "routed to ";

/// Where a drop record of this host stands, seen from one side of the flow.
fn stage_of(facts: &PhaseFacts<'_>, side: Side, role: Side, drop: &DropRecord) -> Option<Stage> {
    let mut stage = match role {
        // Only the receiver's agent may claim an event without a namespace; where several
        // hosts share a kernel each of them sees it.
        Side::Sender if drop.scope == DropScope::Unknown => None,
        Side::Sender if elsewhere(facts, side, drop).is_some() => Some(Stage {
            layer: Layer::SenderIp,
            segment: Segment::SenderHost,
            vague: false,
        }),
        Side::Sender => reasons::on_sender(&drop.reason, &drop.location),
        Side::Receiver => reasons::on_receiver(&drop.reason, &drop.location, drop.scope),
    }?;
    // The tap hangs on the interface with the address. What a device under it drops (VLAN
    // parent, bond member) has passed the sender's tap, or has not reached the receiver's.
    if let Some(interface) = &drop.interface {
        if facts.beneath(side).contains(&interface) {
            stage.segment = Segment::Middle;
        }
    }
    Some(stage)
}

/// The interface on which a unicast packet met its own host's receive path: it was routed
/// there instead of out. (A multicast packet is looped back on its own interface.)
fn elsewhere<'d>(
    facts: &PhaseFacts<'_>,
    side: Side,
    drop: &'d DropRecord,
) -> Option<&'d InterfaceName> {
    let interface = drop.interface.as_ref()?;
    let unicast = !facts.phase.spec.destination.is_multicast();
    let devices = facts.devices(side);
    let receives = reasons::on_sender(&drop.reason, &drop.location).is_none()
        && reasons::on_receiver(&drop.reason, &drop.location, drop.scope).is_some();
    (unicast && receives && !devices.is_empty() && !devices.contains(&interface))
        .then_some(interface)
}

/// The flow's own drop events on one side, those with a named reason first.
pub(crate) fn own(facts: &PhaseFacts<'_>, side: Side, direction: Direction) -> Vec<Event> {
    let flow = facts.phase.spec.flow;
    let role = match (direction, side) {
        (Direction::Forward, side) => side,
        (Direction::Echo, Side::Sender) => Side::Receiver,
        (Direction::Echo, Side::Receiver) => Side::Sender,
    };
    let mut events: Vec<Event> = Vec::new();
    for drop in facts.window(side).drops.iter().flatten() {
        let (packets, fragments) = match own_packets(drop, flow, direction) {
            Some(numbers) => numbers,
            None => continue,
        };
        let on = drop.interface.as_ref();
        if on.is_some_and(|device| facts.gets_copies(side, device)) {
            continue;
        }
        let Some(stage) = stage_of(facts, side, role, drop) else {
            continue;
        };
        let mut reason = drop.words();
        if let (Side::Sender, Some(interface)) = (role, elsewhere(facts, side, drop)) {
            reason = format!("{ROUTED_ELSEWHERE}{interface} ({reason})");
        }
        let same = events
            .iter_mut()
            .find(|e| e.stage == stage && e.reason == reason);
        match same {
            Some(event) => {
                event.packets = event.packets.saturating_add(packets);
                event.fragments = event.fragments.saturating_add(fragments);
            }
            None => events.push(Event {
                side,
                stage,
                reason,
                packets,
                fragments,
            }),
        }
    }
    events.sort_by(|a, b| {
        let key = |e: &Event| (e.stage.vague, e.stage.segment, e.stage.layer);
        key(a).cmp(&key(b)).then_with(|| a.reason.cmp(&b.reason))
    });
    events
}

/// The record's packets and later fragments when it is about the flow in that direction.
fn own_packets(drop: &DropRecord, flow: FlowId, direction: Direction) -> Option<(u64, u64)> {
    match (drop.subject, direction) {
        (DropSubject::Flow(id), Direction::Forward) if id == flow => Some((drop.packets.0, 0)),
        (DropSubject::FlowFragment(id), Direction::Forward) if id == flow => {
            Some((0, drop.packets.0))
        }
        (DropSubject::FlowEcho(id), Direction::Echo) if id == flow => Some((drop.packets.0, 0)),
        _ => None,
    }
}

/// Drops of other people's packets (and of our echoes) on one side, by layer: what the
/// counters there hold besides the flow's own.
pub(crate) fn others(facts: &PhaseFacts<'_>, side: Side) -> BTreeMap<Layer, u64> {
    let flow = facts.phase.spec.flow;
    let mut sums = BTreeMap::new();
    for drop in facts.window(side).drops.iter().flatten() {
        if own_packets(drop, flow, Direction::Forward).is_some() {
            continue;
        }
        if let Some(stage) = stage_of(facts, side, side, drop) {
            let sum: &mut u64 = sums.entry(stage.layer).or_default();
            *sum = sum.saturating_add(drop.packets.0);
        }
    }
    sums
}
