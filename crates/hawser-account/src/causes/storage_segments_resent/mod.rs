//! TCP of a head had to send again what it sent to clients of its storage over a link: segments are lost on the way to them, in
//! a queue of the head, at a switch, at a client's port. No heartbeat goes there, and no counter of the head's card shows what a
//! switch drops.
//!
//! Evidence: of a watch, segments with data of the connections to the head's ports of iSCSI and NFS that were sent again and
//! that the client did not have yet (what it had, it says: D-SACK): ten in a minute, and one in four hundred, of all clients of
//! the link or of one. Certain, since TCP counted them; where they were lost it does not say. A warning. What clients send and
//! the head does not get is not seen: segments that come out of order (`tcpi_rcv_ooopack`) are lost ones or overtaken ones, and
//! nothing tells which. Cases: `storage-segments-resent`, `storage-segments-one-client`; not `storage-segments-needless`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::host::HostWindow;
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::served::{SentSegments, ServedClient};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, host, hundredths, percent_text};
use crate::causes::claims::{is_many, seconds};
use crate::causes::copy_retransmits::SHARE;
use crate::losses::Losses;
use crate::view::View;

/// Clients that are named.
const NAMED: usize = 4;

#[derive(Serialize)]
pub(crate) struct StorageSegmentsResent {
    segments: u64,
    resent: u64,
    needless: u64,
    lost: u64,
    lost_percent: f64,
    within_s: u64,
    /// Clients that were sent something over the link.
    clients: u64,
    /// Those of them that lose: all these numbers are theirs.
    losing: u64,
    /// How much those lost that lost most.
    lost_to: BTreeMap<IpAddr, u64>,
}

/// What a client was sent at each of the host's addresses on a link, and how much of it was lost.
#[derive(Clone, Copy, Default)]
struct Sent {
    all: SentSegments,
    lost: u64,
}

impl Sent {
    fn and(self, one: Self) -> Self {
        let mut all = self.all;
        all += one.all;
        let lost = self.lost.saturating_add(one.lost);
        Self { all, lost }
    }

    /// Whether so much was lost that it is worth an alarm.
    fn is_lossy(&self, window: &HostWindow) -> bool {
        is_many(window, self.lost) && self.lost as f64 >= SHARE * self.all.segments.0 as f64
    }
}

impl StorageSegmentsResent {
    /// Of the clients on one link: of those that lose by themselves, or, if only all of them together do, of all.
    fn of(window: &HostWindow, served: &[&ServedClient]) -> Option<Self> {
        let mut clients: BTreeMap<IpAddr, Sent> = BTreeMap::new();
        for one in served {
            let sent = clients.entry(one.client).or_default();
            *sent = sent.and(Sent {
                all: one.sent,
                lost: one.sent.lost().0,
            });
        }
        let count = clients.len() as u64;
        let sum = |clients: &BTreeMap<IpAddr, Sent>| {
            let all = clients.values().copied();
            all.fold(Sent::default(), Sent::and)
        };
        let together = sum(&clients);
        if clients.values().any(|sent| sent.is_lossy(window)) {
            clients.retain(|_, sent| sent.is_lossy(window));
        } else if !together.is_lossy(window) {
            return None;
        }
        let Sent { all, lost } = sum(&clients);
        let losing = clients.len() as u64;
        let mut most: Vec<(IpAddr, u64)> = clients
            .into_iter()
            .map(|(client, sent)| (client, sent.lost))
            .collect();
        most.sort_by_key(|(_, lost)| Reverse(*lost));
        most.truncate(NAMED);
        Some(Self {
            segments: all.segments.0,
            resent: all.resent.0,
            needless: all.needless.0,
            lost,
            lost_percent: hundredths(lost, all.segments.0),
            within_s: seconds(window),
            clients: count,
            losing,
            lost_to: most.into_iter().collect(),
        })
    }
}

impl CheckCause for StorageSegmentsResent {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        type End<'a> = (&'a HostName, &'a LinkName, &'a InterfaceName);
        let mut by_link: BTreeMap<End<'_>, Vec<&ServedClient>> = BTreeMap::new();
        let case = view.case;
        for (host, window) in &case.counted {
            let Some(facts) = case.hosts.get(host) else {
                continue;
            };
            for one in &window.served {
                let end = case.topology.reached_by(host, &facts.interfaces, one.at);
                if let Some((link, interface)) = end {
                    let served = by_link.entry((host, link, interface));
                    served.or_default().push(one);
                }
            }
        }
        let found = by_link.into_iter().filter_map(|(end, served)| {
            let (host, link, interface) = end;
            Some(Found {
                severity: Severity::Warning,
                confidence: Confidence::Certain,
                place: Place {
                    host: Some(host.clone()),
                    link: Some(link.clone()),
                    interface: Some(interface.clone()),
                    ..Place::default()
                },
                evidence: Self::of(&case.counted[host], &served)?,
            })
        });
        found.collect()
    }
}

impl Cause for StorageSegmentsResent {
    const CODE: &'static str = "storage-segments-resent";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let over = match &at.link {
            Some(link) => format!(" over {link}"),
            None => String::new(),
        };
        let mut named: Vec<String> = self.lost_to.keys().map(IpAddr::to_string).collect();
        if self.losing > named.len() as u64 {
            named.push("and others".to_owned());
        }
        let clients = match (self.losing, self.clients) {
            (1, 1) => "the one client".to_owned(),
            (losing, all) if losing == all => format!("all {all} clients"),
            (losing, all) => format!("{losing} of {all} clients"),
        };
        Words {
            text: format!(
                "{} sent {}{over} to {clients} of its storage there ({}) within {} s, and {} of them ({} %) did not arrive and \
                 had to be sent again.",
                host(at),
                counted(self.segments, "segment"),
                named.join(", "),
                self.within_s,
                self.lost,
                percent_text(self.lost_percent),
            ),
            fix: format!(
                "If all clients lose, look at the port of {0}, its cable and the switch; if one does, at that client's. `hawser check` \
                 measures the same link between the heads, `hawser check --host {0} --host CLIENT` between {0} and a client that can be \
                 reached by ssh: both name the layer and the host of each lost packet. A switch counts what it drops at the port.",
                host(at)
            ),
        }
    }
}
