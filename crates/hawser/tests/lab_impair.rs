//! Given a fault planted in a lab, exactly the packets that the lab counts suffer from it, and
//! both hosts stay clean.

mod support;

use std::fs;
use std::time::Duration;

use hawser_lab::impair::Direction::{FromNode, ToNode};
use hawser_lab::impair::{Changed, MachineSetting, Numbers};
use hawser_model::units::Mtu;
use nix::fcntl::{Flock, FlockArg};
use support::{Lab, Traffic, eventually, is_running};

/// head2 on ring0, to which all traffic here is sent.
const TARGET: &str = "10.72.0.2";

impl Lab {
    /// Plants a fault on head2's port of ring0.
    fn plant(&self, options: &[&str]) {
        let mut all = vec!["impair", "head2/ring0", "--only", "udp"];
        all.extend(options);
        self.ok(&all);
    }

    fn traffic(&self, count: u64, size: u32) -> Traffic {
        self.send_udp("head1", "head2", TARGET, count, size)
    }

    /// What both hosts count as dropped, anywhere on the way of a UDP packet.
    fn host_drops(&self) -> u64 {
        let of_host = |node| {
            self.interface_drops(node, "ring0")
                + self.snmp(node, "Udp", "InErrors")
                + self.snmp(node, "Udp", "RcvbufErrors")
                + self.snmp(node, "Udp", "SndbufErrors")
                + self.snmp(node, "Ip", "InDiscards")
                + self.snmp(node, "Ip", "OutDiscards")
                + self.snmp(node, "Ip", "FragFails")
        };
        of_host("head1") + of_host("head2")
    }
}

#[test]
fn every_fault_is_counted_to_the_packet() {
    let lab = Lab::up();
    for of_a_fault in [
        options_that_do_not_fit_the_place_are_refused_by_name,
        without_a_fault_nothing_is_lost,
        random_loss_is_counted_to_the_packet_in_the_direction_it_was_planted,
        a_fault_from_a_node_hits_what_it_sends,
        runs_of_loss_have_the_length_and_distance_that_was_asked_for,
        a_gilbert_channel_loses_in_runs,
        duplicates_are_counted_to_the_packet,
        reordered_packets_are_overtaken_and_none_is_lost,
        a_port_with_a_small_mtu_swallows_what_is_too_big_without_a_word,
        a_rate_limit_drops_what_its_queue_does_not_take,
        a_switch_that_snoops_and_queries_keeps_multicast_from_those_who_did_not_join,
        corruption_passes_checksum_offload_and_is_caught_without_it,
        a_packet_filter_in_a_node_counts_what_it_drops,
        faults_outlive_a_power_cycle_and_so_do_their_counts,
    ] {
        of_a_fault(&lab);
        lab.ok(&["clear", "--all"]);
    }
}

#[track_caller]
fn without_a_fault_nothing_is_lost(lab: &Lab) {
    let clean = Traffic {
        sent: 20_000,
        received: 20_000,
        duplicates: 0,
        reordered: 0,
        damaged: 0,
    };
    assert_eq!(lab.traffic(20_000, 800), clean);
    assert!(lab.status().impairments.is_empty());
}

#[track_caller]
fn random_loss_is_counted_to_the_packet_in_the_direction_it_was_planted(lab: &Lab) {
    lab.plant(&["--loss", "5%", "--direction", "to-node"]);
    let sent = lab.traffic(20_000, 800);
    let counts = lab.counts("head2", "ring0", ToNode);
    assert_eq!((counts.seen, counts.lost), (20_000, sent.lost()));
    // 5 % of 20 000, give or take six standard deviations (31 each).
    assert!((815..=1185).contains(&sent.lost()), "{sent:?}");
    assert_eq!(lab.host_drops(), 0);
    // The way back is untouched.
    let back = lab.send_udp("head2", "head1", "10.72.0.1", 5_000, 800);
    assert_eq!(back.lost(), 0);
    lab.ok(&["clear", "head2/ring0"]);
    assert_eq!(lab.traffic(5_000, 800).lost(), 0);
}

#[track_caller]
fn a_fault_from_a_node_hits_what_it_sends(lab: &Lab) {
    lab.plant(&["--loss", "50%", "--direction", "from-node"]);
    assert_eq!(lab.traffic(2_000, 800).lost(), 0);
    let sent = lab.send_udp("head2", "head1", "10.72.0.1", 10_000, 800);
    assert_eq!(sent.lost(), lab.counts("head2", "ring0", FromNode).lost);
    assert!((4_700..=5_300).contains(&sent.lost()), "{sent:?}");
    assert_eq!(lab.host_drops(), 0);
}

