//! Links that are down, slow, or not independent.

use hawser_model::host::Interface;
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::probe::HelloHeard;
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
