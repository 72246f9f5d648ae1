//! What several causes need to claim losses: their evidence, their places, how sure they are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use hawser_model::account::{Basis, Layer};
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::host::HostWindow;
use hawser_model::ladder::BusyProgram;
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::units::{Nanos, Packets};
use serde::Serialize;

use crate::cause::{Found, counted, percent_of, percent_text};
use crate::losses::{Loss, Losses, packets};
use crate::packets::facts::Side;
use crate::view::{Path, View};

/// What was lost, and of how many; evidence of every cause that claims packets.
#[derive(Serialize)]
pub(crate) struct Lost {
    pub(crate) lost_packets: Packets,
    pub(crate) sent_packets: Packets,
    /// None where nothing was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lost_percent: Option<f64>,
}

impl Lost {
    /// These losses, of all packets of their phases.
    pub(super) fn of(view: &View<'_>, losses: &[Loss]) -> Self {
        let (lost, sent) = (packets(losses), sent_in(view, losses));
        Self {
            lost_packets: Packets(lost),
            sent_packets: Packets(sent),
            lost_percent: percent_of(lost, sent),
        }
    }
}

/// `1 500 of 50 000 packets (3 %)`.
impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sent = counted(self.sent_packets.0, "packet");
        write!(f, "{} of {sent}", self.lost_packets)?;
        match self.lost_percent {
            Some(percent) => write!(f, " ({} %)", percent_text(percent)),
            None => Ok(()),
        }
    }
}

/// Packets sent in the phases that the losses are of.
pub(super) fn sent_in(view: &View<'_>, losses: &[Loss]) -> u64 {
    let phases: BTreeSet<usize> = losses.iter().map(|l| l.phase).collect();
    phases
        .iter()
        .map(|&index| view.phases[index].account.sent.0)
        .sum()
}

/// Certain where every packet was counted for the flow itself, likely where a counter of the
/// whole host stands for some.
pub(super) fn confidence(losses: &[Loss]) -> Confidence {
    let basis = losses.iter().filter_map(|l| l.basis).max();
    match basis {
        Some(Basis::OwnSocket | Basis::PerFlow) => Confidence::Certain,
        Some(Basis::Counter) => Confidence::Likely,
        None => Confidence::Possible,
    }
}

/// Losses by the host they happened on.
pub(super) fn by_host(losses: Vec<Loss>) -> BTreeMap<HostName, Vec<Loss>> {
    let mut groups: BTreeMap<HostName, Vec<Loss>> = BTreeMap::new();
    for loss in losses {
        if let Some(host) = loss.host.clone() {
            groups.entry(host).or_default().push(loss);
        }
    }
    groups
}

/// Claims the losses of a layer of the sender and of its twin on the receiver: by side, `true` for the outgoing one, and
/// by host.
pub(super) fn claim_sides(
    losses: &mut Losses,
    code: &'static str,
    [sender, receiver]: [Layer; 2],
) -> Vec<(bool, HostName, Vec<Loss>)> {
    let mut claimed = Vec::new();
    for (layer, outgoing) in [(sender, true), (receiver, false)] {
        let groups = by_host(losses.claim(code, |l| l.layer == Some(layer)));
        claimed.extend(
            groups
                .into_iter()
                .map(|(host, group)| (outgoing, host, group)),
        );
    }
    claimed
}

/// Claims the losses that `is` picks, on each host where `counted` has a count that explains them: with that count.
pub(super) fn claim_explained(
    losses: &mut Losses,
    code: &'static str,
    is: impl Fn(&Loss) -> bool,
    counted: impl Fn(&HostName, &[Loss]) -> Option<u64>,
) -> Vec<(HostName, Vec<Loss>, u64)> {
    let open = losses.open().filter(|l| is(l)).cloned().collect();
    let mut claimed = Vec::new();
    for (host, group) in by_host(open) {
        if let Some(count) = counted(&host, &group) {
            let group = losses.claim(code, |l| is(l) && l.host.as_ref() == Some(&host));
            claimed.push((host, group, count));
        }
    }
    claimed
}

/// An error: these packets were lost on this host, as sure as they were counted.
pub(super) fn lost_on<C>(
    view: &View<'_>,
    host: &HostName,
    losses: &[Loss],
    evidence: C,
) -> Found<C> {
    Found {
        severity: Severity::Error,
        confidence: confidence(losses),
        place: place_on(view, host, losses),
        evidence,
    }
}

/// How sure a cause is that the kernel names by this reason: certain if it named all of the losses so.
pub(super) fn named(losses: &[Loss], reason: &str) -> Confidence {
    match losses.iter().all(|loss| loss.reason == reason) {
        true => Confidence::Certain,
        false => Confidence::Likely,
    }
}

/// The only item, if they are all equal.
pub(super) fn only<T: PartialEq>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.all(|item| item == first).then_some(first)
}

/// The host with as much of link, peer and interface as all the losses share.
pub(super) fn place_on(view: &View<'_>, host: &HostName, losses: &[Loss]) -> Place {
    let peer = |path: &Path| -> HostName {
        if path.from == *host {
            path.to.clone()
        } else {
            path.from.clone()
        }
    };
    Place {
        host: Some(host.clone()),
        peer: only(losses.iter().map(|l| peer(&l.path))),
        link: only(losses.iter().map(|l| l.path.link.clone())),
        interface: only(losses.iter().map(|l| view.interface_of(host, l))).flatten(),
        object: None,
    }
}

