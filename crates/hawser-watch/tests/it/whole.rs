//! All heads read as `hawser top` reads them: simulated ones, over simulated seconds.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::watched::{AllWell, Head, QUESTIONS, file};
use hawser_account::incident::{Names, incidents};
use hawser_cluster::host::view::Told;
use hawser_cluster::live::{Judged, Said, Sign, StatusFacts};
use hawser_host::Clock;
use hawser_host::sim::{Simulated, Wire};
use hawser_model::finding::Severity;
use hawser_model::output::live::{EndKnown, Light};
use hawser_model::output::top::Answers;
use hawser_model::output::watch::LinkState;
use hawser_model::topology::{Node, Reach, Topology};
use hawser_watch::metrics::{self, Health};
use hawser_watch::readers::tick;
use hawser_watch::run::{EVERY, Look};
use hawser_watch::whole::{Due, Whole};

const HEADS: [&str; 2] = ["head1", "head2"];

/// Both heads of the lab's cluster, of which the links of the first are cut at set seconds.
struct Heads {
    wire: Wire,
    whole: Mutex<Whole>,
    hosts: Vec<Simulated<Head>>,
    looks: u64,
    devices: u64,
    pasts: u64,
}

impl Heads {
    fn new(whole: Whole, cuts: &[(u64, u64)]) -> Self {
        let wire = Wire::default();
        let host = |(own, name): (usize, &str)| {
            let head = Head {
                own,
                clock: wire.clock(),
                cuts: cuts.iter().filter(|_| own == 0).copied().collect(),
                carrier: true,
                full: 0..0,
                damages: 0..0,
                loses: 0..0,
                paths: Vec::new(),
                alarms: Arc::default(),
                away: 0..0,
                kept: Arc::default(),
            };
            Simulated::new(name.into(), head, QUESTIONS, &wire)
        };
        Self {
            hosts: (0..).zip(HEADS).map(host).collect(),
            whole: Mutex::new(whole),
            wire,
            looks: 0,
            devices: 0,
            pasts: 0,
        }
    }

    fn clock(&self) -> Clock {
        self.wire.clock()
    }

    /// Each second both are read, and what is due is done.
    fn run(&mut self, seconds: u64) {
        let clock = self.clock();
        for _ in 0..seconds {
            for host in &mut self.hosts {
                if let Err(e) = tick(&self.whole, host, &clock) {
                    let name = e.host.clone();
                    let mut whole = self.whole.lock().unwrap();
                    whole.silent(&name, e.failure.to_string());
                }
            }
            let mut whole = self.whole.lock().unwrap();
            let Due {
                look,
                devices,
                past,
            } = whole.due(clock.now());
            let time = clock.time_of_day().0 / 1_000_000;
            if look {
                self.looks += 1;
                self.devices += u64::from(devices);
                let mut well = AllWell::default();
                assert!(well.begin(devices));
                whole.looked(clock.now(), time, well.ended().unwrap());
            }
            if past {
                self.pasts += 1;
                whole.past(&incidents(&[], &[], &Names::default(), time));
            }
            whole.judge(clock.now(), time);
            drop(whole);
            clock.sleep(EVERY);
        }
    }

    fn codes(&self) -> Vec<String> {
        let whole = self.whole.lock().unwrap();
        whole.alarms().into_iter().map(|alarm| alarm.code).collect()
    }
}

#[test]
fn a_picture_has_of_each_head_what_it_says_of_itself() {
    let mut heads = Heads::new(Whole::new(file()), &[]);
    heads.run(20);
    assert_eq!(heads.codes(), [""; 0]);
    let picture = heads.whole.lock().unwrap().picture();
    assert_eq!(picture.cluster, "lab");
    assert_eq!(picture.light(), Light::Good);
    assert!(
        picture
            .heads
            .iter()
            .all(|head| head.answers == Answers::Yes)
    );
    let ports = &picture.links[0].ports;
    let carrier = |what: &EndKnown| matches!(what, EndKnown::Port(port) if port.carrier);
    assert!(
        ports.iter().all(|port| carrier(&port.end.what)),
        "{ports:?}"
    );
    // A way of each head to the other.
    let ways = picture.links[0].ways.iter();
    let ways = ways.map(|way| [way.from.as_str(), way.link.peer.as_str()]);
    assert_eq!(ways.collect::<Vec<_>>(), [HEADS, [HEADS[1], HEADS[0]]]);
    let way = &picture.links[0].ways[0];
    assert_eq!(way.link.state, LinkState::Up);
    assert!(picture.incidents.read);
}

