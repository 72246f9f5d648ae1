//! The story in plain words.

use std::fmt::Write;

use super::directory::Verb;
use super::story::{PoolMove, Story, StoryStep};

/// Tells the story: its steps, then where each pool is.
pub fn tell(story: &Story) -> String {
    let mut out = String::new();
    if story.steps.is_empty() {
        out += "Nothing happens.\n";
    }
    for (i, step) in story.steps.iter().enumerate() {
        // Writing into a String cannot fail.
        let _ = writeln!(out, "{:>2}. {}", i + 1, step_in_words(step));
    }
    for (pool, place) in &story.pools {
        let _ = writeln!(out, "    {}", place_in_words(pool, place));
    }
    for (node, state) in &story.nodes {
        let what = match (state.online, state.unclean) {
            (true, true) => "still answers but is to be switched off",
            (false, true) => "does not answer and is not known to be off",
            (false, false) => "is off",
            (true, false) if state.standby => "is in standby",
            (true, false) if state.maintenance => "is left alone (maintenance)",
            (true, false) => continue,
        };
        let _ = writeln!(out, "    {node} {what}");
    }
    out
}

/// One step as a sentence without its full stop.
pub(crate) fn step_in_words(step: &StoryStep) -> String {
    match step {
        StoryStep::Fence {
            node,
            operation,
            reason,
            delay,
        } => {
            let done = match operation.as_str() {
                "off" => "is switched off",
                "reboot" => "is switched off and on again",
                "on" => "is let in again",
                _ => "is fenced",
            };
            let reason = reason
                .as_ref()
                .map_or(String::new(), |why| format!(" ({why})"));
            let delay = delay.as_ref().map_or(String::new(), |delay| {
                format!("; fencing is delayed by {delay}")
            });
            format!("{node} {done}{reason}{delay}")
        }
        StoryStep::Storage {
            pool,
            verb,
            start,
            node,
        } => {
            let verb = match (verb, start) {
                (Verb::Import, true) => "imports",
                (Verb::Import, false) => "exports",
                (Verb::Mount, true) => "mounts",
                (Verb::Mount, false) => "unmounts",
                (Verb::Activate, true) => "activates",
                (Verb::Activate, false) => "deactivates",
            };
            format!("{node} {verb} {pool}")
        }
        StoryStep::Exports {
            pool,
            start: true,
            node,
        } => format!("{node} offers {pool}"),
        StoryStep::Exports {
            pool,
            start: false,
            node,
        } => format!("{node} no longer offers {pool}"),
        StoryStep::Addresses {
            pool,
            addresses,
            start,
            node,
        } => {
            let verb = if *start { "takes" } else { "gives up" };
            let noun = if addresses.len() == 1 {
                "address"
            } else {
                "addresses"
            };
            format!("{node} {verb} {pool}'s {noun} {}", addresses.join(" and "))
        }
        StoryStep::Other {
            resource,
            operation,
            node,
        } if operation == "reload-agent" => {
            format!("{resource} takes its new parameters on {node} without a stop")
        }
        StoryStep::Other {
            resource,
            operation,
            node,
        } => format!("{operation} of {resource} on {node}"),
    }
}

/// Where a pool is afterwards.
pub(crate) fn place_in_words(pool: &str, place: &PoolMove) -> String {
    let blocked = match place.blocked.is_empty() {
        true => String::new(),
        false => format!("; blocked: {}", list(place.blocked.iter())),
    };
    let text = match (&place.before, &place.after) {
        (Some(before), Some(after)) if before == after => match place.restarted.is_empty() {
            true => format!("{pool} stays on {after}"),
            false => format!(
                "{pool} stays on {after} and is interrupted there: {} stopped and started again",
                list(place.restarted.iter())
            ),
        },
        (Some(before), Some(after)) => format!("{pool} moves from {before} to {after}"),
        (None, Some(after)) => format!("{pool} starts on {after}"),
        (Some(before), None) => format!("{pool} is lost: it ran on {before} and runs nowhere"),
        (None, None) => format!("{pool} runs nowhere"),
    };
    let missing = match (&place.after, place.missing.is_empty()) {
        (Some(_), false) => format!("; not running: {}", list(place.missing.iter())),
        _ => String::new(),
    };
    format!("{text}{missing}{blocked}")
}

fn list<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    names.join(", ")
}
