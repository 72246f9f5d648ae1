//! Resources that others made and that stand in the way: they have what the file gives to a pool, or the name of one of its
//! resources as a group or from within one. Two resources that have one address or one file system stop each other's.

use std::net::IpAddr;
use std::path::Path;

use super::diff::made_by_hawser;
use super::grouped::{Grouped, followers, grouped, in_place_of};
use super::{Problem, kept};
use crate::cib::services::agent;
use crate::cib::written_out;
use crate::simulate::parameter;
use crate::xml::Element;

/// What only one resource can have.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Thing<'a> {
    Address(IpAddr),
    Device(&'a Path),
    Directory(&'a Path),
    ZfsPool(&'a str),
    VolumeGroup(&'a str),
    Target(String),
}

/// Looks for them in the live CIB.
pub(super) fn in_the_way(desired: &Element, live: &Element) -> Vec<Problem> {
    let live = &written_out(live);
    let (wanted, there) = (primitives(desired), primitives(live));
    let shared = |theirs: &Element| {
        let mut all = wanted.iter().copied();
        // What offers a pool that is kept is its owner's.
        let kept =
            |ours: &Element| offered(theirs).next().is_some() && kept::is_kept(desired, id(ours));
        all.find_map(|ours| Some((ours, shared(ours, theirs).filter(|_| !kept(ours))?)))
    };
    // A target goes with its units, whatever its name is.
    let of_target = |target: &Element| {
        let iqn = parameter(target, "iqn")?;
        let mut units = there.iter();
        units.find_map(|unit| {
            let (ours, path) =
                shared(unit).filter(|_| parameter(unit, "target_iqn") == Some(iqn))?;
            Some((ours, format!("the target of {path}")))
        })
    };
    let has = |primitive: &Element| {
        let (ours, what) = shared(primitive).or_else(|| of_target(primitive))?;
        Some((in_place_of(primitive, ours, &wanted), what))
    };
    let named = |primitive: &Element| {
        let mut all = wanted.iter().copied();
        all.find(|ours| id(ours) == id(primitive))
    };
    let mut found = Vec::new();
    let all = resources(live).iter().flat_map(|it| {
        let kept = it.name == "group" && kept::keeps(desired, id(it));
        if kept {
            &it.children[..]
        } else {
            std::slice::from_ref(it)
        }
    });
    for resource in all {
        if resource.name != "primitive" {
            let grouped = grouped(resource, named, has);
            found.extend(grouped.map(|it| {
                let ours = wanted.iter().map(|ours| id(ours)).collect();
                let followers = followers(live, resource, &ours);
                Problem::Grouped(Grouped { followers, ..it })
            }));
            continue;
        }
        if named(resource).is_some() || made_by_hawser(resource) {
            continue;
        }
        found.extend(has(resource).map(|(ours, what)| Problem::Theirs {
            id: id(resource).to_owned(),
            agent: agent(resource),
            what,
            ours: id(ours).to_owned(),
        }));
    }
    found
}

fn id(element: &Element) -> &str {
    element.get("id").unwrap_or_default()
}

fn resources(cib: &Element) -> &[Element] {
    let resources = cib.at(&["configuration", "resources"]);
    resources.map_or(&[], |it| &it.children)
}

/// All primitives, those in groups too.
fn primitives(cib: &Element) -> Vec<&Element> {
    let all = resources(cib).iter().flat_map(Element::walk);
    all.filter(|element| element.name == "primitive").collect()
}

/// What a primitive of ours and one of others both have, in words.
fn shared(ours: &Element, theirs: &Element) -> Option<String> {
    let wanted = things(ours);
    let same = things(theirs)
        .into_iter()
        .find(|thing| wanted.contains(thing));
    if let Some(thing) = same {
        return Some(thing.words());
    }
    // A unit or an exported directory of a pool.
    let mut offered = offered(theirs);
    let of_pool = |path: &&str| {
        let below = |root: &Path| Path::new(path).starts_with(root);
        let of_ours = wanted.iter().any(|thing| match thing {
            Thing::Directory(directory) => below(directory),
            Thing::ZfsPool(pool) => below(&Path::new("/dev/zvol").join(pool)),
            Thing::VolumeGroup(group) => below(&Path::new("/dev").join(group)),
            _ => false,
        });
        of_ours || parameter(ours, "root").is_some_and(|root| below(Path::new(root)))
    };
    offered.find(of_pool).map(str::to_owned)
}

/// What only one resource can have, of all the values that it may have: under a rule, by a set that comes later.
fn things(primitive: &Element) -> Vec<Thing<'_>> {
    let all = |name| values(primitive, name);
    match (primitive.get("provider"), primitive.get("type")) {
        (_, Some("IPaddr2" | "IPaddr")) => addresses(all("ip")).collect(),
        (_, Some("IPv6addr")) => addresses(all("ipv6addr")).collect(),
        (_, Some("Filesystem")) => {
            let devices = all("device").map(|path| Thing::Device(Path::new(path)));
            let directories = all("directory").map(|path| Thing::Directory(Path::new(path)));
            devices.chain(directories).collect()
        }
        (_, Some("ZFS")) => all("pool").map(Thing::ZfsPool).collect(),
        (_, Some("LVM-activate")) => all("vgname").map(Thing::VolumeGroup).collect(),
        (_, Some("LVM")) => all("volgrpname").map(Thing::VolumeGroup).collect(),
        (Some("hawser"), Some("exports")) => {
            let name = parameter(primitive, "iqn").zip(parameter(primitive, "pool"));
            let target = name.map(|(authority, pool)| Thing::Target(format!("{authority}:{pool}")));
            target.into_iter().collect()
        }
        (_, Some("iSCSITarget")) => {
            let names = all("iqn").map(str::to_owned);
            names.map(Thing::Target).collect()
        }
        _ => Vec::new(),
    }
}

/// Addresses, of which `IPv6addr` writes the length of the prefix behind.
fn addresses<'a>(texts: impl Iterator<Item = &'a str>) -> impl Iterator<Item = Thing<'a>> {
    let ip = |text: &str| text.split('/').next()?.trim().parse().ok();
    texts.filter_map(ip).map(Thing::Address)
}

