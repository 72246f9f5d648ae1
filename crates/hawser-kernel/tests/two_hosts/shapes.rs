//! Packets of a flow in all their shapes are told apart from others: fragments, super-packets,
//! echoes, tagged, damaged, multicast, TCP.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::Command;

use crate::lab::{FLOW, Pair, drain, drops, flow_drops, local, probe, send, tapped};
use hawser_model::drops::TapDirection::{Received, Sent};
use hawser_model::drops::{DropScope, DropSubject};
use hawser_model::traffic::WatchedFlow;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, setsockopt,
    socket, sockopt,
};

/// Drops every IPv4 and IPv6 packet of UDP or TCP, fragments too, before they are put together.
const DROP_ALL: &str = "nft 'table netdev t { chain c { type filter hook ingress device ring0 \
     priority 0; meta protocol { ip, ip6 } ip6 nexthdr != ipv6-icmp drop; \
     meta protocol ip drop; }; }'";

#[test]
fn fragments() {
    let Some(mut net) = Pair::new() else { return };
    net.b.sh(DROP_ALL);
    for (from, to) in [
        ("10.77.0.1:0", "10.77.0.2:0"),
        ("[fd77::1]:0", "[fd77::2]:0"),
    ] {
        let (sender, receiver) = (net.a.udp(from), net.b.udp(to));
        let flow = net.flow(&sender, &receiver);
        let (a, b) = net.window(&flow, |_| {
            // 4000 bytes are three fragments at MTU 1500.
            send(&sender, local(&receiver), &probe(4000), 10);
        });
        let told: u64 = flow_drops(&b).iter().map(|d| d.2).sum();
        assert_eq!(told, 10, "{to}: {:?}", b.drops);
        let later = drops(&b, DropScope::ThisHost, DropSubject::FlowFragment(FLOW));
        assert_eq!(later.iter().map(|d| d.3).sum::<u64>(), 20, "{to}");
        assert_eq!(tapped(&a, Sent), (10, 0, 20), "{to}");
        assert_eq!(tapped(&b, Received), (10, 0, 20), "{to}");
    }
}

#[test]
fn a_datagram_that_waits_for_a_lost_fragment_too_long() {
    let Some(mut net) = Pair::new() else { return };
    net.b.sh("echo 1 >/proc/sys/net/ipv4/ipfrag_time");
    // Only the last fragment has no "more fragments" bit and an offset.
    net.b.sh(
        "nft 'table netdev t { chain c { type filter hook ingress device ring0 priority 0; \
         ip frag-off & 0x1fff != 0 ip frag-off & 0x2000 == 0 drop; }; }'",
    );
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    let flow = net.flow(&sender, &receiver);
    let (_, b) = net.window(&flow, |net| {
        send(&sender, local(&receiver), &probe(2000), 10);
        let timeouts = r"awk '/^Ip: [0-9]/ { exit $14 < 10 }' /proc/net/snmp";
        net.b.until(timeouts);
    });
    assert_eq!(drain(&receiver), 0);
    let all = b.drops.as_ref().unwrap();
    let of = |reason: &str, subject| -> u64 {
        let same = all
            .iter()
            .filter(|d| d.reason == reason && d.subject == subject);
        same.map(|d| d.packets.0).sum()
    };
    assert_eq!(
        of("NETFILTER_DROP", DropSubject::FlowFragment(FLOW)),
        10,
        "{all:?}"
    );
    assert_eq!(
        of("FRAG_REASM_TIMEOUT", DropSubject::Flow(FLOW)),
        10,
        "{all:?}"
    );
    assert_eq!(b.counters.get("ip/ReasmTimeout"), Some(10));
    assert_eq!(b.counters.get("ip/ReasmFails"), Some(10));
}

