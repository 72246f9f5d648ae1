//! Each mistake is found at its place, in words that name it and what is allowed.

use crate::machines::{Card, Kind};
use crate::spec::{LabSpec, Role};

const GOOD: &str = r#"
[[switch]]
name = "sw0"
snooping = true

[[link]]
name = "ring0"
switch = "sw0"
mtu = 9000

[[link]]
name = "san"
ipv4 = "192.168.141.0/24"
ipv6 = "none"

[[node]]
name = "head1"
addresses = { san = "192.168.141.207" }

[[node]]
name = "head2"
links = ["ring0"]

[[client]]
name = "desk"
links = ["san"]
"#;

#[test]
fn a_lab_file_is_read_with_its_defaults() {
    let lab = LabSpec::from_toml(GOOD, "lab.toml").unwrap();
    let head1 = lab.node("head1").unwrap();
    assert_eq!(lab.link("san").unwrap().switch, "sw1");
    assert!(lab.switch("sw0").unwrap().snooping);
    assert_eq!(
        head1.ports[1].ipv4,
        Some("192.168.141.207".parse().unwrap())
    );
    assert_eq!(head1.ports[1].ipv6, None);
    assert_eq!(
        head1.ports[0].ipv6,
        Some("fd48:6177:7365::1".parse().unwrap())
    );
    let desk = lab.node("desk").unwrap();
    assert_eq!(desk.role, Role::Client);
    // The third machine of the file is number three on every link.
    assert_eq!(desk.ports[0].ipv4, Some("192.168.141.3".parse().unwrap()));
}

#[test]
fn a_lab_file_names_machines_and_their_cards_and_says_what_there_is() {
    let text = format!("{GOOD}machine = \"uml\"\n[[link]]\nname = \"x\"\ncard = \"e1000e\"\n");
    let mut lab = LabSpec::from_toml(&text, "lab.toml").unwrap();
    lab.kind = Kind::Qemu;
    let kinds = lab.nodes.iter().map(|node| lab.kind_of(node));
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [Kind::Qemu, Kind::Qemu, Kind::Uml]
    );
    let cards = lab.links.iter().map(|link| link.card);
    assert_eq!(
        cards.collect::<Vec<_>>(),
        [Card::Vmxnet3, Card::Vmxnet3, Card::E1000e]
    );
    let wrong = said(&text.replace("e1000e", "e100"));
    for part in ["no card \"e100\"", "vmxnet3, e1000e, e1000", "lab.toml:30"] {
        assert!(wrong.contains(part), "{wrong}");
    }
    let wrong = said(&text.replace("\"uml\"", "\"kvm\""));
    assert!(wrong.contains("no machine \"kvm\""), "{wrong}");
}

#[test]
fn a_null_modem_cable_joins_two_nodes_by_ipv4() {
    let text = "[[link]]\nname = \"ring0\"\nserial = true\n[[node]]\nname = \"head1\"\n[[node]]\nname = \"head2\"\n";
    let lab = LabSpec::from_toml(text, "lab.toml").unwrap();
    assert!(lab.links[0].serial && lab.links[0].ipv6.is_none());
    assert!(lab.says_of_machines());
    for (more, wrong) in [
        (
            "[[node]]\nname = \"head3\"\n",
            "link[1].serial: true, with 3 nodes; allowed: two nodes on the link",
        ),
        (
            "[[client]]\nname = \"desk\"\n",
            "link[1].serial: true, with 3 nodes",
        ),
    ] {
        let said = said(&format!("{text}{more}"));
        assert!(said.contains(wrong), "{said}");
    }
    for (keys, wrong) in [
        (
            "serial = true\nipv6 = \"fd00::/64\"",
            "link[1].ipv6: a network; allowed: \"none\"",
        ),
        (
            "serial = true\nipv4 = \"none\"\nipv6 = \"fd00::/64\"",
            "link[1].ipv4: none; allowed: a network",
        ),
    ] {
        let said = said(&text.replace("serial = true", keys));
        assert!(said.contains(wrong), "{said}");
    }
}

fn said(text: &str) -> String {
    LabSpec::from_toml(text, "lab.toml")
        .unwrap_err()
        .to_string()
}

#[test]
fn an_unknown_key_is_shown_with_its_line_and_the_likely_word() {
    let text = GOOD.replace("snooping = true", "snoopin = true");
    assert_eq!(
        said(&text),
        "lab.toml:4:1: switch[1].snoopin: unknown key \"snoopin\"; did you mean \"snooping\"? \
         allowed: name, snooping, querier"
    );
}

#[test]
fn each_bad_value_is_named_with_what_is_allowed() {
    let cases = [
        (
            "mtu = 9000",
            "mtu = 900",
            "link[1].mtu: 900; allowed: a whole number from 1280",
        ),
        (
            "mtu = 9000",
            "mtu = \"9000\"",
            "link[1].mtu: is of type string; allowed: a whole",
        ),
        (
            "switch = \"sw0\"",
            "switch = \"sw9\"",
            "link[1].switch: no switch \"sw9\"; did you",
        ),
        (
            "[\"ring0\"]",
            "[\"ring9\"]",
            "node[2].links[1]: no link \"ring9\"; did you mean \"ring0\"",
        ),
        (
            "[\"ring0\"]",
            "[\"ring0\", \"ring0\"]",
            "node[2].links[2]: \"ring0\" a second time",
        ),
        (
            "\"head2\"",
            "\"head1\"",
            "node[2].name: \"head1\" is taken on line 17",
        ),
        (
            "\"head2\"",
            "\"Head 2\"",
            "node[2].name: \"Head 2\" cannot name a node",
        ),
        (
            "\"desk\"",
            "\"sw0\"",
            "client[1].name: \"sw0\" is taken on line 3",
        ),
        (
            "141.207",
            "142.207",
            "192.168.142.207 is not in the link's network; allowed: an address in 192.168.141.0/24",
        ),
        (
            "141.207",
            "141.3",
            "client[1].addresses.san: 192.168.141.3 is head1's already",
        ),
        (
            "141.0/24",
            "141.5/24",
            "is an address in 192.168.141.0/24; allowed: a network such as",
        ),
        (
            "192.168.141.0/24",
            "10.72.0.0/16",
            "link[2].ipv4: 10.72.0.0/16 overlaps 10.72.0.0/24 of link ring0",
        ),
        ("141.0/24", "141.0/30", "is not in the link's network"),
        (
            "{ san =",
            "{ ring7 =",
            "node[1].addresses.ring7: no link \"ring7\"",
        ),
        (
            "[[client]]",
            "[[cleint]]",
            "cleint: unknown key \"cleint\"; did you mean \"client\"",
        ),
        ("snooping = true", "snooping = ", "lab.toml:4:"),
    ];
    for (right, wrong, expected) in cases {
        let message = said(&GOOD.replacen(right, wrong, 1));
        assert!(message.contains(expected), "{wrong}: {message}");
        assert!(message.contains("allowed: "), "{wrong}: {message}");
    }
}

#[test]
fn a_lab_without_nodes_or_links_is_refused() {
    assert!(said("[[link]]\nname = \"a\"\n").contains("node: missing; allowed: at least one"));
    assert!(said("[[node]]\nname = \"a\"\n").contains("link: missing; allowed: at least one"));
}
