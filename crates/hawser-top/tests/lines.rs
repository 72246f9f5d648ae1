//! The picture as lines: all of it once, then what has changed.

mod pictures;

use hawser_model::output::live::EndKnown;
use hawser_model::output::top::Answers;
use hawser_model::units::Packets;
use hawser_model::visible::is_hidden;
use hawser_top::plain::Teller;
use pictures::{dead_head, degraded, healthy, hostile};

#[test]
fn all_of_it_is_said_once() {
    let mut teller = Teller::default();
    let said = teller.lines(&healthy());
    assert_eq!(
        said,
        [
            "cluster lab: no alarm",
            "head head1: online, has quorum",
            "head head2: online, has quorum",
            "link ring0: heartbeat, switch sw0",
            "link ring0, port of head1: eth0 has carrier, 10.0 Gbit/s, in 84.3 kB/s, 120 pkt/s, out 9.61 kB/s, 61 pkt/s",
            "link ring0, port of head2: eth0 has carrier, 10.0 Gbit/s, in 84.3 kB/s, 120 pkt/s, out 9.61 kB/s, 61 pkt/s",
            "link ring0, head1 to head2: up, round trip 0.312 ms, 0 of 60 pings not answered",
            "link ring0, head2 to head1: up, round trip 0.298 ms, 0 of 60 pings not answered",
            "link ring1: heartbeat, switch sw1",
            "link ring1, port of head1: eth1 has carrier, 10.0 Gbit/s, in 84.3 kB/s, 120 pkt/s, out 9.61 kB/s, 61 pkt/s",
            "link ring1, port of head2: eth1 has carrier, 10.0 Gbit/s, in 84.3 kB/s, 120 pkt/s, out 9.61 kB/s, 61 pkt/s",
            "link ring1, head1 to head2: up, round trip 0.312 ms, 0 of 60 pings not answered",
            "link ring1, head2 to head1: up, round trip 0.298 ms, 0 of 60 pings not answered",
            "link san01: clients, switch sw2",
            "link san01, port of head1: eth2 has carrier, 10.0 Gbit/s, in 84.3 kB/s, 120 pkt/s, out 9.61 kB/s, 61 pkt/s",
            "link san01, port of head2: eth2 has carrier, 10.0 Gbit/s, in 84.3 kB/s, 120 pkt/s, out 9.61 kB/s, 61 pkt/s",
            "link san02: clients, switch sw3",
            "link san02, port of head1: eth3 has carrier, 10.0 Gbit/s, in 84.3 kB/s, 120 pkt/s, out 9.61 kB/s, 61 pkt/s",
            "link san02, port of head2: eth3 has carrier, 10.0 Gbit/s, in 84.3 kB/s, 120 pkt/s, out 9.61 kB/s, 61 pkt/s",
            "pool vmpool01: on head1, offered; 10.72.2.207 on san01 up; 10.72.3.207 on san02 up; 37 % full",
            "pool vmpool02: on head2, offered; 10.72.2.208 on san01 up; 10.72.3.208 on san02 up; 81 % full",
            "if head1 died now: head1 is fenced; vmpool01 starts on head2; head2 takes vmpool01's addresses",
            "if head2 died now: head2 is fenced; vmpool02 starts on head1; head1 takes vmpool02's addresses",
            "incident 20261125-031412, 2026-11-25 03:14:12.903: vmpool02 away for 5.548 s: head2 was lost and fenced",
            "incident 20261119-120007, 2026-11-19 12:00:07.001: vmpool01 and 1 more away for 2.310 s: head1 was put in standby",
        ]
    );
    // Numbers that change all the time say nothing by themselves.
    let mut later = healthy();
    later.now += 1;
    later.links[0].ways[0].link.latency_s = Some(0.000_4);
    later.links[0].ways[0].link.lost = Some(1);
    later.pools[0].used_percent = Some(38);
    let EndKnown::Port(port) = &mut later.links[0].ports[0].end.what else {
        unreachable!("a port");
    };
    port.rates = None;
    port.dropped = [("NETFILTER_DROP".to_owned(), Packets(3))].into();
    assert_eq!(teller.lines(&later), [""; 0]);
}

#[test]
fn what_changes_is_said_with_its_time_and_what_ends_too() {
    let mut teller = Teller::default();
    teller.lines(&healthy());
    assert_eq!(
        teller.lines(&degraded()),
        [
            "18:30:00 cluster lab: 2 alarms, the worst: error",
            "18:30:00 alarm: error link-down, since 18:29:55, 5 s: ring1 of head1 is up but has no carrier: link ring1 is dead \
             for this host. With it: heartbeat link ring1 between head1 and head2 is down.",
            "18:30:00 alarm: warning heartbeat-link-lossy, 4 times, since 18:18:55 or before: heartbeat link ring0 between head1 \
             and head2 loses pings: 7 of 60",
            "18:30:00 head head1: online, has quorum, 2 alarms",
            "18:30:00 head head2: online, has quorum, 1 alarm",
            "18:30:00 link ring1, port of head1: eth1 has no carrier",
            "18:30:00 link ring1, head1 to head2: DOWN",
            "18:30:00 link ring1, head2 to head1: DOWN",
            "18:30:00 pool vmpool01: on head1, offered; 10.72.2.207 on san01 up; 10.72.3.207 on san02 up; \
             wwn-0x5000c500a1b2c3d4 ONLINE; sdb failed, faulty; 37 % full",
        ]
    );
    let ended = teller.lines(&healthy());
    let ended = ended.iter().filter(|line| line.contains("ended: "));
    assert_eq!(ended.count(), 2);
}

#[test]
fn a_head_that_does_not_answer_is_said_once_with_when_it_was_seen() {
    let mut teller = Teller::default();
    teller.lines(&healthy());
    let said = teller.lines(&dead_head());
    let head = "18:30:00 head head2: does not answer, last seen 18:29:13; offline, 1 alarm: ssh: connect to host head2 port 22: \
                No route to host";
    assert!(said.contains(&head.to_owned()), "{said:#?}");
    // The next attempt fails in other words.
    let mut again = dead_head();
    if let Answers::No { why, .. } = &mut again.heads[1].answers {
        *why = "Connection timed out".into();
    }
    assert_eq!(teller.lines(&again), [""; 0]);
}

#[test]
fn nothing_that_a_head_says_begins_a_line_or_hides_in_one() {
    for line in Teller::default().lines(&hostile()) {
        assert!(!line.chars().any(is_hidden), "{line:?}");
    }
}
