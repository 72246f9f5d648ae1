//! Groups that the file keeps as others made them: whether they are on the cluster what the file says, and who offers what
//! is in them.

use super::Problem;
use super::diff::made_by_hawser;
use super::notes::Note;
use crate::simulate::{Part, part};
use crate::xml::Element;

/// The groups of a CIB, each with its members' names.
fn groups(cib: &Element) -> Vec<(&str, Vec<&str>)> {
    let resources = cib.at(&["configuration", "resources"]);
    let all = resources.into_iter().flat_map(|it| it.all("group"));
    all.filter_map(|group| {
        let members = group.all("primitive");
        Some((
            group.get("id")?,
            members.filter_map(|it| it.get("id")).collect(),
        ))
    })
    .collect()
}

/// Whether the file keeps a group of this name.
pub(super) fn keeps(desired: &Element, group: &str) -> bool {
    groups(desired).iter().any(|(id, _)| *id == group)
}

/// Whether the file keeps this resource in a group. What is offered of it is not Hawser's.
pub(super) fn is_kept(desired: &Element, resource: &str) -> bool {
    let all = groups(desired);
    all.iter().any(|(_, members)| members.contains(&resource))
}

/// What the file says otherwise of a group than the cluster: a resource is moved into a group, out of it or within it only
/// by stopping it.
pub(super) fn otherwise(desired: &Element, live: &Element) -> Vec<Problem> {
    let there = groups(live);
    let resources = live.at(&["configuration", "resources"]);
    let ids = |it: &'_ Element| it.get("id").map(str::to_owned);
    let alone: Vec<String> = resources
        .into_iter()
        .flat_map(|it| it.children.iter().filter_map(ids))
        .collect();
    let mut found = Vec::new();
    let mut wrong = |resource: &str, group: &str, what: String| {
        let (resource, group) = (resource.to_owned(), group.to_owned());
        found.push(Problem::NotAsKept {
            resource,
            group,
            what,
        });
    };
    for (group, wanted) in groups(desired) {
        for id in &wanted {
            let within = there.iter().find(|(_, members)| members.contains(id));
            match within {
                Some((other, _)) if *other != group => {
                    wrong(id, group, format!("it is in group {other}"));
                }
                None if alone.iter().any(|it| it == id) => {
                    wrong(id, group, "it is in no group".to_owned());
                }
                _ => {}
            }
        }
        let Some((_, members)) = there.iter().find(|(id, _)| *id == group) else {
            // A clone of that name, or a resource.
            if alone.iter().any(|it| it == group) {
                let first = wanted.first().copied().unwrap_or_default();
                wrong(first, group, format!("{group} is no group"));
            }
            continue;
        };
        let order: Vec<&&str> = wanted.iter().filter(|id| members.contains(id)).collect();
        let has: Vec<&&str> = members.iter().filter(|id| wanted.contains(id)).collect();
        // Side by side addresses may be in any order.
        let storage = order.iter().zip(&has).position(|(a, b)| a != b);
        if let Some(at) =
            storage.filter(|at| !is_address(desired, order[*at]) || !is_address(desired, has[*at]))
        {
            wrong(has[at], group, format!("it starts before {}", order[at]));
        }
    }
    // What the file has outside of a group that it keeps.
    let own = desired.at(&["configuration", "resources"]);
    for resource in own.into_iter().flat_map(|it| it.all("primitive")) {
        let id = resource.get("id").unwrap_or_default();
        let within = there.iter().find(|(_, members)| members.contains(&id));
        if let Some((group, _)) = within.filter(|(group, _)| keeps(desired, group)) {
            wrong(
                id,
                group,
                "the file does not say that it is kept".to_owned(),
            );
        }
    }
    found
}

fn is_address(cib: &Element, id: &str) -> bool {
    let found = crate::cib::services::primitive(cib, id);
    found.is_some_and(|it| matches!(part(it), Part::Address(_)))
}

/// What others offer of pools from within the groups that the file keeps.
pub(super) fn offered_by_others(desired: &Element, live: &Element) -> Vec<Note> {
    let mut notes = Vec::new();
    for (group, wanted) in groups(desired) {
        let resources = live.at(&["configuration", "resources"]).into_iter();
        let mut all = resources.flat_map(|it| it.all("group"));
        let Some(there) = all.find(|it| it.get("id") == Some(group)) else {
            continue;
        };
        let by = there.all("primitive").filter(|it| {
            let id = it.get("id").unwrap_or_default();
            part(it) == Part::Exports && !wanted.contains(&id) && !made_by_hawser(it)
        });
        let by: Vec<String> = by.filter_map(|it| Some(it.get("id")?.to_owned())).collect();
        let storage = |id: &&&str| {
            let found = crate::cib::services::primitive(desired, id);
            found.is_some_and(|it| matches!(part(it), Part::Storage(_)))
        };
        if let (Some(pool), false) = (wanted.iter().find(storage), by.is_empty()) {
            let pool = (*pool).to_owned();
            notes.push(Note::OfferedByOthers { pool, by });
        }
    }
    notes
}
