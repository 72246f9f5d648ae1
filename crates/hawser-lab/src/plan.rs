//! The commands that make a lab's network, as text: pure, so that they are tested without root.
//!
//! Every port of a switch is one end of a veth pair; the node has the other end, under the
//! link's name. Both ends and the bridges have fixed MAC addresses, so that a power cycle does
//! not look like another machine and a bridge does not change its own when a port comes or goes.

use hawser_model::names::{HostName, LinkName};

use crate::spec::{LabSpec, NodeSpec, SwitchSpec};

/// Commands that make the switches, in their namespace.
pub(crate) fn switches(spec: &LabSpec) -> Vec<String> {
    let mut lines = vec!["link set lo up".to_owned()];
    for (index, switch) in spec.switches.iter().enumerate() {
        let name = &switch.name;
        // No spanning tree and no forward delay: a port forwards the moment it has a carrier.
        lines.push(format!(
            "link add {name} address 02:68:77:ff:{index:02x}:00 \
             type bridge stp_state 0 forward_delay 0 {}",
            multicast(switch.snooping, switch.querier)
        ));
        lines.push(format!("link set {name} up"));
    }
    lines
}

/// A bridge's multicast options.
///
/// IGMP and MLD versions are the newest ones, which understand reports of all older ones.
pub(crate) fn multicast(snooping: bool, querier: bool) -> String {
    format!(
        "mcast_snooping {} mcast_querier {} mcast_igmp_version 3 mcast_mld_version 2",
        u8::from(snooping),
        u8::from(querier)
    )
}

/// Commands that change a bridge's multicast options.
pub(crate) fn set_multicast(switch: &SwitchSpec) -> String {
    format!(
        "link set {} type bridge {}",
        switch.name,
        multicast(switch.snooping, switch.querier)
    )
}

/// The address of a node's network card on the link of that number.
pub(crate) fn card_address(link: usize, node: usize) -> String {
    format!("02:68:77:{link:02x}:{node:02x}:00")
}

/// The links that a node is on, in the order of its ports, each with its number.
pub(crate) fn links_of<'a>(
    spec: &'a LabSpec,
    node: &'a NodeSpec,
) -> impl Iterator<Item = (usize, &'a crate::spec::LinkSpec)> {
    let ports = node.ports.iter();
    ports.filter_map(|port| numbered_link(spec, &port.link))
}

/// Commands that plug a node into its switches, in the switches' namespace. The switch's ends
/// stay down until [`connect`] brings them up.
pub(crate) fn plug(spec: &LabSpec, node: &NodeSpec, init: i32) -> Vec<String> {
    let index = node_index(spec, &node.name);
    let mut lines = Vec::new();
    for port in &node.ports {
        let Some((nth, link)) = numbered_link(spec, &port.link) else {
            continue;
        };
        let here = port_name(spec, &node.name, &port.link);
        let mtu = link.mtu;
        lines.push(format!(
            "link add {here} mtu {mtu} address 02:68:77:{nth:02x}:{index:02x}:01 \
             type veth peer name {there} mtu {mtu} address {card} netns {init}",
            there = port.link,
            card = card_address(nth, index),
        ));
        lines.push(format!("link set {here} master {}", link.switch));
    }
    lines
}

/// Commands that give a node's interfaces their addresses, in the node's namespace. Over a null-modem cable PPP does.
pub(crate) fn addresses(spec: &LabSpec, node: &NodeSpec) -> Vec<String> {
    let mut lines = vec!["link set lo up".to_owned()];
    for port in &node.ports {
        let link = numbered_link(spec, &port.link);
        let Some((_, link)) = link.filter(|(_, link)| !link.serial) else {
            continue;
        };
        let name = &port.link;
        if let (Some(address), Some(net)) = (port.ipv4, link.ipv4) {
            let prefix = net.prefix_len();
            lines.push(format!("addr add {address}/{prefix} brd + dev {name}"));
        }
        if let (Some(address), Some(net)) = (port.ipv6, link.ipv6) {
            // Without duplicate address detection the address is usable at once.
            let prefix = net.prefix_len();
            lines.push(format!("addr add {address}/{prefix} dev {name} nodad"));
        }
        lines.push(format!("link set {name} up"));
    }
    lines
}

/// Commands that bring the switch's ends of a node's links up, except where a cable is cut.
pub(crate) fn connect(
    spec: &LabSpec,
    node: &NodeSpec,
    is_cut: impl Fn(&LinkName) -> bool,
) -> Vec<String> {
    node.ports
        .iter()
        .filter(|port| !is_cut(&port.link))
        .map(|port| set_port(spec, &node.name, &port.link, true))
        .collect()
}

