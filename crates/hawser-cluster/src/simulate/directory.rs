//! What each resource of a CIB is to a person: the storage, the exports or an address of a pool, or
//! a fence device. Read from the CIB alone, so that it also holds for a cluster made by hand.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::HookPlace;

use super::carrier::{CutOff, cut_off};
use crate::cib::written_out;
use crate::xml::Element;

/// The resources of a CIB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// Each resource by its id.
    pub resources: BTreeMap<String, Resource>,
    /// For each node, how long the shot at it is held back, as the CIB writes it (`10s`).
    pub delays: BTreeMap<String, String>,
    /// For each pool, by its storage, the heads that have lost all SANs over which it is reached.
    pub cut_off: BTreeMap<String, CutOff>,
    /// The pool of each group that has a pool's storage in it: a constraint may name the group instead.
    pub groups: BTreeMap<String, String>,
}

/// A resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The pool it belongs to: the storage at the end of its colocations.
    pub pool: Option<String>,
    /// What it is.
    pub part: Part,
}

/// What a resource is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Imports or mounts a pool, with the verb for it.
    Storage(Verb),
    /// Offers it by iSCSI or NFS.
    Exports,
    /// One of its addresses.
    Address(String),
    /// A fence device.
    Fence,
    /// Runs hooks before the storage is imported, or after it.
    Hook(HookPlace),
    /// Watches a port of a head.
    Watch,
    /// Something else.
    Other,
}

impl Part {
    /// Whether it runs hooks.
    pub(crate) fn is_hook(&self) -> bool {
        matches!(self, Self::Hook(_))
    }
}

/// How storage starts and stops, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// A pool is imported and exported.
    Import,
    /// A file system is mounted and unmounted.
    Mount,
    /// A volume group is activated and deactivated.
    Activate,
}

impl Directory {
    /// Reads a CIB.
    pub fn of(cib: &Element) -> Self {
        // One that is made from a template does not say itself what it is.
        let made = |it: &&Element| it.name == "primitive" && it.get("template").is_some();
        match cib.walk().iter().any(made) {
            true => Self::of_written_out(&written_out(cib)),
            false => Self::of_written_out(cib),
        }
    }

    fn of_written_out(cib: &Element) -> Self {
        let configuration = cib.first("configuration").unwrap_or(cib);
        let primitives: Vec<&Element> = configuration
            .first("resources")
            .map(Element::walk)
            .unwrap_or_default()
            .into_iter()
            .filter(|element| element.name == "primitive")
            .collect();
        // What a pool has beneath it that is no part of one, such as DRBD, is not its storage, nor are its own hooks.
        let beneath = |it: &&&Element| {
            let beneath = Part::Hook(HookPlace::Before);
            !matches!(part(it), Part::Fence | Part::Watch | Part::Other) && part(it) != beneath
        };
        let parts: BTreeSet<&str> = primitives
            .iter()
            .filter(beneath)
            .filter_map(|it| it.get("id"))
            .collect();
        let groups = groups(configuration, &parts);
        // A group stands for what is in it.
        let meant = |id| match groups.get(id) {
            Some(members) => members[0],
            None => id,
        };
        let all: Vec<(&str, &str)> = configuration
            .first("constraints")
            .into_iter()
            .flat_map(|constraints| constraints.all("rsc_colocation"))
            // Two that are kept apart do not belong together.
            .filter(|constraint| {
                !constraint
                    .get("score")
                    .is_some_and(|it| it.starts_with('-'))
            })
            .filter_map(|constraint| Some((constraint.get("rsc")?, constraint.get("with-rsc")?)))
            .map(|(rsc, with)| (meant(rsc), meant(with)))
            .collect();
        let standing = all.iter().copied().filter(|(_, with)| parts.contains(with));
        let mut colocations: BTreeMap<&str, &str> = standing.collect();
        // In a group, as `pcs` makes them, each member runs where the one before it runs.
        let pairs = groups.values().flat_map(|members| members.windows(2));
        colocations.extend(pairs.map(|pair| (pair[1], pair[0])));
        let placed = groups.iter().filter_map(|(group, members)| {
            let pool = foot(members[0], &colocations);
            members
                .contains(&pool)
                .then(|| ((*group).to_owned(), pool.to_owned()))
        });
        let mut directory = Self {
            groups: placed.collect(),
            ..Self::default()
        };
        let cut_off = cut_off(cib).into_iter();
        directory.cut_off = cut_off
            .map(|(resource, cut)| (directory.placed(&resource).to_owned(), cut))
            .collect();
        for primitive in primitives {
            let Some(id) = primitive.get("id") else {
                continue;
            };
            let part = part(primitive);
            let pool = match part {
                Part::Fence | Part::Watch | Part::Other => None,
                Part::Hook(HookPlace::Before) => {
                    let mut above = all
                        .iter()
                        .filter(|(of, with)| *with == id && parts.contains(of));
                    above
                        .next()
                        .map(|(of, _)| foot(of, &colocations).to_owned())
                }
                _ => Some(foot(id, &colocations).to_owned()),
            };
            if part == Part::Fence {
                directory.delays.extend(delays(primitive));
            }
            directory
                .resources
                .insert(id.to_owned(), Resource { pool, part });
        }
        directory
    }

