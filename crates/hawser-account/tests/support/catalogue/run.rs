//! Nothing wrong, not measured, not explained.

use hawser_model::case::{FenceAnswer, Stopped};
use hawser_model::units::Packets;

use super::{Planted, planted_as};
use crate::support::cluster::*;
use crate::support::faults::*;

pub fn planted() -> Vec<Planted> {
    vec![
        clean_cluster(),
        clean_without_ebpf(),
        check_stopped(),
        fence_device_fails(),
        fence_device_not_asked(),
        not_measured(),
        unattributed(),
        echo_lost(),
        echo_filtered(),
    ]
}

fn clean_cluster() -> Planted {
    let case = clean(&Shape {
        kinds: &[Heartbeat, Bulk, Fragmented],
        ..RINGS
    });
    planted_as("clean", case, 0, &[])
}

/// Other traffic moves counters that our flow might have moved; but it lost nothing.
fn clean_without_ebpf() -> Planted {
    let mut case = clean(&PAIR);
    without_ebpf(&mut case);
    count(
        &mut bulk(&mut case).receiver_window,
        &[
            ("link/ring0/rx_packets", 310),
            ("link/ring0/rx_dropped", 12),
            ("udp/NoPorts", 3),
            ("ip/InHdrErrors", 1),
        ],
    );
    planted_as("counters-only-clean", case, 0, &[])
}

fn check_stopped() -> Planted {
    let mut case = clean(&PAIR);
    case.measurements.pop();
    case.stopped = Some(Stopped {
        host: "head2".into(),
        what: "stats.srp.firewall_enabled_or_nic_failure rose from 0 to 1".to_owned(),
    });
    planted_as("check-stopped", case, 0, &["check-stopped"])
}

/// Each head's BMC, asked from the other.
fn bmc(node: &str, asked_from: Option<&str>, failure: Option<&str>) -> FenceAnswer {
    FenceAnswer {
        device: format!("fence-{node}"),
        nodes: vec![node.into()],
        asked_from: asked_from.map(Into::into),
        failure: failure.map(str::to_owned),
    }
}

fn fence_device_fails() -> Planted {
    let mut case = clean(&PAIR);
    let refused = "Failed: Unable to obtain correct plug status or plug is not available";
    case.fencing = vec![
        bmc("head1", Some("head2"), None),
        bmc("head2", Some("head1"), Some(refused)),
    ];
    planted_as("fence-device-fails", case, 0, &["fence-device-fails"])
}

/// The password is not on the machine that the check was started on.
fn fence_device_not_asked() -> Planted {
    let mut case = clean(&PAIR);
    let secret =
        "secret file:/etc/hawser/secrets/head2-bmc: No such file or directory (os error 2)";
    case.fencing = vec![
        bmc("head1", Some("head2"), None),
        bmc("head2", None, Some(secret)),
    ];
    planted_as("fence-device-not-asked", case, 0, &["fence-device-fails"])
}

fn not_measured() -> Planted {
    let mut case = clean(&PAIR);
    let m = measurement(&mut case, "head2", "head1", "ring0");
    m.phases.pop();
    m.problems
        .push("bind 10.77.0.2:0: EADDRNOTAVAIL".to_owned());
    planted_as("not-measured", case, 0, &["not-measured"])
}

/// Both taps saw all packets, the socket dropped none, and 40 are gone: queued in a socket
/// that was closed.
fn unattributed() -> Planted {
    let mut case = clean(&PAIR);
    lose_in_runs(bulk(&mut case), 40, 40);
    Planted {
        unattributed: 40,
        ..planted_as("unattributed-loss", case, 40, &["unattributed-loss"])
    }
}

/// Echoes get lost on a way whose own measurement never ran.
fn echo_lost() -> Planted {
    let mut case = clean(&PAIR);
    case.measurements.pop();
    let phase = phase_of(&mut case, "head1", "head2", "ring0", Heartbeat);
    phase.sender.echoed_back = Packets(69);
    planted_as("echo-lost", case, 0, &["unattributed-loss"])
}

/// The first host's filter drops what the second answers.
fn echo_filtered() -> Planted {
    let mut case = clean(&PAIR);
    case.measurements.pop();
    let phase = phase_of(&mut case, "head1", "head2", "ring0", Heartbeat);
    phase.sender.echoed_back = Packets(0);
    let echo = hawser_model::drops::DropSubject::FlowEcho(phase.spec.flow);
    own_event(
        &mut phase.sender_window,
        echo,
        "NETFILTER_DROP",
        "nf_hook_slow",
        75,
    );
    planted_as("echo-filtered", case, 0, &["firewall-drop"])
}
