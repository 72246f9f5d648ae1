//! What a loss between the hosts looks like: a cable, a queue, a port that stopped for a while and a link of a bundle each
//! leave another shape, and have another cure.

use std::collections::BTreeSet;

use hawser_model::case::{Measurement, Phase, PhaseKind};
use hawser_model::traffic::Rate;
use hawser_model::units::{Nanos, PacketsPerSec, counted};
use serde::Serialize;

use super::Runs;
use crate::losses::Loss;
use crate::packets::facts::Side;
use crate::view::{Path, PhaseView, View};

/// The shape of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Shape {
    /// Here and there a packet.
    OneAtATime,
    /// Several in a row, again and again.
    Bursts,
    /// Other causes lost packets of the same flows: which runs are whose is not known.
    Unknown,
    /// One run that began or ended within a flow.
    OneOutage,
    /// Flows whole, while others of the same way pass.
    WholeFlows,
    /// Of datagrams in fragments all but the first one of each, which has the ports.
    LaterFragments,
    /// All there was, on a way that frames pass that are not IP.
    Everything,
    /// Multicast alone, a part of it, again and again; or all of it on a switch that floods.
    MulticastLimited,
    /// Multicast alone, from some time on, or all of it.
    MulticastStopped,
}

/// So many in a row are no chance of a damaged cable.
const OUTAGE: u64 = 50;

/// So many runs are no group that ages out: that ends once.
const AGAIN: u64 = 3;

impl Shape {
    pub(super) fn of(view: &View<'_>, group: &[Loss], multicast_only: bool, runs: &Runs) -> Self {
        let indices: BTreeSet<usize> = group.iter().map(|l| l.phase).collect();
        let whole = |index: &usize| view.phases[*index].account.received.0 == 0;
        if multicast_only {
            let mut flooded = indices.iter().map(|i| view.phases[*i].facts.measurement);
            return match runs.loss_runs >= AGAIN || flooded.all(floods) {
                true => Self::MulticastLimited,
                false => Self::MulticastStopped,
            };
        }
        let paths: BTreeSet<&Path> = group.iter().map(|l| &l.path).collect();
        let longest = runs.longest_loss_run_packets.0;
        let all_whole = indices.iter().all(whole);
        let without_ports = |index: &usize| later_fragments_stay(&view.phases[*index]);
        match () {
            () if all_whole && indices.iter().all(without_ports) => Self::LaterFragments,
            () if all_whole && paths.iter().all(|p| passes(view, p)) => Self::WholeFlows,
            () if all_whole && paths.iter().all(|p| lives(view, p)) => Self::Everything,
            () if runs.loss_runs <= indices.len() as u64 && longest >= OUTAGE => Self::OneOutage,
            () if runs.loss_runs == 0 => Self::Unknown,
            // Random loss also hits neighbours now and then; bursts are when it mostly does.
            () if runs.single_loss_runs >= runs.loss_runs.div_ceil(2) => Self::OneAtATime,
            () => Self::Bursts,
        }
    }

    /// What the shape says, as a sentence after others.
    pub(super) fn text(self, runs: &Runs) -> String {
        let longest = runs.longest_loss_run_packets;
        match self {
            Self::OneAtATime if longest.0 <= 1 => " They went one at a time.".to_owned(),
            Self::OneAtATime => format!(" Most went one at a time, at most {longest} in a row."),
            Self::Bursts => format!(" They went in bursts, up to {longest} in a row."),
            Self::OneOutage => match runs.longest_loss_run_ns {
                Some(time) => format!(
                    " It was one outage: for {time} or longer nothing passed ({longest} in a row)."
                ),
                None => {
                    format!(" It was one outage: {longest} in a row.")
                }
            },
            Self::WholeFlows => {
                " Flows were lost whole, and others of the same way passed.".to_owned()
            }
            Self::LaterFragments => {
                " The first fragment of each datagram arrived, and none of the later ones, which \
                                     carry no port."
                    .to_owned()
            }
            Self::Everything => " Not one packet of any flow arrived.".to_owned(),
            Self::MulticastLimited => match (runs.passed_packets_per_s, longest.0) {
                (Some(passed), _) if passed.0 > 0 => format!(
                    " About {passed} passed all the time: {}, up to {longest} in a row.",
                    counted(runs.loss_runs, "gap")
                ),
                _ => String::new(),
            },
            Self::MulticastStopped | Self::Unknown => String::new(),
        }
    }

