//! Datagrams are cut into fragments, or refused, although the link would carry them whole: a
//! route or a learnt path MTU is smaller than what passes (`ip route … mtu`, a stale ICMP), or
//! a bridge between the hosts reassembles and cuts them again for its filter
//! (`bridge-nf-call-iptables`). Each fragment is one more packet to lose.
//!
//! Evidence: the sender's tap sees fragments of datagrams that fit its interface, or finer
//! ones than its MTU needs; or the receiver's tap sees fragments of what left whole; or the
//! kernel says less than an echo-confirmed size. Certain by taps, likely otherwise. A
//! warning; an error when packets were refused. Cases: `needless-fragmentation-route`,
//! `needless-fragmentation-on-the-way`, `needless-fragmentation-other-family`.

use std::collections::BTreeMap;

use hawser_model::account::Layer;
use hawser_model::case::Measurement;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::units::{Mtu, Packets};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, host, on_link, peer};
use crate::causes::mtu_mismatch::refused_as_too_big;
use crate::causes::tunnel_mtu_too_large;
use crate::losses::{Losses, packets};
use crate::packets::facts::Side;
use crate::view::{Path, PhaseView, View};

#[derive(Serialize)]
pub(crate) struct NeedlessFragmentation {
    /// The family that the flows did not use, when it is that one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    ip_version: Option<u64>,
    fragments_cut_by_sender: u64,
    fragments_cut_on_the_way: u64,
    /// What the sender's kernel holds the path to take, when that is less than what passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    told_mtu_bytes: Option<Mtu>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passed_mtu_bytes: Option<Mtu>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interface_mtu_bytes: Option<Mtu>,
    lost_packets: Packets,
}

#[derive(Default)]
struct Seen {
    cut_by_sender: u64,
    cut_on_the_way: u64,
    by_counter: bool,
    told: Option<Mtu>,
    passed: Option<Mtu>,
    interface: Option<Mtu>,
}

impl CheckCause for NeedlessFragmentation {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let mut seen: BTreeMap<Path, Seen> = BTreeMap::new();
        for phase in &view.phases {
            look(phase, seen.entry(phase.path()).or_default());
        }
        for m in &view.case.measurements {
            let Some(found) = &m.path_mtu else {
                continue;
            };
            let seen = seen.entry(Path::of(m)).or_default();
            seen.interface = Some(found.interface_mtu);
            seen.passed = found.passed;
            seen.told = found.told;
        }
        let found = seen.into_iter();
        let found = found.filter(|(path, _)| !tunnel_mtu_too_large::begins(view, path));
        let found = found.filter_map(|(path, seen)| finding(losses, path, &seen));
        let others = view.case.measurements.iter().filter_map(of_other_family);
        found.chain(others).collect()
    }

    fn cost(&self) -> Packets {
        self.lost_packets
    }
}

impl Cause for NeedlessFragmentation {
    const CODE: &'static str = "needless-fragmentation";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (host, peer, on_link) = (host(at), peer(at), on_link(at));
        let passed = self.passed_mtu_bytes;
        let carried = passed.map_or(String::new(), |p| {
            format!(" Packets of {p} bytes were seen to pass whole.")
        });
        let family = match self.ip_version {
            Some(version) => format!("IPv{version} "),
            None => String::new(),
        };
        let text = match (self.fragments_cut_by_sender, self.fragments_cut_on_the_way) {
            (0, 0) => format!(
                "{host} holds the {family}path to {peer}{on_link} to take only {} bytes; larger datagrams \
                 are cut or refused.{carried}",
                self.told_mtu_bytes.unwrap_or(Mtu(0)),
            ),
            (0, n) => format!(
                "Datagrams leave {host} whole and reach {peer}{on_link} in pieces: {} were made on \
                 the way.{carried}",
                counted(n, "fragment"),
            ),
            (n, _) => format!(
                "{host} cuts datagrams to {peer}{on_link} although its interface would carry them \
                 whole or in larger pieces: {} too many.{carried}",
                counted(n, "fragment"),
            ),
        };
        let fix = match (self.fragments_cut_on_the_way, self.ip_version) {
            (0, Some(6)) => format!(
                "`ip -6 route get ADDRESS` on {host}: a route with `mtu`, or a learnt one with `expires` (`ip -6 route \
                 flush cache`); and `sysctl net.ipv6.conf.INTERFACE.mtu`, which a router's advertisement can set. \
                 Remove it."
            ),
            (0, _) => format!(
                "`ip route get ADDRESS` on {host}: a route with `mtu`, or a learnt one with \
                 `expires` (`ip route flush cache`). Remove it."
            ),
            _ => "A bridge on the way hands its frames to a packet filter and cuts them again: \
                  `sysctl -w net.bridge.bridge-nf-call-iptables=0` there (that whole machine), or \
                  give its ports one MTU."
                .to_owned(),
        };
        let refused = match self.lost_packets.0 {
            0 => String::new(),
            n => format!(
                " {} with the don't-fragment bit were refused for it.",
                counted(n, "packet")
            ),
        };
        Words {
            text: text + &refused,
            fix,
        }
    }
}

