//! Given this fault on one of two hosts, the collectors say these drops, exactly.

use std::io::Write as _;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use crate::lab::{FLOW, Pair, drain, drain_for, drops, flow_drops, local, probe, send, tapped};
use hawser_model::drops::TapDirection::{Received, Sent};
use hawser_model::drops::{DropScope, DropSubject};
use hawser_model::host::HostWindow;
use hawser_tool::Deadline;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::socket::{setsockopt, sockopt};
use nix::unistd::Pid;

#[test]
fn a_full_socket_buffer() {
    let Some(mut net) = Pair::new() else { return };
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    setsockopt(&receiver.as_fd(), sockopt::RcvBuf, &4096).unwrap();
    let flow = net.flow(&sender, &receiver);
    let (a, b) = net.window(&flow, |_| {
        assert_eq!(send(&sender, local(&receiver), &probe(500), 100), 100);
    });
    let lost = 100 - drain(&receiver) as u64;
    assert!(lost > 50, "{lost} of 100 did not fit 8 KiB");
    assert_eq!(flow_drops(&b), [("SOCKET_RCVBUFF", Some("ring0"), lost)]);
    assert_eq!(b.counters.get("udp/RcvbufErrors"), Some(lost));
    assert_eq!(flow_drops(&a), []);
    assert_eq!(tapped(&a, Sent), (100, 0, 0));
    assert_eq!(tapped(&b, Received), (100, 0, 0));
    assert_eq!(tapped(&a, Received), (0, 0, 0));
}

/// A queue may be slow.
const SLOW: Duration = Duration::from_secs(1);

#[test]
fn a_full_qdisc() {
    let Some(mut net) = Pair::new() else { return };
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    net.a
        .sh("tc qdisc add dev ring0 root handle 77: tbf rate 4mbit burst 5kb limit 10kb");
    let flow = net.flow(&sender, &receiver);
    let mut lost = 0;
    let (a, b) = net.window(&flow, |_| {
        send(&sender, local(&receiver), &probe(1000), 100);
        lost = 100 - drain_for(&receiver, SLOW) as u64;
    });
    assert!(lost > 50, "{lost} of 100 did not fit 15 kB");
    assert_eq!(flow_drops(&a), [("QDISC_DROP", Some("ring0"), lost)]);
    assert_eq!(a.counters.get("qdisc/ring0/77:/tbf/drops"), Some(lost));
    assert_eq!(a.counters.get("udp/SndbufErrors"), Some(lost));
    assert_eq!(flow_drops(&b), []);
    assert_eq!(
        tapped(&a, Sent),
        (100 - lost, 0, 0),
        "the tap is below the qdisc"
    );
    assert_eq!(tapped(&b, Received), (100 - lost, 0, 0));
}

#[test]
fn the_receiver_s_packet_filter_and_somebody_else_s_packets() {
    let Some(mut net) = Pair::new() else { return };
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    let other = net.a.udp("10.77.0.1:0");
    net.b.sh(
        "nft 'table inet t { chain c { type filter hook input priority 0; \
         meta l4proto udp counter drop; }; }'",
    );
    let flow = net.flow(&sender, &receiver);
    let (a, b) = net.window(&flow, |_| {
        send(&sender, local(&receiver), &probe(100), 20);
        // Same addresses, same destination port, another source port; then another payload.
        send(&other, local(&receiver), &probe(100), 3);
        send(&sender, local(&receiver), b"not a probe packet", 2);
    });
    assert_eq!(flow_drops(&b), [("NETFILTER_DROP", Some("ring0"), 20)]);
    let others = drops(&b, DropScope::ThisHost, DropSubject::Other);
    assert!(
        others
            .iter()
            .any(|o| (o.0, o.2, o.3) == ("NETFILTER_DROP", Some("ring0"), 5)),
        "{others:?}"
    );
    let rule: Vec<_> = b
        .counters
        .under("nft/inet/t/c/")
        .filter(|c| c.0.ends_with("/drops"))
        .collect();
    assert_eq!(rule.len(), 1);
    assert_eq!(rule[0].1, 25);
    assert_eq!(flow_drops(&a), []);
    assert_eq!(
        tapped(&b, Received),
        (20, 2, 0),
        "the tap is in front of the filter"
    );
}