#[test]
fn the_second_reading_of_a_port_tells_how_fast_it_is() {
    let mut heads = Heads::new(Whole::new(file()), &[]);
    let rates = |heads: &Heads| {
        let picture = heads.whole.lock().unwrap().picture();
        match &picture.links[0].ports[1].end.what {
            EndKnown::Port(port) => port.rates.map(|rates| rates.words()),
            what => panic!("{what:?}"),
        }
    };
    heads.run(1);
    assert_eq!(rates(&heads), None);
    heads.run(1);
    let words = ["in 1.00 kB/s, 10 pkt/s", "out 500 B/s, 5 pkt/s"];
    assert_eq!(rates(&heads), Some(words.map(str::to_owned)));
}

#[test]
fn a_quiet_cluster_is_asked_as_a_whole_at_the_beginning_and_then_seldom() {
    let mut heads = Heads::new(Whole::new(file()), &[]);
    heads.run(3600);
    assert!((12..=14).contains(&heads.looks), "{}", heads.looks);
    // Once at the beginning, and once when the first words of the logs are old.
    assert!((2..=3).contains(&heads.pasts), "{}", heads.pasts);
    heads.whole.lock().unwrap().again();
    let before = (heads.looks, heads.pasts);
    heads.run(3);
    assert_eq!((heads.looks, heads.pasts), (before.0 + 1, before.1 + 1));
}

#[test]
fn a_cut_link_is_one_alarm_of_all_heads_and_has_the_second_in_which_it_began() {
    let mut heads = Heads::new(Whole::new(file()), &[(30, 60)]);
    heads.run(40);
    assert_eq!(heads.codes(), ["link-down"]);
    let picture = heads.whole.lock().unwrap().picture();
    assert_eq!(picture.alarms[0].since, Some(30));
    assert!(picture.begun_at < 30, "{}", picture.begun_at);
    assert_eq!(picture.links[1].ports[0].end.light, Light::Bad);
    assert_eq!(picture.links[0].ports[0].end.light, Light::Good);
    heads.run(40);
    assert_eq!(heads.codes(), [""; 0]);
}

#[test]
fn what_stands_when_the_looking_begins_is_as_old_as_that_at_least() {
    let mut heads = Heads::new(Whole::new(file()), &[(0, 60)]);
    heads.run(10);
    let picture = heads.whole.lock().unwrap().picture();
    assert_eq!(picture.alarms.len(), 1);
    assert!(picture.alarms[0].since <= Some(picture.begun_at));
}

#[test]
fn a_head_that_does_not_answer_is_shown_with_when_it_was_seen_and_holds_up_no_other() {
    let mut heads = Heads::new(Whole::new(file()), &[]);
    heads.run(10);
    let looks = heads.looks;
    heads.wire.lose("head2".into());
    heads.run(10);
    assert_eq!(heads.codes(), ["head-not-reached"]);
    assert!(
        heads.looks > looks,
        "the others are asked what they know of it"
    );
    let picture = heads.whole.lock().unwrap().picture();
    let Answers::No { seen, .. } = &picture.heads[1].answers else {
        panic!("{picture:?}");
    };
    assert_eq!(*seen, Some(9));
    assert!(picture.heads[1].head.light >= Light::Warning);
    assert_eq!(picture.heads[0].answers, Answers::Yes);
    assert_eq!(picture.links[0].ports[1].end.what, EndKnown::NotKnown);
    assert_eq!(picture.light(), Light::Bad);
    // It comes back: a connection of its own, by whoever reads it.
    heads.wire.release();
    let looks = heads.looks;
    heads.hosts[1] = Heads::new(Whole::new(file()), &[]).hosts.remove(1);
    heads.run(10);
    assert_eq!(heads.codes(), [""; 0]);
    assert!(heads.looks > looks);
    let picture = heads.whole.lock().unwrap().picture();
    assert_eq!(picture.heads[1].answers, Answers::Yes);
}

