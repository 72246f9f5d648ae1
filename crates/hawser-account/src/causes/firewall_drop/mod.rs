//! A packet filter (nftables, iptables, a cgroup program, a security module) drops the
//! probes. On the sending side the program gets EPERM; on the receiving side nothing tells
//! but the kernel's reason `NETFILTER_DROP` and the rule's own counter, if it has one.
//!
//! Evidence: packets in the layers sender-filter or receiver-filter. Named rule: the counter
//! of a dropping rule that moved at least as far and is nearest. Certain with events or
//! EPERM, likely by counter alone. An error. If one kind of traffic is lost whole and the others pass,
//! the kind is named. Cases: `firewall-drop-input`, `firewall-drop-output`,
//! `firewall-drop-fragments`, `firewall-drop-cgroup`, `counters-only-firewall`, `firewall-drop-reject`, `firewall-drop-reject-port`,
//! `firewall-drop-reject-ipv6`, `firewall-drop-reject-unnamed`. Of a TCP stream: [`stream`].

mod rejected;
pub(crate) mod stream;

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::account::Layer;
use hawser_model::case::PhaseKind;
use hawser_model::finding::Place;
use hawser_model::names::HostName;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{
    Cause, CheckCause, Found, Words, as_number, counted, host, in_brackets, on_link, peer,
};
use crate::causes::claims::{Lost, claim_sides, lost_on, main_reason, sent_in};
use crate::losses::{Loss, Losses, packets};
use crate::packets::events::{self, Direction};
use crate::packets::facts::Side;
use crate::packets::rule_counters;
use crate::view::{Path, View};

#[derive(Serialize)]
pub(crate) struct FirewallDrop {
    /// The kernel's word for it.
    reason: String,
    #[serde(serialize_with = "as_number")]
    outgoing: bool,
    /// What the named rule counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_packets: Option<u64>,
    /// What the kernel says of it where `reason` is only what the program was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_reason: Option<String>,
    #[serde(flatten)]
    only: Option<Only>,
    /// Of the lost packets, those that the sender's kernel refused to send, for the filter's ICMP answer to earlier ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_packets: Option<Packets>,
    #[serde(flatten)]
    lost: Lost,
}

/// The one phase that is lost whole, and what passed in the others.
#[derive(Serialize)]
struct Only {
    phase: PhaseKind,
    passed_in_others_packets: Packets,
}

impl CheckCause for FirewallDrop {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let layers = [Layer::SenderFilter, Layer::ReceiverFilter];
        // First, since one of the errors is a sender's own filter's too.
        let refusals = rejected::claim(view, losses, Self::CODE);
        let claimed = claim_sides(losses, Self::CODE, layers).into_iter();
        let found = claimed.map(|(outgoing, host, dropped)| {
            let (rule, rule_packets) = rule(view, &host, &dropped).unzip();
            let same = |r: &&Loss| {
                dropped
                    .iter()
                    .any(|d| d.phase == r.phase && d.path == r.path)
            };
            let refused = refusals.iter().filter(|_| !outgoing).filter(same);
            let refused: Vec<Loss> = refused.cloned().collect();
            let refused_packets = Packets(packets(&refused));
            let group = [dropped, refused].concat();
            let evidence = Self {
                kernel_reason: kernel_reason(view, &host, &group),
                reason: main_reason(&group),
                outgoing,
                rule_packets,
                only: only(view, &group),
                refused_packets: Some(refused_packets).filter(|n| !n.is_zero()),
                lost: Lost::of(view, &group),
            };
            let mut found = lost_on(view, &host, &group, evidence);
            found.place.object = rule;
            found
        });
        found.collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

impl Cause for FirewallDrop {
    const CODE: &'static str = "firewall-drop";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (outgoing, rule) = (self.outgoing, at.object.as_deref());
        let chain = match outgoing {
            true => format!("on their way out to {}", peer(at)),
            false => format!("coming in from {}", peer(at)),
        };
        let by = match (rule, self.rule_packets) {
            (Some(rule), Some(n)) => {
                format!(
                    " The rule {rule} counted {} in the same time.",
                    counted(n, "packet")
                )
            }
            _ if self.by_cgroup() => {
                " It is a BPF program of a control group (as `IPAddressDeny=` of a systemd unit makes one): no list of rules \
                 shows it."
                    .to_owned()
            }
            _ => " No counter of a rule tells which one it is.".to_owned(),
        };
        let fragmented = "A filter without connection tracking drops later fragments, which carry no port: accept them \
                          too, or track connections. ";
        let (only, first) = match &self.only {
            Some(only) => {
                let (kind, first) = match only.phase {
                    PhaseKind::Fragmented => ("fragmented datagrams are", fragmented),
                    PhaseKind::Heartbeat => ("the heartbeat phase is", ""),
                    PhaseKind::Bulk => ("the bulk phase is", ""),
                    PhaseKind::Multicast => ("multicast is", ""),
                    PhaseKind::Stream => ("the stream is", ""),
                };
                let passed = counted(only.passed_in_others_packets.0, "packet");
                (
                    format!(" Only {kind} hit; {passed} of other kinds passed."),
                    first,
                )
            }
            None => Default::default(),
        };
        let refused = self.refused_packets.map_or_else(String::new, |refused| {
            format!(
                " It answers with ICMP (`reject`), for which {} refused to send {refused} of them.",
                peer(at),
            )
        });
        Words {
            text: format!(
                "The packet filter of {} drops {}{}, {chain}{}.{only}{by}{refused}",
                host(at),
                self.lost,
                on_link(at),
                in_brackets(&self.reason),
            ),
            fix: match self.by_cgroup() {
                true => format!(
                    "`bpftool cgroup tree` on {} lists such programs by control group (`cgroup_inet_ingress`, \
                     `cgroup_inet_egress`). For a systemd unit: `systemctl show UNIT -p IPAddressAllow -p IPAddressDeny`. The \
                     control group is that of Hawser's own probe and of the groups above it; Corosync may be in another.",
                    host(at),
                ),
                false => format!(
                    "{first}Accept the cluster's traffic{}: `nft -a list ruleset` (or `iptables-save -c`) shows \
                 the rule by its handle; with firewalld `firewall-cmd --add-service=high-availability`. \
                 Hawser's probes use an ephemeral UDP port, which the rule may drop although it \
                 accepts Corosync's.",
                    on_link(at),
                ),
            },
        }
    }
}