#[test]
fn the_sender_s_packet_filter() {
    let Some(mut net) = Pair::new() else { return };
    let (sender, receiver) = (net.a.udp("[fd77::1]:0"), net.b.udp("[fd77::2]:0"));
    net.a.sh(
        "nft 'table inet t { chain c { type filter hook output priority 0; \
         meta l4proto udp counter drop; }; }'",
    );
    let flow = net.flow(&sender, &receiver);
    let (a, b) = net.window(&flow, |_| {
        assert_eq!(send(&sender, local(&receiver), &probe(100), 20), 0, "EPERM");
    });
    // No device is set yet in OUTPUT; the sending socket tells whose it is.
    assert_eq!(flow_drops(&a), [("NETFILTER_DROP", None, 20)]);
    assert_eq!(flow_drops(&b), []);
    assert_eq!(tapped(&a, Sent), (0, 0, 0));
}

#[test]
fn a_tc_filter_on_the_receiver() {
    let Some(mut net) = Pair::new() else { return };
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    // A classic program of one instruction: return 2, TC_ACT_SHOT.
    net.b.sh("tc qdisc add dev ring0 clsact
         tc filter add dev ring0 ingress protocol ip bpf da bytecode '1,6 0 0 2'");
    let flow = net.flow(&sender, &receiver);
    let (_, b) = net.window(&flow, |_| {
        send(&sender, local(&receiver), &probe(100), 20);
    });
    assert_eq!(flow_drops(&b), [("TC_INGRESS", Some("ring0"), 20)]);
    assert_eq!(b.counters.get("qdisc/ring0/ffff:/clsact/drops"), Some(20));
    assert_eq!(
        tapped(&b, Received),
        (20, 0, 0),
        "the tap is in front of tc"
    );
}

#[test]
fn the_reverse_path_filter() {
    let Some(mut net) = Pair::new() else { return };
    net.a.sh("ip address add 10.88.0.1/32 dev ring0");
    // With the filter on, an address without a way back gets no ARP answer either.
    net.warm_up("10.88.0.1:0", "10.77.0.2:0");
    net.b.sh("echo 1 >/proc/sys/net/ipv4/conf/all/rp_filter");
    let (sender, receiver) = (net.a.udp("10.88.0.1:0"), net.b.udp("10.77.0.2:0"));
    let flow = net.flow(&sender, &receiver);
    let (_, b) = net.window(&flow, |_| {
        send(&sender, local(&receiver), &probe(100), 20);
    });
    assert_eq!(flow_drops(&b), [("IP_RPFILTER", Some("ring0"), 20)]);
    assert_eq!(b.counters.get("tcpext/IPReversePathFilter"), Some(20));
}

#[test]
fn no_listener() {
    let Some(mut net) = Pair::new() else { return };
    for (from, to, location, counter) in [
        (
            "10.77.0.1:0",
            "10.77.0.2:0",
            "__udp4_lib_rcv",
            "udp/NoPorts",
        ),
        (
            "[fd77::1]:0",
            "[fd77::2]:0",
            "__udp6_lib_rcv",
            "udp6/NoPorts",
        ),
    ] {
        let (sender, receiver) = (net.a.udp(from), net.b.udp(to));
        let flow = net.flow(&sender, &receiver);
        let gone = local(&receiver);
        drop(receiver);
        let (_, b) = net.window(&flow, |_| {
            send(&sender, gone, &probe(100), 20);
        });
        assert_eq!(
            drops(&b, DropScope::ThisHost, DropSubject::Flow(FLOW)),
            [("NO_SOCKET", location, Some("ring0"), 20)]
        );
        assert_eq!(b.counters.get(counter), Some(20));
    }
}

#[test]
fn the_receiver_s_own_mtu() {
    let Some(mut net) = Pair::new() else { return };
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    net.b.sh("ip link set ring0 mtu 1000");
    let flow = net.flow(&sender, &receiver);
    let (a, b) = net.window(&flow, |_| {
        send(&sender, local(&receiver), &probe(1400), 20);
    });
    // The packet is still on the sender's device when its peer refuses it.
    assert_eq!(
        drops(&a, DropScope::ThisHost, DropSubject::Flow(FLOW)),
        [("NOT_SPECIFIED", "__dev_forward_skb2", Some("ring0"), 20)]
    );
    assert_eq!(flow_drops(&b), []);
    assert_eq!(a.counters.get("link/ring0/tx_dropped"), Some(20));
    assert_eq!(b.counters.get("link/ring0/rx_dropped"), Some(20));
    assert_eq!(tapped(&a, Sent), (20, 0, 0));
    assert_eq!(tapped(&b, Received), (0, 0, 0));
}

/// Sums the flow's drops of one reason.
fn of(window: &HostWindow, reason: &str) -> u64 {
    let told = flow_drops(window);
    told.iter().filter(|d| d.0 == reason).map(|d| d.2).sum()
}

/// All drops of one reason in one place, whose ever they were: a host that comes up also sends
/// a few packets of its own.
fn of_all(window: &HostWindow, reason: &str, location: Option<&str>) -> u64 {
    let drops = window.drops.iter().flatten();
    drops
        .filter(|d| d.reason == reason && location.is_none_or(|l| d.location == l))
        .map(|d| d.packets.0)
        .sum()
}

/// Makes host b slow on arrival: as many rules as it takes, the last of which drops the flow.
fn slow_down(net: &Pair) {
    net.b.sh(
        "{ echo 'table netdev t { chain c { type filter hook ingress device ring0 priority 0;'
           for i in $(seq 2000); do echo 'ip length 12345 drop;'; done
           echo 'meta l4proto udp counter drop; }; }'; } | nft -f -",
    );
}

