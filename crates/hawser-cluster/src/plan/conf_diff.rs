//! The difference between two corosync.conf files, and whether a running Corosync can take it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use hawser_model::cluster_file::FIRST_PORT;

use crate::corosync::{Conf, Entry};

/// A setting that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// `totem.token`, `node head1.ring0_addr`, `interface 0.knet_link_priority`.
    pub name: String,
    /// On the node.
    pub live: Option<String>,
    /// As the file wants it.
    pub desired: Option<String>,
    /// Whether it is of a link that the node has already.
    pub of_a_known_link: bool,
}

/// Settings that Corosync reads once, when it starts (corosync.conf(5) and its `totemconfig.c`, which
/// refuses or ignores them in a reload).
const READ_AT_START: &[&str] = &[
    "totem.version",
    "totem.transport",
    "totem.cluster_name",
    "totem.ip_version",
    "totem.netmtu",
    "totem.crypto_model",
    "totem.keyfile",
    "totem.link_mode",
    "quorum.provider",
];

impl Setting {
    /// True when Corosync must be started anew for it. A node that changes its number is a new
    /// node to a running Corosync, and one that changes an address it refuses ("To reconfigure an interface it must be
    /// deleted and recreated", `totemconfig.c` of 3.1).
    pub fn needs_restart(&self) -> bool {
        let renumbered = self.of_a_known_node() && self.name.ends_with(".nodeid");
        READ_AT_START.contains(&self.name.as_str())
            || renumbered
            || self.moves_a_link()
            || self.is_port()
    }

    /// True for the UDP port of a link that is there. A reload of Corosync 3.1.7 logs the new port, has it in its map, and goes
    /// on at the old one, until a node that is started anew cannot be reached by the others.
    fn is_port(&self) -> bool {
        self.of_a_known_link && self.name.ends_with(".mcastport")
    }

    /// True when a node is to have another address on a link that it has already. Of a name it is not known which address that
    /// is; Corosync compares the addresses, and refuses another one when it is told to read them again.
    pub fn moves_a_link(&self) -> bool {
        let was = self.live.as_deref().map(str::parse::<IpAddr>);
        self.of_a_known_node() && self.name.ends_with("_addr") && matches!(was, Some(Ok(_)))
    }

    fn of_a_known_node(&self) -> bool {
        self.name.starts_with("node ") && self.live.is_some() && self.desired.is_some()
    }
}

/// Compares. Order and comments mean nothing, nor does whether what Corosync takes anyway is written.
pub fn conf_diff(desired: &Conf, live: &Conf) -> Vec<Setting> {
    let (desired, live) = (flat(desired), flat(live));
    let names: BTreeSet<&String> = desired.keys().chain(live.keys()).collect();
    names
        .into_iter()
        .filter(|name| value(&desired, name) != value(&live, name))
        .map(|name| Setting {
            name: name.clone(),
            live: live.get(name).cloned(),
            desired: desired.get(name).cloned(),
            of_a_known_link: link_of(name).is_some_and(|number| has_link(&live, number)),
        })
        .collect()
}

/// A value, or what Corosync takes if there is none (corosync.conf(5), votequorum(5)).
fn value(values: &BTreeMap<String, String>, name: &str) -> Option<String> {
    let own = || match name {
        "totem.transport" => Some("knet"),
        "totem.link_mode" => Some("passive"),
        "quorum.wait_for_all" => {
            let two_nodes = values.get("quorum.two_node").is_some_and(|it| it == "1");
            Some(if two_nodes { "1" } else { "0" })
        }
        _ => None,
    };
    let own = own().map(str::to_owned).or_else(|| own_port(name));
    let value = values.get(name).cloned().or(own)?;
    // An address may be spelt in several ways.
    let address = value.parse::<IpAddr>().ok();
    Some(address.map_or(value, |address| address.to_string()))
}

/// The link that a setting is of: `interface 1.mcastport`.
fn link_of(name: &str) -> Option<u16> {
    let (number, _) = name.strip_prefix("interface ")?.split_once('.')?;
    number.parse().ok()
}

fn has_link(values: &BTreeMap<String, String>, number: u16) -> bool {
    let address = format!(".ring{number}_addr");
    values.keys().any(|name| name.ends_with(&address))
}

/// The port of a link that names none.
fn own_port(name: &str) -> Option<String> {
    let number = link_of(name).filter(|_| name.ends_with(".mcastport"))?;
    FIRST_PORT.checked_add(number).map(|port| port.to_string())
}

fn flat(conf: &Conf) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for entry in &conf.entries {
        if let Entry::Section(name, section, _) = entry {
            collect(name, section, &mut values);
        }
    }
    values
}