/// Fewer frames or packets in a minute are no alarm: at 10 Gbit/s a link that is as good as it has to be damages one in some
/// minutes (a bit error rate of 10^-12, IEEE 802.3).
const MANY: u64 = 10;

/// What an interface counted while nothing was measured, where that is many; evidence.
#[derive(Serialize)]
pub(super) struct Counted {
    pub(super) reason: String,
    pub(super) counted: u64,
    pub(super) within_s: u64,
}

impl Counted {
    /// So many by this name.
    pub(super) fn of(window: &HostWindow, (reason, counted): (String, u64)) -> Option<Self> {
        is_many(window, counted).then_some(Self {
            reason,
            counted,
            within_s: seconds(window),
        })
    }

    /// A warning, certain, since the kernel counted it.
    pub(super) fn found<C>(place: Place, evidence: C) -> Found<C> {
        Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place,
            evidence,
        }
    }
}

/// Whether it is many, of a window of a minute or more.
pub(super) fn is_many(window: &HostWindow, counted: u64) -> bool {
    counted.saturating_mul(60) / seconds(window).max(60) >= MANY
}

/// How long a window was open, in seconds.
pub(super) fn seconds(window: &HostWindow) -> u64 {
    (window.elapsed.0 + 500_000_000) / 1_000_000_000
}

/// What each host counted while nothing was measured, with the ports of its links and what is below them, each once; a bond
/// is its members.
pub(super) fn counting<'a>(view: &View<'a>) -> Vec<(Place, &'a InterfaceName, &'a HostWindow)> {
    let mut links: BTreeMap<(&HostName, &InterfaceName), BTreeSet<LinkName>> = BTreeMap::new();
    for ((link, host), (top, _)) in view.ports() {
        let Some((host, facts)) = view.case.hosts.get_key_value(&host) else {
            continue;
        };
        let names = facts.with_lower(top).into_iter();
        // A bond's statistics are the sum of its members' (`bond_fold_stats`, drivers/net/bonding/bond_main.c).
        for name in names.filter(|name| !facts.bonds.contains_key(*name)) {
            links.entry((host, name)).or_default().insert(link.clone());
        }
    }
    let of = |((host, name), links): ((&'a HostName, &'a InterfaceName), BTreeSet<LinkName>)| {
        let place = Place {
            host: Some(host.clone()),
            link: only(links.into_iter()),
            interface: Some(name.clone()),
            ..Place::default()
        };
        Some((place, name, view.case.counted.get(host)?))
    };
    links.into_iter().filter_map(of).collect()
}

/// Links among the losses.
pub(super) fn links(losses: &[Loss]) -> BTreeSet<&LinkName> {
    losses.iter().map(|l| &l.path.link).collect()
}

/// How much `name` gained on the losses' hosts, each phase once.
pub(super) fn counter_over(
    view: &View<'_>,
    host: &HostName,
    losses: &[Loss],
    read: impl Fn(&crate::packets::facts::PhaseFacts<'_>, Side) -> u64,
) -> u64 {
    let mut seen = BTreeSet::new();
    losses
        .iter()
        .filter(|l| seen.insert(l.phase))
        .fold(0u64, |sum, l| {
            let facts = &view.phases[l.phase].facts;
            sum.saturating_add(read(facts, view.side_of(host, l)))
        })
}

/// The line reasons, most packets first, for naming them: `QDISC_DROP`.
pub(super) fn main_reason(losses: &[Loss]) -> String {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for loss in losses {
        *sums.entry(&loss.reason).or_default() += loss.packets;
    }
    sums.into_iter()
        .max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(a.0)))
        .map(|(reason, _)| reason.to_owned())
        .unwrap_or_default()
}

/// A program that had a good part of a processor while something was measured.
#[derive(Serialize)]
pub(super) struct Busy {
    name: String,
    pid: i32,
    percent: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    real_time: bool,
}

/// Who had the processors for so long, the busiest first.
pub(super) fn busy(programs: &[BusyProgram], elapsed: Nanos) -> Vec<Busy> {
    let of = |program: &BusyProgram| Busy {
        name: program.name.clone(),
        pid: program.pid,
        percent: program.cpu.0.saturating_mul(100) / elapsed.0.max(1),
        real_time: program.real_time,
    };
    programs.iter().map(of).collect()
}

/// `burn (process 12, real-time priority) had 97 % of a processor, dd (process 9) 40 %`; nothing where nobody is known.
pub(super) fn busy_words(busy: &[Busy]) -> Option<String> {
    let of = |(i, it): (usize, &Busy)| {
        let priority = if it.real_time {
            ", real-time priority"
        } else {
            ""
        };
        let share = match i {
            0 => format!("had {} % of a processor", it.percent),
            _ => format!("{} %", it.percent),
        };
        format!("{} (process {}{priority}) {share}", it.name, it.pid)
    };
    let all: Vec<String> = busy.iter().enumerate().map(of).collect();
    (!all.is_empty()).then(|| all.join(", "))
}
