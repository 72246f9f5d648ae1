//! The difference between the CIB a file asks for and a live one.
//!
//! What Hawser made it knows again: resources by their description, constraints by their ids. What
//! others made it leaves alone, unless it bends what Hawser made.

use std::collections::{BTreeMap, BTreeSet};

use super::objects::{Key, Object, objects};
use crate::cib::{OWN_CONSTRAINT, OWN_DESCRIPTION};
use crate::xml::Element;

/// What is to be done to one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectChange {
    /// The object.
    pub key: Key,
    /// As it is to be; absent when it is to go.
    pub desired: Option<Object>,
    /// As it is; absent when it is to be made.
    pub live: Option<Object>,
    /// True when it was made by somebody else and bends what Hawser made.
    pub foreign: bool,
}

/// The difference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CibDiff {
    /// What is to be done, in the order of [`Key`].
    pub changes: Vec<ObjectChange>,
    /// What others made and what is left alone.
    pub left_alone: Vec<Key>,
}

/// Compares.
pub fn diff(desired: &Element, live: &Element) -> CibDiff {
    let groups = groups(desired, live);
    let there = live;
    let (desired, mut live) = (objects(desired, &groups), objects(live, &groups));
    let grouped = desired.values().filter_map(|it| it.inside.as_ref());
    let mut ours: BTreeSet<&str> = grouped.map(|inside| inside.group.as_str()).collect();
    ours.extend(desired.keys().filter_map(|key| match key {
        Key::Resource(id) => Some(id.as_str()),
        _ => None,
    }));
    let others = others(there, &ours);
    let mut diff = CibDiff::default();
    for (key, wanted) in &desired {
        let there = live.remove(key);
        if there.as_ref().map(|object| &object.values) != Some(&wanted.values) {
            diff.changes.push(ObjectChange {
                key: key.clone(),
                desired: Some(wanted.clone()),
                live: there,
                foreign: false,
            });
        }
    }
    for (key, there) in live {
        let (remove, foreign) = match &key {
            Key::Property(_) | Key::ResourceDefault(_) | Key::OperationDefault(_) => (true, true),
            Key::Resource(_) => (made_by_hawser(&there.element), false),
            Key::Alert(_) => (made_by_hawser(&there.element), false),
            Key::Level(..) => (of_own(&there, &ours), false),
            Key::Constraint(id) if id.starts_with(OWN_CONSTRAINT) => (true, false),
            Key::Constraint(_) => {
                let bends = bends(&there.element, &ours);
                (bends && !joins(&there.element, &others), true)
            }
        };
        match remove {
            true => diff.changes.push(ObjectChange {
                key,
                desired: None,
                live: Some(there),
                foreign,
            }),
            false => diff.left_alone.push(key),
        }
    }
    diff.changes.sort_by(|a, b| a.key.cmp(&b.key));
    diff
}

/// Groups of which each member counts for itself: those that the file keeps, and those that it kept.
pub(super) fn groups(desired: &Element, live: &Element) -> BTreeSet<String> {
    let resources = |cib: &Element| -> Vec<Element> {
        let resources = cib.at(&["configuration", "resources"]);
        let groups = resources.into_iter().flat_map(|it| it.all("group"));
        groups.cloned().collect()
    };
    let kept = |group: &Element| group.all("primitive").any(made_by_hawser);
    let all = resources(desired).into_iter();
    let all = all.chain(resources(live).into_iter().filter(kept));
    all.filter_map(|group| Some(group.get("id")?.to_owned()))
        .collect()
}

/// What runs there and is none of ours.
fn others<'a>(live: &'a Element, ours: &BTreeSet<&str>) -> BTreeSet<&'a str> {
    const KINDS: [&str; 5] = ["primitive", "group", "clone", "master", "bundle"];
    let resources = live.at(&["configuration", "resources"]).map(Element::walk);
    let all = resources.unwrap_or_default().into_iter();
    let all = all.filter(|it| KINDS.contains(&it.name.as_str()) && !made_by_hawser(it));
    all.filter_map(|it| it.get("id"))
        .filter(|id| !ours.contains(id))
        .collect()
}

