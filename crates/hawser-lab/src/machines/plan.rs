//! What is said on command lines and in files to make a machine: pure, so that it is tested without one.

use hawser_model::names::{HostName, LinkName};

use crate::cluster::ShelfSpec;
use crate::init::checksum;
use crate::plan::{card_address, links_of, node_index};
use crate::spec::{LabSpec, NodeSpec, Role};

/// The memory of a machine, in MiB.
const MEMORY: u64 = 512;
/// That of a head: Corosync locks 306 MiB of its address space.
const MEMORY_OF_HEAD: u64 = 768;
/// That of a shelf, which has a target and nothing else, and of an arbiter, which has corosync-qnetd.
const MEMORY_OF_SHELF: u64 = 256;
/// What ZFS takes beside: its cache of 128 MiB, and its own.
const MEMORY_OF_ZFS: u64 = 256;

/// The case's and the machine's address on the cable between them (RFC 3927: it never leaves that cable).
pub(super) const CASE: &str = "169.254.72.1";
pub(super) const MACHINE: &str = "169.254.72.2";
const PREFIX: u8 = 30;

/// The interface of that cable. Longer than a link's name may be, so none is called so.
const CONSOLE: &str = "hawser-console";

/// The kernel's name for itself in its folder of sockets.
pub(super) const UMID: &str = "machine";

/// The memory of this machine, in MiB.
pub(super) fn memory(spec: &LabSpec, node: &NodeSpec) -> u64 {
    let zfs = match spec.content().zfs {
        false => 0,
        true => MEMORY_OF_ZFS,
    };
    match node.role {
        Role::Shelf | Role::Arbiter => MEMORY_OF_SHELF,
        _ if is_head(spec, node) => MEMORY_OF_HEAD + zfs,
        _ => MEMORY,
    }
}

/// Whether it is a member of a storage cluster, and so sees the shelves.
pub(super) fn is_head(spec: &LabSpec, node: &NodeSpec) -> bool {
    spec.cluster.is_some() && node.role == Role::Member
}

/// The tap of a link in the case. The cable's end has the link's name, 12 bytes at most.
fn tap(link: &LinkName) -> String {
    format!("t-{link}")
}

/// `ip` commands that make the machine's network cards in its case, and bring the cables up.
pub(crate) fn case_cards(spec: &LabSpec, node: &NodeSpec) -> Vec<String> {
    let mut lines = vec!["link set lo up".to_owned()];
    for (_, link) in links_of(spec, node) {
        let (cable, tap, mtu) = (&link.name, tap(&link.name), link.mtu);
        lines.push(format!("tuntap add {tap} mode tap"));
        lines.push(format!("link set {tap} mtu {mtu} up"));
        lines.push(format!("link set {cable} up"));
    }
    lines.push(format!("tuntap add {CONSOLE} mode tap"));
    lines.push(format!("addr add {CASE}/{PREFIX} dev {CONSOLE}"));
    lines.push(format!("link set {CONSOLE} up"));
    lines
}

/// `tc` commands that let through between each cable and its tap, in both directions. A bridge of two ports would
/// do, but it keeps for itself what is sent to its own group addresses (LLDP, LACP: IEEE 802.1D, 7.12.6).
pub(crate) fn case_filters(spec: &LabSpec, node: &NodeSpec) -> Vec<String> {
    let mut lines = Vec::new();
    for (_, link) in links_of(spec, node) {
        let (cable, tap) = (link.name.to_string(), tap(&link.name));
        for (from, to) in [(&cable, &tap), (&tap, &cable)] {
            lines.push(format!("qdisc add dev {from} clsact"));
            lines.push(format!(
                "filter add dev {from} ingress protocol all u32 match u32 0 0 action mirred egress redirect dev {to}"
            ));
        }
    }
    lines
}

/// What the kernel of a machine is started with. Paths are relative to the folder of its memory, since the sockets in it have
/// short names only (108 bytes, unix(7)).
pub(super) fn kernel_arguments(
    spec: &LabSpec,
    node: &NodeSpec,
    lab: &str,
    image: &str,
    machine_id: &str,
) -> Vec<String> {
    let mut words = vec![
        format!("umid={UMID}"),
        "uml_dir=.".to_owned(),
        format!("mem={}M", memory(spec, node)),
        // The machine sees nothing else of the host. Linux 6.12 refuses a relative path there ("bad file descriptor"), and the
        // folder's absolute path may contain blanks.
        "hostfs=/proc/self/cwd/../host".to_owned(),
        format!("ubd0=../disk.cow,{image}"),
        "root=/dev/ubda".to_owned(),
        "ro".to_owned(),
        "con=null".to_owned(),
        "con0=null,fd:1".to_owned(),
        format!("systemd.machine_id={machine_id}"),
        format!("systemd.hostname={}", node.name),
        // For who looks at the host's processes.
        format!("hawser.lab={lab}"),
    ];
    words.extend(shelves(spec, node));
    let mut nth = 0;
    for (number, link) in links_of(spec, node) {
        let address = card_address(number, node_index(spec, &node.name));
        words.push(format!(
            "vec{nth}:transport=tap,ifname={},depth=128,gro=1,mtu={},mac={address}",
            tap(&link.name),
            link.mtu
        ));
        nth += 1;
    }
    words.push(format!(
        "vec{nth}:transport=tap,ifname={CONSOLE},depth=128,gro=1"
    ));
    words
}

