//! The two cables of one host are swapped, or its two ports are in each other's VLAN: what is sent on the one link arrives on the
//! other and nothing on its own. The links are two networks all the same. If the hosts answer for each other interface's
//! address, as Linux does unless `arp_ignore` is set, everything works by the wrong interfaces; else nothing passes.
//!
//! Evidence: layer-2 hellos between two hosts, on both links and both ways, all of them heard on the other link and none on
//! the own one. In one network each would be heard on both: that is `shared-failure-domain`. With three hosts it shows
//! whose cables they are. Interfaces that carry the other link's packets, an address family that does not pass, and a link
//! that is dead are its effects. Certain. A warning; an error if packets were lost for it. Cases: `cables-swapped`,
//! `cables-swapped-dead`, `cables-swapped-of-three`; not `shared-domain-own-hellos`.

use std::collections::BTreeSet;

use hawser_model::account::Layer;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::{HostName, LinkName};
use hawser_model::probe::HelloHeard;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, host, peer};
use crate::causes::claims::Lost;
use crate::losses::{Loss, Losses};
use crate::view::{Path, View};

#[derive(Serialize)]
pub(crate) struct CablesSwapped {
    hellos_crossed: u64,
    pairs_crossed: u64,
    /// None where it cost nothing.
    #[serde(flatten)]
    lost: Option<Lost>,
}

/// Two hosts between which two links are crossed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Crossed {
    links: [LinkName; 2],
    hosts: [HostName; 2],
}

impl Crossed {
    fn has(&self, a: &HostName, b: &HostName, link: &LinkName) -> bool {
        a != b && self.hosts.contains(a) && self.hosts.contains(b) && self.links.contains(link)
    }
}

/// All pairs of hosts and links that are crossed.
fn crossed(view: &View<'_>) -> BTreeSet<Crossed> {
    let hellos: Vec<&HelloHeard> = view.case.hellos.iter().flatten().collect();
    let heard = |from: &HostName, on: &LinkName, by: &HostName, at: &LinkName| {
        let mut all = hellos.iter();
        all.any(|h| h.from == *from && h.from_link == *on && h.by == *by && h.on_link == *at)
    };
    let mut found = BTreeSet::new();
    // What a host hears of itself was never sent to its own link.
    let between = |h: &&&HelloHeard| h.from != h.by && h.from_link < h.on_link;
    for hello in hellos.iter().filter(between) {
        let (a, b) = (&hello.from_link, &hello.on_link);
        let ways = [(&hello.from, &hello.by), (&hello.by, &hello.from)];
        let across = ways.iter().all(|(from, by)| {
            let other = heard(from, a, by, b) && heard(from, b, by, a);
            other && !heard(from, a, by, a) && !heard(from, b, by, b)
        });
        if across {
            let mut hosts = [hello.from.clone(), hello.by.clone()];
            hosts.sort();
            found.insert(Crossed {
                links: [a.clone(), b.clone()],
                hosts,
            });
        }
    }
    found
}

/// Whether cables between these two hosts are crossed, so that what one sends on this link arrives on another one.
pub(super) fn is_crossed(view: &View<'_>, a: &HostName, b: &HostName, link: &LinkName) -> bool {
    crossed(view).iter().any(|pair| pair.has(a, b, link))
}

/// The host whose own cables they are: the one that several pairs have in common. One pair does not tell.
fn guilty(pairs: &[Crossed]) -> Option<&HostName> {
    let (first, rest) = pairs.split_first()?;
    let mut hosts = first.hosts.iter();
    match rest {
        [] => None,
        rest => hosts.find(|host| rest.iter().all(|pair| pair.hosts.contains(host))),
    }
}

impl CheckCause for CablesSwapped {
    const STANDING: bool = true;

    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>> {
        let all: Vec<Crossed> = crossed(view).into_iter().collect();
        let links: BTreeSet<&[LinkName; 2]> = all.iter().map(|pair| &pair.links).collect();
        let mut found = Vec::new();
        for links in links {
            let pairs: Vec<Crossed> = all.iter().filter(|p| p.links == *links).cloned().collect();
            let host = guilty(&pairs).cloned();
            let spots: Vec<&[Crossed]> = match host {
                Some(_) => vec![&pairs[..]],
                None => pairs.chunks(1).collect(),
            };
            for spot in spots {
                found.push(finding(view, losses, spot, host.as_ref()));
            }
        }
        found
    }

    fn cost(&self) -> Packets {
        self.lost.as_ref().map_or(Packets(0), |l| l.lost_packets)
    }
}

fn finding(
    view: &View<'_>,
    losses: &mut Losses,
    spot: &[Crossed],
    guilty: Option<&HostName>,
) -> Found<CablesSwapped> {
    let on = |path: &Path| {
        let mut pairs = spot.iter();
        pairs.any(|pair| pair.has(&path.from, &path.to, &path.link))
    };
    let explained: Vec<Loss> = losses.claim(CablesSwapped::CODE, |l| {
        let nowhere = matches!(l.layer, None | Some(Layer::BetweenHosts | Layer::Neighbour));
        nowhere && on(&l.path) && view.received(&l.path) == 0
    });
    let hellos = view.case.hellos.iter().flatten();
    let hellos = hellos.filter(|h| spot.iter().any(|p| p.has(&h.from, &h.by, &h.from_link)));
    let links = &spot[0].links;
    let [first, second] = &spot[0].hosts;
    let (host, peer) = match guilty {
        Some(host) => (host, None),
        None => (first, Some(second.clone())),
    };
    Found {
        severity: match explained.is_empty() {
            true => Severity::Warning,
            false => Severity::Error,
        },
        confidence: Confidence::Certain,
        place: Place {
            host: Some(host.clone()),
            peer,
            link: Some(links[0].clone()),
            object: Some(format!("link {}", links[1])),
            ..Place::default()
        },
        evidence: CablesSwapped {
            hellos_crossed: hellos.count() as u64,
            pairs_crossed: spot.len() as u64,
            lost: (!explained.is_empty()).then(|| Lost::of(view, &explained)),
        },
    }
}

impl Cause for CablesSwapped {
    const CODE: &'static str = "cables-swapped";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let link = at.link.as_ref().map_or("one link", |link| link.as_str());
        let object = at.object.as_deref().unwrap_or("another link");
        let other = object.strip_prefix("link ").unwrap_or(object);
        let frames = counted(self.hellos_crossed, "frame");
        let cost = match &self.lost {
            Some(lost) => format!(" It cost {lost}."),
            None => " What passes takes the other link's interface.".to_owned(),
        };
        let (whose, which) = match at.peer {
            None => (
                format!(
                    "The cables of {link} and {other} are swapped on {}",
                    host(at)
                ),
                format!("Swap the two on {}", host(at)),
            ),
            Some(_) => (
                format!(
                    "The cables of {link} and {other} are swapped on {} or on {}; which of the two cannot be told from these two",
                    host(at),
                    peer(at),
                ),
                format!(
                    "Swap the two on one of the hosts, {} or {}",
                    host(at),
                    peer(at)
                ),
            ),
        };
        Words {
            text: format!(
                "{whose}: what is sent on {link} arrives on {other}, what is sent on {other} on {link}, and nothing on its own link \
                 ({frames}).{cost}"
            ),
            fix: format!(
                "{which}: the cables at its ports or at the switches, or the VLANs of the two ports; if the cables are right, its two \
                 interfaces have each other's addresses. `ethtool -p IF` lets a port blink; the switch's table of addresses shows at \
                 which port a MAC address is."
            ),
        }
    }
}