#[track_caller]
fn runs_of_loss_have_the_length_and_distance_that_was_asked_for(lab: &Lab) {
    lab.plant(&["--burst-loss", "20/1000", "--direction", "to-node"]);
    assert_eq!(lab.traffic(10_000, 800).lost(), 200);
    assert_eq!(lab.counts("head2", "ring0", ToNode).lost, 200);
}

#[track_caller]
fn a_gilbert_channel_loses_in_runs(lab: &Lab) {
    lab.plant(&["--gilbert", "1%,20%", "--direction", "to-node"]);
    let sent = lab.traffic(40_000, 800);
    assert_eq!(sent.lost(), lab.counts("head2", "ring0", ToNode).lost);
    // worse / (worse + better) = 4.8 % of 40 000, in about 380 runs of 5 packets.
    assert!((1_300..=2_600).contains(&sent.lost()), "{sent:?}");
}

#[track_caller]
fn corruption_passes_checksum_offload_and_is_caught_without_it(lab: &Lab) {
    lab.plant(&["--corrupt", "5%", "--direction", "to-node"]);
    // With offload no checksum is ever computed between two veth ends: delivered, damaged.
    let offloaded = lab.traffic(10_000, 800);
    let first = lab.counts("head2", "ring0", ToNode).corrupted;
    assert_eq!((offloaded.lost(), offloaded.damaged), (0, first));
    assert_eq!(lab.snmp("head2", "Udp", "InCsumErrors"), 0);

    lab.sh("head1", "ethtool -K ring0 tx off");
    let checked = lab.traffic(10_000, 800);
    let second = lab.counts("head2", "ring0", ToNode).corrupted - first;
    lab.sh("head1", "ethtool -K ring0 tx on");
    assert_eq!((checked.lost(), checked.damaged), (second, 0));
    assert_eq!(lab.snmp("head2", "Udp", "InCsumErrors"), second);
    assert!(first > 300 && second > 300, "{first} {second}");
}

#[track_caller]
fn duplicates_are_counted_to_the_packet(lab: &Lab) {
    for direction in ["to-node", "from-node"] {
        lab.plant(&["--duplicate", "10%", "--direction", direction]);
        let (from, to, address) = match direction {
            "to-node" => ("head1", "head2", TARGET),
            _ => ("head2", "head1", "10.72.0.1"),
        };
        let sent = lab.send_udp(from, to, address, 10_000, 800);
        let way = if direction == "to-node" {
            ToNode
        } else {
            FromNode
        };
        let counts = lab.counts("head2", "ring0", way);
        assert_eq!(
            (sent.lost(), sent.duplicates),
            (0, counts.duplicated),
            "{direction}"
        );
        assert!(counts.duplicated > 700, "{direction}: {counts:?}");
        lab.ok(&["clear", "head2/ring0"]);
    }
}

#[track_caller]
fn reordered_packets_are_overtaken_and_none_is_lost(lab: &Lab) {
    lab.plant(&["--reorder", "2%", "--direction", "to-node"]);
    // Paced and in full flight: five held packets in a hundred are overtaken either way.
    for (count, gap) in [
        (2_000, Duration::from_micros(200)),
        (20_000, Duration::ZERO),
    ] {
        let before = lab.counts("head2", "ring0", ToNode).overtaken;
        let sent = lab.send_udp_paced("head1", "head2", TARGET, count, 800, gap);
        let counts = lab.counts("head2", "ring0", ToNode);
        assert_eq!((sent.lost(), sent.duplicates, sent.damaged), (0, 0, 0));
        assert_eq!(sent.reordered, counts.overtaken - before, "{counts:?}");
        assert_eq!(counts.held, counts.released);
        assert!(sent.reordered * 1000 > count * 10, "{sent:?}");
    }
    // Held packets keep a valid checksum, offloaded or not.
    assert_eq!(lab.snmp("head2", "Udp", "InCsumErrors"), 0);
    lab.ok(&["clear", "head2/ring0"]);
    assert_eq!(lab.traffic(5_000, 800).reordered, 0);
    assert_eq!(
        lab.ok(&["exec", "sw0", "--", "ip", "-br", "link"])
            .matches("hold-")
            .count(),
        0
    );
}