impl FirewallDrop {
    fn by_cgroup(&self) -> bool {
        let kernel = self.kernel_reason.as_ref().unwrap_or(&self.reason);
        kernel.starts_with("BPF_CGROUP")
    }
}

/// The reason of most of the kernel's events of these packets, if it is another word than that of the account's lines.
fn kernel_reason(view: &View<'_>, host: &HostName, group: &[Loss]) -> Option<String> {
    let mut sums = BTreeMap::<String, u64>::new();
    let mut seen = BTreeSet::new();
    for loss in group.iter().filter(|l| seen.insert(l.phase)) {
        let facts = &view.phases[loss.phase].facts;
        for event in events::own(facts, view.side_of(host, loss), Direction::Forward) {
            if Some(event.stage.layer) == loss.layer {
                let sum = sums.entry(event.reason).or_default();
                *sum = sum.saturating_add(event.packets);
            }
        }
    }
    let (reason, _) = sums.into_iter().max_by_key(|(_, packets)| *packets)?;
    (reason != main_reason(group)).then_some(reason)
}

/// The phase that lost all of its packets, where others on the same paths passed.
fn only(view: &View<'_>, group: &[Loss]) -> Option<Only> {
    let phases: BTreeSet<usize> = group.iter().map(|l| l.phase).collect();
    let mut kinds = phases
        .iter()
        .map(|&index| view.phases[index].facts.phase.kind);
    let phase = kinds.next()?;
    if kinds.any(|kind| kind != phase) || packets(group) < sent_in(view, group) {
        return None;
    }
    let paths: BTreeSet<Path> = group.iter().map(|l| l.path.clone()).collect();
    let others = paths.iter().flat_map(|path| view.on(path));
    let passed = others
        .filter(|other| other.facts.phase.kind != phase)
        .map(|other| other.account.received.0)
        .sum();
    (passed > 0).then_some(Only {
        phase,
        passed_in_others_packets: Packets(passed),
    })
}

/// The rule that counted at least the lost packets, and as few others as any.
fn rule(view: &View<'_>, host: &HostName, group: &[Loss]) -> Option<(String, u64)> {
    let lost = packets(group);
    let mut sums = BTreeMap::<String, u64>::new();
    let mut seen = BTreeSet::new();
    for loss in group.iter().filter(|l| seen.insert(l.phase)) {
        let side: Side = view.side_of(host, loss);
        for (name, moved) in rule_counters(&view.phases[loss.phase].facts, side) {
            let sum = sums.entry(name.to_owned()).or_default();
            *sum = sum.saturating_add(moved);
        }
    }
    sums.into_iter()
        .filter(|(_, moved)| *moved >= lost)
        .min_by_key(|(_, moved)| *moved)
        .map(|(name, moved)| (name.trim_end_matches("/drops").to_owned(), moved))
}
