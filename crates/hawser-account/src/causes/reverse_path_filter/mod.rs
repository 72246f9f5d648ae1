//! The receiver drops packets whose source it would not reach through the interface they came
//! in on (`net.ipv4.conf.*.rp_filter`, RFC 3704): usual where two links share a subnet, or
//! where the route back goes elsewhere.
//!
//! Evidence: `IP_RPFILTER` events or `TcpExt: IPReversePathFilter`
//! (`fib_validate_source`, `net/ipv4/ip_input.c`). An error. Case: `reverse-path-filter`.

use crate::fixes::Candidate;
use crate::fixes::knobs::At;
use hawser_model::account::Layer;
use hawser_model::finding::{Place, Severity};
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, host, interface, on_link, peer};
use crate::causes::support::{Lost, by_host, confidence, place_on};
use crate::compare::topic::{About, Topic};
use crate::losses::{Loss, Losses};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct ReversePathFilter {
    #[serde(flatten)]
    lost: Lost,
    /// The larger of the interface's own and that of `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rp_filter: Option<u64>,
}

fn is_reverse_path(loss: &Loss) -> bool {
    loss.layer == Some(Layer::ReceiverIp)
        && (loss.reason == "IP_RPFILTER" || loss.reason.ends_with("IPReversePathFilter"))
}

impl CheckCause for ReversePathFilter {
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        by_host(losses.claim(Self::CODE, is_reverse_path))
            .into_iter()
            .map(|(host, group)| {
                let place = place_on(view, &host, &group);
                let own = place
                    .interface
                    .as_ref()
                    .map(|i| format!("net.ipv4.conf.{}.rp_filter", i.as_str().replace('.', "/")));
                // The kernel applies the larger of `all` and the interface's own (ip-sysctl).
                let rp_filter = [own.as_deref(), Some("net.ipv4.conf.all.rp_filter")]
                    .into_iter()
                    .flatten()
                    .filter_map(|name| view.sysctl(&host, name))
                    .max();
                Found {
                    severity: Severity::Error,
                    confidence: confidence(&group),
                    place,
                    evidence: Self {
                        lost: Lost::of(view, &group),
                        rp_filter,
                    },
                }
            })
            .collect()
    }

    fn cost(&self) -> Packets {
        self.lost.lost_packets
    }

    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        vec![
            at.setting("arp_ignore", "1"),
            at.setting("accept_local", "1"),
            // 2 is loose: any route back will do. The larger of this and `all` is in force.
            at.setting("rp_filter", "2"),
        ]
    }
}

impl Cause for ReversePathFilter {
    const CODE: &'static str = "reverse-path-filter";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Sysctl.with("rp_filter")];

    fn words(&self, at: &Place) -> Words {
        let strict = match self.rp_filter {
            Some(1) => " (rp_filter is 1, strict)".to_owned(),
            Some(n) => format!(" (rp_filter is {n})"),
            None => String::new(),
        };
        Words {
            text: format!(
                "{} drops {} from {}{} because it would answer them through another interface{strict}.",
                host(at),
                self.lost,
                peer(at),
                on_link(at),
            ),
            fix: format!(
                "Give each link a subnet of its own, so that `ip route get ADDRESS` on {} names {}. \
                 Where two links must share one: `sysctl -w net.ipv4.conf.{}.rp_filter=2` (this \
                 interface; `all` must not be 1).",
                host(at),
                interface(at),
                interface(at).replace('.', "/"),
            ),
        }
    }
}
