//! Orders that somebody gave about where a resource runs, and that are still in force or still lie there:
//! `cli-prefer-…` of a move, `cli-ban-…` of a ban (`crm_resource`, `pcs`, `crm`).
//!
//! One without an end holds for ever: the pool goes back by itself as soon as it can, whatever its stickiness.

use std::fmt;

use crate::fence_history::seconds;
use crate::simulate::Directory;
use crate::xml::Element;

/// How `crm_resource` names what it makes (`cli_resource_prefer`, `cli_resource_ban` in Pacemaker).
const PREFER: &str = "cli-prefer-";
const BAN: &str = "cli-ban-";

/// An order that was left in the CIB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOrder {
    /// The constraint.
    pub id: String,
    /// The resource or the group that it is about.
    pub resource: String,
    /// The pool that this belongs to, if it belongs to one.
    pub pool: Option<String>,
    /// Whether it is about all of the pool: its storage, or the group that this is in.
    pub places_pool: bool,
    /// What was ordered.
    pub kind: OrderKind,
    /// The node.
    pub node: String,
    /// When it ends, in seconds since 1970 UTC; absent: never.
    pub ends: Option<u64>,
}

/// What was ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderKind {
    /// To run there.
    Prefer,
    /// Not to run there.
    Ban,
}

impl LeftOrder {
    /// Whether it has no effect any more at this time, in seconds since 1970 UTC: what is left of it is text.
    pub fn is_over(&self, now: u64) -> bool {
        self.ends.is_some_and(|ends| ends <= now)
    }

    /// Whether it says where this pool runs.
    pub fn places(&self, pool: &str) -> bool {
        self.places_pool && self.pool.as_deref() == Some(pool)
    }

    /// How it is taken back.
    pub fn remedy(&self) -> String {
        format!("`crm_resource --clear --resource {}`", self.resource)
    }
}

impl fmt::Display for LeftOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            id, resource, node, ..
        } = self;
        match self.kind {
            OrderKind::Prefer => write!(f, "{resource} is ordered to {node} ({id})")?,
            OrderKind::Ban => write!(f, "{resource} is ordered away from {node} ({id})")?,
        }
        match self.ends {
            None => f.write_str(", without an end"),
            Some(ends) => {
                write!(f, ", until {}", hawser_model::date::utc_seconds(ends))
            }
        }
    }
}

/// The orders that were left in a CIB, by the name of their constraint.
pub fn left_orders(cib: &Element) -> Vec<LeftOrder> {
    let directory = Directory::of(cib);
    let constraints = cib.at(&["configuration", "constraints"]).into_iter();
    let locations = constraints.flat_map(|all| all.all("rsc_location"));
    let mut left: Vec<LeftOrder> = locations
        .filter_map(|location| order(location, &directory))
        .collect();
    left.sort_by(|a, b| a.id.cmp(&b.id));
    left
}

fn order(location: &Element, directory: &Directory) -> Option<LeftOrder> {
    let (id, resource) = (location.get("id")?, location.get("rsc")?);
    let kind = match (id.starts_with(PREFER), id.starts_with(BAN)) {
        (true, _) => OrderKind::Prefer,
        (_, true) => OrderKind::Ban,
        _ => return None,
    };
    let parts = location.walk();
    let named = parts.iter().find_map(|part| {
        let is_node = part.name == "expression" && part.get("attribute") == Some("#uname");
        is_node.then(|| part.get("value")).flatten()
    });
    let mut dates = parts.iter().filter(|part| part.name == "date_expression");
    let pool = directory.pool_of(resource);
    Some(LeftOrder {
        id: id.to_owned(),
        resource: resource.to_owned(),
        pool: pool.map(str::to_owned),
        places_pool: pool == Some(directory.placed(resource)),
        kind,
        node: location.get("node").or(named).unwrap_or("?").to_owned(),
        ends: dates.find_map(|date| seconds(date.get("end")?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cib(constraints: &str) -> Element {
        let text = format!(
            r#"<cib><configuration><resources>
                <primitive id="tank" class="ocf" provider="heartbeat" type="ZFS"/></resources>
                <constraints>{constraints}</constraints></configuration></cib>"#
        );
        Element::parse(&text, "test").unwrap()
    }

    /// As crm_resource 2.1.5 writes it, without and with `--lifetime`.
    #[test]
    fn what_a_move_and_a_ban_left_is_read_with_its_end() {
        let cib = cib(
            r##"<rsc_location id="hawser-prefer-tank" rsc="tank" node="head1" score="100"/>
            <rsc_location id="cli-ban-tank-on-head2" rsc="tank" role="Started" node="head2" score="-INFINITY"/>
            <rsc_location id="cli-prefer-tank" rsc="tank" role="Started"><rule id="r" score="INFINITY" boolean-op="and">
              <expression id="e" attribute="#uname" operation="eq" value="head2" type="string"/>
              <date_expression id="d" operation="lt" end="2026-11-23 14:57:39Z"/></rule></rsc_location>"##,
        );
        let left = left_orders(&cib);
        let said: Vec<String> = left.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "tank is ordered away from head2 (cli-ban-tank-on-head2), without an end",
                "tank is ordered to head2 (cli-prefer-tank), until 2026-11-23T14:57:39Z"
            ]
        );
        assert!(
            left.iter()
                .all(|order| order.pool.as_deref() == Some("tank"))
        );
        let ends = left[1].ends.unwrap();
        assert!(!left[1].is_over(ends - 1) && left[1].is_over(ends));
        assert!(
            !left[0].is_over(u64::MAX),
            "a ban without an end never ends"
        );
    }

    #[test]
    fn what_the_file_asks_for_is_no_order() {
        let own = r#"<rsc_location id="hawser-prefer-tank" rsc="tank" node="head1" score="100"/>"#;
        assert_eq!(left_orders(&cib(own)), []);
    }
}
