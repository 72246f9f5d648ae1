//! A CIB taken apart into the objects a person thinks in, each reduced to what it means: ids of
//! name-value pairs, spelling of times and order of attributes mean nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::alert::alert_values;
use crate::cib::PROPERTY_SET;
use crate::xml::Element;

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A cluster-wide property.
    Property(String),
    /// A default of all resources.
    ResourceDefault(String),
    /// A default of all operations.
    OperationDefault(String),
    /// A resource.
    Resource(String),
    /// A level of fencing: the node and the level.
    Level(String, String),
    /// A constraint.
    Constraint(String),
    /// A program that Pacemaker runs after events.
    Alert(String),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Property(name) => write!(f, "property {name}"),
            Self::ResourceDefault(name) => write!(f, "resource default {name}"),
            Self::OperationDefault(name) => write!(f, "operation default {name}"),
            Self::Resource(id) => write!(f, "resource {id}"),
            Self::Level(node, index) => write!(f, "fencing level {index} of {node}"),
            Self::Constraint(id) => write!(f, "constraint {id}"),
            Self::Alert(id) => write!(f, "alert {id}"),
        }
    }
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// What it means: names and values, with the names a person uses.
    pub values: BTreeMap<String, String>,
    /// How it stands in the CIB. For a property or default: its name-value pair.
    pub element: Element,
    /// Where in a group it stands.
    pub inside: Option<Inside>,
}

/// A place in a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// The group.
    pub group: String,
    /// What starts before it, in order.
    pub before: Vec<String>,
}

impl Object {
    fn new(values: BTreeMap<String, String>, element: &Element) -> Self {
        Self {
            values,
            element: element.clone(),
            inside: None,
        }
    }
}

/// Properties that Pacemaker and its tools write for themselves.
const PACEMAKERS_OWN: &[&str] = &[
    "cluster-infrastructure",
    "cluster-name",
    "dc-version",
    "have-watchdog",
    "last-lrm-refresh",
];

/// Takes a CIB apart. Of these groups each member is an object of its own, and the group is none.
pub fn objects(cib: &Element, groups: &BTreeSet<String>) -> BTreeMap<Key, Object> {
    let mut all = BTreeMap::new();
    let Some(configuration) = cib.first("configuration") else {
        return all;
    };
    let section = |name| configuration.first(name).map_or(&[][..], |s| &s.children);

    for pair in effective_properties(section("crm_config")) {
        let Some(name) = pair
            .get("name")
            .filter(|name| !PACEMAKERS_OWN.contains(name))
        else {
            continue;
        };
        all.insert(Key::Property(name.to_owned()), value_object(pair));
    }
    for pair in section("rsc_defaults")
        .iter()
        .flat_map(|set| set.all("nvpair"))
    {
        let name = pair.get("name").unwrap_or_default().to_owned();
        all.insert(Key::ResourceDefault(name), value_object(pair));
    }
    for pair in section("op_defaults")
        .iter()
        .flat_map(|set| set.all("nvpair"))
    {
        let name = pair.get("name").unwrap_or_default().to_owned();
        all.insert(Key::OperationDefault(name), value_object(pair));
    }
    for resource in section("resources") {
        let id = resource.get("id").unwrap_or_default().to_owned();
        match resource.name == "group" && groups.contains(&id) {
            true => all.extend(members(resource, &id)),
            false => {
                let object = Object::new(resource_values(resource), resource);
                all.insert(Key::Resource(id), object);
            }
        }
    }
    for level in section("fencing-topology") {
        let key = level_key(level);
        let devices = level.get("devices").unwrap_or_default().to_owned();
        let values = BTreeMap::from([("devices".to_owned(), devices)]);
        all.insert(key, Object::new(values, level));
    }
    for constraint in section("constraints") {
        let id = constraint.get("id").unwrap_or_default().to_owned();
        let mut values =
            BTreeMap::from([("kind of constraint".to_owned(), constraint.name.clone())]);
        attributes(constraint, "", &mut values);
        all.insert(Key::Constraint(id), Object::new(values, constraint));
    }
    for alert in section("alerts") {
        let id = alert.get("id").unwrap_or_default().to_owned();
        all.insert(Key::Alert(id), Object::new(alert_values(alert), alert));
    }
    all
}

/// The members of a group, each with its place.
fn members(group: &Element, name: &str) -> Vec<(Key, Object)> {
    let mut before = Vec::new();
    let mut all = Vec::new();
    for member in group.all("primitive") {
        let id = member.get("id").unwrap_or_default().to_owned();
        let mut values = resource_values(member);
        values.insert("group".to_owned(), name.to_owned());
        let inside = Inside {
            group: name.to_owned(),
            before: before.clone(),
        };
        let object = Object {
            inside: Some(inside),
            ..Object::new(values, member)
        };
        before.push(id.clone());
        all.push((Key::Resource(id), object));
    }
    all
}