#[test]
fn super_packets_count_as_the_packets_they_hold() {
    let Some(mut net) = Pair::new() else { return };
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    let flow = net.flow(&sender, &receiver);
    setsockopt(&sender.as_fd(), sockopt::UdpGsoSegment, &1000).unwrap();
    let mut payload = Vec::new();
    (0..40).for_each(|_| payload.extend(probe(1000)));
    let (a, b) = net.window(&flow, |_| {
        // With 40 000 bytes the payload is in pages, not behind the headers.
        assert_eq!(send(&sender, local(&receiver), &payload, 5), 5);
    });
    let arrived = drain(&receiver) as u64;
    let full = flow_drops(&b).iter().map(|d| d.2).sum::<u64>();
    assert_eq!(arrived + full, 200, "{:?}", b.drops);
    assert_eq!(tapped(&a, Sent), (200, 0, 0));
    assert_eq!(tapped(&b, Received), (200, 0, 0));

    net.a.sh(
        "nft 'table ip t { chain c { type filter hook postrouting priority 0; \
         meta l4proto udp drop; }; }'",
    );
    let (a, _) = net.window(&flow, |_| {
        send(&sender, local(&receiver), &payload, 5);
    });
    assert_eq!(flow_drops(&a), [("NETFILTER_DROP", Some("ring0"), 200)]);
}

#[test]
fn echoes() {
    let Some(mut net) = Pair::new() else { return };
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    net.a.sh(DROP_ALL);
    let flow = net.flow(&sender, &receiver);
    let (a, b) = net.window(&flow, |_| {
        send(&sender, local(&receiver), &probe(100), 4);
        send(&receiver, local(&sender), &probe(100), 9);
    });
    assert_eq!(flow_drops(&a), []);
    let echoes = drops(&a, DropScope::ThisHost, DropSubject::FlowEcho(FLOW));
    assert_eq!(echoes.iter().map(|d| d.3).sum::<u64>(), 9, "{:?}", a.drops);
    assert_eq!(tapped(&a, Received), (0, 0, 0), "echoes are not the flow");
    assert_eq!(tapped(&a, Sent), (4, 0, 0));
    assert_eq!(tapped(&b, Received), (4, 0, 0));
    assert_eq!(drain(&receiver), 4);
}

/// A UDP datagram with the flow's ports and the given checksum, as IP payload.
fn raw_datagram(flow: &WatchedFlow, payload: &[u8], checksum: u16) -> Vec<u8> {
    let mut datagram = Vec::new();
    for word in [
        flow.source_port,
        flow.destination_port,
        8 + payload.len() as u16,
        checksum,
    ] {
        datagram.extend(word.to_be_bytes());
    }
    datagram.extend(payload);
    datagram
}

fn send_raw(net: &Pair, flow: &WatchedFlow, datagram: Vec<u8>, count: usize) {
    let IpAddr::V4(to) = flow.destination else {
        panic!("IPv4 only");
    };
    net.a.run(move || {
        let raw = socket(
            AddressFamily::Inet,
            SockType::Raw,
            SockFlag::empty(),
            SockProtocol::Udp,
        )
        .expect("raw socket");
        let to = SockaddrIn::from(SocketAddrV4::new(to, 0));
        for _ in 0..count {
            sendto(raw.as_raw_fd(), &datagram, &to, MsgFlags::empty()).expect("sendto");
        }
    });
}

#[test]
fn a_wrong_checksum_and_a_damaged_magic() {
    let Some(mut net) = Pair::new() else { return };
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    let flow = net.flow(&sender, &receiver);
    let damaged = {
        let mut payload = probe(100);
        payload[3] ^= 1;
        payload
    };
    let (a, b) = net.window(&flow, |net| {
        send_raw(net, &flow, raw_datagram(&flow, &probe(100), 0xdead), 12);
        send_raw(net, &flow, raw_datagram(&flow, &damaged, 0xdead), 3);
        // Checksum 0 is none: not dropped, but damaged all the same.
        send_raw(net, &flow, raw_datagram(&flow, &damaged, 0), 2);
        // A checksum is looked at when the datagram is read.
        assert_eq!(drain(&receiver), 2);
    });
    let all = b.drops.as_ref().unwrap();
    let bad: u64 = all
        .iter()
        .filter(|d| d.reason == "UDP_CSUM" && d.subject == DropSubject::Flow(FLOW))
        .map(|d| d.packets.0)
        .sum();
    assert_eq!(bad, 15, "{all:?}");
    assert_eq!(b.counters.get("udp/InCsumErrors"), Some(15));
    assert_eq!(tapped(&a, Sent), (12, 5, 0));
    assert_eq!(tapped(&b, Received), (12, 5, 0));
}

