//! Which heads clients cannot reach: a pool is reached over its SANs, and a head may have a carrier on none of them.
//!
//! Read from the CIB alone: the pool's constraint names the node attributes in which Pacemaker's watchers keep the
//! speed of each head's ports. An attribute that is not there says nothing, as it says nothing to Pacemaker.

use std::collections::{BTreeMap, BTreeSet};

use crate::cib::{NEEDS_A_SAN, link_of_attribute};
use crate::xml::Element;

/// The SANs of a pool, and the heads that have lost them all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CutOff {
    /// The SANs over which the pool is reached.
    pub sans: BTreeSet<String>,
    /// The heads without a carrier on any of them.
    pub heads: BTreeSet<String>,
}

impl CutOff {
    /// The SANs in words.
    pub fn sans(&self) -> String {
        let sans: Vec<&str> = self.sans.iter().map(String::as_str).collect();
        sans.join(", ")
    }
}

/// For each pool, by what its constraint names, the heads on which its clients do not reach it.
pub(super) fn cut_off(cib: &Element) -> BTreeMap<String, CutOff> {
    let without = without_carrier(cib);
    let constraints = cib.at(&["configuration", "constraints"]).into_iter();
    let locations = constraints.flat_map(|all| all.all("rsc_location"));
    locations
        .filter_map(|location| {
            location.get("id").filter(|id| id.ends_with(NEEDS_A_SAN))?;
            let rules = location.walk();
            let attributes: Vec<&str> = rules
                .iter()
                .filter(|element| element.name == "expression")
                .filter_map(|expression| expression.get("attribute"))
                .collect();
            if attributes.is_empty() {
                return None;
            }
            let has_none = |lost: &BTreeSet<&str>| attributes.iter().all(|one| lost.contains(one));
            let heads = without.iter().filter(|(_, lost)| has_none(lost));
            let cut = CutOff {
                sans: attributes
                    .iter()
                    .map(|attribute| link_of_attribute(attribute).to_owned())
                    .collect(),
                heads: heads.map(|(head, _)| (*head).to_owned()).collect(),
            };
            Some((location.get("rsc")?.to_owned(), cut))
        })
        .collect()
}

/// The attributes of each node whose value is 0.
fn without_carrier(cib: &Element) -> BTreeMap<&str, BTreeSet<&str>> {
    let states = cib.first("status").into_iter();
    let states = states.flat_map(|status| status.all("node_state"));
    states.filter_map(zeros).collect()
}

fn zeros(state: &Element) -> Option<(&str, BTreeSet<&str>)> {
    let attributes = state.first("transient_attributes")?.walk();
    let zero = attributes
        .into_iter()
        .filter(|pair| pair.name == "nvpair" && pair.get("value") == Some("0"));
    Some((
        state.get("uname")?,
        zero.filter_map(|pair| pair.get("name")).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known of the ports of head1, head2 to the SANs a, b: `speed` as the watcher writes it, `-` for nothing.
    fn heads(ports: [[&str; 2]; 2]) -> Vec<String> {
        let state = |(head, ports): (&str, [&str; 2])| {
            let pair = |(san, speed)| match speed {
                "-" => String::new(),
                _ => format!(r#"<nvpair id="{head}{san}" name="hawser-{san}" value="{speed}"/>"#),
            };
            let pairs = ["a", "b"].into_iter().zip(ports).map(pair);
            format!(
                r#"<node_state uname="{head}"><transient_attributes id="{head}"><instance_attributes id="i{head}">{}
                </instance_attributes></transient_attributes></node_state>"#,
                pairs.collect::<String>()
            )
        };
        let states = ["head1", "head2"].into_iter().zip(ports).map(state);
        let text = format!(
            r#"<cib><configuration><constraints>
                <rsc_location id="hawser-tank-needs-a-san" rsc="tank"><rule id="r" score="5" boolean-op="or">
                  <expression id="a" attribute="hawser-a" operator="ne" value="0"/>
                  <expression id="b" attribute="hawser-b" operator="ne" value="0"/></rule></rsc_location>
                <rsc_location id="hawser-prefer" rsc="tank" node="head1" score="100"/>
            </constraints></configuration><status>{}</status></cib>"#,
            states.collect::<String>()
        );
        let found = cut_off(&Element::parse(&text, "test").unwrap());
        assert_eq!(found.len(), 1);
        assert_eq!(found["tank"].sans(), "a, b");
        found["tank"].heads.iter().cloned().collect()
    }

    #[test]
    fn a_head_is_cut_off_when_every_port_of_it_says_0_and_none_is_unknown() {
        assert_eq!(heads([["10000", "0"], ["0", "0"]]), ["head2"]);
        assert_eq!(heads([["0", "0"], ["0", "0"]]), ["head1", "head2"]);
        // Virtual ports tell no speed: -1 is no 0.
        assert_eq!(heads([["0", "-1"], ["-1", "-1"]]), Vec::<String>::new());
        assert_eq!(heads([["0", "-"], ["-", "-"]]), Vec::<String>::new());
    }
}
