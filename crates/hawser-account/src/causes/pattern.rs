//! What the affected paths have in common: one direction, one port, one host, one switch,
//! everything. One root cause is one finding, so paths that share a suspect are put together.

use std::collections::BTreeSet;

use hawser_model::finding::Place;
use hawser_model::names::{HostName, LinkName};
use serde::Serialize;

use crate::cause::{host, on_link, peer};
use crate::view::Path;

/// The suspect that a set of paths has in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pattern {
    /// Every path of every link.
    Everything,
    /// Every path of one host on all its links.
    Host,
    /// Every path towards one host on all its links.
    IntoHost,
    /// Every path out of one host on all its links.
    OutOfHost,
    /// Every path of one link: its switch, or with two hosts its cable.
    Link,
    /// Both directions of one host's port on one link.
    Port,
    /// Into one host's port on one link.
    IntoPort,
    /// Out of one host's port on one link.
    OutOfPort,
    /// One direction between two hosts, on all links between them.
    DirectionOnAllLinks,
    /// Both directions between two hosts on one link.
    Pair,
    /// One direction between two hosts on one link.
    Direction,
}

impl Pattern {
    /// What the affected directions have in common, as a sentence on the place that [`localize`] gave.
    pub(crate) fn suspect(self, at: &Place) -> String {
        let (host, peer, on_link) = (host(at), peer(at), on_link(at));
        let link = at.link.as_ref().map_or("the link", |link| link.as_str());
        match self {
            Self::Everything => {
                "Every direction of every link is affected: look for what they share, a \
                                 host rather than a cable."
                    .to_owned()
            }
            Self::Host => format!(
                "It is all of {host}'s links, both ways, and no others: {host} itself rather than a \
                 cable."
            ),
            Self::IntoHost => format!(
                "It is all links towards {host} and no others: {host}'s receiving side rather than a \
                 cable."
            ),
            Self::OutOfHost => format!(
                "It is all links out of {host} and no others: {host}'s sending side rather than a \
                 cable."
            ),
            Self::Link => match &at.object {
                Some(switch) => format!(
                    "Every direction of {link} is affected and no other link: {switch}, or with two \
                     hosts one of the cables to it."
                ),
                None => format!(
                    "Every direction of {link} is affected and no other link: its switch, or with \
                     two hosts a cable."
                ),
            },
            Self::Port => format!(
                "It is {host}'s port on {link}, both ways: its cable, transceiver or switch port."
            ),
            Self::IntoPort => format!(
                "It is only towards {host} on {link}: the switch port's sending side, the cable, \
                 {host}'s transceiver."
            ),
            Self::OutOfPort => format!(
                "It is only out of {host} on {link}: {host}'s transceiver, the cable, the switch \
                 port's receiving side."
            ),
            Self::DirectionOnAllLinks => format!(
                "It is only from {host} to {peer}, on all links between them: one of the two hosts \
                 rather than a cable."
            ),
            Self::Pair => format!("It is only between {host} and {peer}{on_link}, both ways."),
            Self::Direction => {
                format!("It is only from {host} to {peer}{on_link}; the other direction is clean.")
            }
        }
    }
}

/// A suspect and the paths it explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) pattern: Pattern,
    pub(crate) place: Place,
    pub(crate) paths: BTreeSet<Path>,
}

/// Sorts the affected paths by their suspects, the widest suspect that fits first. `measured`
/// holds all paths that were measured: a suspect must have all of its paths affected.
pub(crate) fn localize(affected: &BTreeSet<Path>, measured: &BTreeSet<Path>) -> Vec<Spot> {
    let mut rest = affected.clone();
    let mut spots = Vec::new();
    let links: BTreeSet<&LinkName> = measured.iter().map(|p| &p.link).collect();
    let hosts: BTreeSet<&HostName> = measured.iter().flat_map(|p| [&p.from, &p.to]).collect();

    if links.len() > 1 && measured.len() > 1 && rest == *measured {
        take(
            &mut rest,
            &mut spots,
            Pattern::Everything,
            Place::default(),
            measured,
            |_| true,
        );
    }
    // With two hosts, "into one" and "out of the other" are the same paths.
    if hosts.len() > 2 && links.len() > 1 {
        for host in &hosts {
            let place = || Place {
                host: Some((*host).clone()),
                ..Place::default()
            };
            let on: BTreeSet<&LinkName> = measured
                .iter()
                .filter(|p| p.from == **host || p.to == **host)
                .map(|p| &p.link)
                .collect();
            if on.len() < 2 {
                continue;
            }
            for (pattern, of) in ends(Pattern::Host, Pattern::IntoHost, Pattern::OutOfHost) {
                take_if_wide(&mut rest, &mut spots, pattern, place(), measured, |p| {
                    of(p, host)
                });
            }
        }
    }
    for link in &links {
        let place = Place {
            link: Some((*link).clone()),
            ..Place::default()
        };
        if measured.iter().filter(|p| p.link == **link).count() > 1 {
            take(&mut rest, &mut spots, Pattern::Link, place, measured, |p| {
                p.link == **link
            });
        }
    }
    for link in &links {
        for host in &hosts {
            let place = || Place {
                host: Some((*host).clone()),
                link: Some((*link).clone()),
                ..Place::default()
            };
            let on_link = measured
                .iter()
                .filter(|p| p.link == **link)
                .flat_map(|p| [&p.from, &p.to])
                .collect::<BTreeSet<_>>();
            if on_link.len() > 2 {
                for (pattern, of) in ends(Pattern::Port, Pattern::IntoPort, Pattern::OutOfPort) {
                    take_if_wide(&mut rest, &mut spots, pattern, place(), measured, |p| {
                        p.link == **link && of(p, host)
                    });
                }
            }
        }
    }
    let directions: BTreeSet<(&HostName, &HostName)> =
        measured.iter().map(|p| (&p.from, &p.to)).collect();
    for (from, to) in directions {
        let place = Place {
            host: Some(from.clone()),
            peer: Some(to.clone()),
            ..Place::default()
        };
        take_if_wide(
            &mut rest,
            &mut spots,
            Pattern::DirectionOnAllLinks,
            place,
            measured,
            |p| p.from == *from && p.to == *to,
        );
    }
    for path in rest.clone() {
        let place = Place {
            host: Some(path.from.clone()),
            peer: Some(path.to.clone()),
            link: Some(path.link.clone()),
            ..Place::default()
        };
        let back = path.back();
        if rest.contains(&path) && rest.contains(&back) {
            let both = |p: &Path| *p == path || *p == back;
            take(&mut rest, &mut spots, Pattern::Pair, place, measured, both);
        } else if rest.contains(&path) {
            take(
                &mut rest,
                &mut spots,
                Pattern::Direction,
                place,
                measured,
                |p| *p == path,
            );
        }
    }
    spots
}

