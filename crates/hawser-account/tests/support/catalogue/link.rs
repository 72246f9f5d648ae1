//! Links that are down, slow, or not independent.

use hawser_model::host::Interface;
use hawser_model::host::NeighbourFacts;
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::probe::{AddressClaim, HelloHeard};
use hawser_model::units::{BitsPerSec, Packets};

use super::{Planted, planted_as};
use crate::support::cluster::*;
use crate::support::faults::*;

pub fn planted() -> Vec<Planted> {
    vec![
        interface_down(),
        no_carrier(),
        no_carrier_anywhere(),
        dead_switch(),
        past_the_interface(),
        past_the_interface_counters_only(),
        into_the_loopback(),
        slower_than_file(),
        slower_than_peer(),
        half_duplex(),
        one_network(),
        one_network_declared(),
        one_trunk(),
        one_card(),
        duplicate(),
        duplicate_that_gets_everything(),
        duplicate_that_is_sent_to(),
        duplicate_of_nobody_known(),
        answered_for_everybody(),
        answered_by_its_own(),
        duplicate_not_taken(),
    ]
}

const BOTH: [(&str, &str); 2] = [("head1", "head2"), ("head2", "head1")];

fn interface_down() -> Planted {
    let mut case = clean(&RINGS);
    let down = interface(&mut case, "head2", "ring1");
    (down.up, down.carrier) = (false, false);
    for (from, to) in BOTH {
        for kind in [Heartbeat, Bulk] {
            let phase = phase_of(&mut case, from, to, "ring1", kind);
            let n = phase.sender.sent.0;
            if from == "head2" {
                phase
                    .sender
                    .refused
                    .insert("ENETUNREACH".to_owned(), Packets(n));
                not_sent(phase, n);
            } else {
                not_arrived(phase, n);
            }
            lose_in_runs(phase, n, n);
        }
    }
    planted_as("interface-down", case, 20_150, &["interface-down"])
}

fn no_carrier() -> Planted {
    let mut case = clean(&RINGS);
    interface(&mut case, "head1", "ring0").carrier = false;
    for (from, to) in BOTH {
        for kind in [Heartbeat, Bulk] {
            let phase = phase_of(&mut case, from, to, "ring0", kind);
            let n = phase.sender.sent.0;
            lose_in_runs(phase, n, n);
            if from == "head1" {
                // An interface without carrier has the noop queue, which drops and counts not.
                not_sent(phase, n);
                let subject = flow(phase);
                let window = &mut phase.sender_window;
                own_event(window, subject, "QDISC_DROP", "__dev_queue_xmit", n);
            } else {
                not_arrived(phase, n);
            }
        }
    }
    planted_as("link-down-no-carrier", case, 20_150, &["link-down"])
}

/// The switch is without power: no host has carrier on ring1.
fn no_carrier_anywhere() -> Planted {
    let mut case = clean(&RINGS);
    for host in ["head1", "head2"] {
        interface(&mut case, host, "ring1").carrier = false;
    }
    for (from, to) in BOTH {
        for kind in [Heartbeat, Bulk] {
            let phase = phase_of(&mut case, from, to, "ring1", kind);
            let n = phase.sender.sent.0;
            lose_in_runs(phase, n, n);
            not_sent(phase, n);
            let subject = flow(phase);
            let window = &mut phase.sender_window;
            own_event(window, subject, "QDISC_DROP", "__dev_queue_xmit", n);
        }
    }
    planted_as("link-down-switch", case, 20_150, &["link-down"])
}

/// The switch of ring1 is off behind ports that keep their carrier; ARP entries age out.
fn dead_switch() -> Planted {
    let mut case = clean(&RINGS);
    case.hellos
        .as_mut()
        .expect("hellos")
        .retain(|h| h.on_link.0 != "ring1");
    for (from, to) in BOTH {
        let m = measurement(&mut case, from, to, "ring1");
        let found = m.path_mtu.as_mut().expect("a search");
        found.passed = None;
        for kind in [Heartbeat, Bulk] {
            let phase = phase_of(&mut case, from, to, "ring1", kind);
            let n = phase.sender.sent.0;
            lose_in_runs(phase, n, n);
            if from == "head2" && kind == Bulk {
                not_sent(phase, n);
                let subject = flow(phase);
                let window = &mut phase.sender_window;
                own_event(window, subject, "NEIGH_QUEUEFULL", "__neigh_event_send", n);
            } else {
                not_arrived(phase, n);
            }
        }
    }
    planted_as("link-down-silent", case, 20_150, &["link-down"])
}

/// `ip rule add to …`: what belongs to ring1 leaves head1 by ring0, and arrives.
fn rerouted() -> hawser_model::case::Case {
    let mut case = clean(&RINGS);
    for kind in [Heartbeat, Bulk] {
        let phase = phase_of(&mut case, "head1", "head2", "ring1", kind);
        for window in [&mut phase.sender_window, &mut phase.receiver_window] {
            window.taps = Some(Vec::new());
            let counters = std::mem::take(&mut window.counters.0);
            window.counters.0 = counters
                .into_iter()
                .map(|(name, n)| (name.replace("ring1", "ring0"), n))
                .collect();
        }
    }
    case
}

