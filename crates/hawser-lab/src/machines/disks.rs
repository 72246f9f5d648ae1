//! Shelf machines: what each runs at its boot so that its disks are units of the kernel's target, and what a head runs and has
//! so that it sees those units under fixed names.

use std::net::Ipv4Addr;

use crate::cluster::ShelfSpec;
use crate::cluster::disk::{identifier, serial};
use crate::spec::{LabSpec, NodeSpec, Role};

use super::plan::is_head;

const OF_SHELF: &str = include_str!("disks/shelf.sh");
const OF_HEAD: &str = include_str!("disks/head.sh");

/// What initiators on this kind of host are told. A path that is silent fails within half a minute, busy as the host may be,
/// and a login is tried for as long as it takes a shelf to boot.
const INITIATOR: &str = "\
iscsid.startup = /bin/systemctl start iscsid.socket
node.startup = manual
node.session.timeo.replacement_timeout = 5
node.conn[0].timeo.noop_out_interval = 5
node.conn[0].timeo.noop_out_timeout = 15
node.session.initial_login_retry_max = 100
";

/// A disk without a path fails at once: whoever has another copy goes on with that.
const MULTIPATH: &str = "\
defaults {
	user_friendly_names no
	find_multipaths no
	polling_interval 2
}
overrides {
	path_grouping_policy multibus
	no_path_retry fail
}
";

/// What a machine runs at each boot; nothing if it has to do with no shelf machine.
pub(super) fn script(spec: &LabSpec, node: &NodeSpec) -> Option<String> {
    match node.role {
        Role::Shelf => Some(of_shelf(spec, node)),
        _ if is_head(spec, node) && units(spec).next().is_some() => Some(of_head(spec)),
        _ => None,
    }
}

/// What a head finds in its `/etc`: file and text.
pub(super) fn files(spec: &LabSpec, node: &NodeSpec) -> Vec<(&'static str, String)> {
    if !is_head(spec, node) || units(spec).next().is_none() {
        return Vec::new();
    }
    let (mut aliases, mut rules) = (String::new(), String::new());
    for (name, unit) in units(spec) {
        let identifier = identifier(name);
        match unit.paths {
            1 => {
                let rule = |kind: &str, after: &str| {
                    format!(
                        "SUBSYSTEM==\"block\", ENV{{DEVTYPE}}==\"{kind}\", ENV{{ID_SERIAL}}==\"{identifier}\", \
                         SYMLINK+=\"disk/by-id/scsi-{name}{after}\"\n"
                    )
                };
                rules += &rule("disk", "");
                rules += &rule("partition", "-part%n");
            }
            _ => {
                aliases +=
                    &format!("\tmultipath {{\n\t\twwid {identifier}\n\t\talias {name}\n\t}}\n")
            }
        }
    }
    vec![
        ("etc/iscsi/iscsid.conf", INITIATOR.to_owned()),
        (
            "etc/multipath.conf",
            format!("{MULTIPATH}multipaths {{\n{aliases}}}\n"),
        ),
        ("etc/udev/rules.d/62-hawser-lab-units.rules", rules),
    ]
}

/// The units of all shelf machines, by name.
fn units(spec: &LabSpec) -> impl Iterator<Item = (&str, &crate::cluster::UnitSpec)> {
    let shelves = spec.cluster.iter().flat_map(|cluster| &cluster.shelves);
    shelves.filter_map(|shelf| Some((shelf.name.as_str(), shelf.unit.as_ref()?)))
}

/// The name of a shelf machine's target.
fn target(node: &NodeSpec) -> String {
    format!("iqn.2026-01.lab.hawser.shelf:{}", node.name)
}

fn addresses(node: &NodeSpec) -> Vec<String> {
    let ports = node.ports.iter().filter_map(|port| port.ipv4);
    ports.map(|address: Ipv4Addr| address.to_string()).collect()
}

fn of_shelf(spec: &LabSpec, node: &NodeSpec) -> String {
    let mut text = OF_SHELF.to_owned();
    text += &format!("target {} {}\n", target(node), addresses(node).join(" "));
    let shelves = spec.cluster.iter().flat_map(|cluster| &cluster.shelves);
    let is_own = |shelf: &&ShelfSpec| {
        shelf
            .unit
            .as_ref()
            .is_some_and(|it| it.machine == node.name)
    };
    for (number, ShelfSpec { name, .. }) in shelves.filter(is_own).enumerate() {
        text += &format!("unit {name} {} {number}\n", serial(name));
    }
    text + "open\n"
}