/// The property pairs that count: of several sets the one of the well-known id comes first, then
/// the others in order, and the first set that has a name wins.
fn effective_properties(sets: &[Element]) -> Vec<&Element> {
    let mut sets: Vec<&Element> = sets.iter().collect();
    sets.sort_by_key(|set| set.get("id") != Some(PROPERTY_SET));
    let mut pairs: Vec<&Element> = Vec::new();
    for pair in sets.into_iter().flat_map(|set| set.all("nvpair")) {
        if !pairs
            .iter()
            .any(|other| other.get("name") == pair.get("name"))
        {
            pairs.push(pair);
        }
    }
    pairs
}

fn value_object(pair: &Element) -> Object {
    let value = normal(
        pair.get("name").unwrap_or_default(),
        pair.get("value").unwrap_or_default(),
    );
    Object::new(BTreeMap::from([("value".to_owned(), value)]), pair)
}

/// What a resource is set to.
pub(super) fn resource_values(resource: &Element) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    if resource.name != "primitive" {
        // Groups, clones and bundles are nothing that Hawser makes: compared as they stand.
        values.insert("kind".to_owned(), resource.name.clone());
        values.insert("xml".to_owned(), resource.to_text());
        return values;
    }
    let parts = ["class", "provider", "type"]
        .iter()
        .filter_map(|name| resource.get(name));
    let agent: Vec<&str> = parts.collect();
    values.insert("agent".to_owned(), agent.join(":"));
    if let Some(template) = resource.get("template") {
        values.insert("template".to_owned(), template.to_owned());
    }
    if let Some(text) = resource.get("description") {
        values.insert("description".to_owned(), text.to_owned());
    }
    for set in &resource.children {
        let prefix = match set.name.as_str() {
            "instance_attributes" => "",
            "meta_attributes" => "meta ",
            "utilization" => "utilization ",
            _ => continue,
        };
        // A set that holds under a rule only, or that comes before others, is another value, not the same one twice.
        let rule = match (set.first("rule"), set.get("score")) {
            (Some(_), _) => "under a rule: ".to_owned(),
            (None, Some(score)) => format!("in a set of score {score}: "),
            (None, None) => String::new(),
        };
        pairs(set, &format!("{prefix}{rule}"), &mut values);
    }
    for op in resource.all("operations").flat_map(|ops| &ops.children) {
        let (name, interval) = (op.get("name").unwrap_or_default(), op.get("interval"));
        let every = match interval.map(|interval| normal("interval", interval)) {
            None => String::new(),
            Some(zero) if zero == "0s" => String::new(),
            Some(interval) => format!(" every {interval}"),
        };
        let title = format!("{name}{every}");
        values.insert(title.clone(), "yes".to_owned());
        for (attribute, value) in &op.attributes {
            if !matches!(
                attribute.as_str(),
                "id" | "name" | "interval" | "description"
            ) {
                values.insert(format!("{title}: {attribute}"), normal(attribute, value));
            }
        }
        for set in &op.children {
            pairs(set, &format!("{title}: "), &mut values);
        }
    }
    values
}

/// The pairs of a set, and what it takes from elsewhere.
pub(super) fn pairs(set: &Element, prefix: &str, values: &mut BTreeMap<String, String>) {
    let taken = |from: &Element| from.get("id-ref").map(str::to_owned);
    if let Some(from) = taken(set) {
        values.insert(format!("{prefix}what {from} says"), "yes".to_owned());
    }
    for pair in set.all("nvpair") {
        let (name, value) = match (taken(pair), pair.get("name")) {
            (Some(from), name) => (name.unwrap_or(&from).to_owned(), format!("that of {from}")),
            (None, name) => {
                let (name, value) = (name.unwrap_or_default(), pair.get("value"));
                (name.to_owned(), normal(name, value.unwrap_or_default()))
            }
        };
        values.entry(format!("{prefix}{name}")).or_insert(value);
    }
}

/// Attributes of an element and of what is inside it, ids aside.
pub(super) fn attributes(element: &Element, prefix: &str, values: &mut BTreeMap<String, String>) {
    for (name, value) in &element.attributes {
        if name != "id" || element.name == "resource_ref" {
            values.insert(format!("{prefix}{name}"), normal(name, value));
        }
    }
    for (i, child) in element.children.iter().enumerate() {
        attributes(child, &format!("{prefix}{} {} ", child.name, i + 1), values);
    }
}