fn past_the_interface() -> Planted {
    planted_as("wrong-interface", rerouted(), 0, &["wrong-interface"; 2])
}

fn past_the_interface_counters_only() -> Planted {
    let mut case = rerouted();
    without_ebpf(&mut case);
    planted_as(
        "counters-only-wrong-interface",
        case,
        0,
        &["wrong-interface"; 2],
    )
}

/// A route to the loopback: the packets meet their own host's receive path.
fn into_the_loopback() -> Planted {
    let mut case = clean(&RINGS);
    for kind in [Heartbeat, Bulk] {
        let phase = phase_of(&mut case, "head2", "head1", "ring1", kind);
        let n = phase.sender.sent.0;
        lose_in_runs(phase, n, n);
        not_sent(phase, n);
        let subject = flow(phase);
        let window = &mut phase.sender_window;
        count(window, &[("udp/NoPorts", n), ("link/lo/tx_packets", n)]);
        own_event(window, subject, "NO_SOCKET", "__udp4_lib_rcv", n);
        for drop in window.drops.iter_mut().flatten() {
            drop.interface = Some(InterfaceName::from("lo"));
        }
    }
    planted_as(
        "wrong-interface-loopback",
        case,
        10_075,
        &["wrong-interface"],
    )
}

fn slower_than_file() -> Planted {
    let mut case = clean(&PAIR);
    case.topology.links[0].speed = Some(BitsPerSec(10_000_000_000));
    interface(&mut case, "head1", "ring0").speed = Some(BitsPerSec(1_000_000_000));
    planted_as("speed-below-file", case, 0, &["speed-below-file"])
}

fn slower_than_peer() -> Planted {
    let mut case = clean(&PAIR);
    interface(&mut case, "head2", "ring0").speed = Some(BitsPerSec(100_000_000));
    planted_as("speed-below-peer", case, 0, &["speed-below-peer"])
}

fn half_duplex() -> Planted {
    let mut case = clean(&PAIR);
    interface(&mut case, "head2", "ring0").duplex = Some("half".to_owned());
    planted_as("half-duplex", case, 0, &["half-duplex"])
}

fn across(case: &mut hawser_model::case::Case) {
    let hellos = case.hellos.as_mut().expect("hellos");
    for (from, by) in BOTH {
        for (from_link, on_link) in [("ring0", "ring1"), ("ring1", "ring0")] {
            hellos.push(HelloHeard {
                from: from.into(),
                from_link: from_link.into(),
                by: by.into(),
                on_link: on_link.into(),
                copies: 1,
            });
        }
    }
}

fn one_network() -> Planted {
    let mut case = clean(&RINGS);
    across(&mut case);
    planted_as("shared-domain-hello", case, 0, &["shared-failure-domain"])
}

/// The file itself puts both links on one switch.
fn one_network_declared() -> Planted {
    let mut case = clean(&RINGS);
    across(&mut case);
    for link in &mut case.topology.links {
        link.switch = Some("sw0".to_owned());
    }
    planted_as("shared-domain-declared", case, 0, &[])
}

/// Both links of head1 are VLANs of one port.
fn one_trunk() -> Planted {
    let mut case = clean(&RINGS);
    let host = facts(&mut case, "head1");
    host.interfaces.insert(
        InterfaceName::from("eth0"),
        Interface {
            index: 9,
            up: true,
            carrier: true,
            ..Interface::default()
        },
    );
    for name in ["ring0", "ring1"] {
        let vlan = host.interfaces.get_mut(name).expect("a link");
        vlan.lower = vec![InterfaceName::from("eth0")];
        vlan.driver = Some("802.1Q VLAN Support".to_owned());
    }
    planted_as("shared-domain-vlan", case, 0, &["shared-failure-domain"])
}

fn one_card() -> Planted {
    let mut case = clean(&RINGS);
    let host: &HostName = &"head2".into();
    let host = case.hosts.get_mut(host).expect("head2");
    for (function, name) in ["ring0", "ring1"].into_iter().enumerate() {
        let port = host.interfaces.get_mut(name).expect("a link");
        port.driver = Some("ixgbe".to_owned());
        port.bus = Some(format!("0000:03:00.{function}"));
    }
    planted_as("shared-domain-card", case, 0, &["shared-failure-domain"])
}

/// An address of ring0, and who answered for it when its host asked.
fn answered(case: &mut hawser_model::case::Case, host: &str, address: &str, mac: &str) {
    let claims = case.address_claims.get_or_insert_default();
    claims.push(AddressClaim {
        host: host.into(),
        link: "ring0".into(),
        address: address.parse().expect("an address"),
        mac: mac.to_owned(),
        answers: 3,
    });
}

