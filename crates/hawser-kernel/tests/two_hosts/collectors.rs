//! What the collectors say of a host besides drops, and what they say where they cannot run.

use std::io::{Read, Write};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::lab::{Pair, local, probe, send};
use hawser_kernel::{Observer, host_facts};
use hawser_model::units::{BitsPerSec, Mtu, Packets};
use nix::sys::socket::{setsockopt, sockopt};

/// Runs an ignored test of this file as another program.
fn helper(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("own path"));
    command.args(["--exact", name, "--ignored", "--nocapture", "--quiet"]);
    command
}

#[test]
fn every_collector_runs_for_root_in_a_namespace_of_its_own() {
    let Some(net) = Pair::new() else { return };
    let collectors = net.a.run(|| Observer::start().collectors());
    let stopped: Vec<String> = collectors
        .iter()
        .filter_map(|c| Some(format!("{}: {}", c.name, c.unavailable.as_ref()?)))
        .collect();
    // The kernel makes /proc/net/stat/arp_cache in its first network namespace only.
    assert!(
        stopped
            .iter()
            .all(|why| why.starts_with("neighbour: read /proc/thread-self/net/stat/arp_cache: ")),
        "{stopped:#?}"
    );
    for name in [
        "snmp",
        "link",
        "qdisc",
        "nftables",
        "sock-diag",
        "drop-reasons",
        "tap",
    ] {
        assert!(collectors.iter().any(|c| c.name == name), "{name}");
    }
}

#[test]
#[ignore = "run by the next test, without privileges"]
fn print_collectors() {
    let mut observer = Observer::start();
    for collector in observer.collectors() {
        println!(
            "{}|{}",
            collector.name,
            collector.unavailable.unwrap_or_default()
        );
    }
    observer
        .open(&[])
        .expect("a window opens with what there is");
    let window = observer.close().expect("and closes");
    println!(
        "window|{} {}",
        window.drops.is_some(),
        window.taps.is_some()
    );
}

