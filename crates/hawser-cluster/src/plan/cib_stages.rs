//! The stages of the CIB: what gives fencing first, then what goes is stopped, then the rest; and whom to blame for a pool's
//! interruption.

use std::collections::BTreeSet;

use super::diff::{CibDiff, ObjectChange, named};
use super::effects::{Effect, Stage};
use super::objects::{Key, Object};
use super::stages::{Done, Stages};
use super::{Action, Change, words};
use crate::simulate::{parameter, part};
use crate::xml::Element;

impl Stages<'_> {
    pub(super) fn cib(&self, (changes, effects): &mut Done) {
        let (first, rest): (Vec<_>, Vec<_>) = self
            .diff
            .changes
            .iter()
            .partition(|change| makes_fencing(change));
        let all = first.into_iter().chain(rest);
        let mut of_cib: Vec<Change> = all.map(|change| self.cib_change(change)).collect();
        // Clients notice it, whichever of the changes does it.
        if !self.reaction.interrupted.is_empty() && !of_cib.iter().any(|it| it.disruptive) {
            of_cib.iter_mut().for_each(|it| it.disruptive = true);
        }
        changes.extend(of_cib);
        if self.facts.cib.is_none() {
            // The engine makes a CIB of its own when it starts; what is to be in it is planned then.
            return;
        }
        for (stage, changes) in self.cib_stages {
            let (stage, changes) = (*stage, changes.clone());
            effects.push(Effect::PatchCib { stage, changes });
            if stage == Stage::StopWhatGoes {
                effects.push(Effect::WaitSettled);
            }
        }
    }

    fn cib_change(&self, change: &ObjectChange) -> Change {
        let action = match (&change.live, &change.desired) {
            (None, _) => Action::Create,
            (_, None) => Action::Remove,
            _ => Action::Change,
        };
        Change {
            object: change.key.to_string(),
            action,
            disruptive: self.disrupts(change, action) || self.ends_fencing(change),
            text: words::object(change),
        }
    }

    /// Fencing is switched off in a cluster that has pools.
    fn ends_fencing(&self, change: &ObjectChange) -> bool {
        words::switches_fencing_off(change) && self.reaction.directory.pools().next().is_some()
    }

    /// Whom to blame for a pool's interruption: the resource that is changed or removed and is
    /// itself stopped; if none of its pool is, a constraint that names it; if none does, a property.
    fn disrupts(&self, change: &ObjectChange, action: Action) -> bool {
        let directory = &self.reaction.directory;
        let pool = |id: &str| directory.pool_of(id).map(str::to_owned);
        let by_resource: BTreeSet<_> = self.blamed_resources().filter_map(pool).collect();
        let unexplained = self
            .reaction
            .interrupted
            .iter()
            .filter(|id| pool(id).is_none_or(|pool| !by_resource.contains(&pool)));
        match &change.key {
            Key::Resource(id) => action != Action::Create && self.reaction.interrupted.contains(id),
            Key::Constraint(_) => {
                let named = named_in(change).into_iter();
                let named: BTreeSet<&str> = named.map(|id| directory.placed(id)).collect();
                unexplained
                    .into_iter()
                    .any(|id| named.contains(id.as_str()))
            }
            Key::Level(..) | Key::Alert(_) => false,
            Key::Property(_) | Key::ResourceDefault(_) | Key::OperationDefault(_) => {
                let by_constraint: BTreeSet<_> = self
                    .diff
                    .changes
                    .iter()
                    .filter(|change| matches!(change.key, Key::Constraint(_)))
                    .flat_map(named_in)
                    .filter_map(pool)
                    .collect();
                let mut left = unexplained
                    .filter(|id| pool(id).is_none_or(|pool| !by_constraint.contains(&pool)));
                left.next().is_some()
            }
        }
    }

    fn blamed_resources(&self) -> impl Iterator<Item = &str> {
        self.diff
            .changes
            .iter()
            .filter_map(|change| match &change.key {
                Key::Resource(id)
                    if change.live.is_some() && self.reaction.interrupted.contains(id) =>
                {
                    Some(id.as_str())
                }
                _ => None,
            })
    }
}

/// The steps in which a difference is made good.
pub(super) fn cib_stages(diff: &CibDiff) -> Vec<(Stage, Vec<ObjectChange>)> {
    let (fencing, rest): (Vec<_>, Vec<_>) = diff.changes.iter().cloned().partition(makes_fencing);
    let goes: BTreeSet<&str> = rest.iter().filter_map(going).collect();
    let stops = rest
        .iter()
        .filter(|it| going(it).is_some() && !leaves_a_pool(it, &goes));
    let stops = stops.filter_map(stop_first).collect();
    let stages = [
        (Stage::Fencing, fencing),
        (Stage::StopWhatGoes, stops),
        (Stage::Rest, rest),
    ];
    stages
        .into_iter()
        .filter(|(_, changes)| !changes.is_empty())
        .collect()
}

/// The resource that is to go, or that is to become something else.
fn going(change: &ObjectChange) -> Option<&str> {
    let live = change.live.as_ref();
    let live = live.filter(|live| live.element.name == "primitive")?;
    let agent = |object: &Object| object.values.get("agent").cloned();
    let desired = change.desired.as_ref();
    let goes = desired.is_none_or(|desired| agent(desired) != agent(live));
    match &change.key {
        Key::Resource(_) if goes => live.element.get("id"),
        _ => None,
    }
}

/// Hooks that go while their pool stays. What stands on them would stop with them, so they are removed with the constraints
/// that say so; the agent does not run a hook that is not configured any more.
fn leaves_a_pool(change: &ObjectChange, goes: &BTreeSet<&str>) -> bool {
    let live = change.live.iter();
    let mut hooks = live.filter(|live| part(&live.element).is_hook());
    let pool = hooks.find_map(|live| parameter(&live.element, "pool"));
    pool.is_some_and(|pool| !goes.contains(pool))
}

/// The change that stops a resource.
fn stop_first(change: &ObjectChange) -> Option<ObjectChange> {
    let live = change.live.as_ref()?;
    let id = live.element.get("id").unwrap_or_default().to_owned();
    let mut stopped = live.clone();
    let meta = stopped.element.first_or_new("meta_attributes");
    if meta.get("id").is_none() {
        meta.set("id", format!("{id}-meta"));
    }
    meta.children
        .retain(|pair| pair.get("name") != Some("target-role"));
    let pair = Element::new("nvpair")
        .with("id", format!("{id}-meta-target-role"))
        .with("name", "target-role")
        .with("value", "Stopped");
    meta.children.push(pair);
    Some(ObjectChange {
        desired: Some(stopped),
        ..change.clone()
    })
}

/// The resources that a constraint names, before or after.
fn named_in(change: &ObjectChange) -> BTreeSet<&str> {
    let both = change.live.iter().chain(&change.desired);
    both.flat_map(|object| named(&object.element)).collect()
}

/// Changes that give the cluster fencing, or better fencing.
fn makes_fencing(change: &ObjectChange) -> bool {
    let Some(desired) = &change.desired else {
        return false;
    };
    match &change.key {
        Key::Resource(_) => desired.element.get("class") == Some("stonith"),
        Key::Level(..) => true,
        Key::Property(name) => {
            let value = desired.values.get("value").map(String::as_str);
            name.starts_with("stonith-") && value != Some("false")
        }
        Key::Constraint(_) => {
            desired
                .element
                .get("rsc")
                .is_some_and(|rsc| rsc.starts_with("fence-"))
                && desired.element.name == "rsc_location"
        }
        Key::ResourceDefault(_) | Key::OperationDefault(_) | Key::Alert(_) => false,
    }
}
