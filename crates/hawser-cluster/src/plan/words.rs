//! A plan's words.

use std::fmt;

use super::addresses::Readdressed;
use super::conf_diff::Setting;
use super::diff::{ObjectChange, values_that_differ};
use super::objects::Key;
use super::waits::{Wait, waits};
use super::{Action, Change, PlanReport};
use crate::cib::OWN_DESCRIPTION;
use crate::simulate::{Story, place_in_words, step_in_words};
use crate::xml::Element;

impl fmt::Display for PlanReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.changes.iter().map(change) {
            writeln!(f, "{line}")?;
        }
        for (title, lines) in [
            ("What Pacemaker will do about it:", &self.consequence),
            ("Fix this first:", &self.problems),
            ("Notes:", &self.notes),
        ] {
            if !lines.is_empty() {
                writeln!(f, "{title}")?;
            }
            for line in lines {
                writeln!(f, "    {line}")?;
            }
        }
        let disruptive = self
            .changes
            .iter()
            .filter(|change| change.disruptive)
            .count();
        if !self.changes.is_empty() && !self.problems.is_empty() {
            let changes = if self.changes.len() == 1 {
                "change"
            } else {
                "changes"
            };
            let all = self.changes.len();
            return writeln!(f, "{all} {changes}, none of which is made before that");
        }
        match (self.changes.len(), disruptive) {
            (0, _) => writeln!(f, "0 changes"),
            (1, 0) => writeln!(f, "1 change, not visible to clients"),
            (1, _) => writeln!(f, "1 change, and it is disruptive"),
            (all, 0) => writeln!(f, "{all} changes, none visible to clients"),
            (all, some) => writeln!(f, "{all} changes, {some} of them disruptive"),
        }
    }
}

/// A change, in a line.
pub(super) fn change(change: &Change) -> String {
    let sign = match change.action {
        Action::Create => '+',
        Action::Change => '~',
        Action::Remove => '-',
    };
    let disruptive = match change.disruptive {
        true => "  [disruptive]",
        false => "",
    };
    format!("{sign} {}: {}{disruptive}", change.object, change.text)
}

/// What stands where a secret would.
pub(super) const HIDDEN: &str = "(not shown)";

/// Values that may be secrets: somebody may have written one into the CIB by hand.
const SECRET: &[&str] = &["passw", "secret", "community", "token", "_kg"];

/// Whether a change takes a cluster's fencing away.
pub(super) fn switches_fencing_off(change: &ObjectChange) -> bool {
    let value = |object: &Option<super::Object>| {
        let value = object
            .as_ref()
            .and_then(|object| object.values.get("value"));
        value.is_some_and(|value| value == "false")
    };
    let fencing = matches!(&change.key, Key::Property(name) if name == "stonith-enabled");
    fencing && value(&change.desired) && !value(&change.live)
}

/// What a change to an object of the CIB is, in words.
pub(super) fn object(change: &ObjectChange) -> String {
    let words = difference(change);
    match switches_fencing_off(change) {
        true => format!(
            "{words}. THE MOST DANGEROUS CHANGE OF ALL: without fencing, nodes that lose sight of each other both \
             import the pools and destroy them"
        ),
        false => words,
    }
}

fn difference(change: &ObjectChange) -> String {
    match (&change.key, &change.live, &change.desired) {
        (Key::Resource(_), None, Some(new)) => {
            let agent = new.values.get("agent").map_or("", String::as_str);
            let what = new.element.get("description").unwrap_or_default();
            let what = what.strip_prefix(OWN_DESCRIPTION).unwrap_or(what);
            format!("new, {agent}: {what}")
        }
        (Key::Constraint(_), None, Some(new)) => format!("new: {}", constraint(&new.element)),
        (Key::Level(..), None, Some(new)) => {
            format!(
                "new: {}",
                new.values.get("devices").map_or("", String::as_str)
            )
        }
        (Key::Alert(_), None, Some(new)) => format!(
            "new: Pacemaker runs {} after events of nodes, fencing and resources, which wakes the watch",
            new.element.get("path").unwrap_or_default()
        ),
        (Key::Alert(_), Some(_), None) => "the file no longer asks for a watch".into(),
        (_, None, Some(new)) => {
            format!(
                "{} instead of Pacemaker's own value",
                shown("", new.values.get("value"))
            )
        }
        (Key::Resource(_), Some(_), None) => {
            "the file no longer has it: it is stopped and removed".into()
        }
        (Key::Constraint(_), Some(old), None) if change.foreign => {
            format!(
                "made by hand and not in the file: {}",
                constraint(&old.element)
            )
        }
        (Key::Constraint(_), Some(old), None) => {
            format!(
                "the file no longer asks for it: {}",
                constraint(&old.element)
            )
        }
        (Key::Level(..), Some(_), None) => "the file does not have it".into(),
        (_, Some(old), None) => format!(
            "{} on the cluster, and the file does not set it: back to Pacemaker's own value",
            shown("", old.values.get("value"))
        ),
        // Whatever is in a group is not shown: it may have a password.
        (Key::Resource(_), Some(old), Some(new)) if old.values.contains_key("kind") => format!(
            "{} on the cluster, the file says {}",
            old.element.name,
            shown("", new.values.get("agent"))
        ),
        (key, Some(_), Some(_)) => {
            let differ = values_that_differ(change)
                .into_iter()
                .map(|(name, live, desired)| {
                    let (live, desired) =
                        (shown(&name, live.as_ref()), shown(&name, desired.as_ref()));
                    match key {
                        Key::Property(_) | Key::ResourceDefault(_) | Key::OperationDefault(_) => {
                            format!("{live} on the cluster, the file says {desired}")
                        }
                        _ => format!("{name}: {live} on the cluster, the file says {desired}"),
                    }
                });
            differ.collect::<Vec<_>>().join("; ")
        }
        (_, None, None) => String::new(),
    }
}