#[test]
fn without_privileges_each_collector_says_why_and_the_rest_goes_on() {
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", "--"]);
    let inner = helper("collectors::print_collectors");
    command.arg(inner.get_program()).args(inner.get_args());
    let output = match command.output() {
        Ok(output) => output,
        Err(e) => return eprintln!("not run: setpriv: {e}"),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let why = |name: &str| {
        let line = text
            .lines()
            .find_map(|l| l.strip_prefix(&format!("{name}|")));
        line.unwrap_or_else(|| panic!("{name} is missing: {text}"))
    };
    for name in [
        "snmp",
        "netstat",
        "softnet",
        "link",
        "driver",
        "qdisc",
        "sock-diag",
    ] {
        assert_eq!(why(name), "", "{name}");
    }
    for name in ["drop-reasons", "tap"] {
        assert!(
            why(name).contains("Operation not permitted"),
            "{name}: {}",
            why(name)
        );
    }
    // Its files are root's, and ask for no capability.
    let places = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
    let is_mounted = places
        .iter()
        .any(|place| Path::new(place).join("instances").is_dir());
    let text = why("drop-reasons-tracefs");
    assert_eq!(text.is_empty(), is_mounted, "{text}");
    assert_eq!(why("window"), "false false");
}

#[test]
#[ignore = "run by the next test, as somebody else's program"]
fn hoard() {
    let socket = UdpSocket::bind("10.77.0.2:0").expect("bind");
    setsockopt(&socket.as_fd(), sockopt::RcvBuf, &4096).expect("setsockopt");
    println!("port {}", local(&socket).port());
    std::io::stdout().flush().expect("flush");
    // Until the test closes the pipe.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// A child that ends with the test.
struct Child(std::process::Child);

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn another_program_s_socket_that_drops_is_named() {
    let Some(mut net) = Pair::new() else { return };
    let mut child = net.b.run(|| {
        let mut command = helper("collectors::hoard");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Child(command.spawn().expect("the test's own program runs"))
    });
    let mut output = String::new();
    let mut pipe = child.0.stdout.take().expect("piped");
    let port: u16 = loop {
        let mut chunk = [0; 256];
        let n = pipe.read(&mut chunk).expect("read");
        assert!(n > 0, "it ended: {output}");
        output.push_str(&String::from_utf8_lossy(&chunk[..n]));
        let port = output
            .split_once("port ")
            .and_then(|(_, rest)| rest.split_once('\n'));
        if let Some((port, _)) = port {
            break port.parse().expect("a port");
        }
    };
    let (sender, ours) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    let flow = net.flow(&sender, &ours);
    let (a, b) = net.window(&flow, |_| {
        send(
            &sender,
            ([10, 77, 0, 2], port).into(),
            b"four of these fit: ".repeat(50).as_slice(),
            50,
        );
    });
    assert_eq!(b.sockets.len(), 1, "{:?}", b.sockets);
    let socket = &b.sockets[0];
    assert_eq!(socket.local.port(), port);
    assert_eq!(socket.pid, Some(child.0.id()));
    assert_eq!(
        Some(socket.drops),
        b.counters.get("udp/RcvbufErrors").map(Packets)
    );
    assert!(socket.drops > Packets(30), "{socket:?}");
    assert!(a.sockets.is_empty());
}

#[test]
fn a_host_is_described() {
    let Some(net) = Pair::new() else { return };
    net.a.sh(
        "ip link add br0 type bridge mcast_snooping 1 mcast_querier 1
         ip link add port0 type veth peer name port1
         ip link set port0 master br0
         ip link set port0 up
         ip link set port1 up
         ip link set br0 up
         ip link add link ring0 name mac0 type macvlan
         ip link set ring0 mtu 1400
         bridge mdb add dev br0 port port0 grp 239.5.5.5 permanent
         echo 2 >/proc/sys/net/ipv4/conf/ring0/force_igmp_version",
    );
    let facts = net.a.run(host_facts);
    let ring = &facts.interfaces["ring0"];
    assert_eq!(ring.mtu, Some(Mtu(1400)));
    assert!(
        ring.addresses.contains(&([10, 77, 0, 1].into(), 24)),
        "{ring:?}"
    );
    assert!(
        ring.addresses.contains(&("fd77::1".parse().unwrap(), 64)),
        "{ring:?}"
    );
    assert!(ring.up && ring.carrier);
    assert_eq!(ring.driver.as_deref(), Some("veth"));
    assert_eq!(ring.speed, Some(BitsPerSec(10_000_000_000)));
    assert_eq!(ring.duplex.as_deref(), Some("full"));
    assert_eq!(ring.bus, None);
    assert!(ring.lower.is_empty(), "a veth's peer is not below it");
    assert_eq!(facts.interfaces["mac0"].lower, ["ring0".into()]);
    assert_eq!(facts.interfaces["br0"].lower, ["port0".into()]);
    assert!(
        ring.features_on
            .iter()
            .any(|f| f == "tx-checksum-ip-generic")
    );
    net.a.sh("ethtool -K ring0 tx off >/dev/null");
    let without = net.a.run(host_facts);
    let features = &without.interfaces["ring0"].features_on;
    assert!(
        !features.iter().any(|f| f == "tx-checksum-ip-generic"),
        "{features:?}"
    );

    assert_eq!(facts.sysctls["net.ipv4.conf.ring0.force_igmp_version"], "2");
    assert!(facts.sysctls.contains_key("net.core.rmem_max"));
    assert!(
        !facts.sysctls.contains_key("net.core.netdev_max_backlog"),
        "the machine's, not here"
    );

    let bridge = &facts.bridges["br0"];
    assert!(bridge.multicast_snooping && bridge.multicast_querier);
    assert!(
        bridge
            .groups
            .contains(&([239, 5, 5, 5].into(), "port0".into())),
        "{bridge:?}"
    );
    assert_eq!(facts.bridges.len(), 1);
    assert!(facts.cpus >= 1);
    assert!(facts.kernel.contains('.'));
}

#[test]
fn what_is_below_a_root_qdisc_is_not_added_to_it() {
    let Some(mut net) = Pair::new() else { return };
    net.a
        .sh("tc qdisc add dev ring0 root handle 1: htb default 10
         tc class add dev ring0 parent 1: classid 1:10 htb rate 1mbit burst 2k cburst 2k
         tc qdisc add dev ring0 parent 1:10 handle 10: pfifo limit 5");
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    let flow = net.flow(&sender, &receiver);
    let (a, _) = net.window(&flow, |_| {
        send(&sender, local(&receiver), &probe(1000), 50);
    });
    let of = |name: &str| {
        a.counters
            .get(name)
            .unwrap_or_else(|| panic!("{name}: {:?}", a.counters))
    };
    let root = of("qdisc/ring0/1:/htb/drops");
    assert!(root > 30, "{root}");
    assert_eq!(of("qdisc-inner/ring0/10:/pfifo/drops"), root);
    assert_eq!(of("qdisc-class/ring0/1:10/htb/drops"), root);
    let sum: u64 = a
        .counters
        .under("qdisc/ring0/")
        .filter(|c| c.0.ends_with("/drops"))
        .map(|c| c.1)
        .sum();
    assert_eq!(sum, root);
}

#[test]
fn a_window_is_opened_once_and_closed_once() {
    let mut observer = Observer::start();
    assert_eq!(
        observer.close().unwrap_err().to_string(),
        "no window is open"
    );
    observer.open(&[]).unwrap();
    assert_eq!(
        observer.open(&[]).unwrap_err().to_string(),
        "a window is open already"
    );
    assert!(observer.close().is_ok());
}
