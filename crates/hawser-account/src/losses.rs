//! Every lost packet of a case, to be claimed by exactly one cause.

use hawser_model::account::{Basis, Layer};
use hawser_model::names::HostName;

use crate::packets::events::{self, Direction};
use crate::packets::facts::Side;
use crate::view::{Path, PhaseView, View};

/// Packets lost on one path in one phase in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    /// Index of the phase in the view.
    pub(crate) phase: usize,
    /// The path of the lost packets.
    pub(crate) path: Path,
    /// The host; absent between hosts and where it is not known.
    pub(crate) host: Option<HostName>,
    /// The layer; absent for what is not attributed.
    pub(crate) layer: Option<Layer>,
    /// The kernel's or counter's word.
    pub(crate) reason: String,
    /// How many.
    pub(crate) packets: u64,
    /// How it is known; absent for what is not attributed.
    pub(crate) basis: Option<Basis>,
}

/// The losses, each with the cause that claimed it.
pub(crate) struct Losses {
    all: Vec<(Loss, Option<&'static str>)>,
}

impl Losses {
    /// Every loss of the view's accounts, and of the echoes on paths whose own measurement
    /// lost nothing (otherwise that measurement tells it better).
    pub(crate) fn of(view: &View<'_>) -> Self {
        let mut all = Vec::new();
        for (index, phase) in view.phases.iter().enumerate() {
            for line in &phase.account.layers {
                all.push(Loss {
                    phase: index,
                    path: phase.path(),
                    host: line.host.clone(),
                    layer: Some(line.layer),
                    reason: line.reason.clone(),
                    packets: line.packets.0,
                    basis: Some(line.basis),
                });
            }
            if phase.account.unattributed.0 > 0 {
                all.push(Loss {
                    phase: index,
                    path: phase.path(),
                    host: None,
                    layer: None,
                    reason: String::new(),
                    packets: phase.account.unattributed.0,
                    basis: None,
                });
            }
            all.extend(echoes(view, index, phase));
        }
        root_of_reassembly(view, &mut all);
        Self {
            all: all.into_iter().map(|loss| (loss, None)).collect(),
        }
    }

    /// The losses no cause has claimed yet.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Loss> {
        self.all
            .iter()
            .filter(|(_, by)| by.is_none())
            .map(|(loss, _)| loss)
    }

    /// The losses that a cause has claimed.
    pub(crate) fn claimed_by(&self, code: &str) -> impl Iterator<Item = &Loss> {
        self.all
            .iter()
            .filter(move |(_, by)| *by == Some(code))
            .map(|(loss, _)| loss)
    }

    /// Claims the unclaimed losses that `wanted` picks, and returns them.
    pub(crate) fn claim(
        &mut self,
        code: &'static str,
        wanted: impl Fn(&Loss) -> bool,
    ) -> Vec<Loss> {
        self.claim_part(code, |loss| match wanted(loss) {
            true => loss.packets,
            false => 0,
        })
    }

    /// Claims so many packets of each unclaimed loss, and returns what was claimed; the rest of a loss stays open.
    pub(crate) fn claim_part(
        &mut self,
        code: &'static str,
        part: impl Fn(&Loss) -> u64,
    ) -> Vec<Loss> {
        let mut claimed = Vec::new();
        let mut rest = Vec::new();
        for (loss, by) in self.all.iter_mut().filter(|(_, by)| by.is_none()) {
            let packets = part(loss).min(loss.packets);
            if packets == 0 {
                continue;
            }
            if packets < loss.packets {
                let packets = loss.packets - packets;
                rest.push((
                    Loss {
                        packets,
                        ..loss.clone()
                    },
                    None,
                ));
            }
            loss.packets = packets;
            *by = Some(code);
            claimed.push(loss.clone());
        }
        self.all.extend(rest);
        claimed
    }
}

/// Packets in the losses.
pub(crate) fn packets(losses: &[Loss]) -> u64 {
    losses.iter().map(|l| l.packets).sum()
}

/// Lost echoes that no event explains are believed from this share up: the last echoes of a
/// flow may still be under way when its sender stops listening.
const ECHOES_MISSING_PER_CENT: u64 = 1;

/// The losses of a phase's echoes: where events name them, and the rest.
fn echoes(view: &View<'_>, index: usize, phase: &PhaseView<'_>) -> Vec<Loss> {
    let facts = &phase.facts;
    if !facts.phase.spec.echo {
        return Vec::new();
    }
    let echoed = facts.phase.receiver.echoed.0.min(facts.received());
    let mut missing = echoed.saturating_sub(facts.phase.sender.echoed_back.0);
    let path = phase.path().back();
    let told_better = view.on(&path).any(|p| p.account.lost.0 > 0);
    if missing == 0 || told_better {
        return Vec::new();
    }
    let noticeable = missing * 100 >= echoed * ECHOES_MISSING_PER_CENT;
    let loss = |host, layer, reason, packets, basis| Loss {
        phase: index,
        path: path.clone(),
        host,
        layer,
        reason,
        packets,
        basis,
    };
    let mut found = Vec::new();
    for side in [Side::Receiver, Side::Sender] {
        for event in events::own(facts, side, Direction::Echo) {
            let packets = event.packets.min(missing);
            if packets > 0 {
                missing -= packets;
                found.push(loss(
                    Some(facts.host(side).clone()),
                    Some(event.stage.layer),
                    event.reason,
                    packets,
                    Some(Basis::PerFlow),
                ));
            }
        }
    }
    if missing > 0 && noticeable {
        found.push(loss(None, None, String::new(), missing, None));
    }
    found
}

/// Where whole datagrams of the same path are lost too, an incomplete datagram is taken for
/// the same cause's doing: a counter of failed reassemblies says that a fragment is missing,
/// not where it went.
fn root_of_reassembly(view: &View<'_>, all: &mut [Loss]) {
    let whole: Vec<Loss> = all
        .iter()
        .filter(|l| {
            l.layer.is_some_and(|layer| layer < Layer::Reassembly)
                && view.phases[l.phase].facts.fragments() == 1
        })
        .cloned()
        .collect();
    for loss in all.iter_mut() {
        if loss.layer != Some(Layer::Reassembly) || loss.basis != Some(Basis::Counter) {
            continue;
        }
        let root = whole
            .iter()
            .filter(|l| l.path == loss.path)
            .max_by_key(|l| l.packets);
        if let Some(root) = root {
            loss.host = root.host.clone();
            loss.layer = root.layer;
            loss.reason = root.reason.clone();
        }
    }
}
