//! How long clients of a pool wait while it moves: from the times that its agents took when they last
//! ran, which Pacemaker keeps in the status section of the CIB.

use std::collections::BTreeMap;

use hawser_model::cluster_file::HookPlace;

use crate::simulate::{Directory, Part, Story, StoryStep};
use crate::xml::Element;

/// How long the clients of a pool wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Milliseconds, as far as they are known.
    pub millis: u64,
    /// True when something in between has never run here, so that it will be longer.
    pub at_least: bool,
}

/// The kinds of parts of a pool, in the order in which they start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hooks(HookPlace),
    Storage,
    Exports,
    Addresses,
}

const KINDS: [Kind; 5] = [
    Kind::Hooks(HookPlace::Before),
    Kind::Storage,
    Kind::Hooks(HookPlace::After),
    Kind::Exports,
    Kind::Addresses,
];

/// The waits of the pools whose storage, exports or addresses are stopped in a story.
pub fn waits(live: &Element, story: &Story) -> BTreeMap<String, Wait> {
    let times = Times::of(live);
    let directory = Directory::of(live);
    let mut waits = BTreeMap::new();
    for pool in directory.pools() {
        let done: Vec<(Kind, bool)> = story
            .steps
            .iter()
            .filter_map(|step| kind_of_step(step, &directory))
            .filter(|(of, ..)| *of == pool)
            .map(|(_, kind, start)| (kind, start))
            .collect();
        let noticed = |(kind, start): &(Kind, bool)| !start && !matches!(kind, Kind::Hooks(_));
        if done.iter().any(noticed) {
            waits.insert(pool.to_owned(), wait(pool, &done, &directory, &times));
        }
    }
    waits
}

fn kind_of_step<'a>(
    step: &'a StoryStep,
    directory: &'a Directory,
) -> Option<(&'a str, Kind, bool)> {
    match step {
        StoryStep::Storage { pool, start, .. } => Some((pool, Kind::Storage, *start)),
        StoryStep::Exports { pool, start, .. } => Some((pool, Kind::Exports, *start)),
        StoryStep::Addresses { pool, start, .. } => Some((pool, Kind::Addresses, *start)),
        StoryStep::Other {
            resource,
            operation,
            ..
        } => {
            let there = directory.resources.get(resource)?;
            let start = match operation.as_str() {
                "start" => true,
                "stop" => false,
                _ => return None,
            };
            Some((there.pool.as_deref()?, kind_of_part(&there.part)?, start))
        }
        StoryStep::Fence { .. } => None,
    }
}

fn kind_of_part(part: &Part) -> Option<Kind> {
    match part {
        Part::Storage(_) => Some(Kind::Storage),
        Part::Exports => Some(Kind::Exports),
        Part::Address(_) => Some(Kind::Addresses),
        Part::Hook(place) => Some(Kind::Hooks(*place)),
        Part::Fence | Part::Watch | Part::Other => None,
    }
}

/// The parts of a pool stop one after the other and start one after the other; addresses do so
/// side by side, so the slowest counts.
fn wait(pool: &str, done: &[(Kind, bool)], directory: &Directory, times: &Times<'_>) -> Wait {
    let mut wait = Wait {
        millis: 0,
        at_least: false,
    };
    for kind in KINDS {
        for (start, operation) in [(false, "stop"), (true, "start")] {
            if !done.contains(&(kind, start)) {
                continue;
            }
            let parts = directory
                .of_pool(pool)
                .filter(|(_, part)| kind_of_part(part) == Some(kind));
            let took: Vec<Option<u64>> = parts.map(|(id, _)| times.last(id, operation)).collect();
            wait.at_least |= took.contains(&None);
            let known = took.into_iter().flatten();
            wait.millis += match kind {
                Kind::Addresses => known.max().unwrap_or(0),
                Kind::Hooks(_) | Kind::Storage | Kind::Exports => known.sum(),
            };
        }
    }
    wait
}

/// How long a pool takes to start, in milliseconds, by what its parts took when they last did: none when a part has
/// never started here.
pub(super) fn starts(live: &Element, pool: &str) -> Option<u64> {
    let (times, directory) = (Times::of(live), Directory::of(live));
    let done = KINDS.map(|kind| (kind, true));
    let wait = wait(pool, &done, &directory, &times);
    let known = directory.of_pool(pool).next().is_some() && !wait.at_least;
    known.then_some(wait.millis)
}

/// What the operations of resources took.
struct Times<'a>(BTreeMap<(&'a str, &'a str), (u64, u64)>);

impl<'a> Times<'a> {
    /// Reads the status section: of several nodes' records the latest counts.
    fn of(cib: &'a Element) -> Self {
        let mut times = BTreeMap::new();
        let status = cib.first("status").map(Element::walk).unwrap_or_default();
        for resource in status
            .into_iter()
            .filter(|element| element.name == "lrm_resource")
        {
            let Some(id) = resource.get("id") else {
                continue;
            };
            for op in &resource.children {
                let number = |name: &str| op.get(name)?.parse::<u64>().ok();
                let (Some(operation), Some(took)) = (op.get("operation"), number("exec-time"))
                else {
                    continue;
                };
                if op.get("rc-code") != Some("0") {
                    continue;
                }
                let when = number("last-rc-change").unwrap_or(0);
                let entry = times.entry((id, operation)).or_insert((when, took));
                if when >= entry.0 {
                    *entry = (when, took);
                }
            }
        }
        Self(times)
    }

    fn last(&self, resource: &str, operation: &str) -> Option<u64> {
        self.0.get(&(resource, operation)).map(|(_, took)| *took)
    }
}
