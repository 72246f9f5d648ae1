//! What is said on command lines and in files to make a machine: pure, so that it is tested without one.

use std::net::Ipv4Addr;

use hawser_model::names::{HostName, LinkName};
use hawser_model::units::Mtu;

use super::card::Card;
use crate::init::checksum;
use crate::plan::{card_address, links_of, node_index};
use crate::spec::{DEFAULT_MTU, LabSpec, LinkSpec, NodeSpec, Role};

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
/// Its number among the links, of which there are fewer ([`crate::spec::MOST_LINKS`]).
const CONSOLE_NUMBER: usize = 0xff;

/// The memory of this machine, in MiB.
pub(super) fn memory(spec: &LabSpec, node: &NodeSpec) -> u64 {
    let zfs = match spec.has_zfs() {
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

/// A network card of a machine.
pub(super) struct Plugged {
    /// What it is called there.
    pub name: String,
    /// Its address.
    pub address: String,
    /// The tap that it sends to, in the case.
    pub tap: String,
    /// Its MTU, if it is not the usual one.
    pub mtu: Option<Mtu>,
    /// The model, where cards are emulated.
    pub card: Card,
}

/// The links of a node that it has a card on.
fn links_by_card<'a>(
    spec: &'a LabSpec,
    node: &'a NodeSpec,
) -> impl Iterator<Item = (usize, &'a LinkSpec)> {
    links_of(spec, node).filter(|(_, link)| !link.serial)
}

/// A machine's end of a null-modem cable.
pub(super) struct Serial {
    /// The link.
    pub link: LinkName,
    /// Its address.
    pub own: Ipv4Addr,
    /// That of the other end.
    pub peer: Ipv4Addr,
    /// The link's MTU.
    pub mtu: Mtu,
}

/// The ends of null-modem cables that a machine has, in the order of its serial lines.
pub(super) fn serial_lines(spec: &LabSpec, node: &NodeSpec) -> Vec<Serial> {
    let links = links_of(spec, node).filter(|(_, link)| link.serial);
    let address = |node: &NodeSpec, link: &LinkSpec| {
        let mut ports = node.ports.iter();
        ports.find(|port| port.link == link.name)?.ipv4
    };
    let line = |link: &LinkSpec| {
        let mut others = spec.nodes.iter().filter(|other| other.name != node.name);
        Some(Serial {
            link: link.name.clone(),
            own: address(node, link)?,
            peer: others.find_map(|other| address(other, link))?,
            mtu: link.mtu,
        })
    };
    links.filter_map(|(_, link)| line(link)).collect()
}

/// What pppd is told of such an end: the interface is called as the link, and the other end may come and go.
pub(super) fn ppp_options(serial: &Serial) -> String {
    let Serial {
        link,
        own,
        peer,
        mtu,
    } = serial;
    format!(
        "115200\n{own}:{peer}\nifname {link}\nmtu {mtu}\nmru {mtu}\n\
         local\nnocrtscts\nnoauth\nnoproxyarp\nnodefaultroute\nnoccp\nnovj\nnoipv6\n\
         persist\nmaxfail 0\nholdoff 1\nlcp-echo-interval 2\nlcp-echo-failure 5\n"
    )
}

/// The cards of a machine: those on its links, then the one on the cable to its case.
pub(super) fn cards(spec: &LabSpec, node: &NodeSpec) -> Vec<Plugged> {
    let index = node_index(spec, &node.name);
    let on_links = links_by_card(spec, node).map(|(number, link)| Plugged {
        name: link.name.to_string(),
        address: card_address(number, index),
        tap: tap(&link.name),
        mtu: (link.mtu != DEFAULT_MTU).then_some(link.mtu),
        card: link.card,
    });
    let console = Plugged {
        name: CONSOLE.to_owned(),
        address: card_address(CONSOLE_NUMBER, index),
        tap: CONSOLE.to_owned(),
        mtu: None,
        card: Card::Virtio,
    };
    on_links.chain([console]).collect()
}

/// What a machine knows its cards by: a line for each, its address and what it is called.
pub(super) fn names_of_cards(spec: &LabSpec, node: &NodeSpec) -> String {
    let lines = cards(spec, node).into_iter();
    lines
        .map(|it| format!("{} {}\n", it.address, it.name))
        .collect()
}

/// `ip` commands that make the machine's network cards in its case, and bring the cables up.
pub(crate) fn case_cards(spec: &LabSpec, node: &NodeSpec) -> Vec<String> {
    let mut lines = vec!["link set lo up".to_owned()];
    for Serial {
        link, own, peer, ..
    } in serial_lines(spec, node)
    {
        // What goes over the line is carried to the other end's case.
        lines.push(format!("addr add {own} peer {peer} dev {link}"));
        lines.push(format!("link set {link} up"));
    }
    for (_, link) in links_by_card(spec, node) {
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
    for (_, link) in links_by_card(spec, node) {
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

/// What a kernel is told of who it is. The last word is for who looks at the host's processes.
pub(super) fn identity(lab: &str, node: &HostName, machine_id: &str) -> [String; 3] {
    [
        format!("systemd.machine_id={machine_id}"),
        format!("systemd.hostname={node}"),
        format!("hawser.lab={lab}"),
    ]
}

/// The `ip` commands by which a machine gives its cards their addresses at every boot.
pub(super) fn machine_network(spec: &LabSpec, node: &NodeSpec) -> Vec<String> {
    let mtus = cards(spec, node).into_iter().filter_map(|it| {
        let mtu = it.mtu?;
        Some(format!("link set {} mtu {mtu}", it.name))
    });
    let mut lines: Vec<String> = mtus.collect();
    lines.extend(crate::plan::addresses(spec, node));
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
    fn a_machine_names_its_cards_by_their_addresses_and_sets_an_unusual_mtu() {
        let mut spec = LabSpec::default();
        spec.links[1].mtu = Mtu(9000);
        let head2 = spec.node("head2").unwrap();
        assert_eq!(
            names_of_cards(&spec, head2),
            "02:68:77:00:02:00 ring0\n02:68:77:01:02:00 ring1\n02:68:77:ff:02:00 hawser-console\n"
        );
        let lines = machine_network(&spec, head2);
        assert_eq!(lines[0], "link set ring1 mtu 9000");
        assert!(lines.contains(&"addr add 10.72.1.2/24 brd + dev ring1".to_owned()));
    }

    #[test]
    fn heads_have_more_memory_and_with_zfs_still_more() {
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
    fn a_null_modem_cable_is_a_line_and_no_card() {
        let mut spec = LabSpec::default();
        spec.links[1].serial = true;
        let head2 = spec.node("head2").unwrap();
        assert!(!names_of_cards(&spec, head2).contains("ring1"));
        assert!(!machine_network(&spec, head2).join(" ").contains("ring1"));
        let case = case_cards(&spec, head2);
        assert!(
            case.contains(&"addr add 10.72.1.2 peer 10.72.1.1 dev ring1".to_owned()),
            "{case:?}"
        );
        assert!(!case.iter().any(|it| it.contains("t-ring1")), "{case:?}");
        let lines = serial_lines(&spec, head2);
        let options = ppp_options(&lines[0]);
        assert!(
            options.starts_with("115200\n10.72.1.2:10.72.1.1\nifname ring1\nmtu 1500\n"),
            "{options}"
        );
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