    /// Takes over what another directory knows, over what this one knows.
    pub fn update(&mut self, other: Self) {
        self.resources.extend(other.resources);
        self.delays.extend(other.delays);
        self.cut_off.extend(other.cut_off);
        self.groups.extend(other.groups);
    }

    /// What a constraint places that names this resource: the storage of the pool for the group that it is in, otherwise
    /// the resource itself.
    pub fn placed<'a>(&'a self, resource: &'a str) -> &'a str {
        self.groups.get(resource).map_or(resource, String::as_str)
    }

    /// The pool that a resource or a group belongs to.
    pub fn pool_of(&self, resource: &str) -> Option<&str> {
        self.resources.get(self.placed(resource))?.pool.as_deref()
    }

    /// Why clients do not reach a pool on this node, if they do not.
    pub fn not_reached(&self, pool: &str, node: &str) -> Option<String> {
        let sans = self.sans_lost(pool, node)?;
        Some(format!(
            "{node} has no carrier on any SAN over which {pool} is reached ({sans})"
        ))
    }

    /// The SANs over which clients reach a pool, if this node has a carrier on none of them.
    pub fn sans_lost(&self, pool: &str, node: &str) -> Option<String> {
        let cut = self.cut_off.get(pool)?;
        cut.heads.contains(node).then(|| cut.sans())
    }

    /// The pools, each with the resource that is its storage.
    pub fn pools(&self) -> impl Iterator<Item = &str> {
        self.resources.iter().filter_map(|(id, resource)| {
            (resource.pool.as_deref() == Some(id.as_str())).then_some(id.as_str())
        })
    }

    /// The resources of a pool.
    pub fn of_pool<'a>(&'a self, pool: &'a str) -> impl Iterator<Item = (&'a str, &'a Part)> {
        self.resources.iter().filter_map(move |(id, resource)| {
            (resource.pool.as_deref() == Some(pool)).then_some((id.as_str(), &resource.part))
        })
    }
}

/// The groups that have parts of pools in them, each with these parts in their order.
fn groups<'a>(
    configuration: &'a Element,
    parts: &BTreeSet<&str>,
) -> BTreeMap<&'a str, Vec<&'a str>> {
    let resources = configuration.first("resources").map(Element::walk);
    let groups = resources.unwrap_or_default().into_iter();
    let groups = groups.filter(|element| element.name == "group");
    let with_parts = groups.filter_map(|group| {
        let members: Vec<&str> = group
            .all("primitive")
            .filter_map(|primitive| primitive.get("id"))
            .filter(|id| parts.contains(id))
            .collect();
        (!members.is_empty()).then_some((group.get("id")?, members))
    });
    with_parts.collect()
}

/// What a primitive is of a pool, or for the cluster.
pub(crate) fn part(primitive: &Element) -> Part {
    let kind = primitive.get("type").unwrap_or_default();
    match (primitive.get("class"), kind) {
        (Some("stonith"), _) => Part::Fence,
        (_, "hooks") if primitive.get("provider") == Some("hawser") => {
            let place = parameter(primitive, "place").and_then(HookPlace::named);
            place.map_or(Part::Other, Part::Hook)
        }
        (_, "ifspeed" | "ethmonitor" | "ping") => Part::Watch,
        (_, "ZFS") => Part::Storage(Verb::Import),
        (_, "Filesystem") => Part::Storage(Verb::Mount),
        (_, "LVM-activate") => Part::Storage(Verb::Activate),
        (_, "exports" | "exportfs" | "iSCSITarget" | "iSCSILogicalUnit" | "nfsserver") => {
            Part::Exports
        }
        (_, "IPaddr2" | "IPaddr") => {
            Part::Address(parameter(primitive, "ip").unwrap_or_default().to_owned())
        }
        _ => Part::Other,
    }
}

