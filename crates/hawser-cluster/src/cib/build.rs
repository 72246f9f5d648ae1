//! The CIB's building blocks. Ids are made from names, so the same file always gives the same CIB.

use hawser_model::cluster_file::Period;

use super::{OWN_CONSTRAINT, OWN_DESCRIPTION};
use crate::xml::Element;

/// An operation of a resource.
pub(super) struct Op {
    pub name: &'static str,
    /// Zero for the ones that are not repeated.
    pub interval: Period,
    pub timeout: Period,
    pub on_fail: Option<&'static str>,
}

impl Op {
    /// `start`, `stop`: done once.
    pub fn once(name: &'static str, timeout: Period) -> Self {
        let interval = Period::from_secs(0);
        Self {
            name,
            interval,
            timeout,
            on_fail: None,
        }
    }

    /// `monitor`, every so often.
    pub fn monitor(interval: Period, timeout: Period) -> Self {
        Self {
            name: "monitor",
            interval,
            timeout,
            on_fail: None,
        }
    }

    /// What a failure leads to.
    pub fn on_fail(mut self, what: Option<&'static str>) -> Self {
        self.on_fail = what;
        self
    }
}

/// A resource with its agent, parameters and operations.
pub(super) fn primitive(
    id: &str,
    agent: &str,
    description: &str,
    parameters: &[(String, String)],
    ops: &[Op],
) -> Element {
    let mut primitive = Element::new("primitive").with("id", id);
    let names = ["class", "provider", "type"];
    let parts: Vec<&str> = agent.split(':').collect();
    // `stonith:fence_ipmilan` has no provider.
    let named = names
        .iter()
        .filter(|name| parts.len() == 3 || **name != "provider");
    for (name, part) in named.zip(&parts) {
        primitive.set(name, *part);
    }
    primitive.set("description", format!("{OWN_DESCRIPTION}{description}"));
    if !parameters.is_empty() {
        primitive.children.push(nvpairs(
            "instance_attributes",
            &format!("{id}-params"),
            parameters,
        ));
    }
    let operations = ops.iter().map(|op| {
        let id = format!("{id}-{}-{}", op.name, op.interval);
        let mut element = Element::new("op")
            .with("id", id)
            .with("name", op.name)
            .with("interval", op.interval.to_string())
            .with("timeout", op.timeout.to_string());
        if let Some(what) = op.on_fail {
            element.set("on-fail", what);
        }
        element
    });
    primitive.child(Element::new("operations").children(operations))
}

/// A set of name-value pairs.
pub(super) fn nvpairs(tag: &str, id: &str, pairs: &[(String, String)]) -> Element {
    let pairs = pairs.iter().map(|(name, value)| {
        Element::new("nvpair")
            .with("id", format!("{id}-{name}"))
            .with("name", name.as_str())
            .with("value", value.as_str())
    });
    Element::new(tag).with("id", id).children(pairs)
}

/// `first` starts before `then` and stops after it.
pub(super) fn order(first: &str, then: &str) -> Element {
    Element::new("rsc_order")
        .with("id", format!("{OWN_CONSTRAINT}order-{first}-then-{then}"))
        .with("first", first)
        .with("then", then)
        .with("kind", "Mandatory")
}

/// `resource` runs only where `with` runs.
pub(super) fn together(resource: &str, with: &str) -> Element {
    Element::new("rsc_colocation")
        .with("id", format!("{OWN_CONSTRAINT}{resource}-with-{with}"))
        .with("rsc", resource)
        .with("with-rsc", with)
        .with("score", "INFINITY")
}

/// `resource` prefers `node` by so much.
pub(super) fn prefers(resource: &str, node: &str, score: u32) -> Element {
    Element::new("rsc_location")
        .with("id", format!("{OWN_CONSTRAINT}{resource}-prefers-{node}"))
        .with("rsc", resource)
        .with("node", node)
        .with("score", score.to_string())
}

/// `resource` never runs on `node`.
pub(super) fn avoids(resource: &str, node: &str) -> Element {
    Element::new("rsc_location")
        .with("id", format!("{OWN_CONSTRAINT}{resource}-not-on-{node}"))
        .with("rsc", resource)
        .with("node", node)
        .with("score", "-INFINITY")
}

/// `resource` runs on `node` and is not even looked for elsewhere.
pub(super) fn only_on(resource: &str, node: &str) -> Element {
    Element::new("rsc_location")
        .with("id", format!("{OWN_CONSTRAINT}{resource}-on-{node}"))
        .with("rsc", resource)
        .with("node", node)
        .with("score", "INFINITY")
        .with("resource-discovery", "exclusive")
}

/// A name-value pair.
pub(super) fn pair(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}