#[test]
fn what_is_wrong_on_a_head_that_does_not_answer_is_not_over() {
    let mut heads = Heads::new(Whole::new(file()), &[(30, 60)]);
    heads.run(40);
    assert_eq!(heads.codes(), ["link-down"]);
    heads.wire.lose("head1".into());
    heads.run(20);
    assert_eq!(heads.codes(), ["link-down", "head-not-reached"]);
    // It answers again, and its link is up.
    heads.wire.release();
    heads.hosts[0] = Heads::new(Whole::new(file()), &[]).hosts.remove(0);
    heads.run(10);
    assert_eq!(heads.codes(), [""; 0]);
}

#[test]
fn a_corosync_that_declines_holds_up_nothing_else_of_its_head() {
    let mut heads = Heads::new(Whole::new(file()), &[]);
    heads.wire.decline(1);
    let clock = heads.clock();
    let declined = tick(&heads.whole, &mut heads.hosts[0], &clock).unwrap_err();
    assert!(declined.host_goes_on());
    assert_eq!(heads.whole.lock().unwrap().failures(), 1);
    let asked = heads.wire.asked();
    let asked: Vec<&str> = asked.iter().map(|(_, what)| *what).collect();
    assert_eq!(
        asked[1..],
        ["corosync's statistics", "the host as it stands"]
    );
}

/// What a look sees, changed.
fn looks(heads: &Heads, change: impl FnOnce(&mut StatusFacts, &mut Judged)) {
    let clock = heads.clock();
    let mut well = AllWell::default();
    assert!(well.begin(false));
    let (mut facts, mut judged) = well.ended().unwrap().unwrap();
    change(&mut facts, &mut judged);
    let mut whole = heads.whole.lock().unwrap();
    let time = clock.time_of_day().0 / 1_000_000;
    whole.looked(clock.now(), time, Ok((facts, judged)));
}

#[test]
fn a_head_that_answers_and_that_a_look_did_not_reach_is_looked_at_again_soon() {
    let mut heads = Heads::new(Whole::new(file()), &[]);
    heads.run(10);
    looks(&heads, |facts, _| {
        let head2 = "head2".into();
        facts.views.remove(&head2);
        facts.unreached.insert(head2, "no answer within 8 s".into());
    });
    let before = heads.looks;
    heads.run(29);
    assert_eq!(heads.looks, before);
    heads.run(3);
    assert_eq!(heads.looks, before + 1);
}

#[test]
fn an_alarm_about_fencing_is_not_over_because_the_fencer_is_silent() {
    let mut heads = Heads::new(Whole::new(file()), &[]);
    heads.run(10);
    looks(&heads, |_, judged| {
        judged.said.push(Said {
            mark: Sign::FencingFailed.on(&"head2".into()),
            severity: Severity::Error,
            text: "head2 could not be fenced".into(),
        });
    });
    heads.run(10);
    assert_eq!(heads.codes(), ["fencing-failed"]);
    looks(&heads, |facts, _| {
        for view in facts.views.values_mut() {
            view.fencer = Some(Told::Silent(5));
        }
    });
    heads.run(10);
    assert_eq!(heads.codes(), ["fencing-failed"]);
    looks(&heads, |_, _| {});
    heads.run(10);
    assert_eq!(heads.codes(), [""; 0]);
}