/// Whether a constraint joins resources of which some are these: what a pool of others has beneath it, such as DRBD, no
/// file says, and without it the pool would run without what it stands on.
fn joins(constraint: &Element, others: &BTreeSet<&str>) -> bool {
    let joins = matches!(constraint.name.as_str(), "rsc_colocation" | "rsc_order");
    joins && named(constraint).any(|id| others.contains(id))
}

/// The resources that a constraint names.
pub(super) fn named(constraint: &Element) -> impl Iterator<Item = &str> {
    constraint.walk().into_iter().flat_map(|it| {
        let names: &[&str] = match it.name.as_str() {
            "resource_ref" => &["id"],
            _ => &["rsc", "with-rsc", "first", "then"],
        };
        names.iter().filter_map(|name| it.get(name))
    })
}

/// Was the resource, or the alert, made by Hawser?
pub fn made_by_hawser(resource: &Element) -> bool {
    resource
        .get("description")
        .is_some_and(|text| text.starts_with(OWN_DESCRIPTION))
}

/// A level that Hawser made, or that says how its devices are used.
fn of_own(level: &Object, ours: &BTreeSet<&str>) -> bool {
    let made = level
        .element
        .get("id")
        .is_some_and(|id| id.starts_with(OWN_CONSTRAINT));
    let devices = level.values.get("devices").map_or("", String::as_str);
    made || devices
        .split(',')
        .any(|device| ours.contains(device.trim()))
}

/// Does a constraint say where or when a resource of ours runs? What others made to run with or after ours is theirs.
fn bends(constraint: &Element, ours: &BTreeSet<&str>) -> bool {
    constraint.walk().into_iter().any(|element| {
        let names: &[&str] = match element.name.as_str() {
            "resource_ref" => &["id"],
            _ => &["rsc", "then"],
        };
        element
            .get("rsc-pattern")
            .is_some_and(|pattern| ours.iter().any(|id| may_match(pattern, id)))
            || names
                .iter()
                .filter_map(|name| element.get(name))
                .any(|id| ours.contains(id))
    })
}

/// Whether a pattern (an extended regular expression) may match an identity: what is more than a text that stands at the
/// beginning, at the end or anywhere may match any.
fn may_match(pattern: &str, id: &str) -> bool {
    let (begins, rest) = match pattern.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let (ends, rest) = match rest.strip_suffix('$') {
        Some(rest) => (true, rest),
        None => (false, rest.strip_suffix(".*").unwrap_or(rest)),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_:".contains(c);
    if !rest.chars().all(plain) {
        return true;
    }
    match (begins, ends) {
        (true, true) => id == rest,
        (true, false) => id.starts_with(rest),
        (false, true) => id.ends_with(rest),
        (false, false) => id.contains(rest),
    }
}

/// What differs between two states of an object: name, live value, desired value.
pub fn values_that_differ(change: &ObjectChange) -> Vec<(String, Option<String>, Option<String>)> {
    let none = BTreeMap::new();
    let values =
        |object: &Option<Object>| object.as_ref().map_or(none.clone(), |o| o.values.clone());
    let (live, desired) = (values(&change.live), values(&change.desired));
    let names: BTreeSet<&String> = live.keys().chain(desired.keys()).collect();
    names
        .into_iter()
        .filter(|name| live.get(*name) != desired.get(*name))
        .map(|name| {
            (
                name.clone(),
                live.get(name).cloned(),
                desired.get(name).cloned(),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_matches_nothing_of_ours_is_anothers() {
        let bends = |pattern: &str| {
            let text = format!(
                "<rsc_location id=\"x\" rsc-pattern=\"{pattern}\" node=\"a\" score=\"1\"/>"
            );
            bends(
                &Element::parse(&text, "test").unwrap(),
                &["vmpool01"].into(),
            )
        };
        for others in ["^web", "^web.*", "web$", "^vmpool$", "web", "^vmpool012.*"] {
            assert!(!bends(others), "{others}");
        }
        for ours in [
            "",
            ".*",
            "^vm",
            "vmpool01$",
            "^vmpool01$",
            "pool",
            "^(web|vm)",
            "^web*",
            "[a-z]+",
            "^w?",
        ] {
            assert!(bends(ours), "{ours}");
        }
    }
}
