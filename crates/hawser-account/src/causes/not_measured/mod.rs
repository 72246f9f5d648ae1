//! A direction of a link could not be measured: a socket could not be opened, a window not
//! read. No finding about it means nothing then.
//!
//! Evidence: the measurement's own list of problems. What the kernel answered says more where the facts confirm it
//! ([`Why`]): ports used up, an address that is the broadcast address of a narrower prefix, a route that refuses. One
//! problem of one host is one finding, at the host that had it, which may be either end. Certain; a warning, and an error
//! where the kernel refuses all traffic. Cases: `not-measured`, `not-measured-ports`, `not-measured-port-named`, `not-measured-broadcast`,
//! `not-measured-route`.

mod problem;
mod why;

use std::collections::BTreeMap;

use hawser_model::case::{Case, Measurement};
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::{HostName, LinkName};
use serde::Serialize;

use super::multicast_join_refused::is_refused_join;
use crate::cause::{Cause, CheckCause, Found, Words, host, on_link, peer};
use crate::losses::Losses;
use crate::view::View;
use problem::Problem;
use why::Why;

#[derive(Serialize)]
pub(crate) struct NotMeasured {
    problems: u64,
    phases_measured: u64,
    /// What the calls said, each once.
    said: String,
    #[serde(flatten)]
    why: Why,
}

/// Where a problem belongs: the host that had it, and the way, unless it has it on all of them.
type Key = (HostName, Option<(HostName, LinkName)>);

#[derive(Default)]
struct Group {
    problems: u64,
    phases: u64,
    said: Vec<String>,
    why: Why,
}

impl CheckCause for NotMeasured {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
        for m in &view.case.measurements {
            let mut counted: Vec<Key> = Vec::new();
            // A refused join has a cause of its own.
            for text in m.problems.iter().filter(|p| !is_refused_join(p)) {
                let (key, problem, why) = read(view.case, m, text);
                let group = groups.entry(key.clone()).or_default();
                group.problems += 1;
                if !group.said.contains(&problem.said) {
                    group.said.push(problem.said);
                }
                if !counted.contains(&key) {
                    group.phases += m.phases.len() as u64;
                    counted.push(key);
                }
                if group.why == Why::NotKnown {
                    group.why = why;
                }
            }
        }
        groups.into_iter().map(found).collect()
    }
}

/// A problem of a measurement: whose it is, what it says, and why.
fn read(case: &Case, m: &Measurement, text: &str) -> (Key, Problem, Why) {
    let (own, problem) = Problem::read(text, [&m.from, &m.to]);
    let own = own.unwrap_or(&m.from);
    let other = if *own == m.from { &m.to } else { &m.from };
    let why = Why::of(case, own, other, &m.link, &problem);
    let way = (!why.everywhere()).then(|| (other.clone(), m.link.clone()));
    ((own.clone(), way), problem, why)
}

fn found(((on, way), group): (Key, Group)) -> Found<NotMeasured> {
    let (peer, link) = way.unzip();
    Found {
        severity: match group.why.refuses() && group.phases == 0 {
            true => Severity::Error,
            false => Severity::Warning,
        },
        confidence: Confidence::Certain,
        place: Place {
            peer,
            link,
            ..Place::on(&on)
        },
        evidence: NotMeasured {
            problems: group.problems,
            phases_measured: group.phases,
            said: group.said.join("; "),
            why: group.why,
        },
    }
}

impl Cause for NotMeasured {
    const CODE: &'static str = "not-measured";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, at: &Place) -> Words {
        let with = match &at.peer {
            Some(_) => format!(" with {}{}", peer(at), on_link(at)),
            None => String::new(),
        };
        let (why, fix) = self.why.words(at);
        Words {
            text: format!(
                "{} could not do its part of what was to be measured{with}: {}.{why} Nothing found there does not mean that \
                 nothing is wrong.",
                host(at),
                self.said,
            ),
            fix: fix.unwrap_or_else(|| {
                "The call and its manual page say what is missing: a port, an address, a permission, a route. Repeat the \
                 check when it is there."
                    .to_owned()
            }),
        }
    }
}