/// Sends from the first processor only, and waits until the receiver has taken or dropped the last packet. Those that wait
/// there are still charged to the sender's buffer, so that has to be large.
fn send_from_first_cpu(net: &Pair, sender: &UdpSocket, to: SocketAddr, count: usize) {
    let sender = sender.try_clone().expect("dup");
    net.a.run(move || {
        let mut first = CpuSet::new();
        first.set(0).expect("processor 0");
        sched_setaffinity(Pid::from_raw(0), &first).expect("sched_setaffinity");
        setsockopt(&sender.as_fd(), sockopt::SndBufForce, &(64 << 20)).expect("setsockopt");
        assert_eq!(send(&sender, to, &probe(100), count), count);
        let nothing_waits = || {
            let sockets = std::fs::read_to_string("/proc/thread-self/net/udp").expect("readable");
            // proc(5): `sl local_address rem_address st tx_queue:rx_queue …`
            let mut sockets = sockets.lines().skip(1);
            sockets.all(|line| {
                let queues = line.split_whitespace().nth(4);
                queues.is_some_and(|queues| queues.starts_with("00000000:"))
            })
        };
        let until = Deadline::after(Duration::from_secs(60));
        assert!(until.holds(Duration::from_millis(20), nothing_waits));
    });
}

/// How long process 1 has run, as its threads say.
///
/// There are kernels that run no eBPF tracing program while process 1 is the current one, and count that nowhere (seen on a 6.18
/// of a virtual machine: no raw tracepoint told of whole polls that an interrupt put on top of it).
fn run_time_of_init() -> Vec<String> {
    let threads = std::fs::read_dir("/proc/1/task").expect("readable");
    let paths = threads.map(|thread| thread.expect("readable").path());
    // One may have ended meanwhile.
    let times = paths.filter_map(|path| std::fs::read_to_string(path.join("schedstat")).ok());
    times.collect()
}

