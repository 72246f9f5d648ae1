//! Pacemaker's configuration in the picture's words.

pub(crate) mod adopted;
mod constraints;
pub(crate) mod devices;
mod fence_delays;
mod fence_places;
mod fencing;
mod hooks;
pub(crate) mod ipmi;
mod levels;
mod members;
mod meta;
mod names;
mod node_names;
mod nodes;
mod parameters;
mod placement;
mod pools;
mod properties;
mod targets;
mod timeouts;

use std::collections::BTreeSet;

use hawser_model::toml_file::Period;

use crate::crm::by_id::ById;
use crate::exports::Offered;
use crate::page::Page;
use crate::picture::Picture;

/// Translates. Who adopts keeps the resources of pools as they are.
pub(crate) fn crm(
    crm: &ById,
    adopt: bool,
    picture: &mut Picture,
    offered: &mut Offered,
    page: &mut Page,
) {
    nodes::translate(crm, picture, page);
    node_names::mentioned(crm, picture, page);
    fencing::translate(crm, picture, page);
    pools::translate(crm, adopt, picture, offered, page);
    placement::translate(crm, picture, page);
    meta::translate(crm, picture, page);
    // What is automatic depends on how strongly pools prefer their nodes.
    properties::translate(crm, picture, page);
}

/// A time as Pacemaker writes it, in milliseconds: `90`, `90s`, `500ms`, `2min`; without a unit seconds.
fn millis(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return seconds.checked_mul(1000).filter(|ms| *ms <= 604_800_000);
    }
    let plain = match text {
        t if t.ends_with("ms") || t.ends_with("msec") => t.trim_end_matches("ec").to_owned(),
        t if t.ends_with("sec") => t.trim_end_matches("ec").to_owned(),
        t if t.ends_with("min") => t.to_owned(),
        t if t.ends_with('m') => format!("{t}in"),
        t if t.ends_with("hr") => t.trim_end_matches('r').to_owned(),
        t => t.to_owned(),
    };
    plain.parse::<Period>().ok().map(Period::as_millis)
}

/// What the resources of a constraint have in them: groups, clones, tags and templates by what they hold.
fn primitives_of<'a>(crm: &'a ById, id: &'a str) -> Vec<&'a str> {
    let mut found = Vec::new();
    // A file may have what holds itself.
    let mut seen = BTreeSet::new();
    let mut open = vec![id];
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let around = crm.around(id).map(|it| &it.members);
        let members = around.or_else(|| crm.set(id).map(|it| &it.members));
        match members {
            Some(members) => open.extend(members.iter().rev().map(String::as_str)),
            None => found.push(id),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #[test]
    fn pacemakers_times() {
        for (text, ms) in [
            ("90", 90_000),
            ("90s", 90_000),
            ("2min", 120_000),
            ("2m", 120_000),
            ("500ms", 500),
        ] {
            assert_eq!(super::millis(text), Some(ms), "{text}");
        }
        for text in ["", "soon", "-5", "99999999999999999999"] {
            assert_eq!(super::millis(text), None, "{text}");
        }
    }
}