/// What the sender's kernel holds of the family that the flows did not use, where larger packets of it pass.
fn of_other_family(m: &Measurement) -> Option<Found<NeedlessFragmentation>> {
    let other = m.path_mtu_other.as_ref()?;
    let (told, passed) = (other.told?, other.passed?);
    (told < passed).then(|| Found {
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        place: place(Path::of(m)),
        evidence: NeedlessFragmentation {
            ip_version: Some(other.ip_version()),
            fragments_cut_by_sender: 0,
            fragments_cut_on_the_way: 0,
            told_mtu_bytes: Some(told),
            passed_mtu_bytes: Some(passed),
            interface_mtu_bytes: Some(other.interface_mtu),
            lost_packets: Packets(0),
        },
    })
}

fn place(path: Path) -> Place {
    Place {
        host: Some(path.from),
        peer: Some(path.to),
        link: Some(path.link),
        ..Place::default()
    }
}

/// At most so many fragments more than its datagrams needed has the sender made, by its own counter; no bound where that was not read.
/// A tap may see more: a queue that duplicates (netem) does so before it.
fn cut_beyond(phase: &PhaseView<'_>) -> u64 {
    let facts = &phase.facts;
    let (_, ip) = facts.families();
    let counters = &facts.window(Side::Sender).counters;
    let created = counters.0.get(&format!("{ip}/FragCreates"));
    let needed = match facts.fragments() {
        1 => 0,
        fragments => facts.sent().saturating_mul(fragments),
    };
    created.map_or(u64::MAX, |created| created.saturating_sub(needed))
}

/// What the taps, or without them the counters, saw of fragments in one phase.
fn look(phase: &PhaseView<'_>, seen: &mut Seen) {
    let facts = &phase.facts;
    let due = facts.fragments();
    match (facts.tap(Side::Sender), facts.tap(Side::Receiver)) {
        (Some(out), into) => {
            let needed = out.packets.saturating_mul(due - 1);
            // A first fragment lost below the tap's layer leaves later ones that are needed.
            let all_first = facts.sent().saturating_mul(due - 1).max(needed);
            let too_many = out.later_fragments.saturating_sub(all_first);
            seen.cut_by_sender += too_many.min(cut_beyond(phase));
            // Of datagrams cut by the sender more pieces may arrive because some came twice.
            if let (Some(into), 1) = (into, due) {
                seen.cut_on_the_way += into.later_fragments.saturating_sub(out.later_fragments);
            }
        }
        (None, _) if due == 1 => {
            let (_, ip) = facts.families();
            let created = facts.counter(Side::Sender, &format!("{ip}/FragCreates"));
            let joined = facts.counter(Side::Receiver, &format!("{ip}/ReasmOKs"));
            // Other programs fragment too; only what reaches our own numbers is ours.
            let (sent, received) = (facts.sent().max(1), facts.received().max(1));
            if created >= sent {
                seen.cut_by_sender += created;
                seen.by_counter = true;
            } else if created == 0 && joined >= received {
                seen.cut_on_the_way += joined;
                seen.by_counter = true;
            }
        }
        (None, _) => {}
    }
}

fn finding(losses: &mut Losses, path: Path, seen: &Seen) -> Option<Found<NeedlessFragmentation>> {
    let told_less = match (seen.told, seen.passed) {
        (Some(told), Some(passed)) => told < passed,
        _ => false,
    };
    let refused = match told_less {
        true => losses.claim(NeedlessFragmentation::CODE, |l| {
            l.path == path && l.layer == Some(Layer::SenderIp) && refused_as_too_big(&l.reason)
        }),
        false => Vec::new(),
    };
    if seen.cut_by_sender == 0 && seen.cut_on_the_way == 0 && !told_less {
        return None;
    }
    let severity = match refused.is_empty() {
        true => Severity::Warning,
        false => Severity::Error,
    };
    let by_tap = seen.cut_by_sender + seen.cut_on_the_way > 0 && !seen.by_counter;
    let confidence = match by_tap {
        true => Confidence::Certain,
        false => Confidence::Likely,
    };
    Some(Found {
        severity,
        confidence,
        place: place(path),
        evidence: NeedlessFragmentation {
            ip_version: None,
            fragments_cut_by_sender: seen.cut_by_sender,
            fragments_cut_on_the_way: seen.cut_on_the_way,
            told_mtu_bytes: seen.told.filter(|_| told_less),
            passed_mtu_bytes: seen.passed,
            interface_mtu_bytes: seen.interface,
            lost_packets: Packets(packets(&refused)),
        },
    })
}
