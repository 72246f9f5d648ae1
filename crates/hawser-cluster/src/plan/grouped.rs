//! A group that others made, with what the file gives to pools: what Hawser makes in place of each member, and who follows it.

use std::collections::BTreeSet;
use std::fmt;

use super::Problem;
use super::diff::{self, made_by_hawser};
use super::objects::resource_values;
use super::words::set_to;
use crate::cib::services::agent;
use crate::simulate::parameter;
use crate::xml::Element;

/// A group, a clone or the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grouped {
    /// `group`, `clone` and the like.
    pub kind: String,
    /// Its name.
    pub id: String,
    /// Its members that have what the file gives to a pool.
    pub members: Vec<Member>,
    /// It or one of its members has the name of a resource of the file: nothing can be made beside it.
    pub has_a_name: bool,
    /// Constraints by which others run with it or after it. They go with it.
    pub followers: Vec<String>,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The resource.
    pub id: String,
    /// What it has.
    pub what: String,
    /// The resource of the file.
    pub ours: String,
    /// In what that one differs.
    pub differs: Vec<String>,
}

impl Member {
    pub(super) fn new(theirs: &Element, ours: &Element, what: String) -> Self {
        let id = |element: &Element| element.get("id").unwrap_or_default().to_owned();
        Self {
            id: id(theirs),
            what,
            ours: id(ours),
            differs: differs(theirs, ours),
        }
    }
}

/// A group that has something of the file's, or a name.
pub(super) fn grouped<'a>(
    around: &Element,
    named: impl Fn(&Element) -> Option<&'a Element>,
    has: impl Fn(&Element) -> Option<(&'a Element, String)>,
) -> Option<Grouped> {
    let mut has_a_name = named(around).is_some();
    let mut members = Vec::new();
    for theirs in around.walk() {
        if theirs.name != "primitive" {
            continue;
        }
        let of_name = named(theirs);
        has_a_name |= of_name.is_some();
        let own = made_by_hawser(theirs) || made_by_hawser(around);
        let has = has(theirs).filter(|_| !own || of_name.is_some());
        let has = has.or_else(|| Some((of_name?, "its name".to_owned())));
        members.extend(has.map(|(ours, what)| Member::new(theirs, ours, what)));
    }
    (has_a_name || !members.is_empty()).then(|| Grouped {
        kind: around.name.clone(),
        id: around.get("id").unwrap_or_default().to_owned(),
        members,
        has_a_name,
        followers: Vec::new(),
    })
}

/// What comes in the place of one that has something of ours: of what offers a pool, what offers it, and not its storage.
pub(super) fn in_place_of<'a>(
    theirs: &Element,
    ours: &'a Element,
    wanted: &[&'a Element],
) -> &'a Element {
    let kind = theirs.get("type");
    if !matches!(kind, Some("iSCSITarget" | "iSCSILogicalUnit" | "exportfs")) {
        return ours;
    }
    let directory = |it: &Element| parameter(it, "directory").map(str::to_owned);
    let same = |it: &&&Element| agent(it) == agent(theirs) && directory(it) == directory(theirs);
    let of_pool = |it: &&&Element| {
        it.get("provider") == Some("hawser") && parameter(it, "pool") == ours.get("id")
    };
    let found = wanted.iter().find(same);
    found
        .or_else(|| wanted.iter().find(of_pool))
        .map_or(ours, |it| *it)
}

/// Whether a resource of the file is in a group on the cluster, or has its name: nothing can be made of such a CIB.
pub(super) fn is_grouped(problems: &[Problem]) -> bool {
    let named = |problem: &Problem| match problem {
        Problem::Grouped(it) => it.has_a_name,
        problem => matches!(problem, Problem::NotAsKept { .. }),
    };
    problems.iter().any(named)
}

/// What ours has otherwise, in the file's words: theirs may have passwords.
fn differs(theirs: &Element, ours: &Element) -> Vec<String> {
    let (there, wanted) = (agent(theirs), agent(ours));
    if there != wanted {
        return vec![wanted];
    }
    let (there, wanted) = (resource_values(theirs), resource_values(ours));
    // An operation is told by its attributes.
    let attribute = |name: &str| {
        let of = format!("{name}: ");
        wanted
            .keys()
            .chain(there.keys())
            .any(|other| other.starts_with(&of))
    };
    let has =
        |name: &&String| !["description", "template"].contains(&name.as_str()) && !attribute(name);
    let more = wanted.keys().filter(has);
    let more = more.filter(|name| there.get(*name) != wanted.get(*name));
    let more = more.map(|name| set_to(name, &wanted[name]));
    let less = there.keys().filter(has);
    let less = less.filter(|name| !wanted.contains_key(*name));
    more.chain(less.map(|name| format!("no {name}"))).collect()
}

/// The constraints that join what is in there with what is not, and is none of ours.
pub(super) fn followers(live: &Element, around: &Element, ours: &BTreeSet<&str>) -> Vec<String> {
    let inside: BTreeSet<&str> = around
        .walk()
        .into_iter()
        .filter(|it| {
            matches!(
                it.name.as_str(),
                "primitive" | "group" | "clone" | "master" | "bundle"
            )
        })
        .filter_map(|it| it.get("id"))
        .collect();
    let constraints = live.at(&["configuration", "constraints"]);
    let joins = |constraint: &&Element| {
        let named: Vec<&str> = diff::named(constraint).collect();
        let outside = |id: &&str| !inside.contains(id) && !ours.contains(id);
        named.iter().any(|id| inside.contains(id)) && named.iter().any(outside)
    };
    let all = constraints.map_or(&[][..], |all| &all.children).iter();
    let ids = all.filter(joins).filter_map(|it| it.get("id"));
    ids.map(str::to_owned).collect()
}

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            id,
            members,
            followers,
            ..
        } = self;
        write!(f, "{kind} {id}, which Hawser did not make, ")?;
        match members.is_empty() {
            true => f.write_str("has the name of a resource of the file")?,
            false => f.write_str(
                "has what the file gives to a pool, and two that have it would stop each other's",
            )?,
        }
        for (i, member) in members.iter().enumerate() {
            let Member {
                id,
                what,
                ours,
                differs,
            } = member;
            f.write_str(if i == 0 { ". In place" } else { "; in place" })?;
            write!(f, " of {id} ({what}) comes {ours}")?;
            match differs.is_empty() {
                true => f.write_str(", the same")?,
                false => write!(f, ": {}", differs.join(", "))?,
            }
        }
        write!(f, ". Take {id} out of the cluster first")?;
        if !followers.is_empty() {
            let followers = followers.join(", ");
            write!(
                f,
                "; {followers}, by which others follow it, go with it and are to be written again"
            )?;
        }
        f.write_str(" (docs/import.md, \"Taking a cluster over\")")
    }
}
