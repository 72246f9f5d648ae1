//! What Pacemaker runs, read from a CIB of whoever made it.

use std::collections::BTreeMap;

use hawser_model::drill::ResourceFacts;

use crate::simulate::{Part, part};
use crate::xml::Element;

/// The resources of a CIB that run on one node at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Services {
    /// The groups: their name, and what is in them, in the order in which it starts.
    pub groups: Vec<(String, Vec<ResourceFacts>)>,
    /// What is in no group. Fence devices, watches of ports and clones are left out.
    pub single: Vec<ResourceFacts>,
}

/// The services of a CIB.
pub fn services(cib: &Element) -> Services {
    let mut services = Services::default();
    let resources = cib.at(&["configuration", "resources"]);
    for element in resources.iter().flat_map(|resources| &resources.children) {
        match element.name.as_str() {
            "group" => {
                let members = element.all("primitive").filter_map(resource).collect();
                let name = element.get("id").unwrap_or_default().to_owned();
                services.groups.push((name, members));
            }
            // A fence device and a watch of a port have no clients.
            "primitive" if !matches!(part(element), Part::Fence | Part::Watch) => {
                services.single.extend(resource(element));
            }
            _ => {}
        }
    }
    services
}

/// The primitive of this name, however deep in groups and clones it stands.
pub fn primitive<'a>(cib: &'a Element, id: &str) -> Option<&'a Element> {
    let resources = cib.at(&["configuration", "resources"])?;
    let mut all = resources.walk().into_iter();
    all.find(|element| element.name == "primitive" && element.get("id") == Some(id))
}

/// The agent of a primitive: `ocf:heartbeat:IPaddr2`.
pub fn agent(primitive: &Element) -> String {
    let parts = ["class", "provider", "type"];
    let parts = parts.iter().filter_map(|part| primitive.get(part));
    parts.collect::<Vec<_>>().join(":")
}

/// A primitive: its name, its agent (`ocf:heartbeat:IPaddr2`), its parameters.
pub fn resource(primitive: &Element) -> Option<ResourceFacts> {
    Some(ResourceFacts {
        name: primitive.get("id")?.to_owned(),
        agent: agent(primitive),
        parameters: pairs(primitive, "instance_attributes"),
    })
}

/// The name-value pairs of all sets of that kind.
pub fn pairs(of: &Element, set: &str) -> BTreeMap<String, String> {
    let pairs = of.all(set).flat_map(|set| set.all("nvpair"));
    let pair = |pair: &Element| Some((pair.get("name")?.to_owned(), pair.get("value")?.to_owned()));
    pairs.filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_single_resources_are_services_and_fence_devices_are_not() {
        let cib = Element::parse(
            r#"<cib><configuration><resources>
            <primitive id="fence-a" class="stonith" type="fence_ipmilan"/>
            <group id="web"><primitive id="web-ip" class="ocf" provider="heartbeat" type="IPaddr2"/>
            <primitive id="web-fs" class="ocf" provider="heartbeat" type="Filesystem"/></group>
            <clone id="pings"><primitive id="ping" class="ocf" provider="pacemaker" type="ping"/></clone>
            <primitive id="db" class="systemd" type="mariadb"/></resources></configuration></cib>"#,
            "test",
        )
        .unwrap();
        let found = services(&cib);
        let (name, members) = &found.groups[0];
        assert_eq!((name.as_str(), members.len()), ("web", 2));
        assert_eq!(members[0].agent, "ocf:heartbeat:IPaddr2");
        assert_eq!(found.single.len(), 1);
        assert_eq!(found.single[0].agent, "systemd:mariadb");
    }

    #[test]
    fn what_has_no_clients_is_no_service() {
        let text = include_str!("../../goldens/lab/cib.xml");
        assert!(text.contains("watch-head1-san01") && text.contains("fence-head1"));
        let found = services(&Element::parse(text, "a CIB").unwrap());
        let names: Vec<&str> = found.single.iter().map(|it| &*it.name).collect();
        let pool =
            |name: &str| ["", "-exports", "-san01", "-san02"].map(|part| format!("{name}{part}"));
        assert_eq!(names, [pool("vmpool01"), pool("vmpool02")].concat());
    }
}
