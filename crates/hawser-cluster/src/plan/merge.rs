//! The live CIB with changes made to it: what the cluster will have, and what `crm_simulate` is asked
//! about. Everything that is not changed stays as it is, to the letter.

use super::diff::ObjectChange;
use super::objects::{Inside, Key, level_key};
use crate::cib::PROPERTY_SET;
use crate::xml::Element;

/// Makes the changes.
#[must_use]
pub fn merge<'a>(live: &Element, changes: impl IntoIterator<Item = &'a ObjectChange>) -> Element {
    let mut cib = live.clone();
    for change in changes {
        one(cib.first_or_new("configuration"), change);
    }
    cib
}

fn one(configuration: &mut Element, change: &ObjectChange) {
    let wanted = change.desired.as_ref().map(|object| &object.element);
    match &change.key {
        Key::Property(name) => {
            let section = configuration.first_or_new("crm_config");
            pair(section, "cluster_property_set", PROPERTY_SET, name, wanted);
        }
        Key::ResourceDefault(name) => {
            let section = configuration.first_or_new("rsc_defaults");
            pair(
                section,
                "meta_attributes",
                "hawser-rsc-defaults",
                name,
                wanted,
            );
        }
        Key::OperationDefault(name) => {
            let section = configuration.first_or_new("op_defaults");
            pair(
                section,
                "meta_attributes",
                "hawser-op-defaults",
                name,
                wanted,
            );
        }
        Key::Resource(id) => {
            let inside = change.desired.as_ref().and_then(|it| it.inside.as_ref());
            resource(configuration.first_or_new("resources"), id, wanted, inside);
        }
        Key::Constraint(id) => element(configuration.first_or_new("constraints"), id, wanted),
        Key::Alert(id) => element(configuration.first_or_new("alerts"), id, wanted),
        Key::Level(..) => {
            let section = configuration.first_or_new("fencing-topology");
            section
                .children
                .retain(|level| level_key(level) != change.key);
            section.children.extend(wanted.cloned());
        }
    }
    // An empty one is not the same as none to every tool.
    let optional = ["fencing-topology", "alerts"];
    configuration.children.retain(|section| {
        !optional.contains(&section.name.as_str()) || !section.children.is_empty()
    });
}

/// Sets or removes a name-value pair in a section. A pair stays in the set it is in; a new one goes
/// to the set of that id.
fn pair(section: &mut Element, tag: &str, set_id: &str, name: &str, wanted: Option<&Element>) {
    let mut seen = false;
    for set in &mut section.children {
        set.children.retain_mut(|pair| {
            if pair.get("name") != Some(name) {
                return true;
            }
            let Some(value) = wanted.and_then(|wanted| wanted.get("value")) else {
                return false;
            };
            pair.set("value", value);
            // A second pair of that name could count one day and says nothing new.
            !std::mem::replace(&mut seen, true)
        });
    }
    if let (Some(wanted), false) = (wanted, seen) {
        let at = section
            .children
            .iter()
            .position(|set| set.get("id") == Some(set_id));
        let at = at.unwrap_or_else(|| {
            section.children.push(Element::new(tag).with("id", set_id));
            section.children.len() - 1
        });
        section.children[at].children.push(wanted.clone());
    }
}

/// A resource, wherever it stands. A new one of a group comes after what starts before it; a group is made with the first
/// and goes with the last.
fn resource(section: &mut Element, id: &str, wanted: Option<&Element>, inside: Option<&Inside>) {
    let has = |it: &Element, id: &str| it.children.iter().any(|c| c.get("id") == Some(id));
    let mut groups = section.children.iter_mut().filter(|it| it.name == "group");
    if let Some(group) = groups.find(|group| has(group, id)) {
        element(group, id, wanted);
        let filled = |it: &Element| it.name != "group" || it.first("primitive").is_some();
        return section.children.retain(filled);
    }
    let (Some(wanted), Some(Inside { group, before }), false) = (wanted, inside, has(section, id))
    else {
        return element(section, id, wanted);
    };
    let named = |it: &Element| it.name == "group" && it.get("id") == Some(group);
    let at = section.children.iter().position(named);
    let at = at.unwrap_or_else(|| {
        section
            .children
            .push(Element::new("group").with("id", group.as_str()));
        section.children.len() - 1
    });
    let members = &mut section.children[at].children;
    let first = |it: &Element| {
        it.get("id")
            .is_some_and(|id| before.iter().any(|other| other == id))
    };
    // Attributes of the group itself may stand before its members.
    let start = members.iter().position(|it| it.name == "primitive");
    let after = members.iter().rposition(first).map(|i| i + 1);
    let place = after.or(start).unwrap_or(members.len());
    members.insert(place, wanted.clone());
}

fn element(section: &mut Element, id: &str, wanted: Option<&Element>) {
    let at = section
        .children
        .iter()
        .position(|child| child.get("id") == Some(id));
    match (at, wanted) {
        (Some(at), Some(wanted)) => section.children[at] = wanted.clone(),
        (Some(at), None) => drop(section.children.remove(at)),
        (None, Some(wanted)) => section.children.push(wanted.clone()),
        (None, None) => {}
    }
}
