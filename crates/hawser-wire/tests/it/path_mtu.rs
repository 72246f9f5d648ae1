//! The path-MTU search against paths whose smallest hop is known.

use std::net::IpAddr;
use std::time::Duration;

use crate::common::{Host, KEY, pair, switched, unhindered};
use hawser_model::probe::PathMtu;
use hawser_model::units::Mtu;
use hawser_wire::{PathMtuResponder, search_echoed_mtu, search_path_mtu};

/// On a busy machine confirmations come late, and what is thought lost is tried again: that takes longer, and finds the same.
const DEADLINE: Duration = Duration::from_secs(60);

/// Searches from `.1` to `.2`.
#[track_caller]
fn search(a: &Host, b: &Host, prefix: &str, mtu: u32) -> Option<PathMtu> {
    let source: IpAddr = format!("{prefix}1").parse().unwrap();
    let destination: IpAddr = format!("{prefix}2").parse().unwrap();
    let responder = b
        .run(move || PathMtuResponder::open(destination, KEY))
        .unwrap();
    let port = responder.port();
    unhindered(|| {
        a.run(move || search_path_mtu(source, destination, port, KEY, Mtu(mtu), DEADLINE))
            .unwrap()
    })
}

#[test]
fn a_healthy_path_is_known() {
    let (a, b) = pair();
    for mtu in [1_500, 9_000] {
        for host in [&a, &b] {
            host.sh(&format!("ip link set ring0 mtu {mtu}"));
        }
        for prefix in ["10.9.0.", "fd09::"] {
            let Some(found) = search(&a, &b, prefix, mtu) else {
                return;
            };
            assert_eq!(found.passed, Some(Mtu(mtu)), "{found:?}");
            assert_eq!((found.silent, found.told), (None, None), "{found:?}");
        }
    }
}

#[test]
fn a_silent_hop_is_found_to_the_byte() {
    let (a, switch, b) = switched();
    for host in [&a, &b] {
        host.sh("ip link set ring0 mtu 9000");
    }
    switch.sh("ip link set to-a mtu 9000");
    for hop in [1_500, 4_096, 8_999] {
        switch.sh(&format!("ip link set to-b mtu {hop}"));
        for prefix in ["10.9.0.", "fd09::"] {
            let Some(found) = search(&a, &b, prefix, 9_000) else {
                return;
            };
            assert_eq!(found.passed, Some(Mtu(hop)), "{found:?}");
            assert_eq!(found.silent, Some(Mtu(hop + 1)), "{found:?}");
            assert_eq!(found.told, None, "{found:?}");
        }
    }
}

/// Searches from `.1` to the kernel of `.2`, where nothing of ours runs.
#[track_caller]
fn search_echoed(a: &Host, prefix: &str, mtu: u32) -> Option<PathMtu> {
    let [source, destination] = [1, 2].map(|n| format!("{prefix}{n}").parse().unwrap());
    unhindered(|| {
        a.run(move || search_echoed_mtu(source, destination, KEY, Mtu(mtu), DEADLINE))
            .unwrap()
    })
}

#[test]
fn the_kernel_of_the_other_end_tells_of_both_ways() {
    let (a, switch, b) = switched();
    for host in [&a, &b] {
        host.sh("ip link set ring0 mtu 9000");
    }
    for port in ["to-a", "to-b"] {
        switch.sh(&format!("ip link set {port} mtu 9000"));
    }
    for prefix in ["10.9.0.", "fd09::"] {
        let Some(found) = search_echoed(&a, prefix, 9_000) else {
            return;
        };
        assert_eq!(
            (found.passed, found.silent),
            (Some(Mtu(9_000)), None),
            "{found:?}"
        );
    }
    // The way there, and the way back.
    for port in ["to-b", "to-a"] {
        switch.sh(&format!("ip link set {port} mtu 1500"));
        for prefix in ["10.9.0.", "fd09::"] {
            let Some(found) = search_echoed(&a, prefix, 9_000) else {
                return;
            };
            // Answers of IPv4 may be cut: a bridge does that where its packets pass the packet filter (`br_nf_ip_fragment`).
            // Then what the port takes in is the limit, which is a VLAN's tag more (`__is_skb_forwardable`).
            let passed = found.passed.unwrap().0;
            assert!((1_500..=1_504).contains(&passed), "{port}: {found:?}");
            assert_eq!(found.silent, Some(Mtu(passed + 1)), "{port}: {found:?}");
            assert_eq!(found.told, None, "{port}: {found:?}");
        }
        switch.sh(&format!("ip link set {port} mtu 9000"));
    }
    // Who answers no echo tells nothing.
    b.sh("sysctl -qw net.ipv4.icmp_echo_ignore_all=1");
    let Some(found) = search_echoed(&a, "10.9.0.", 9_000) else {
        return;
    };
    assert_eq!(found.passed, None, "{found:?}");
}

