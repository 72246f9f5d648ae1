//! The live CIB with changes made to it: what the cluster will have, and what `crm_simulate` is asked
//! about. Everything that is not changed stays as it is, to the letter.

use super::diff::ObjectChange;
use super::objects::Key;
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
        Key::Resource(id) => element(configuration.first_or_new("resources"), id, wanted),
        Key::Constraint(id) => element(configuration.first_or_new("constraints"), id, wanted),
        Key::Level(node, index) => {
            let section = configuration.first_or_new("fencing-topology");
            let same = |level: &Element| {
                level.get("target") == Some(node) && level.get("index") == Some(index)
            };
            section.children.retain(|level| !same(level));
            section.children.extend(wanted.cloned());
        }
    }
    // An empty topology is not the same as none to every tool.
    configuration
        .children
        .retain(|section| section.name != "fencing-topology" || !section.children.is_empty());
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
