//! Multicast flows: any source and one source, IGMPv2 and v3, IPv4 and IPv6.

use std::time::Duration;

use crate::common::{self, Host, flow, flow_v6, measure, open, pair, send, switched};
use hawser_model::traffic::{FlowSpec, Membership};
use hawser_model::units::Packets;

fn group(source: Option<&str>) -> FlowSpec {
    FlowSpec {
        destination: "232.9.9.9".parse().unwrap(),
        membership: Some(Membership {
            source: source.map(|s| s.parse().unwrap()),
            ttl: 1,
        }),
        ..flow()
    }
}

fn group_v6(source: Option<&str>) -> FlowSpec {
    FlowSpec {
        destination: "ff3e::9:9".parse().unwrap(),
        membership: Some(Membership {
            source: source.map(|s| s.parse().unwrap()),
            ttl: 1,
        }),
        ..flow_v6()
    }
}

#[track_caller]
fn complete(a: &Host, b: &Host, spec: &FlowSpec) {
    let (sent, received) = measure(a, b, spec);
    assert!(sent.sent > Packets(20), "{sent:?}");
    assert_eq!(received.received, sent.sent, "{spec:?}\n{received:?}");
}

#[test]
fn any_source_and_the_given_source_are_received() {
    let (a, b) = pair();
    for spec in [
        group(None),
        group(Some("10.9.0.1")),
        group_v6(None),
        group_v6(Some("fd09::1")),
    ] {
        complete(&a, &b, &spec);
    }
}

#[test]
fn another_source_than_the_given_one_is_not_received() {
    let (a, b) = pair();
    for spec in [group(Some("10.9.0.77")), group_v6(Some("fd09::77"))] {
        let (sent, received) = measure(&a, &b, &spec);
        assert!(sent.sent > Packets(20), "{sent:?}");
        assert_eq!(received.received, Packets::ZERO);
        assert_eq!(received.loss_runs_by_length.values().sum::<u64>(), 1);
    }
}

/// What the kernel sent to join, as the other end of the cable saw it.
fn reports_seen(a: &Host, b: &Host, version: u32) -> u64 {
    b.sh(&format!(
        "echo {version} > /proc/sys/net/ipv4/conf/ring0/force_igmp_version"
    ));
    a.sh("nft add table ip seen
        nft 'add chain ip seen in { type filter hook prerouting priority -400; }'
        nft 'add rule ip seen in ip protocol igmp @th,0,8 0x16 counter comment \"v2\"'
        nft 'add rule ip seen in ip protocol igmp @th,0,8 0x22 counter comment \"v3\"'
        ip link set ring0 allmulticast on");
    complete(a, b, &group(None));
    let rules = a.sh("nft list chain ip seen in");
    a.sh("nft delete table ip seen");
    let line = rules
        .lines()
        .find(|line| line.contains(&format!("v{version}")))
        .unwrap();
    let count = line.split("packets ").nth(1).unwrap();
    count.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn memberships_are_reported_in_the_version_the_link_speaks() {
    let (a, b) = pair();
    for version in [2, 3] {
        assert!(reports_seen(&a, &b, version) > 0, "IGMPv{version}");
    }
}

#[test]
fn a_snooping_switch_with_a_querier_delivers_to_members_alone() {
    let (a, switch, b) = switched();
    switch.sh("echo 0 > /proc/sys/net/ipv6/conf/all/disable_ipv6
        ip link set switch type bridge mcast_snooping 1 mcast_querier 1 \
            mcast_startup_query_interval 10 mcast_query_response_interval 10 mcast_igmp_version 3");
    let spec = group(Some("10.9.0.1"));
    // The bridge believes a querier only after its first query's response time.
    std::thread::sleep(Duration::from_millis(300));
    complete(&a, &b, &spec);
}

#[test]
fn the_source_address_selects_the_interface() {
    let (a, b) = pair();
    a.sh(&format!(
        "ip link add ring1 type veth peer name ring1 netns {}
         ip addr add 10.8.0.1/24 dev ring1
         ip link set ring1 up
         # The default for the group is the other link.
         ip route add 224.0.0.0/4 dev ring0",
        b.id
    ));
    b.sh("ip addr add 10.8.0.2/24 dev ring1
        ip link set ring1 up");
    a.settled("ring1");
    let spec = FlowSpec {
        source: "10.8.0.1".parse().unwrap(),
        receiver: "10.8.0.2".parse().unwrap(),
        ..group(None)
    };
    complete(&a, &b, &spec);
}

#[test]
fn a_multicast_flow_can_be_echoed_and_does_not_come_back_to_its_own_host() {
    let (a, b) = pair();
    let spec = FlowSpec {
        echo: true,
        ..group(None)
    };
    let own = FlowSpec {
        receiver: "10.9.0.1".parse().unwrap(),
        ..spec.clone()
    };
    let far = open(&b, &spec);
    let port = far.port();
    let near = a
        .run(move || hawser_wire::Receiver::open_at(&own, common::KEY, port))
        .unwrap();
    let sent = send(&a, &spec, port);
    let settle = Duration::from_millis(50);
    assert_eq!(far.finish(sent.sent, settle).unwrap().received, sent.sent);
    assert_eq!(
        near.finish(sent.sent, settle).unwrap().received,
        Packets::ZERO
    );
    assert_eq!(sent.echoed_back, sent.sent);
}

#[test]
fn a_membership_needs_a_group() {
    let spec = FlowSpec {
        membership: Some(Membership::default()),
        ..flow()
    };
    let error = hawser_wire::Receiver::open(&spec, common::KEY)
        .err()
        .unwrap();
    assert_eq!(error.to_string(), "10.9.0.2 is not a multicast group");
}