/// The shelves, which several kernels write to (`c`), as the disks that they are: without `d` the kernel takes a file that
/// begins as its own copies do for one, and opens what that names. Their serial numbers are their names.
///
/// A unit of a shelf machine is a disk of that alone.
fn shelves(spec: &LabSpec, node: &NodeSpec) -> Vec<String> {
    let shelves = spec.cluster.iter().flat_map(|cluster| &cluster.shelves);
    let shelves = shelves.filter(|shelf| match &shelf.unit {
        Some(unit) => unit.machine == node.name,
        None => is_head(spec, node),
    });
    let word = |(nth, shelf): (usize, &ShelfSpec)| {
        let name = &shelf.name;
        format!("ubd{}dc=../../../shelves/{name},,{name}", nth + 1)
    };
    shelves.enumerate().map(word).collect()
}

/// The `ip` commands by which a machine gives its cards their names and addresses at every boot.
pub(super) fn machine_network(spec: &LabSpec, node: &NodeSpec) -> Vec<String> {
    let mut lines = Vec::new();
    let mut nth = 0;
    for (_, link) in links_of(spec, node) {
        lines.push(format!("link set vec{nth} name {}", link.name));
        nth += 1;
    }
    lines.extend(crate::plan::addresses(spec, node));
    lines.push(format!("link set vec{nth} name {CONSOLE}"));
    lines.push(format!("addr add {MACHINE}/{PREFIX} dev {CONSOLE}"));
    lines.push(format!("link set {CONSOLE} up"));
    lines
}

/// A name of its own for each initiator: two with one name end each other's sessions (RFC 7143, 4.4.3).
pub(super) fn initiator_name(node: &HostName) -> String {
    format!("InitiatorName=iqn.2026-01.lab.hawser:{node}\n")
}

/// What tells machines apart on a disk that they share: ZFS takes four bytes of /etc/hostid (hostid(1)), LVM the name if it
/// is told to.
pub(super) fn hostid(machine_id: &str) -> [u8; 4] {
    let number = checksum(machine_id.as_bytes());
    // To ZFS, 0 is no number.
    number.max(1).to_le_bytes()
}

/// What LVM is told in a head with volume groups that others have as well.
pub(super) const SYSTEM_ID: &str = "global {\n\tsystem_id_source = \"uname\"\n}\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_a_card_for_each_link_and_one_to_its_case() {
        let spec = LabSpec::default();
        let head2 = spec.node("head2").unwrap();
        let words = kernel_arguments(&spec, head2, "t", "/i/root.img", "0123");
        let cards: Vec<&String> = words.iter().filter(|it| it.starts_with("vec")).collect();
        assert_eq!(
            cards,
            [
                "vec0:transport=tap,ifname=t-ring0,depth=128,gro=1,mtu=1500,mac=02:68:77:00:02:00",
                "vec1:transport=tap,ifname=t-ring1,depth=128,gro=1,mtu=1500,mac=02:68:77:01:02:00",
                "vec2:transport=tap,ifname=hawser-console,depth=128,gro=1",
            ]
        );
        assert!(words.contains(&"ubd0=../disk.cow,/i/root.img".to_owned()));
        let lines = machine_network(&spec, head2);
        assert_eq!(lines[1], "link set vec1 name ring1");
        assert!(lines.contains(&"addr add 10.72.1.2/24 brd + dev ring1".to_owned()));
    }

    #[test]
    fn heads_of_a_cluster_have_more_memory_and_the_shelves_and_the_client_has_not() {
        let text = include_str!("../../../../examples/lab/machines.toml");
        let file = hawser_model::cluster_file::parse_complete(text, "machines.toml").unwrap();
        let spec = LabSpec::of_cluster(&file, text, crate::Kind::Uml).unwrap();
        let words = |node: &str| {
            let node = spec.node(node).unwrap();
            let words = kernel_arguments(&spec, node, "t", "/i/root.img", "0123");
            let wanted = words
                .iter()
                .filter(|it| it.starts_with("ubd") || it.starts_with("mem="));
            wanted.cloned().collect::<Vec<_>>()
        };
        let shelves = [
            "ubd1dc=../../../shelves/vmpool01,,vmpool01",
            "ubd2dc=../../../shelves/vmpool02,,vmpool02",
        ];
        let disk = "ubd0=../disk.cow,/i/root.img";
        assert_eq!(words("head2"), ["mem=768M", disk, shelves[0], shelves[1]]);
        assert_eq!(words("client1"), ["mem=512M", disk]);
        let text = include_str!("../../../../examples/lab/machines-zfs.toml");
        let file = hawser_model::cluster_file::parse_complete(text, "machines-zfs.toml").unwrap();
        let spec = LabSpec::of_cluster(&file, text, crate::Kind::Uml).unwrap();
        let memory = |node| memory(&spec, spec.node(node).unwrap());
        assert_eq!((memory("head1"), memory("client1")), (1024, 512));
    }

    #[test]
    fn machines_have_numbers_of_their_own_which_are_never_none() {
        assert_ne!(hostid("0123"), hostid("0124"));
        assert_ne!(hostid(""), [0; 4]);
    }

    #[test]
    fn what_comes_by_a_cable_goes_to_its_card_and_back() {
        let mut spec = LabSpec::grid(2, 1);
        spec.links[0].mtu = hawser_model::units::Mtu(9000);
        let head1 = spec.node("head1").unwrap();
        assert_eq!(case_cards(&spec, head1)[2], "link set t-ring0 mtu 9000 up");
        let lines = case_filters(&spec, head1);
        assert!(lines[1].starts_with("filter add dev ring0 ingress"));
        assert!(lines[1].ends_with("redirect dev t-ring0"));
        assert!(lines[3].starts_with("filter add dev t-ring0 ingress"));
        assert!(lines[3].ends_with("redirect dev ring0"));
    }
}
