//! An IPsec policy refuses packets: it wants them encrypted, and they came in clear; or the other way round. A tunnel that
//! was taken down on one host alone leaves such a policy. UDP asks it in front of the socket's buffer, and the socket counts
//! the packet with its drops (`udp_queue_rcv_one_skb`, `net/ipv4/udp.c`), so it passes for a buffer that is too small.
//!
//! Evidence: the kernel's reason `XFRM_POLICY` for the flow's own packets, or a counter of `/proc/net/xfrm_stat` that
//! moved with what the socket refused (likely). An error. Cases: `ipsec-policy-drop`, `ipsec-policy-drop-counted`.

use std::collections::BTreeMap;

use hawser_model::account::Layer;
use hawser_model::finding::Place;
use hawser_model::names::HostName;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, host, in_brackets, on_link, peer};
use crate::causes::claims::{Lost, by_host, lost_on, main_reason, named};
use crate::losses::{Loss, Losses};
use crate::packets::{POLICY, POLICY_COUNTERS};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct IpsecPolicyDrop {
    /// The kernel's word for it, or the counter that tells of it.
    reason: String,
    /// What IPsec itself counted most of.
    #[serde(flatten)]
    counter: Option<Refusals>,
    #[serde(flatten)]
    lost: Lost,
}

/// A counter of `/proc/net/xfrm_stat`.
#[derive(Serialize)]
struct Refusals {
    policy_counter: String,
    policy_counted: u64,
}

fn is_policy(loss: &Loss) -> bool {
    loss.layer == Some(Layer::ReceiverFilter)
        && (loss.reason == POLICY || loss.reason.starts_with(POLICY_COUNTERS))
}

impl Refusals {
    /// The counter that moved furthest in these phases.
    fn of(view: &View<'_>, host: &HostName, group: &[Loss]) -> Option<Self> {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        let phases: BTreeMap<usize, &Loss> = group.iter().map(|l| (l.phase, l)).collect();
        for (phase, loss) in phases {
            let window = view.phases[phase].facts.window(view.side_of(host, loss));
            for (name, moved) in window.counters.under(POLICY_COUNTERS) {
                let sum = sums.entry(name).or_default();
                *sum = sum.saturating_add(moved);
            }
        }
        let (name, policy_counted) = sums.into_iter().max_by_key(|(_, moved)| *moved)?;
        Some(Self {
            policy_counter: name.trim_start_matches("xfrm/").to_owned(),
            policy_counted,
        })
    }
}

impl CheckCause for IpsecPolicyDrop {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let groups = by_host(losses.claim(Self::CODE, is_policy)).into_iter();
        let found = groups.map(|(host, group)| {
            let evidence = Self {
                reason: main_reason(&group),
                counter: Refusals::of(view, &host, &group),
                lost: Lost::of(view, &group),
            };
            lost_on(view, &host, &group, evidence).at_most(named(&group, POLICY))
        });
        found.collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }
}

impl Cause for IpsecPolicyDrop {
    const CODE: &'static str = "ipsec-policy-drop";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let (host, peer) = (host(at), peer(at));
        let counter = self.counter.as_ref().map_or(String::new(), |counter| {
            let packets = counted(counter.policy_counted, "packet");
            format!(" {} counted {packets}.", counter.policy_counter)
        });
        Words {
            text: format!(
                "An IPsec policy of {host} refuses {} from {peer}{}{}: they came in another form than it wants (in clear instead \
                 of encrypted, or the other way round).{counter} No buffer was full, and no rule of the packet filter shows it.",
                self.lost,
                on_link(at),
                in_brackets(&self.reason),
            ),
            fix: format!(
                "`ip xfrm policy` on {host}: look for one with `dir in` and {peer}'s address; `ip xfrm state` has the keys, and \
                 `cat /proc/net/xfrm_stat` says why (XfrmInTmplMismatch: no such encryption; XfrmInNoPols, XfrmInPolBlock). If \
                 the tunnel is gone, delete its policy (`ip xfrm policy delete`, or the IKE daemon's configuration); if it is \
                 meant, set it up on {peer} too."
            ),
        }
    }
}