type Of = fn(&Path, &HostName) -> bool;

/// Both directions of a host, then into it, then out of it.
fn ends(both: Pattern, into: Pattern, out: Pattern) -> [(Pattern, Of); 3] {
    [
        (both, |p, host| p.from == *host || p.to == *host),
        (into, |p, host| p.to == *host),
        (out, |p, host| p.from == *host),
    ]
}

/// Makes a spot of the measured paths that `of` picks, if all of them are affected.
fn take(
    rest: &mut BTreeSet<Path>,
    spots: &mut Vec<Spot>,
    pattern: Pattern,
    place: Place,
    measured: &BTreeSet<Path>,
    of: impl Fn(&Path) -> bool,
) {
    let paths: BTreeSet<Path> = measured.iter().filter(|p| of(p)).cloned().collect();
    if !paths.is_empty() && paths.is_subset(rest) {
        rest.retain(|p| !paths.contains(p));
        spots.push(Spot {
            pattern,
            place,
            paths,
        });
    }
}

/// The same for suspects that need more than one path to be told from a single direction.
fn take_if_wide(
    rest: &mut BTreeSet<Path>,
    spots: &mut Vec<Spot>,
    pattern: Pattern,
    place: Place,
    measured: &BTreeSet<Path>,
    of: impl Fn(&Path) -> bool,
) {
    if measured.iter().filter(|p| of(p)).count() > 1 {
        take(rest, spots, pattern, place, measured, of);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(hosts: &[&str], links: &[&str]) -> BTreeSet<Path> {
        let mut all = BTreeSet::new();
        for link in links {
            for from in hosts {
                for to in hosts.iter().filter(|to| *to != from) {
                    all.insert(Path {
                        link: (*link).into(),
                        from: (*from).into(),
                        to: (*to).into(),
                    });
                }
            }
        }
        all
    }

    fn patterns(hosts: &[&str], links: &[&str], bad: impl Fn(&Path) -> bool) -> Vec<Pattern> {
        let all = paths(hosts, links);
        let bad = all.iter().filter(|p| bad(p)).cloned().collect();
        localize(&bad, &all).iter().map(|s| s.pattern).collect()
    }

    #[test]
    fn two_hosts_tell_a_cable_a_direction_and_everything_apart() {
        let (hosts, links) = (["a", "b"], ["ring0", "ring1"]);
        let of = |bad: fn(&Path) -> bool| patterns(&hosts, &links, bad);
        assert_eq!(of(|_| true), [Pattern::Everything]);
        assert_eq!(of(|p| p.link.0 == "ring0"), [Pattern::Link]);
        assert_eq!(of(|p| p.from.0 == "a"), [Pattern::DirectionOnAllLinks]);
        assert_eq!(
            of(|p| p.from.0 == "a" && p.link.0 == "ring1"),
            [Pattern::Direction]
        );
        assert_eq!(of(|_| false), []);
    }

    #[test]
    fn more_hosts_tell_a_port_from_a_switch_and_from_a_host() {
        let (hosts, links) = (["a", "b", "c"], ["ring0", "ring1"]);
        let of = |bad: fn(&Path) -> bool| patterns(&hosts, &links, bad);
        assert_eq!(of(|p| p.to.0 == "b"), [Pattern::IntoHost]);
        assert_eq!(of(|p| p.to.0 == "b" || p.from.0 == "b"), [Pattern::Host]);
        assert_eq!(
            of(|p| p.to.0 == "b" && p.link.0 == "ring0"),
            [Pattern::IntoPort]
        );
        assert_eq!(of(|p| p.link.0 == "ring0"), [Pattern::Link]);
        assert_eq!(
            of(|p| p.link.0 == "ring0" && p.from.0 != "c" && p.to.0 != "c"),
            [Pattern::Pair]
        );
    }
}
