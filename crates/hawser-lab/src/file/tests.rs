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
    for part in [
        "card cannot be \"e100\"",
        "vmxnet3, e1000e, e1000",
        "lab.toml:30",
    ] {
        assert!(wrong.contains(part), "{wrong}");
    }
    let wrong = said(&text.replace("\"uml\"", "\"kvm\""));
    assert!(wrong.contains("machine cannot be \"kvm\""), "{wrong}");
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
            "lab.toml:3:10: serial: the link has 3 nodes; a null-modem cable has two ends",
        ),
        (
            "[[client]]\nname = \"desk\"\n",
            "serial: the link has 3 nodes",
        ),
    ] {
        let said = said(&format!("{text}{more}"));
        assert!(said.contains(wrong), "{said}");
    }
    for (keys, wrong) in [
        (
            "serial = true\nipv6 = \"fd00::/64\"",
            "ipv6: a null-modem cable has none; leave out ipv6",
        ),
        (
            "serial = true\nipv4 = \"none\"\nipv6 = \"fd00::/64\"",
            "ipv4: a null-modem cable has a network of IPv4",
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
        "lab.toml:4:1: [[switch]] \"sw0\" has no key \"snoopin\"; did you mean \"snooping\"? there is: name, querier, snooping"
    );
}

#[test]
fn each_bad_value_is_named_with_what_is_allowed() {
    let cases = [
        (
            "mtu = 9000",
            "mtu = 900",
            "lab.toml:9:7: mtu: 900 is out of range; write a number from 1280 to 65535",
        ),
        (
            "mtu = 9000",
            "mtu = \"9000\"",
            "mtu must be a whole number, here it is text",
        ),
        (
            "switch = \"sw0\"",
            "switch = \"sw9\"",
            "there is no switch \"sw9\"; did you mean \"sw0\"",
        ),
        (
            "[\"ring0\"]",
            "[\"ring9\"]",
            "there is no link \"ring9\"; did you mean \"ring0\"",
        ),
        (
            "[\"ring0\"]",
            "[\"ring0\", \"ring0\"]",
            "links: \"ring0\" stands there twice",
        ),
        (
            "\"head2\"",
            "\"head1\"",
            "\"head1\" is the name of something else already",
        ),
        (
            "\"head2\"",
            "\"Head 2\"",
            "name: \"Head 2\" cannot name a node; write 1 to 32 of a-z",
        ),
        (
            "\"desk\"",
            "\"sw0\"",
            "\"sw0\" is the name of something else already",
        ),
        (
            "141.207",
            "142.207",
            "192.168.142.207 is not in 192.168.141.0/24, as link \"san\" is",
        ),
        (
            "141.207",
            "141.3",
            "192.168.141.3 on link \"san\" is the address of head1 already",
        ),
        (
            "141.0/24",
            "141.5/24",
            "is an address in 192.168.141.0/24; write a network such as",
        ),
        (
            "192.168.141.0/24",
            "10.72.0.0/16",
            "ipv4: 10.72.0.0/16 overlaps 10.72.0.0/24 of link ring0",
        ),
        ("141.0/24", "141.0/30", "is not in 192.168.141.0/30"),
        ("{ san =", "{ ring7 =", "there is no link \"ring7\""),
        (
            "[[client]]",
            "[[cleint]]",
            "the file has no key \"cleint\"; did you mean \"client\"",
        ),
        ("snooping = true", "snooping = ", "lab.toml:4:"),
    ];
    for (right, wrong, expected) in cases {
        let message = said(&GOOD.replacen(right, wrong, 1));
        assert!(message.contains(expected), "{wrong}: {message}");
    }
}

#[test]
fn all_that_is_wrong_with_nodes_is_told_at_once() {
    let text = GOOD
        .replace("141.207", "142.207")
        .replace("[\"ring0\"]", "[\"ring9\"]");
    let errors = LabSpec::from_toml(&text, "lab.toml").unwrap_err();
    let lines: Vec<usize> = errors.errors.iter().map(|it| it.line).collect();
    assert_eq!(lines, [18, 22], "{errors}");
}

#[test]
fn a_lab_without_nodes_or_links_is_refused() {
    assert!(said("[[link]]\nname = \"a\"\n").contains("there is no [[node]]; write at least one"));
    assert!(said("[[node]]\nname = \"a\"\n").contains("there is no [[link]]; write at least one"));
}