/// One spelling for values that mean the same: times as whole seconds or milliseconds, infinity by
/// its name, booleans as words.
fn normal(name: &str, value: &str) -> String {
    let value = value.trim();
    // The agent's own are milliseconds.
    let is_time = !name.starts_with("arp_")
        && ["timeout", "interval", "deadtime", "delay"]
            .iter()
            .any(|word| name.contains(word));
    if is_time {
        if let Some(ms) = crate::simulate::millis(value) {
            return match ms % 1000 {
                0 => format!("{}s", ms / 1000),
                _ => format!("{ms}ms"),
            };
        }
    }
    match value {
        "+INFINITY" | "1000000" | "+1000000" => "INFINITY".into(),
        "-1000000" => "-INFINITY".into(),
        "True" | "TRUE" => "true".into(),
        "False" | "FALSE" => "false".into(),
        _ => value.to_owned(),
    }
}

/// Whom a fencing level is about, in whichever of the three ways it says so, and its index.
pub(super) fn level_key(level: &Element) -> Key {
    let target = ["target", "target-pattern", "target-attribute"];
    let mut target = target.iter().filter_map(|name| level.get(name));
    let node = target.next().unwrap_or_default();
    let index = level.get("index").unwrap_or_default();
    Key::Level(node.to_owned(), index.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn property(cib: &str, name: &str) -> Option<String> {
        let all = objects(&Element::parse(cib, "test").unwrap(), &BTreeSet::new());
        Some(all.get(&Key::Property(name.into()))?.values["value"].clone())
    }

    #[test]
    fn of_several_property_sets_the_well_known_one_counts() {
        let cib = r#"<cib><configuration><crm_config>
            <cluster_property_set id="zz"><nvpair id="1" name="stonith-enabled" value="false"/>
                <nvpair id="2" name="dc-deadtime" value="20"/></cluster_property_set>
            <cluster_property_set id="cib-bootstrap-options">
                <nvpair id="3" name="stonith-enabled" value="true"/>
                <nvpair id="4" name="dc-version" value="2.1.5"/></cluster_property_set>
            </crm_config></configuration></cib>"#;
        assert_eq!(property(cib, "stonith-enabled").as_deref(), Some("true"));
        assert_eq!(property(cib, "dc-deadtime").as_deref(), Some("20s"));
        assert_eq!(property(cib, "dc-version"), None);
    }

    #[test]
    fn nothing_that_counts_for_pacemaker_is_hidden_from_a_comparison() {
        let values = |inside: &str, more: &str| {
            let text = format!(
                "<primitive id=\"a\" class=\"ocf\" provider=\"heartbeat\" type=\"IPaddr2\"{more}>\
                 <instance_attributes id=\"a-p\"><nvpair id=\"a-ip\" name=\"ip\" value=\"10.0.0.1\"/></instance_attributes>\
                 {inside}</primitive>"
            );
            resource_values(&Element::parse(&text, "test").unwrap())
        };
        let op = |inside: &str| {
            let op = "<op id=\"a-m\" name=\"monitor\" interval=\"10s\" timeout=\"20s\"";
            values(&format!("<operations>{op}>{inside}</op></operations>"), "")
        };
        let pair = "<nvpair id=\"x\" name=\"ip\" value=\"10.0.0.2\"/>";
        let plain = values("", "");
        for other in [
            values(
                &format!("<instance_attributes id=\"b\" score=\"9\">{pair}</instance_attributes>"),
                "",
            ),
            values("<instance_attributes id-ref=\"b\"/>", ""),
            values(
                "<instance_attributes id=\"b\"><nvpair id-ref=\"x\"/></instance_attributes>",
                "",
            ),
            values("<meta_attributes id-ref=\"b\"/>", ""),
            values("", " template=\"t\""),
        ] {
            assert_ne!(other, plain);
        }
        let off = "<meta_attributes id=\"m\"><nvpair id=\"e\" name=\"enabled\" value=\"false\"/></meta_attributes>";
        assert_eq!(
            op(off)
                .get("monitor every 10s: enabled")
                .map(String::as_str),
            Some("false")
        );
        assert_ne!(op("<instance_attributes id-ref=\"b\"/>"), op(""));
    }

    #[test]
    fn spelling_means_nothing() {
        for (name, a, b) in [
            ("timeout", "60", "1min"),
            ("timeout", "60s", "60000ms"),
            ("interval", "10", "10s"),
            ("score", "INFINITY", "1000000"),
        ] {
            assert_eq!(normal(name, a), normal(name, b));
        }
        assert_ne!(normal("timeout", "60s"), normal("timeout", "61s"));
        // Not a time, though it looks like one: the port of a device.
        assert_eq!(normal("pcmk_host_map", "60"), "60");
    }
}