/// Whether a parameter of that name holds a secret itself, not the way to one.
pub(super) fn names_a_secret(name: &str) -> bool {
    SECRET.iter().any(|word| name.contains(word)) && !name.ends_with("_script")
}

fn shown(name: &str, value: Option<&String>) -> String {
    match value {
        None => "nothing".into(),
        Some(_) if names_a_secret(name) => HIDDEN.into(),
        Some(value) => format!("\"{value}\""),
    }
}

/// A value with its name.
pub(super) fn set_to(name: &str, value: &String) -> String {
    format!("{name} {}", shown(name, Some(value)))
}

/// A constraint as a sentence.
fn constraint(element: &Element) -> String {
    let get = |name| element.get(name).unwrap_or("?");
    let score = element.get("score").unwrap_or("INFINITY");
    match element.name.as_str() {
        "rsc_order" if element.get("first").is_some() => {
            format!("{} starts after {}", get("then"), get("first"))
        }
        "rsc_colocation" if element.get("rsc").is_some() => match score {
            "INFINITY" => format!("{} runs only where {} runs", get("rsc"), get("with-rsc")),
            score => format!("{} runs with {}, {score}", get("rsc"), get("with-rsc")),
        },
        "rsc_location" => {
            let references = element
                .walk()
                .into_iter()
                .filter(|e| e.name == "resource_ref");
            let several: Vec<&str> = references.filter_map(|e| e.get("id")).collect();
            let who = match element.get("rsc") {
                Some(one) => one.to_owned(),
                None => several.join(", "),
            };
            let exclusive = element.get("resource-discovery") == Some("exclusive");
            match (score, element.get("node")) {
                (_, Some(node)) if exclusive => format!("{who} runs only on {node}"),
                ("-INFINITY", Some(node)) => format!("{who} never runs on {node}"),
                ("INFINITY", Some(node)) => format!("{who} runs on {node} if it can"),
                (score, Some(node)) => format!("{who} prefers {node} by {score}"),
                _ if element.get("id").is_some_and(needs_a_san) => {
                    format!("{who} leaves a head whose SAN ports have all lost their carrier")
                }
                _ => ordered(element).unwrap_or_else(|| format!("a rule about where {who} runs")),
            }
        }
        name => format!("a {name}"),
    }
}

/// Whether a constraint of that id is the one that `cib::ports` makes.
fn needs_a_san(id: &str) -> bool {
    id.starts_with(crate::cib::OWN_CONSTRAINT) && id.ends_with(crate::cib::NEEDS_A_SAN)
}

/// An order with an end, as `crm_resource --move --lifetime` writes it.
fn ordered(location: &Element) -> Option<String> {
    let parts = location.walk();
    let score = parts.iter().find_map(|part| match part.name.as_str() {
        "rule" => part.get("score"),
        _ => None,
    })?;
    let node = parts
        .iter()
        .find(|part| part.get("attribute") == Some("#uname"))?;
    let end = parts.iter().find_map(|part| match part.name.as_str() {
        "date_expression" => part.get("end"),
        _ => None,
    })?;
    let (who, node) = (location.get("rsc")?, node.get("value")?);
    Some(match score {
        "-INFINITY" => format!("{who} never runs on {node} before {end}"),
        _ => format!("{who} runs on {node} if it can, until {end}"),
    })
}

/// What differs in a node's corosync.conf.
pub(super) fn settings(settings: &[Setting]) -> String {
    let one = |setting: &Setting| {
        let value = |value: &Option<String>| match value {
            Some(_) if setting.name == "totem.key" => HIDDEN.into(),
            Some(value) => value.clone(),
            None => "nothing".into(),
        };
        format!(
            "{}: {} → {}",
            setting.name,
            value(&setting.live),
            value(&setting.desired)
        )
    };
    settings.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// What Pacemaker will do, in order.
pub(super) fn reaction(stories: &[Story]) -> Vec<String> {
    let steps = stories.iter().flat_map(|story| &story.steps);
    steps.map(step_in_words).collect()
}

/// What Pacemaker will do, in order, and where the pools that notice it are afterwards.
pub(super) fn consequence(stories: &[Story], live: &Element, target: &Element) -> Vec<String> {
    let readdressed = Readdressed::of(live, target);
    let mut lines = reaction(stories);
    let last = stories.last().map(|story| &story.pools);
    for story in stories {
        for (pool, wait) in waits(live, story) {
            let Some(place) = story.pools.get(&pool) else {
                continue;
            };
            // A pool that is gone at the end has no clients that wait for it.
            let gone = last
                .and_then(|pools| pools.get(&pool))
                .is_none_or(|p| p.after.is_none());
            lines.push(match gone {
                true => format!("{pool} is gone: its clients lose it"),
                false if readdressed.is_all(&pool, place) => {
                    format!(
                        "{}: clients of its other addresses notice nothing",
                        place_in_words(&pool, place)
                    )
                }
                false => format!("{}: {}", place_in_words(&pool, place), clients_wait(wait)),
            });
        }
    }
    lines.extend(readdressed.lines);
    lines
}

fn clients_wait(wait: Wait) -> String {
    let seconds = wait.millis as f64 / 1000.0;
    match (wait.millis, wait.at_least) {
        (0, _) => "how long its clients wait is not known, it has not moved yet".into(),
        (_, true) => format!("its clients wait {seconds:.1} s at least"),
        (_, false) => format!("its clients wait about {seconds:.1} s"),
    }
}