/// head3's ring0 has head2's address too.
fn taken_by_head3() -> hawser_model::case::Case {
    let mut case = clean(&Shape {
        hosts: &["head1", "head2", "head3"],
        ..PAIR
    });
    let second = ("10.77.0.2".parse().expect("an address"), 24);
    interface(&mut case, "head3", "ring0")
        .addresses
        .push(second);
    answered(&mut case, "head2", "10.77.0.2", "02:77:00:00:00:03");
    case
}

fn duplicate() -> Planted {
    planted_as(
        "duplicate-address",
        taken_by_head3(),
        0,
        &["duplicate-address"],
    )
}

/// head1 has head3's MAC address for head2, and head3 gets all that head1 sends to head2.
fn duplicate_that_gets_everything() -> Planted {
    let mut case = taken_by_head3();
    for kind in [Heartbeat, Bulk] {
        let phase = phase_of(&mut case, "head1", "head2", "ring0", kind);
        let n = phase.sender.sent.0;
        lose_in_runs(phase, n, n);
        not_arrived(phase, n);
        let other = Some("02:77:00:00:00:03".to_owned());
        phase.sender_window.neighbours = vec![NeighbourFacts {
            address: "10.77.0.2".parse().expect("an address"),
            mac_before: other.clone(),
            mac_after: other,
        }];
    }
    planted_as(
        "duplicate-address-lossy",
        case,
        10_075,
        &["duplicate-address"],
    )
}

/// head2 and head3 with one address: head3 keeps what it sends there, and does not answer head2.
fn duplicate_that_is_sent_to() -> Planted {
    let mut case = taken_by_head3();
    for kind in [Heartbeat, Bulk] {
        let phase = phase_of(&mut case, "head3", "head2", "ring0", kind);
        let n = phase.sender.sent.0;
        lose_in_runs(phase, n, n);
        not_sent(phase, n);
        let subject = flow(phase);
        let window = &mut phase.sender_window;
        // Every other datagram: each refusal is told to the next one.
        own_event(window, subject, "NO_SOCKET", "__udp4_lib_rcv", n - n / 2);
        for drop in window.drops.iter_mut().flatten() {
            drop.interface = Some(InterfaceName::from("lo"));
        }
        let refused = &mut phase.sender.refused;
        refused.insert("ECONNREFUSED".to_owned(), Packets(n / 2));
        let phase = phase_of(&mut case, "head2", "head3", "ring0", kind);
        lose_in_runs(phase, n, n);
        not_sent(phase, n);
        let subject = flow(phase);
        let window = &mut phase.sender_window;
        own_event(window, subject, "NEIGH_FAILED", "neigh_invalidate", n);
    }
    planted_as(
        "duplicate-address-dead",
        case,
        20_150,
        &["duplicate-address"],
    )
}

/// Some of what head1 sent is lost, and head1 has head2's own MAC address: not the duplicate's doing.
fn duplicate_of_nobody_known() -> Planted {
    let mut case = clean(&PAIR);
    answered(&mut case, "head2", "10.77.0.2", "52:54:00:12:34:56");
    let phase = bulk(&mut case);
    lose_in_runs(phase, 100, 1);
    not_arrived(phase, 100);
    let own = Some("02:77:00:00:00:02".to_owned());
    phase.sender_window.neighbours = vec![NeighbourFacts {
        address: "10.77.0.2".parse().expect("an address"),
        mac_before: own.clone(),
        mac_after: own,
    }];
    let codes = ["loss-between-hosts", "duplicate-address"];
    planted_as("duplicate-address-unknown", case, 100, &codes)
}

/// One device answers for both hosts.
fn answered_for_everybody() -> Planted {
    let mut case = clean(&PAIR);
    answered(&mut case, "head1", "10.77.0.1", "00:1b:21:00:00:09");
    answered(&mut case, "head2", "10.77.0.2", "00:1b:21:00:00:09");
    planted_as(
        "duplicate-address-proxy",
        case,
        0,
        &["duplicate-address"; 2],
    )
}

/// Another interface of head2 on the same wire, a bond's member with the bond's address, and a
/// virtual router: none of them another host.
fn answered_by_its_own() -> Planted {
    let mut case = clean(&RINGS);
    interface(&mut case, "head2", "ring1").mac_in_use = Some("02:77:00:00:00:42".to_owned());
    for mac in [
        "02:77:00:00:01:02",
        "02:77:00:00:00:42",
        "00:00:5e:00:01:07",
    ] {
        answered(&mut case, "head2", "10.77.0.2", mac);
    }
    planted_as("duplicate-address-flux", case, 0, &[])
}

/// head2's kernel found that somebody has the IPv6 address that it was given, and does not use it.
fn duplicate_not_taken() -> Planted {
    let mut case = clean(&PAIR);
    let address = "fd77::2".parse().expect("an address");
    let port = interface(&mut case, "head2", "ring0");
    port.addresses.push((address, 64));
    port.dad_failed.push(address);
    planted_as("duplicate-address-ipv6", case, 0, &["duplicate-address"])
}
