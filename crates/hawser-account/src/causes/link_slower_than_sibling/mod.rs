//! One link between two hosts takes far longer than another one between the same two: a cable that was led over a provider's
//! path, a tunnel, a route through another site, a queue that delays all.
//!
//! Evidence: the least round trip of the heartbeats, which a busy host lengthens least: more than ten times that of the fastest
//! other link of the same pair, and more than a millisecond longer. What is measured is certain; a warning, since
//! it may be meant. Corosync's token is held against it. Cases: `link-slower-than-sibling`, `link-slower-than-token`; not
//! `link-as-slow-as-sibling`.

use std::collections::BTreeMap;

use hawser_model::case::{Case, PhaseKind};
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::LinkName;
use hawser_model::units::Nanos;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words};
use crate::causes::pattern::{Pattern, localize};
use crate::causes::token_longer_than_needed::check::tokens;
use crate::losses::Losses;
use crate::view::{Path, View};

#[derive(Serialize)]
pub(crate) struct LinkSlowerThanSibling {
    pattern: Pattern,
    least_round_trip_ns: Nanos,
    sibling: LinkName,
    sibling_round_trip_ns: Nanos,
    times_as_long: u64,
    /// What the token needs for one round over the link.
    token_round_ns: Nanos,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_ms: Option<u64>,
}

/// How many times as long …
const TIMES: u64 = 10;

/// … and how much longer: below it, a switch more or a cheaper card may be all.
const LONGER: Nanos = Nanos::from_millis(1);

/// Fewest echoes that say what the least is.
const ECHOES: u64 = 10;

/// A round of the token takes a share of it from which on little is left for what else delays it.
const OF_TOKEN: u64 = 10;

/// The least round trip of each path's heartbeats.
fn round_trips(case: &Case) -> BTreeMap<Path, Nanos> {
    let mut least: BTreeMap<Path, Nanos> = BTreeMap::new();
    for m in &case.measurements {
        let path = Path::of(m);
        let heartbeats = m.phases.iter().filter(|p| p.kind == PhaseKind::Heartbeat);
        let times = heartbeats.filter_map(|p| p.sender.round_trip.as_ref());
        let enough = times.filter(|t| t.count >= ECHOES && t.min > Nanos::ZERO);
        if let Some(min) = enough.map(|t| t.min).min() {
            least.insert(path, min);
        }
    }
    least
}

/// The fastest other link of the same pair.
fn sibling<'a>(all: &'a BTreeMap<Path, Nanos>, path: &Path) -> Option<(&'a LinkName, Nanos)> {
    let same = |other: &&Path| other.from == path.from && other.to == path.to;
    let others = all
        .iter()
        .filter(|(other, _)| same(other) && other.link != path.link);
    let times = others.map(|(other, time)| (&other.link, *time));
    times.min_by_key(|(_, time)| *time)
}

impl CheckCause for LinkSlowerThanSibling {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let all = round_trips(view.case);
        let slower = |(path, time): &(&Path, &Nanos)| {
            let other = sibling(&all, path).map(|(_, time)| time);
            other.is_some_and(|other| {
                time.0 > other.0.saturating_mul(TIMES) && time.saturating_sub(other) > LONGER
            })
        };
        let affected = all.iter().filter(slower).map(|(path, _)| path.clone());
        let measured = all.keys().cloned().collect();
        let token_ms = tokens(view.case).map(|(token, _)| token).min();
        let spots = localize(&affected.collect(), &measured).into_iter();
        spots
            .filter_map(|spot| {
                let of = |path: &Path| Some((path.clone(), *all.get(path)?));
                let (path, least) = spot.paths.iter().filter_map(of).max_by_key(|one| one.1)?;
                let (name, other) = sibling(&all, &path)?;
                let nodes = view.case.topology.nodes.len() as u64;
                Some(Found {
                    severity: Severity::Warning,
                    confidence: Confidence::Certain,
                    place: spot.place,
                    evidence: Self {
                        pattern: spot.pattern,
                        least_round_trip_ns: least,
                        sibling: name.clone(),
                        sibling_round_trip_ns: other,
                        times_as_long: least.0 / other.0.max(1),
                        // A hop is half a round trip.
                        token_round_ns: Nanos(least.0.saturating_mul(nodes) / 2),
                        token_ms,
                    },
                })
            })
            .collect()
    }
}

impl Cause for LinkSlowerThanSibling {
    const CODE: &'static str = "link-slower-than-sibling";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let link = at.link.as_ref().map_or("this link", |link| link.as_str());
        let (round, sibling) = (self.token_round_ns, &self.sibling);
        let token = match self.token_ms {
            Some(ms) if round.0.saturating_mul(OF_TOKEN) >= ms.saturating_mul(1_000_000) => {
                format!(", a large part of its {ms} ms: one more delay may cost a healthy node")
            }
            Some(ms) => format!(", little of its {ms} ms, but every message waits for it"),
            None => ", and every message waits for it".to_owned(),
        };
        Words {
            text: format!(
                "A round trip on {link} takes at least {}, between the same hosts on {sibling} {}: {} times as long. {} Nothing \
                 needs to be lost for it to matter: kronosnet does not choose a link by its delay, and a round of \
                 Corosync's token over {link} takes at least {round}{token}. A TCP stream carries one window a round trip.",
                self.least_round_trip_ns,
                self.sibling_round_trip_ns,
                self.times_as_long,
                self.pattern.suspect(at),
            ),
            fix: format!(
                "Find where the time goes: `ip route get ADDRESS` and `tracepath -n ADDRESS` on both hosts (a router, tunnel or other \
                 site on the way), `tc -s qdisc show` (netem, a full queue), and ask whose cable it is. If it is meant, let \
                 the token go over {sibling}: `priority` of the links in the cluster file, or `knet_link_priority` in \
                 corosync.conf (the higher one is used in passive mode)."
            ),
        }
    }
}
