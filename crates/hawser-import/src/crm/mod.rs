//! Pacemaker's configuration, as XML or as crmsh writes it, in one form.

pub(crate) mod by_id;
pub(crate) mod cib;
pub(crate) mod shell;
pub(crate) mod templates;

use std::collections::{BTreeMap, HashMap};

use crate::SourceLine;
use crate::place::{Malformed, quoted};

/// Names and values.
pub(crate) type Pairs = BTreeMap<String, String>;

/// The configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crm {
    pub nodes: Vec<Node>,
    pub primitives: Vec<Primitive>,
    /// What primitives may be made from.
    pub templates: Vec<Primitive>,
    /// Groups, clones and promotable clones: kind, id, members.
    pub around: Vec<Around>,
    /// Tags and templates, by which a constraint may name resources.
    pub sets: Vec<Set>,
    pub locations: Vec<Location>,
    pub colocations: Vec<Together>,
    pub orders: Vec<Together>,
    pub tickets: Vec<Ticket>,
    pub properties: Vec<(String, String, SourceLine)>,
    pub defaults: Vec<(String, String, SourceLine)>,
    /// Defaults of operations.
    pub operations: Vec<(String, String, SourceLine)>,
    /// Node, level, devices.
    pub levels: Vec<(String, u8, Vec<String>, SourceLine)>,
}

/// A node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub name: String,
    /// Corosync's number, as text.
    pub id: Option<String>,
    pub attributes: Pairs,
    /// It says what it has room for.
    pub utilization: bool,
    /// It runs no Corosync.
    pub remote: bool,
    pub at: SourceLine,
}

/// A resource with an agent.
#[derive(Clone, Debug)]
pub(crate) struct Primitive {
    pub id: String,
    /// `ocf:heartbeat:IPaddr2`.
    pub agent: String,
    pub params: Pairs,
    pub meta: Pairs,
    pub ops: Vec<(String, Pairs)>,
    /// The template that it is made from.
    pub template: Option<String>,
    /// It says how much room it needs.
    pub utilization: bool,
    pub at: SourceLine,
}

/// What holds other resources.
#[derive(Clone, Debug)]
pub(crate) struct Around {
    /// `group`, `clone`, `ms`, `bundle`.
    pub kind: &'static str,
    pub id: String,
    pub members: Vec<String>,
    pub meta: Pairs,
    pub at: SourceLine,
}

/// Resources under one name.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    pub id: String,
    pub members: Vec<String>,
}

/// Resources that run only where a ticket is.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    pub name: String,
    pub resources: Vec<String>,
    pub at: SourceLine,
}

/// Where resources may or shall run.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub id: String,
    pub resources: Vec<String>,
    /// `None`: a rule that is more than a node's name.
    pub node: Option<String>,
    pub score: Score,
    pub at: SourceLine,
}

/// Resources that a constraint joins.
#[derive(Clone, Debug)]
pub(crate) struct Together {
    pub resources: Vec<String>,
    pub score: Score,
    pub at: SourceLine,
}

/// A score of Pacemaker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Score {
    MinusInfinity,
    Finite(i64),
    Infinity,
}

impl Score {
    /// `100`, `INFINITY`, `-inf`; the words of an order's kind count as well.
    pub fn read(text: &str) -> Option<Self> {
        const MILLION: i64 = 1_000_000;
        match text.to_ascii_lowercase().as_str() {
            "inf" | "+inf" | "infinity" | "+infinity" | "mandatory" | "serialize" => {
                return Some(Self::Infinity);
            }
            "-inf" | "-infinity" => return Some(Self::MinusInfinity),
            "optional" | "advisory" => return Some(Self::Finite(0)),
            _ => {}
        }
        let number: i64 = text.strip_prefix('+').unwrap_or(text).parse().ok()?;
        Some(match number {
            n if n >= MILLION => Self::Infinity,
            n if n <= -MILLION => Self::MinusInfinity,
            n => Self::Finite(n),
        })
    }

    /// Whether it draws to a place rather than away from it.
    pub fn is_positive(self) -> bool {
        self > Self::Finite(0)
    }
}

/// One id of two things.
fn twice(at: &SourceLine, what: &str, id: &str, first: &SourceLine) -> Malformed {
    let found = format!(
        "{what} {}, an id that stands at {first} as well",
        quoted(id)
    );
    Malformed::new(at, found, "an id that nothing else has")
}

impl Crm {
    /// With another source's. An id of a resource or of what is around resources must not be in both: one configuration that is
    /// given twice would otherwise be taken for two.
    pub fn add(&mut self, other: Self) -> Result<(), Malformed> {
        let mut taken: HashMap<&str, &SourceLine> = self.ids().collect();
        for (id, at) in other.ids() {
            if let Some(first) = taken.insert(id, at) {
                if first.file != at.file {
                    return Err(twice(at, "resource", id, first));
                }
            }
        }
        self.nodes.extend(other.nodes);
        self.primitives.extend(other.primitives);
        self.templates.extend(other.templates);
        self.around.extend(other.around);
        self.sets.extend(other.sets);
        self.locations.extend(other.locations);
        self.colocations.extend(other.colocations);
        self.orders.extend(other.orders);
        self.tickets.extend(other.tickets);
        self.properties.extend(other.properties);
        self.defaults.extend(other.defaults);
        self.operations.extend(other.operations);
        self.levels.extend(other.levels);
        Ok(())
    }

    /// What has a name that constraints use.
    fn ids(&self) -> impl Iterator<Item = (&str, &SourceLine)> {
        let primitives = self.primitives.iter().map(|it| (it.id.as_str(), &it.at));
        let around = self.around.iter().map(|it| (it.id.as_str(), &it.at));
        primitives.chain(around)
    }
}

impl Primitive {
    /// A parameter, under the first of these names that it has.
    pub fn param(&self, names: &[&str]) -> Option<&str> {
        let mut found = names.iter().filter_map(|name| self.params.get(*name));
        found.next().map(String::as_str)
    }

    /// An attribute of an operation.
    pub fn op(&self, name: &str, attribute: &str) -> Option<&str> {
        let (_, pairs) = self.ops.iter().find(|(op, _)| op == name)?;
        pairs.get(attribute).map(String::as_str)
    }
}