/// The value of an agent's parameter.
pub(crate) fn parameter<'a>(primitive: &'a Element, name: &str) -> Option<&'a str> {
    let sets = primitive.all("instance_attributes");
    let mut pairs = sets.flat_map(|set| &set.children);
    pairs
        .find(|pair| pair.get("name") == Some(name))?
        .get("value")
}

/// What a resource stands on in the end. A circle of colocations, which Pacemaker would refuse,
/// ends where it began.
fn foot<'a>(id: &'a str, colocations: &BTreeMap<&'a str, &'a str>) -> &'a str {
    let mut at = id;
    for _ in 0..colocations.len() {
        match colocations.get(at) {
            Some(with) => at = with,
            None => break,
        }
    }
    at
}

/// `pcmk_delay_base` is one time for all its nodes, or `node:time` pairs (since Pacemaker 2.1.2).
fn delays(device: &Element) -> Vec<(String, String)> {
    let nodes: Vec<&str> = parameter(device, "pcmk_host_list").map_or(vec![], |list| {
        list.split([',', ' ', ';'])
            .filter(|node| !node.is_empty())
            .collect()
    });
    let Some(base) = parameter(device, "pcmk_delay_base") else {
        return Vec::new();
    };
    if !base.contains(':') {
        return nodes
            .iter()
            .map(|node| ((*node).to_owned(), base.to_owned()))
            .collect();
    }
    let pairs = base
        .split([';', ' ', ','])
        .filter_map(|pair| pair.split_once(':'));
    pairs
        .map(|(node, delay)| (node.to_owned(), delay.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_belong_to_the_pool_that_stands_on_them_and_are_not_its_storage() {
        let hooks = "\n[pool.hooks]\npre_import = { program = \"/a\" }\npre_export = { program = \"/b\" }\n";
        let text = include_str!("../../../../examples/lab/hawser.toml").to_owned() + hooks;
        let file = hawser_model::cluster_file::parse_complete(&text, "hawser.toml").unwrap();
        let pool = file.pools.last().unwrap();
        let numbering = crate::numbering::Numbering::of(&file, None);
        let directory = Directory::of(&crate::cib::generate(&file, &numbering));
        let parts: BTreeSet<String> = directory
            .of_pool(&pool.name)
            .map(|(id, _)| id.into())
            .collect();
        assert_eq!(parts, pool.resource_ids().into_iter().collect());
        assert_eq!(directory.pools().count(), file.pools.len());
        assert!(directory.pools().any(|it| it == pool.name.as_str()));
    }

    #[test]
    fn pools_that_are_kept_apart_are_two() {
        let cib = r#"<cib><configuration><resources>
            <primitive id="a" class="ocf" provider="heartbeat" type="ZFS"/>
            <primitive id="b" class="ocf" provider="heartbeat" type="ZFS"/></resources><constraints>
            <rsc_colocation id="c" rsc="a" with-rsc="b" score="-100"/></constraints></configuration></cib>"#;
        let directory = Directory::of(&Element::parse(cib, "test").unwrap());
        assert_eq!(directory.pools().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn the_members_of_a_group_belong_to_its_storage() {
        let cib = r#"<cib><configuration><resources><group id="storage">
            <primitive id="data" class="ocf" provider="heartbeat" type="Filesystem"/>
            <primitive id="ip" class="ocf" provider="heartbeat" type="IPaddr2"><instance_attributes>
              <nvpair name="ip" value="192.0.2.1"/></instance_attributes></primitive>
            <primitive id="nfs" class="ocf" provider="heartbeat" type="nfsserver"/>
            </group>
            <primitive id="late" class="ocf" provider="heartbeat" type="IPaddr2"/></resources><constraints>
            <rsc_colocation id="c" rsc="late" with-rsc="storage" score="INFINITY"/></constraints></configuration></cib>"#;
        let directory = Directory::of(&Element::parse(cib, "test").unwrap());
        assert_eq!(directory.pools().collect::<Vec<_>>(), ["data"]);
        let parts: Vec<&str> = directory.of_pool("data").map(|(id, _)| id).collect();
        assert_eq!(parts, ["data", "ip", "late", "nfs"]);
        assert_eq!(directory.pool_of("storage"), Some("data"));
    }
}