#[track_caller]
fn a_port_with_a_small_mtu_swallows_what_is_too_big_without_a_word(lab: &Lab) {
    lab.ok(&["impair", "head2/ring0", "--mtu", "1400"]);
    let fault = lab.impairment("head2", "ring0", ToNode).faults;
    assert_eq!(fault.mtu, Some(Mtu(1400)));
    // 1372 bytes of payload, 8 of UDP and 20 of IPv4 are 1400.
    assert_eq!(lab.traffic(500, 1372).lost(), 0);
    // What nobody receives is not waited for.
    lab.fire_udp("head1", TARGET, 500, 1376, Duration::ZERO);
    lab.fire_udp("head2", "10.72.0.1", 500, 1376, Duration::ZERO);
    for way in [ToNode, FromNode] {
        let swallowed = || lab.counts("head2", "ring0", way).too_big == 500;
        assert!(eventually(Duration::from_secs(10), swallowed), "{way:?}");
    }
    assert_eq!(lab.host_drops(), 0);
    assert_eq!(lab.snmp("head1", "Icmp", "InDestUnreachs"), 0);
}

#[track_caller]
fn a_rate_limit_drops_what_its_queue_does_not_take(lab: &Lab) {
    lab.plant(&["--rate", "20Mbit", "--queue", "64k"]);
    let sent = lab.traffic(10_000, 800);
    let dropped = lab.impairment("head2", "ring0", ToNode).queue_dropped;
    assert_eq!(dropped, Some(sent.lost()));
    assert!(sent.lost() > 1_000, "{sent:?}");
    // The other direction has a queue of its own.
    let back = lab.send_udp("head2", "head1", "10.72.0.1", 10_000, 800);
    let dropped = lab.impairment("head2", "ring0", FromNode).queue_dropped;
    assert_eq!(dropped, Some(back.lost()));
    assert!(back.lost() > 1_000, "{back:?}");
    assert_eq!(lab.host_drops(), 0);
    lab.ok(&["clear", "--all"]);
    assert_eq!(lab.traffic(10_000, 800).lost(), 0);
}

#[track_caller]
fn faults_outlive_a_power_cycle_and_so_do_their_counts(lab: &Lab) {
    lab.plant(&["--burst-loss", "1/10", "--direction", "to-node"]);
    lab.ok(&["impair", "head2", "--nft-drop", "100%"]);
    lab.ok(&["power", "cut", "head2"]);
    lab.ok(&["power", "on", "head2"]);
    lab.fire_udp("head1", TARGET, 100, 800, Duration::ZERO);
    let filtered = || {
        lab.status().machines[1]
            .filter
            .is_some_and(|it| it.dropped == Some(90))
    };
    assert!(
        eventually(Duration::from_secs(10), filtered),
        "the packet filter is back"
    );
    lab.ok(&["clear", "head2"]);
    assert_eq!(lab.traffic(1_000, 800).lost(), 100);
    assert_eq!(lab.counts("head2", "ring0", ToNode).lost, 110);
    // Cleared while the node is off: gone when it is on.
    lab.ok(&["power", "off", "head2"]);
    lab.ok(&["clear", "--all"]);
    lab.ok(&["power", "on", "head2"]);
    assert_eq!(lab.traffic(1_000, 800).lost(), 0);
}

#[track_caller]
fn a_packet_filter_in_a_node_counts_what_it_drops(lab: &Lab) {
    lab.ok(&["impair", "head2", "--nft-drop", "10%"]);
    let sent = lab.traffic(10_000, 800);
    let filter = lab.status().machines[1].filter.expect("a filter");
    assert_eq!(filter.dropped, Some(sent.lost()));
    assert!((800..=1_200).contains(&sent.lost()), "{sent:?}");
    lab.ok(&["clear", "head2"]);
    assert_eq!(lab.sh("head2", "nft list tables"), "");
}