#[test]
fn loss_is_not_taken_for_a_small_hop() {
    let (a, b) = pair();
    b.sh("nft add table ip t
        nft 'add chain ip t in { type filter hook input priority 0; }'
        nft add rule ip t in udp dport != 0 numgen random mod 100 '<' 20 drop");
    for _ in 0..5 {
        let Some(found) = search(&a, &b, "10.9.0.", 1_500) else {
            return;
        };
        assert_eq!(found.passed, Some(Mtu(1_500)), "{found:?}");
        assert!(found.holes.is_none_or(|holes| holes.is_empty()));
    }
}

#[test]
fn a_hole_in_the_sizes_is_found() {
    let (a, b) = pair();
    b.sh("nft add table ip t
        nft 'add chain ip t in { type filter hook input priority 0; }'
        nft add rule ip t in ip length 1150-1300 drop");
    let Some(found) = search(&a, &b, "10.9.0.", 1_500) else {
        return;
    };
    assert_eq!(found.passed, Some(Mtu(1_500)), "{found:?}");
    let Some(holes) = found.holes else {
        eprintln!("not measured: confirmations came too late on a busy machine");
        return;
    };
    assert_eq!(holes.len(), 1, "{holes:?}");
    // A confirmation that comes too late makes it look wider, up to the next size that was tried.
    assert!((1_030..=1_150).contains(&holes[0].first.0), "{holes:?}");
    assert!((1_300..=1_420).contains(&holes[0].last.0), "{holes:?}");
    assert!(holes[0].outside_arrived.0 >= 7, "{holes:?}");
}

/// Searches from `.1` behind a router with a smaller far link; what `filter` does is done on the router.
fn search_through_a_router(filter: &str) -> Option<PathMtu> {
    let (a, b) = pair();
    // b is the router.
    let far = Host::new();
    b.sh(&format!(
        "ip link add far type veth peer name ring0 netns {}
         ip link set far mtu 1400 up
         ip addr add 10.9.1.1/24 dev far
         echo 1 > /proc/sys/net/ipv4/ip_forward
         {filter}",
        far.id
    ));
    far.sh("ip link set ring0 mtu 1400 up
        ip addr add 10.9.1.2/24 dev ring0
        ip route add default via 10.9.1.1");
    a.sh("ip route add 10.9.1.0/24 via 10.9.0.2");
    let destination: IpAddr = "10.9.1.2".parse().unwrap();
    let responder = far
        .run(move || PathMtuResponder::open(destination, KEY))
        .unwrap();
    let port = responder.port();
    unhindered(|| {
        a.run(move || {
            let source = "10.9.0.1".parse().unwrap();
            search_path_mtu(source, destination, port, KEY, Mtu(1_500), DEADLINE)
        })
        .unwrap()
    })
}

#[test]
fn a_router_that_says_what_it_allows_is_quoted_and_named() {
    let Some(found) = search_through_a_router("true") else {
        return;
    };
    assert_eq!(found.passed, Some(Mtu(1_400)), "{found:?}");
    assert_eq!(found.told, Some(Mtu(1_400)), "{found:?}");
    assert_eq!(found.told_by, Some([10, 9, 0, 2].into()), "{found:?}");
    assert_eq!(found.vanishes, None, "{found:?}");
}

#[test]
fn packets_vanish_behind_the_last_router_that_they_reach() {
    let Some(found) = search_through_a_router(
        "nft add table ip t
         nft 'add chain ip t out { type filter hook output priority 0; }'
         nft add rule ip t out icmp type destination-unreachable drop",
    ) else {
        return;
    };
    assert_eq!(found.passed, Some(Mtu(1_400)), "{found:?}");
    assert_eq!((found.told, found.told_by), (None, None), "{found:?}");
    let vanishes = found.vanishes.expect("the router answers");
    assert_eq!(vanishes.reached, Some([10, 9, 0, 2].into()));
    assert_eq!(vanishes.not_reached, IpAddr::from([10, 9, 1, 2]));
}

#[test]
fn sizes_the_interface_does_not_take_are_refused_and_not_silent() {
    let (a, b) = pair();
    // Asked for more than the interface has: every larger probe gets EMSGSIZE.
    let Some(found) = search(&a, &b, "10.9.0.", 9_000) else {
        return;
    };
    assert_eq!(found.passed, Some(Mtu(1_500)), "{found:?}");
    assert_eq!(found.silent, None, "{found:?}");
    assert_eq!(found.told, Some(Mtu(1_500)), "{found:?}");
}

#[test]
fn a_far_end_that_never_answers_is_a_result_and_not_an_error() {
    let (a, b) = pair();
    b.sh("nft add table ip t
        nft 'add chain ip t in { type filter hook input priority 0; }'
        nft add rule ip t in meta l4proto udp drop");
    let Some(found) = search(&a, &b, "10.9.0.", 1_500) else {
        return;
    };
    assert_eq!(found.passed, None);
    assert_eq!(found.silent, Some(Mtu(576)));
}

#[test]
fn another_runs_probes_are_not_answered() {
    let (a, b) = pair();
    let destination: IpAddr = "10.9.0.2".parse().unwrap();
    let other = hawser_model::traffic::RunKey(1);
    let responder = b
        .run(move || PathMtuResponder::open(destination, other))
        .unwrap();
    let port = responder.port();
    let found = a
        .run(move || {
            let source = "10.9.0.1".parse().unwrap();
            let deadline = Duration::from_millis(300);
            search_path_mtu(source, destination, port, KEY, Mtu(1_500), deadline)
        })
        .unwrap();
    assert_eq!(found.passed, None, "{found:?}");
}