/// An Ethernet frame with a VLAN tag around the flow's datagram.
fn tagged_frame(flow: &WatchedFlow, payload: &[u8]) -> Vec<u8> {
    let datagram = raw_datagram(flow, payload, 0);
    let (IpAddr::V4(from), IpAddr::V4(to)) = (flow.source, flow.destination) else {
        panic!("IPv4 only");
    };
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 1]);
    // 802.1Q, priority 2 and VLAN 0x505: the tag's first byte looks like an IPv4 header's.
    frame.extend([0x81, 0x00, 0x45, 0x05, 0x08, 0x00]);
    frame.extend([0x45, 0]);
    frame.extend((20 + datagram.len() as u16).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend(from.octets());
    frame.extend(to.octets());
    frame.extend(datagram);
    frame
}

/// The kernel here may have no VLAN devices; tagged frames pass a packet socket all the same.
#[test]
fn a_vlan_tag_is_looked_through() {
    let Some(mut net) = Pair::new() else { return };
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    let flow = net.flow(&sender, &receiver);
    net.b.sh("tc qdisc add dev ring0 clsact
         tc filter add dev ring0 ingress protocol all bpf da bytecode '1,6 0 0 2'");
    let frame = tagged_frame(&flow, &probe(100));
    let (a, b) = net.window(&flow, |net| {
        net.a.run(move || {
            let raw = socket(
                AddressFamily::Packet,
                SockType::Raw,
                SockFlag::empty(),
                SockProtocol::EthAll,
            )
            .expect("packet socket");
            let ring0 = nix::ifaddrs::getifaddrs()
                .expect("getifaddrs")
                .filter(|interface| interface.interface_name == "ring0")
                .find_map(|interface| interface.address?.as_link_addr().copied())
                .expect("ring0 has a link-layer address");
            for _ in 0..20 {
                sendto(raw.as_raw_fd(), &frame, &ring0, MsgFlags::empty()).expect("sendto");
            }
        });
    });
    assert_eq!(flow_drops(&b), [("TC_INGRESS", Some("ring0"), 20)]);
    assert_eq!(tapped(&a, Sent), (20, 0, 0));
    assert_eq!(tapped(&b, Received), (20, 0, 0));
}

#[test]
fn a_group_that_nobody_joined() {
    let Some(mut net) = Pair::new() else { return };
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("239.1.2.3:0"));
    setsockopt(&sender.as_fd(), sockopt::IpMulticastTtl, &1).unwrap();
    net.a.sh("ip route add 239.0.0.0/8 dev ring0");
    let flow = net.flow(&sender, &receiver);
    let group = local(&receiver);
    // Joined on the loopback interface it passes none of the filters of the card either.
    let (_, b) = net.window(&flow, |_| {
        send(&sender, group, &probe(100), 20);
    });
    assert_eq!(drain(&receiver), 0);
    assert_eq!(
        drops(&b, DropScope::ThisHost, DropSubject::Flow(FLOW)),
        [("NOT_SPECIFIED", "ip_rcv_finish_core", Some("ring0"), 20)]
    );

    let joined = receiver.try_clone().unwrap();
    net.b.run(move || {
        joined
            .join_multicast_v4(&Ipv4Addr::new(239, 1, 2, 3), &Ipv4Addr::new(10, 77, 0, 2))
            .unwrap();
    });
    let (_, b) = net.window(&flow, |_| {
        send(&sender, group, &probe(100), 20);
    });
    assert_eq!(drain(&receiver), 20);
    assert_eq!(flow_drops(&b), []);
    assert_eq!(tapped(&b, Received), (20, 0, 0));
}