#[test]
fn an_incident_is_over_when_the_heads_that_are_left_have_no_more_news() {
    // head1's link is cut at 70 s, of which its logs tell; head2 is lost while its own logs have news.
    let mut heads = Heads::new(Whole::new(file()), &[(70, 1000)]);
    heads.run(10);
    heads.wire.lose("head2".into());
    heads.run(64);
    let running = |heads: &Heads| heads.whole.lock().unwrap().shown().running;
    assert_eq!(running(&heads), None);
    {
        let mut whole = heads.whole.lock().unwrap();
        let (now, time) = (
            heads.clock().now(),
            heads.clock().time_of_day().0 / 1_000_000,
        );
        let mut well = AllWell::default();
        assert!(well.begin(false));
        let (facts, mut judged) = well.ended().unwrap().unwrap();
        judged.said.push(Said {
            mark: Sign::HeadAway.on(&"head2".into()),
            severity: Severity::Warning,
            text: "head2 is away".into(),
        });
        whole.looked(now, time, Ok((facts, judged)));
        whole.judge(now, time);
    }
    let words = running(&heads).map(|it| (it.trigger, it.since));
    assert_eq!(words, Some(("head2 is away".into(), 74)));
    heads.run(20);
    assert!(running(&heads).is_some());
    heads.run(40);
    assert_eq!(running(&heads), None);
}

#[test]
fn a_watch_of_all_heads_says_of_each_sample_whose_it_is_and_whether_the_head_answers() {
    let mut heads = Heads::new(Whole::new(file()), &[]);
    let metrics = |heads: &Heads| {
        let shown = heads.whole.lock().unwrap().shown();
        let metrics = metrics::text(&shown, Health::default());
        (shown, metrics)
    };
    // Of heads that were not asked yet nothing is claimed.
    assert!(!metrics(&heads).1.contains("{head="));
    heads.run(10);
    let (shown, text) = metrics(&heads);
    assert_eq!(shown.members.len(), 2);
    for head in HEADS {
        for sample in [
            "head_reached",
            "corosync_up",
            "heartbeat_link_up",
            "interface_carrier",
        ] {
            let sample = format!("\nhawser_{sample}{{head=\"{head}\"");
            assert!(text.contains(&sample), "{sample}: {text}");
        }
    }
    heads.wire.lose("head2".into());
    heads.run(10);
    let (shown, text) = metrics(&heads);
    let silent = &shown.reading.heads[1];
    assert!(silent.unreached.is_some());
    assert_eq!(silent.seen_at, Some(9));
    assert!(!shown.heads.contains_key("head2"));
    assert!(
        text.contains("\nhawser_head_reached{head=\"head2\"} 0.0\n"),
        "{text}"
    );
    assert!(text.contains("\nhawser_head_last_seen_timestamp_seconds{head=\"head2\"} 9.0\n"));
    assert!(
        !text.contains("hawser_corosync_up{head=\"head2\""),
        "it is not known"
    );
    let alarms = shown.reading.alarms.iter().map(|alarm| alarm.code.as_str());
    assert_eq!(alarms.collect::<Vec<_>>(), ["head-not-reached"]);
    assert_eq!(heads.whole.lock().unwrap().failures(), 10);
}

#[test]
fn nothing_is_known_before_anything_was_read() {
    let mut whole = Whole::new(file());
    whole.judge(Duration::ZERO, 7);
    let picture = whole.picture();
    assert_eq!(picture.light(), Light::Unknown);
    assert_eq!(picture.alarms, []);
    let ports = picture.links.iter().flat_map(|link| &link.ports);
    let mut lights = ports.map(|port| port.end.light);
    assert!(lights.all(|light| light == Light::Unknown));
    assert!(!picture.incidents.read);
}

#[test]
fn hosts_without_a_file_are_asked_about_no_cluster() {
    let topology = file().topology();
    let nodes = topology.nodes.into_iter();
    let topology = Topology {
        cluster: String::new(),
        nodes: nodes
            .map(|node| Node {
                reach: Reach::Ssh(node.name.to_string()),
                ..node
            })
            .collect(),
        ..topology
    };
    let mut heads = Heads::new(Whole::of_hosts(&topology), &[(5, 60)]);
    heads.run(20);
    assert_eq!((heads.looks, heads.pasts), (0, 0));
    let asked = heads.wire.asked();
    assert!(
        asked
            .iter()
            .all(|(_, what)| *what != "corosync's statistics")
    );
    assert_eq!(heads.codes(), ["link-down"]);
    let picture = heads.whole.lock().unwrap().picture();
    let names = picture.heads.iter().map(|head| head.head.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), HEADS);
    assert!(picture.links[1].ways.is_empty());
    assert_eq!(picture.links[1].ports[0].end.light, Light::Bad);
}