/// All values that an agent's parameter may have.
fn values<'a>(primitive: &'a Element, name: &str) -> impl Iterator<Item = &'a str> {
    let sets = primitive.all("instance_attributes");
    let pairs = sets.flat_map(|set| set.all("nvpair"));
    pairs
        .filter(move |pair| pair.get("name") == Some(name))
        .filter_map(|pair| pair.get("value"))
}

/// What it offers to clients, by its path.
fn offered(primitive: &Element) -> impl Iterator<Item = &str> {
    let name = match primitive.get("type") {
        Some("iSCSILogicalUnit") => Some("path"),
        Some("exportfs") => Some("directory"),
        _ => None,
    };
    name.into_iter().flat_map(|name| values(primitive, name))
}

impl Thing<'_> {
    fn words(&self) -> String {
        match self {
            Self::Address(ip) => format!("the address {ip}"),
            Self::Device(path) => format!("the device {}", path.display()),
            Self::Directory(path) => format!("the directory {}", path.display()),
            Self::ZfsPool(pool) => format!("the ZFS pool {pool}"),
            Self::VolumeGroup(group) => format!("the volume group {group}"),
            Self::Target(iqn) => format!("the target {iqn}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cib(resources: &str) -> Element {
        let text =
            format!("<cib><configuration><resources>{resources}</resources></configuration></cib>");
        Element::parse(&text, "the CIB").unwrap()
    }

    fn primitive(id: &str, agent: &str, parameters: &[(&str, &str)], description: &str) -> String {
        let pairs: String = parameters
            .iter()
            .map(|(name, value)| {
                format!("<nvpair id=\"{id}-{name}\" name=\"{name}\" value=\"{value}\"/>")
            })
            .collect();
        let (provider, kind) = agent.split_once(':').unwrap();
        format!(
            "<primitive id=\"{id}\" class=\"ocf\" provider=\"{provider}\" type=\"{kind}\" description=\"{description}\">\
             <instance_attributes id=\"{id}-a\">{pairs}</instance_attributes></primitive>"
        )
    }

    fn theirs(id: &str, agent: &str, parameters: &[(&str, &str)]) -> String {
        primitive(id, agent, parameters, "")
    }

    fn desired() -> Element {
        let ours = "Hawser: of pool tank";
        cib(&[
            primitive("tank", "heartbeat:ZFS", &[("pool", "tank")], ours),
            primitive(
                "tank-exports",
                "hawser:exports",
                &[
                    ("pool", "tank"),
                    ("iqn", "iqn.2026-01.lab"),
                    ("root", "/srv/tank"),
                ],
                ours,
            ),
            primitive("tank-san1", "heartbeat:IPaddr2", &[("ip", "fd00::1")], ours),
            primitive(
                "web",
                "heartbeat:Filesystem",
                &[("device", "/dev/sdb1"), ("directory", "/web")],
                ours,
            ),
            primitive("vms", "heartbeat:LVM-activate", &[("vgname", "vms")], ours),
        ]
        .concat())
    }

    fn told(live: &str) -> Vec<String> {
        let found = in_the_way(&desired(), &cib(live));
        found
            .iter()
            .map(|problem| match problem {
                Problem::Theirs { id, what, ours, .. } => format!("{id}: {what}, {ours}"),
                Problem::Grouped(it) => {
                    let of = |m: &crate::plan::Member| format!(" {}: {}, {}", m.id, m.what, m.ours);
                    let members: String = it.members.iter().map(of).collect();
                    let name = if it.has_a_name {
                        " with a name of ours"
                    } else {
                        ""
                    };
                    format!("{} {}{name}{members}", it.kind, it.id)
                }
                other => panic!("{other}"),
            })
            .collect()
    }

    #[test]
    fn who_has_what_a_pool_has_is_named() {
        let live = [
            theirs("a", "heartbeat:IPaddr2", &[("ip", "fd00:0::1")]),
            theirs("b", "heartbeat:ZFS", &[("pool", "tank")]),
            theirs(
                "c",
                "heartbeat:Filesystem",
                &[("device", "/dev/sdc"), ("directory", "/web")],
            ),
            theirs("d", "heartbeat:LVM", &[("volgrpname", "vms")]),
            theirs(
                "e",
                "heartbeat:iSCSITarget",
                &[("iqn", "iqn.2026-01.lab:tank")],
            ),
            theirs(
                "f",
                "heartbeat:iSCSILogicalUnit",
                &[("path", "/dev/zvol/tank/disk"), ("target_iqn", "iqn.x:y")],
            ),
            theirs(
                "g",
                "heartbeat:exportfs",
                &[("directory", "/srv/tank/home")],
            ),
            theirs("h", "heartbeat:iSCSITarget", &[("iqn", "iqn.x:y")]),
        ];
        let all = [
            "a: the address fd00::1, tank-san1",
            "b: the ZFS pool tank, tank",
            "c: the directory /web, web",
            "d: the volume group vms, vms",
            "e: the target iqn.2026-01.lab:tank, tank-exports",
            "f: /dev/zvol/tank/disk, tank-exports",
            "g: /srv/tank/home, tank-exports",
            "h: the target of /dev/zvol/tank/disk, tank-exports",
        ];
        assert_eq!(told(&live.concat()), all);
        let in_clone = format!("<clone id=\"k\">{}</clone>", live[0]);
        assert_eq!(told(&in_clone), [format!("clone k {}", all[0])]);
    }

    #[test]
    fn what_is_said_by_reference_or_spelled_otherwise_is_seen_as_well() {
        let mount = theirs(
            "f",
            "heartbeat:Filesystem",
            &[("device", "/dev//sdb1"), ("directory", "/elsewhere")],
        );
        assert_eq!(told(&mount), ["f: the device /dev//sdb1, web"]);
        let slash = theirs(
            "f",
            "heartbeat:Filesystem",
            &[("device", "/dev/sdc"), ("directory", "/web/")],
        );
        assert_eq!(told(&slash), ["f: the directory /web/, web"]);
        let six = theirs("a", "heartbeat:IPv6addr", &[("ipv6addr", "fd00:0::1/64")]);
        assert_eq!(told(&six), ["a: the address fd00::1, tank-san1"]);
        let template = mount
            .replace("<primitive", "<template")
            .replace("/primitive>", "/template>")
            + "<primitive id=\"p\" template=\"f\"/>";
        assert_eq!(told(&template), ["p: the device /dev//sdb1, web"]);
        let dummy = theirs("d", "pacemaker:Dummy", &[("ip", "fd00::1")]);
        let by_set = dummy.clone()
            + "<primitive id=\"p\" class=\"ocf\" provider=\"heartbeat\" type=\"IPaddr2\">\
               <instance_attributes id-ref=\"d-a\"/></primitive>";
        assert_eq!(told(&by_set), ["p: the address fd00::1, tank-san1"]);
        let by_pair = dummy
            + "<primitive id=\"p\" class=\"ocf\" provider=\"heartbeat\" type=\"IPaddr2\">\
               <instance_attributes id=\"p-a\"><nvpair id-ref=\"d-ip\"/></instance_attributes></primitive>";
        assert_eq!(told(&by_pair), ["p: the address fd00::1, tank-san1"]);
        let later = "<primitive id=\"p\" class=\"ocf\" provider=\"heartbeat\" type=\"IPaddr2\">\
                     <instance_attributes id=\"p-a\"><nvpair id=\"p1\" name=\"ip\" value=\"fd00::2\"/></instance_attributes>\
                     <instance_attributes id=\"p-b\" score=\"9\"><nvpair id=\"p2\" name=\"ip\" value=\"fd00::1\"/>\
                     </instance_attributes></primitive>";
        assert_eq!(told(later), ["p: the address fd00::1, tank-san1"]);
    }

    #[test]
    fn what_has_something_else_or_is_hawsers_own_is_not_in_the_way() {
        let others = [
            theirs("a", "heartbeat:IPaddr2", &[("ip", "fd00::2")]),
            theirs("b", "heartbeat:ZFS", &[("pool", "tank2")]),
            theirs(
                "c",
                "heartbeat:Filesystem",
                &[("device", "/dev/sdc"), ("directory", "/web2")],
            ),
            theirs(
                "f",
                "heartbeat:iSCSILogicalUnit",
                &[("path", "/dev/zvol/tank2/disk")],
            ),
            theirs("g", "heartbeat:exportfs", &[("directory", "/srv/tank2")]),
            theirs("h", "heartbeat:nginx", &[]),
            // A pool that has another name in the file: the plan takes it away.
            primitive(
                "old-san1",
                "heartbeat:IPaddr2",
                &[("ip", "fd00::1")],
                "Hawser: address of pool old",
            ),
        ];
        assert_eq!(told(&others.concat()), [""; 0]);
        let same = desired().to_text();
        let live = Element::parse(&same, "the CIB").unwrap();
        assert_eq!(in_the_way(&desired(), &live), []);
    }

    #[test]
    fn a_resource_of_the_file_in_a_group_or_with_the_name_of_one_is_named() {
        let group = format!(
            "<group id=\"g\">{}</group>",
            theirs("tank", "heartbeat:ZFS", &[("pool", "tank")])
        );
        assert_eq!(
            told(&group),
            ["group g with a name of ours tank: the ZFS pool tank, tank"]
        );
        // The group's name, and in it nothing of the file's: it is not made a pool's resource.
        let group = format!(
            "<group id=\"tank\">{}</group>",
            theirs("site", "heartbeat:nginx", &[])
        );
        assert_eq!(told(&group), ["group tank with a name of ours"]);
        let live = cib(&group);
        assert!(super::super::grouped::is_grouped(&in_the_way(
            &desired(),
            &live
        )));
    }
}