#[test]
fn a_tcp_connection_is_known_by_its_ports() {
    let Some(mut net) = Pair::new() else { return };
    let listener = net.b.run(|| TcpListener::bind("10.77.0.2:0")).unwrap();
    let to = listener.local_addr().unwrap();
    let mut stream = net.a.run(move || TcpStream::connect(to)).unwrap();
    let (_accepted, _) = listener.accept().unwrap();
    let from = stream.local_addr().unwrap();
    let flow = WatchedFlow {
        flow: FLOW,
        source: from.ip(),
        source_port: from.port(),
        destination: to.ip(),
        destination_port: to.port(),
        interface: "ring0".into(),
    };
    net.b.sh(DROP_ALL);
    let (a, b) = net.window(&flow, |_| {
        stream
            .write_all(b"one segment, and again, and again")
            .unwrap();
    });
    let dropped: u64 = flow_drops(&b).iter().map(|d| d.2).sum();
    assert!(dropped > 0, "{:?}", b.drops);
    assert_eq!(tapped(&b, Received), (dropped, 0, 0));
    // It is sent again meanwhile, and the windows of the two hosts do not end together.
    let (sent, _, _) = tapped(&a, Sent);
    assert!((1..=dropped).contains(&sent), "{sent}: {a:?} {b:?}");
}

/// Drops of the XDP hook stand in front of the tap, in the driver or not.
#[test]
fn xdp_drops_before_the_tap() {
    let Some(mut net) = Pair::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let object = dir.path().join("xdp_drop.bpf.o");
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/two_hosts/fixtures/xdp_drop.bpf.c");
    let compiled = Command::new("clang")
        .args(["--target=bpf", "-O2", "-c"])
        .arg(source)
        .arg("-o")
        .arg(&object)
        .status();
    assert!(
        compiled
            .expect("clang runs, it also compiles the crate")
            .success()
    );
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    let flow = net.flow(&sender, &receiver);
    for mode in ["xdpgeneric", "xdpdrv"] {
        let object = object.display();
        net.b.sh(&format!(
            "ip link set dev ring0 {mode} object {object} section xdp"
        ));
        let (a, b) = net.window(&flow, |_| {
            send(&sender, local(&receiver), &probe(100), 20);
        });
        net.b.sh(&format!("ip link set dev ring0 {mode} off"));
        assert_eq!(drain(&receiver), 0);
        assert_eq!(tapped(&a, Sent), (20, 0, 0), "{mode}");
        assert_eq!(tapped(&b, Received), (0, 0, 0), "{mode}");
        // Named by where, not why: the kernel gives no reason here.
        let told = drops(&b, DropScope::ThisHost, DropSubject::Flow(FLOW));
        assert_eq!(told.len(), 1, "{told:?}");
        let (_, location, interface, packets) = told[0];
        assert!(location.contains("xdp"), "{mode}: {location}");
        assert_eq!((interface, packets), (Some("ring0"), 20));
        if mode == "xdpdrv" {
            let counted = b
                .counters
                .under("driver/ring0/")
                .filter(|c| c.0.contains("xdp_drops"));
            assert_eq!(counted.map(|c| c.1).sum::<u64>(), 20, "{:?}", b.counters);
        }
    }
}

/// Another host of the same kernel, between two others' sockets: nothing of theirs is its own.
#[test]
fn another_host_s_drops_are_not_this_host_s() {
    let Some(mut net) = Pair::new() else { return };
    let Some(other) = Pair::new() else { return };
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    let (theirs, nobody): (UdpSocket, SocketAddr) = {
        let gone = other.b.udp("10.77.0.2:0");
        (other.a.udp("10.77.0.1:0"), local(&gone))
    };
    let flow = net.flow(&sender, &receiver);
    let (a, b) = net.window(&flow, |_| {
        send(&theirs, nobody, &probe(100), 20);
    });
    for window in [a, b] {
        let no_socket = window
            .drops
            .as_ref()
            .unwrap()
            .iter()
            .filter(|d| d.reason == "NO_SOCKET");
        assert_eq!(no_socket.count(), 0, "{:?}", window.drops);
    }
}