#[track_caller]
fn a_switch_that_snoops_and_queries_keeps_multicast_from_those_who_did_not_join(lab: &Lab) {
    let arrived = || -> u64 {
        let text = lab.sh("head2", "cat /sys/class/net/ring0/statistics/rx_packets");
        text.trim().parse().unwrap()
    };
    // A route, since perl sends to the group by the routing table.
    lab.sh("head1", "ip route add 239.0.0.0/8 dev ring0");
    // Nobody has joined the group.
    let received = || {
        let before = arrived();
        lab.fire_udp("head1", "239.1.2.3", 1_000, 800, Duration::ZERO);
        arrived() - before
    };
    let flooded = received();
    assert!(
        flooded >= 1_000,
        "a switch that does not snoop floods: {flooded}"
    );
    lab.ok(&["impair", "sw0", "--snooping", "on", "--querier", "on"]);
    // A bridge that begins to ask believes for so long that anybody may want everything: 1 s instead of 10.
    let soon = [
        "link",
        "set",
        "sw0",
        "type",
        "bridge",
        "mcast_query_response_interval",
        "100",
    ];
    lab.ok(&[&["exec", "sw0", "--", "ip"][..], &soon].concat());
    let status = lab.status();
    assert!(status.switches[0].snooping && status.switches[0].querier);
    assert!(eventually(Duration::from_secs(15), || received() < 100));
    lab.ok(&["clear", "sw0"]);
    assert!(received() >= 1_000);
}

/// Machine-wide settings are one test: they are the same for all.
#[test]
fn machine_wide_settings_are_put_back_whatever_dies() {
    let read = || -> u64 {
        let text = fs::read_to_string("/proc/sys/net/core/rmem_default").unwrap();
        text.trim().parse().unwrap()
    };
    // Other test runs on this machine must not see a changed value as the host's own.
    let file = fs::File::create("/run/lock/hawser-test-machine-wide").unwrap();
    let _lock = Flock::lock(file, FlockArg::LockExclusive)
        .map_err(|(_, e)| e)
        .unwrap();
    let own = read();
    let other = own / 2;
    let set = ["impair", "--machine", "--rmem-default", &other.to_string()];

    let lab = Lab::up();
    let said = lab.ok(&set);
    assert!(said.contains("whole machine"), "{said}");
    assert_eq!(read(), other);
    let changed = Changed {
        before: Numbers::One(own),
        now: Numbers::One(other),
    };
    assert_eq!(
        lab.status().machine_wide[&MachineSetting::RmemDefault],
        changed
    );
    // Another lab is told who has it.
    let second = Lab::up();
    let refused = second.run(&set);
    assert!(refused.code == Some(2) && refused.stderr.contains(lab.name()));
    lab.ok(&["clear", "--machine"]);
    assert_eq!(read(), own);

    lab.ok(&set);
    assert!(
        lab.ok(&["down"])
            .contains(&format!("rmem_default is {own} again"))
    );
    assert_eq!(read(), own);

    // The lab dies with everything in it; the next `up` of any lab puts the value back.
    lab.ok(&["up"]);
    lab.ok(&set);
    let pids: Vec<i32> = lab.switches_and_nodes();
    for pid in &pids {
        let pid = nix::unistd::Pid::from_raw(*pid);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    }
    assert!(eventually(Duration::from_secs(5), || pids
        .iter()
        .all(|pid| !is_running(*pid))));
    assert_eq!(read(), other);
    let said = second.ok(&["up"]);
    assert!(
        said.contains(&format!("rmem_default is {own} again")),
        "{said}"
    );
    assert_eq!(read(), own);

    // A value that somebody else has set meanwhile is not touched.
    let third = Lab::up();
    third.ok(&set);
    fs::write(
        "/proc/sys/net/core/rmem_default",
        (other + 4096).to_string(),
    )
    .unwrap();
    let said = third.ok(&["down"]);
    fs::write("/proc/sys/net/core/rmem_default", own.to_string()).unwrap();
    assert!(said.contains("changed by somebody else"), "{said}");
}

#[track_caller]
fn options_that_do_not_fit_the_place_are_refused_by_name(lab: &Lab) {
    let cases: [(&[&str], &str); 7] = [
        (&["impair", "head1/ring0", "--nft-drop", "1%"], "--nft-drop"),
        (&["impair", "head1", "--loss", "1%"], "--loss"),
        (&["impair", "sw0", "--loss", "1%"], "--loss"),
        (&["impair", "head1/ring0"], "--loss, --burst-loss"),
        (&["impair", "head1/ring0", "--loss", "101%"], "101%"),
        (&["impair", "head1/ring9", "--loss", "1%"], "head1/ring1"),
        (&["impair", "--machine"], "--rmem-default"),
    ];
    for (arguments, expected) in cases {
        let ran = lab.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(
            ran.stderr.contains(expected),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
    assert!(lab.status().impairments.is_empty());
}