/// The command that cuts or heals one port: a port that is down takes the node's carrier away,
/// as a pulled cable does.
pub(crate) fn set_port(spec: &LabSpec, node: &HostName, link: &LinkName, up: bool) -> String {
    let state = if up { "up" } else { "down" };
    format!("link set {} {state}", port_name(spec, node, link))
}

/// The name of a switch's port: `head1.ring0`, or by numbers where that is too long for an
/// interface (15 bytes, `IFNAMSIZ`). Names have no dot in them, so no two ports share one.
pub(crate) fn port_name(spec: &LabSpec, node: &HostName, link: &LinkName) -> String {
    let name = format!("{node}.{link}");
    if name.len() <= 15 {
        return name;
    }
    let (node, link) = numbers(spec, node, link);
    format!("p{node}.{link}")
}

/// The numbers of a node (from 1) and a link (from 0): together unique in the lab.
pub(crate) fn numbers(spec: &LabSpec, node: &HostName, link: &LinkName) -> (usize, usize) {
    let link = numbered_link(spec, link).map_or(0, |(nth, _)| nth);
    (node_index(spec, node), link)
}

/// The text of a node's `/etc/hosts`: every node and client, first by its first address, then
/// each address with the link's name added (`head1-ring0`).
pub(crate) fn hosts_file(spec: &LabSpec) -> String {
    let mut text = String::from(
        "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\nff02::1 ip6-allnodes\n\
         ff02::2 ip6-allrouters\n",
    );
    for node in &spec.nodes {
        for (i, port) in node.ports.iter().enumerate() {
            let name = &node.name;
            let also = if i == 0 {
                format!(" {name}")
            } else {
                String::new()
            };
            let addresses = [
                port.ipv4.map(|a| a.to_string()),
                port.ipv6.map(|a| a.to_string()),
            ];
            for address in addresses.into_iter().flatten() {
                text.push_str(&format!("{address} {name}-{}{also}\n", port.link));
            }
        }
    }
    text
}

pub(crate) fn node_index(spec: &LabSpec, name: &HostName) -> usize {
    let place = spec.nodes.iter().position(|n| n.name == *name);
    place.unwrap_or(spec.nodes.len()) + 1
}

fn numbered_link<'a>(
    spec: &'a LabSpec,
    name: &LinkName,
) -> Option<(usize, &'a crate::spec::LinkSpec)> {
    spec.links
        .iter()
        .enumerate()
        .find(|(_, link)| link.name == *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_plugged_with_fixed_addresses_and_the_links_mtu() {
        let mut spec = LabSpec::default();
        spec.links[1].mtu = hawser_model::units::Mtu(9000);
        let head2 = spec.node("head2").unwrap();
        let lines = plug(&spec, head2, 4711);
        assert_eq!(
            lines[2],
            "link add head2.ring1 mtu 9000 address 02:68:77:01:02:01 type veth peer name ring1 \
             mtu 9000 address 02:68:77:01:02:00 netns 4711"
        );
        assert_eq!(lines[3], "link set head2.ring1 master sw1");
        assert_eq!(
            addresses(&spec, head2)[4..],
            [
                "addr add 10.72.1.2/24 brd + dev ring1",
                "addr add fd48:6177:7365:1::2/64 dev ring1 nodad",
                "link set ring1 up"
            ]
        );
    }

    #[test]
    fn a_cut_cable_stays_out_when_its_node_is_plugged_in_again() {
        let spec = LabSpec::default();
        let head1 = spec.node("head1").unwrap();
        let lines = connect(&spec, head1, |link| link.as_str() == "ring0");
        assert_eq!(lines, ["link set head1.ring1 up"]);
    }

    #[test]
    fn every_port_name_fits_an_interface_and_is_its_own() {
        let mut spec = LabSpec::grid(64, 16);
        for (i, node) in spec.nodes.iter_mut().enumerate() {
            node.name = HostName(format!("a-rather-long-node-name-{i}"));
        }
        let mut names: Vec<String> = spec
            .nodes
            .iter()
            .flat_map(|n| n.ports.iter().map(|p| port_name(&spec, &n.name, &p.link)))
            .collect();
        assert!(names.iter().all(|name| name.len() <= 15));
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 64 * 16);
    }

    #[test]
    fn the_hosts_file_names_every_address_once_and_each_node_by_its_first_link() {
        let text = hosts_file(&LabSpec::default());
        assert!(text.contains("10.72.0.2 head2-ring0 head2\n"));
        assert!(text.contains("fd48:6177:7365:1::2 head2-ring1\n"));
    }
}
