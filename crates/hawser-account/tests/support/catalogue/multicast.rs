//! Queriers that are gone, groups that are not forwarded, versions and scopes that do not fit.

use hawser_model::case::Case;
use hawser_model::probe::{MulticastHeard, QueryHeard};
use hawser_model::units::{Nanos, Packets};

use super::{Planted, planted_as};
use crate::support::cluster::*;
use crate::support::faults::*;

pub fn planted() -> Vec<Planted> {
    vec![
        with_querier(),
        flooding(),
        no_querier(),
        no_querier_stopped(),
        not_forwarded(),
        mixed(),
        above_querier(),
        beyond_a_router(),
        refused(),
    ]
}

/// Heartbeat, bulk and multicast, and what was heard in both directions.
fn case(queries: &[u8], unjoined_heard: u64) -> Case {
    let mut case = clean(&Shape {
        kinds: &[Heartbeat, Bulk, Multicast],
        ..PAIR
    });
    for measurement in &mut case.measurements {
        measurement.multicast = Some(MulticastHeard {
            queries: queries
                .iter()
                .map(|version| QueryHeard {
                    querier: [10, 77, 0, 9].into(),
                    version: *version,
                })
                .collect(),
            listened_after_leave: Nanos::from_millis(if queries.is_empty() { 1_330 } else { 32 }),
            unjoined_sent: Packets(20),
            unjoined_heard: Packets(unjoined_heard),
        });
    }
    case
}

fn force(case: &mut Case, host: &str, version: &str) {
    facts(case, host).sysctls.insert(
        "net.ipv4.conf.all.force_igmp_version".to_owned(),
        version.to_owned(),
    );
}

/// As it should be: the switch filters, and somebody asks.
fn with_querier() -> Planted {
    planted_as("multicast-with-querier", case(&[3], 0), 0, &[])
}

/// Nobody asks, and nobody need: the switch floods.
fn flooding() -> Planted {
    planted_as("multicast-flooded", case(&[], 20), 0, &[])
}

fn no_querier() -> Planted {
    planted_as("igmp-no-querier", case(&[], 0), 0, &["igmp-no-querier"])
}

/// The membership ages out in the middle of the flow.
fn no_querier_stopped() -> Planted {
    let mut case = case(&[], 0);
    let phase = phase_of(&mut case, "head1", "head2", "ring0", Multicast);
    wire(phase, 6_000, 6_000);
    planted_as("igmp-no-querier-stopped", case, 6_000, &["igmp-no-querier"])
}

/// A firewall of head2 lets no report out, while head1's membership is known.
fn not_forwarded() -> Planted {
    let mut case = case(&[3], 0);
    let phase = phase_of(&mut case, "head1", "head2", "ring0", Multicast);
    wire(phase, 10_000, 10_000);
    measurement(&mut case, "head1", "head2", "ring0")
        .multicast
        .as_mut()
        .expect("it was listened")
        .queries
        .clear();
    planted_as(
        "group-not-forwarded",
        case,
        10_000,
        &["group-not-forwarded"],
    )
}

fn mixed() -> Planted {
    let mut case = case(&[3], 0);
    force(&mut case, "head1", "0");
    force(&mut case, "head2", "2");
    planted_as("igmp-version-mixed", case, 0, &["igmp-version-mixed"])
}

/// Both alike, and both wrong.
fn above_querier() -> Planted {
    let mut case = case(&[2], 0);
    force(&mut case, "head1", "3");
    force(&mut case, "head2", "3");
    planted_as(
        "igmp-version-above-querier",
        case,
        0,
        &["igmp-version-mixed"],
    )
}

/// Two networks and a router that takes a TTL of 1 for expired.
fn beyond_a_router() -> Planted {
    let mut case = case(&[3], 0);
    for host in ["head1", "head2"] {
        interface(&mut case, host, "ring0").addresses[0].1 = 31;
    }
    case.hellos = None;
    for (from, to) in [("head1", "head2"), ("head2", "head1")] {
        let phase = phase_of(&mut case, from, to, "ring0", Multicast);
        wire(phase, 10_000, 10_000);
    }
    planted_as(
        "multicast-ttl-scope",
        case,
        20_000,
        &["multicast-ttl-scope", "multicast-ttl-scope"],
    )
}

/// The receiving host's own kernel says no, so nothing was sent.
fn refused() -> Planted {
    let mut case = case(&[3], 0);
    facts(&mut case, "head2")
        .sysctls
        .insert("net.ipv4.igmp_max_memberships".to_owned(), "0".to_owned());
    for measurement in &mut case.measurements {
        if measurement.to.as_str() == "head2" {
            measurement.phases.retain(|p| p.kind != Multicast);
            measurement.problems.push(
                "head2: open receiver: setsockopt multicast join 239.192.72.87: No buffer space available (os error 105)"
                    .to_owned(),
            );
        }
    }
    planted_as(
        "multicast-join-refused",
        case,
        0,
        &["multicast-join-refused"],
    )
}