#[test]
fn a_full_backlog() {
    let Some(mut net) = Pair::new() else { return };
    if std::thread::available_parallelism().map_or(1, |n| n.get()) < 2 {
        return eprintln!("not run: a backlog needs two processors to overflow");
    }
    // Packets are handed to the second processor. The host has no sysfs of its own yet.
    net.b.sh("unshare -m sh -ec 'mount -t sysfs none /sys
         echo 2 >/sys/class/net/ring0/queues/rx-0/rps_cpus'");
    slow_down(&net);
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    let flow = net.flow(&sender, &receiver);
    let before = run_time_of_init();
    let (a, b) = net.window(&flow, |net| {
        send_from_first_cpu(net, &sender, local(&receiver), 20_000);
    });
    let (backlog, filter) = (of(&b, "CPU_BACKLOG"), of(&b, "NETFILTER_DROP"));
    let told = format!("{:?}, {} not told", b.drops, b.drops_missed);
    assert!(backlog > 0, "{told}");
    assert_eq!(tapped(&a, Sent), (20_000, 0, 0));
    // The tap is behind the backlog and in front of the filter.
    let came = 20_000 - backlog;
    assert_eq!(tapped(&b, Received), (came, 0, 0), "{told}");
    let all = of_all(&b, "CPU_BACKLOG", None);
    assert_eq!(b.counters.get("link/ring0/rx_dropped"), Some(all));
    // That counter is the machine's, and other tests run on it.
    assert!(b.counters.or_zero("softnet/1/dropped") >= all);
    if filter < came && run_time_of_init() != before {
        let skipped = format!("skipped: not measured: process 1 ran, {filter} of {came} seen");
        return writeln!(std::io::stderr(), "\n{skipped}").expect("standard error");
    }
    assert_eq!(filter, came, "{told}");
}

#[test]
fn a_full_ring() {
    let Some(mut net) = Pair::new() else { return };
    if std::thread::available_parallelism().map_or(1, |n| n.get()) < 2 {
        return eprintln!("not run: a ring needs two processors to overflow");
    }
    // With GRO the peer has a ring of 256 packets and a thread of its own to empty it.
    net.b.sh("ethtool -K ring0 gro on
         unshare -m sh -ec 'mount -t sysfs none /sys; echo 1 >/sys/class/net/ring0/threaded'");
    net.a.sh("ethtool -K ring0 tso off");
    slow_down(&net);
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    let flow = net.flow(&sender, &receiver);
    let (a, b) = net.window(&flow, |net| {
        send_from_first_cpu(net, &sender, local(&receiver), 20_000);
    });
    let filter = of(&b, "NETFILTER_DROP");
    let ring: u64 = drops(&b, DropScope::ThisHost, DropSubject::Flow(FLOW))
        .iter()
        .filter(|drop| (drop.0, drop.1) == ("NOT_SPECIFIED", "veth_xmit"))
        .map(|drop| drop.3)
        .sum();
    assert!(ring > 0, "{:?}", b.drops);
    assert_eq!(ring + filter, 20_000, "{:?}", b.drops);
    let all = of_all(&b, "NOT_SPECIFIED", Some("veth_xmit"));
    assert_eq!(a.counters.get("link/ring0/tx_dropped"), Some(all));
    assert_eq!(tapped(&a, Sent), (20_000, 0, 0));
    assert_eq!(
        tapped(&b, Received),
        (filter, 0, 0),
        "the tap is behind the ring"
    );
}

#[test]
fn a_neighbour_that_does_not_answer() {
    let Some(mut net) = Pair::new() else { return };
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    let mut flow = net.flow(&sender, &receiver);
    flow.destination = [10, 77, 0, 99].into();
    let nowhere = (flow.destination, flow.destination_port).into();
    let (a, _) = net.window(&flow, |net| {
        send(&sender, nowhere, &probe(1000), 300);
        // Three requests, a second apart.
        net.a.until("ip neigh show 10.77.0.99 | grep -q FAILED");
    });
    let (full, failed) = (of(&a, "NEIGH_QUEUEFULL"), of(&a, "NEIGH_FAILED"));
    assert!(full > 0 && failed > 0, "{:?}", a.drops);
    assert_eq!(full + failed, 300, "{:?}", a.drops);
    assert_eq!(tapped(&a, Sent), (0, 0, 0));
}