    /// Where to look first.
    pub(super) fn fix(self) -> &'static str {
        match self {
            Self::OneAtATime => {
                "Look at the switch's counters of the ports concerned (CRC errors, discards), then exchange cable and \
                 transceiver one at a time and repeat the check after each. Discards without errors are congestion: pause \
                 frames, or traffic of others."
            }
            Self::Bursts | Self::Unknown => {
                "Look at the switch's counters of the ports concerned. Discards without errors are a full queue or a limit: traffic of \
                 others, pause frames, a policer. CRC errors, or losses both ways, are a cable or a transceiver: exchange them one \
                 at a time and repeat the check after each."
            }
            Self::OneOutage => {
                "Something on the way stopped for a while, not packets here and there: look in the switch's log at that time for a change \
                 of spanning tree (a host's port should be an edge port), a failover of a bundle of links, a restart, or a port that \
                 went down and up (then its cable or transceiver). Repeat the check: if it is gone, it was an event, and the log has \
                 it."
            }
            Self::WholeFlows => {
                "No cable chooses flows. Look at what does: a bundle of links (LAG, bond, several paths) with a member that is up \
                 and dead: its counters by member on the switch, `cat /proc/net/bonding/IF` on the hosts; take the members out one \
                 at a time and repeat the check. Else an access list or a filter of a switch or router, by port, protocol or \
                 fragment. An outage as long as the flow looks the same; a second check tells."
            }
            Self::LaterFragments => {
                "Look for an access list or a packet filter on the way that drops fragments, or that asks for a port and so \
                 drops the fragments without one; let it put datagrams together first, or let fragments pass. What is not cut is \
                 not concerned: a larger MTU on the whole link, or smaller datagrams."
            }
            Self::Everything => {
                "Frames that are not IP pass, so look for what takes packets on a link that lives: an access list or port \
                 security of the switch, a port that stopped forwarding (spanning tree, a port that the switch shut down: its log); \
                 cable and transceiver last."
            }
            Self::MulticastLimited => {
                "A limit or a full queue for multicast, and no snooping: a group that snooping lets go is lost for good. Look at storm control on the \
                 switch's ports (`show storm-control`; it limits broadcast and multicast and passes unicast), at policers and access \
                 lists for groups; raise the limit above what the cluster sends."
            }
            Self::MulticastStopped => {
                "IGMP snooping without a querier stops a group when its membership ages out: enable a querier on the switch, or turn \
                 snooping off on this VLAN, and see that all hosts speak the same IGMP version."
            }
        }
    }
}

/// Whether the receiver's tap saw the first fragment of each datagram, and none of the others that left.
fn later_fragments_stay(phase: &PhaseView<'_>) -> bool {
    let taps = (
        phase.facts.tap(Side::Sender),
        phase.facts.tap(Side::Receiver),
    );
    matches!(taps, (Some(out), Some(into))
        if out.later_fragments > 0 && into.later_fragments == 0 && into.packets > 0 && into.packets == out.packets)
}

/// The switch sends everybody what nobody joined: it does not snoop, or not here.
fn floods(m: &Measurement) -> bool {
    let heard = m.multicast.as_ref();
    heard.is_some_and(|heard| !heard.unjoined_heard.is_zero())
}

/// What the case knows of this way.
fn measured<'a>(view: &View<'a>, path: &Path) -> impl Iterator<Item = &'a Measurement> {
    let all = view.case.measurements.iter();
    all.filter(move |m| m.from == path.from && m.to == path.to && m.link == path.link)
}

/// Whether any packet of the way arrived: of another flow, or of a stream.
fn passes(view: &View<'_>, path: &Path) -> bool {
    measured(view, path).any(|m| m.phases.iter().any(|p| !p.receiver.received.is_zero()))
}

/// Whether frames that are not IP arrived.
fn lives(view: &View<'_>, path: &Path) -> bool {
    let heard = |m: &Measurement| {
        let frames = m.frames.as_ref();
        frames.is_some_and(|f| !f.unicast_heard.is_zero())
    };
    view.hello_passed(path) == Some(true) || measured(view, path).any(heard)
}

/// For how long the phase's longest run of losses lasted, by the rate at which it was sent.
pub(super) fn lasted(phase: &Phase) -> Option<Nanos> {
    let Rate::PerSecond(rate) = phase.spec.rate else {
        return None;
    };
    let longest = *phase.receiver.loss_runs_by_length.keys().max()?;
    let ns = u128::from(longest) * 1_000_000_000 / u128::from(rate.0.max(1));
    u64::try_from(ns).ok().map(Nanos)
}

/// What of a multicast phase arrived a second.
pub(super) fn passed(phase: &Phase) -> Option<PacketsPerSec> {
    let elapsed = phase.sender.elapsed.0;
    if phase.kind != PhaseKind::Multicast || elapsed == 0 {
        return None;
    }
    let rate = u128::from(phase.receiver.received.0) * 1_000_000_000 / u128::from(elapsed);
    u64::try_from(rate).ok().map(PacketsPerSec)
}