fn collect(name: &str, section: &Conf, values: &mut BTreeMap<String, String>) {
    // Sections of which there are several are told apart by what identifies them.
    let title = match name {
        "node" => format!("node {}", section.value("name").unwrap_or("?")),
        "interface" => format!("interface {}", section.value("linknumber").unwrap_or("0")),
        _ => name.to_owned(),
    };
    for entry in &section.entries {
        match entry {
            Entry::Value(key, ..) if name == "interface" && key == "linknumber" => {}
            Entry::Value(key, ..) if name == "node" && key == "name" => {}
            Entry::Value(key, value, _) => {
                values.insert(format!("{title}.{key}"), value.clone());
            }
            Entry::Section(inner, section, _) => collect(inner, section, values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_comments_mean_nothing_and_values_do() {
        let a = Conf::parse("totem {\n token: 1000\n version: 2\n}\n").unwrap();
        let b = Conf::parse("# x\ntotem {\n version: 2\n token: 1000\n}\n").unwrap();
        assert_eq!(conf_diff(&a, &b), []);
        let c = Conf::parse("totem {\n version: 2\n token: 3000\n}\n").unwrap();
        let settings = conf_diff(&a, &c);
        assert_eq!(settings.len(), 1);
        assert_eq!(settings[0].name, "totem.token");
        assert!(!settings[0].needs_restart());
    }

    #[test]
    fn an_address_that_is_spelt_otherwise_is_the_same_and_a_name_needs_no_restart() {
        let of = |address: &str| {
            let node = format!("name: head1\nnodeid: 1\nring0_addr: {address}");
            Conf::parse(&format!("nodelist {{\nnode {{\n{node}\n}}\n}}\n")).unwrap()
        };
        let ours = of("fd00:1::a");
        assert_eq!(conf_diff(&ours, &of("FD00:1:0::A")), []);
        let other = conf_diff(&ours, &of("fd00:1::b"));
        assert!(other.len() == 1 && other[0].needs_restart());
        let named = conf_diff(&ours, &of("head1-ring0"));
        assert!(named.len() == 1 && !named[0].needs_restart());
    }

    /// As `pcs cluster setup` writes it: with another logging, and without what Corosync takes anyway.
    #[test]
    fn what_corosync_takes_anyway_need_not_be_written() {
        let conf = |text: &str| Conf::parse(text).unwrap();
        let ours = "totem {\ntransport: knet\nlink_mode: passive\n}\nquorum {\ntwo_node: 1\nwait_for_all: 1\n}\n";
        let theirs = "totem {\n}\nquorum {\ntwo_node: 1\n}\n";
        assert_eq!(conf_diff(&conf(ours), &conf(theirs)), []);
        let three = conf_diff(
            &conf("quorum {\nwait_for_all: 1\n}\n"),
            &conf("quorum {\n}\n"),
        );
        assert_eq!(three.len(), 1);
        let other = conf_diff(&conf(ours), &conf(&ours.replace("passive", "active")));
        assert!(other[0].needs_restart());
    }

    #[test]
    fn another_port_needs_a_restart_and_corosyncs_own_need_not_be_written() {
        let conf = |port: &str, ring: &str| {
            let totem = format!("totem {{\ninterface {{\nlinknumber: 1\n{port}}}\n}}\n");
            let nodes = format!("nodelist {{\nnode {{\nname: a\n{ring}}}\n}}\n");
            Conf::parse(&(totem + &nodes)).unwrap()
        };
        let (other, ring) = ("mcastport: 5455\n", "ring1_addr: 10.0.1.1\n");
        assert_eq!(
            conf_diff(&conf("", ring), &conf("mcastport: 5406\n", ring)),
            []
        );
        for (ours, theirs) in [("", other), (other, "")] {
            let diff = conf_diff(&conf(ours, ring), &conf(theirs, ring));
            assert_eq!(diff.len(), 1);
            assert_eq!(diff[0].name, "interface 1.mcastport");
            assert!(diff[0].needs_restart());
        }
        // A link that comes with its port.
        let diff = conf_diff(&conf(other, ring), &conf("", ""));
        assert_eq!(diff.len(), 2);
        assert!(!diff.iter().any(Setting::needs_restart));
    }

    #[test]
    fn another_address_of_a_ring_needs_a_restart_and_a_new_ring_does_not() {
        let conf = |rings: &str| {
            let text = format!("nodelist {{\nnode {{\nname: a\nnodeid: 1\n{rings}}}\n}}\n");
            Conf::parse(&text).unwrap()
        };
        let one = conf("ring0_addr: 10.0.0.1\n");
        let moved = conf_diff(&conf("ring0_addr: 10.0.0.2\n"), &one);
        assert_eq!(moved.len(), 1);
        assert!(moved[0].needs_restart() && moved[0].moves_a_link());
        let more = conf_diff(&conf("ring0_addr: 10.0.0.1\nring1_addr: 10.0.1.1\n"), &one);
        assert_eq!(more.len(), 1);
        assert!(!more[0].needs_restart());
    }

    #[test]
    fn another_transport_or_number_needs_a_restart() {
        let text = |id: u8, transport: &str| {
            format!(
                "totem {{\ntransport: {transport}\n}}\nnodelist {{\nnode {{\nname: a\nnodeid: {id}\n}}\n}}\n"
            )
        };
        let settings = conf_diff(
            &Conf::parse(&text(1, "knet")).unwrap(),
            &Conf::parse(&text(2, "udpu")).unwrap(),
        );
        assert!(settings.iter().all(Setting::needs_restart));
        assert_eq!(settings.len(), 2);
    }
}