fn of_head(spec: &LabSpec) -> String {
    let most = units(spec).map(|(_, unit)| unit.paths).max().unwrap_or(1);
    let mut text = format!("{OF_HEAD}begin {most}\n");
    for shelf in spec.nodes.iter().filter(|node| node.role == Role::Shelf) {
        for address in addresses(shelf) {
            text += &format!("path {} {address}\n", target(shelf));
        }
    }
    let devices: Vec<String> = units(spec).map(|(name, unit)| unit.device(name)).collect();
    text + &format!("await {}\n", devices.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use crate::machines::disk_trouble::swapped;

    fn spec(from: &str, to: &str) -> LabSpec {
        let text = include_str!("../../../../examples/lab/machines-shelves.toml").replace(from, to);
        let file = hawser_model::cluster_file::parse_complete(&text, "x.toml").unwrap();
        LabSpec::of_cluster(&file, &text, Kind::Uml).unwrap()
    }

    fn of(spec: &LabSpec, node: &str) -> Vec<String> {
        let script = script(spec, spec.node(node).unwrap()).unwrap();
        let after = script.rsplit_once("\n\n").unwrap().1;
        after.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_shelf_offers_its_disks_over_both_paths_and_heads_log_in_by_both() {
        let spec = spec("", "");
        let shelf1 = [
            "target iqn.2026-01.lab.hawser.shelf:shelf1 10.72.4.101 10.72.5.101".to_owned(),
            format!("unit shelf1-1 {} 0", serial("shelf1-1")),
            format!("unit shelf1-2 {} 1", serial("shelf1-2")),
            "open".to_owned(),
        ];
        assert_eq!(of(&spec, "shelf1"), shelf1);
        assert_eq!(
            of(&spec, "head2"),
            [
                "begin 2",
                "path iqn.2026-01.lab.hawser.shelf:shelf1 10.72.4.101",
                "path iqn.2026-01.lab.hawser.shelf:shelf1 10.72.5.101",
                "path iqn.2026-01.lab.hawser.shelf:shelf2 10.72.4.102",
                "path iqn.2026-01.lab.hawser.shelf:shelf2 10.72.5.102",
                "await /dev/mapper/shelf1-1-part1 /dev/mapper/shelf2-1-part1 /dev/mapper/shelf1-2-part1 \
                 /dev/mapper/shelf2-2-part1",
            ]
        );
        assert_eq!(script(&spec, spec.node("client1").unwrap()), None);
        let files = files(&spec, spec.node("head1").unwrap());
        let alias = format!("wwid {}\n\t\talias shelf2-2\n", identifier("shelf2-2"));
        assert!(files[1].1.contains(&alias), "{files:?}");
        assert!(files[2].1.is_empty());
    }

    #[test]
    fn what_a_shelf_offers_is_the_device_whose_table_a_drill_swaps() {
        let spec = spec("", "");
        let script = script(&spec, spec.node("shelf1").unwrap()).unwrap();
        // What a shelf begins with is what a drill puts back.
        let back = swapped("$1", None);
        let table = back[6].replace(&back[5], "$disk");
        let begins = format!(
            "disk={}\n\tdmsetup create \"{}\" --table \"0 $(blockdev --getsz \"$disk\") {table}\"\n",
            back[5], back[4]
        );
        assert!(script.contains(&begins), "{begins}{script}");
        let offered = format!("echo \"udev_path=/dev/mapper/{}\"", back[4]);
        assert!(script.contains(&offered), "{script}");
    }

    #[test]
    fn a_unit_over_one_path_is_named_by_udev() {
        let spec = spec("/dev/mapper/shelf", "/dev/disk/by-id/scsi-shelf");
        assert_eq!(spec.node("shelf2").unwrap().ports.len(), 1);
        assert_eq!(of(&spec, "head1")[0], "begin 1");
        let files = files(&spec, spec.node("head1").unwrap());
        let link = format!(
            "ENV{{ID_SERIAL}}==\"{}\", SYMLINK+=\"disk/by-id/scsi-shelf1-1-part%n\"",
            identifier("shelf1-1")
        );
        assert!(files[2].1.contains(&link), "{files:?}");
    }

    #[test]
    fn machines_without_shelf_machines_have_nothing_of_it() {
        let spec = LabSpec::default();
        let head1 = spec.node("head1").unwrap();
        assert_eq!(
            (script(&spec, head1), files(&spec, head1)),
            (None, Vec::new())
        );
    }
}
