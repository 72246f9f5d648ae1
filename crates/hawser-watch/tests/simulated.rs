//! A watch over simulated hours: what it asks, and when its alarms begin and end.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use hawser_agent::questions::{
    KeepReading, OpenReadings, Pulse, ReadHeartbeats, ReadPulse, ReadStanding, Standing,
};
use hawser_cluster::host::drill::LogTexts;
use hawser_cluster::host::questions::ReadLogEnds;
use hawser_cluster::live::{Judged, StatusFacts};
use hawser_host::sim::{Simulated, Wire};
use hawser_host::{Answers, Clock, Declined, Entry, Stop};
use hawser_model::cluster_file::{ClusterFile, parse_complete};
use hawser_model::host::Interface;
use hawser_model::output::cluster::{ClusterStatus, NodeCondition, NodeStatus, ServiceState};
use hawser_model::readings::{AllNoted, Noted, Reading, Subject};
use hawser_watch::keeping::{Keeping, KeptCounts, LIMIT};
use hawser_watch::metrics;
use hawser_watch::run::{Change, EVERY, Look, Viewed, Watch};

/// A head whose second link is cut and healed at set seconds.
struct Head {
    clock: Clock,
    cuts: Vec<(u64, u64)>,
    /// The port says so too; else only Corosync does, as of a cut beyond the switch.
    carrier: bool,
    /// When its disk takes nothing.
    full: std::ops::Range<u64>,
    /// What it took.
    kept: Arc<Mutex<Vec<Reading>>>,
}

/// So many seconds after the cable, Corosync takes the link for down, or up.
const NOTICES: u64 = 2;

impl Head {
    fn cut(&self, late: u64) -> bool {
        let second = self.clock.now().as_secs();
        let mut cuts = self.cuts.iter();
        cuts.any(|(from, to)| (from + late..to + late).contains(&second))
    }
}

impl Answers<Head> for ReadPulse {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<Pulse, Declined> {
        let port = |address: &str, carrier| Interface {
            addresses: vec![(address.parse().unwrap(), 24)],
            up: true,
            carrier,
            ..Interface::default()
        };
        let file = file();
        let address = |link: &str| file.nodes[0].address_on(link).unwrap().get().to_string();
        let interfaces = [
            ("eth0".into(), port(&address("ring0"), true)),
            (
                "eth1".into(),
                port(&address("ring1"), !(head.carrier && head.cut(0))),
            ),
        ];
        // Corosync writes a line when it takes a link for down or up.
        let changed = head.cuts.iter().flat_map(|(from, to)| [*from, *to]);
        let second = head.clock.now().as_secs();
        let lines = changed.filter(|at| at + NOTICES <= second).count() as u64;
        Ok(Pulse {
            interfaces: Some(interfaces.into()),
            corosync: Some(7),
            corosync_log: Some(lines),
            pacemaker_log: Some(second),
            // All the time somebody asks Pacemaker, and nothing changes there.
            pacemaker_changed: false,
        })
    }
}

impl Answers<Head> for ReadHeartbeats {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<BTreeMap<String, String>, Declined> {
        let down = head.cut(NOTICES);
        let link = |number: u8, up: bool| {
            let key = |name: &str| format!("stats.knet.node2.link{number}.{name}");
            let pings = head.clock.now().as_secs() * 5;
            [
                (key("connected"), u8::from(up).to_string()),
                (key("latency_ave"), "312".to_owned()),
                (key("tx_ping_packets"), pings.to_string()),
                (key("rx_pong_packets"), pings.to_string()),
            ]
        };
        Ok(link(0, true).into_iter().chain(link(1, !down)).collect())
    }
}

impl Answers<Head> for ReadStanding {
    fn answer(self, _: &mut Head, _: &Stop) -> Result<Standing, Declined> {
        Ok(Standing::default())
    }
}

impl Answers<Head> for OpenReadings {
    fn answer(self, _: &mut Head, _: &Stop) -> Result<(), Declined> {
        Ok(())
    }
}

impl Answers<Head> for KeepReading {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<(), Declined> {
        if head.full.contains(&head.clock.now().as_secs()) {
            return Err("write /x: No space left on device".into());
        }
        head.kept.lock().unwrap().push(self.reading);
        Ok(())
    }
}

/// Its logs tell of no incident.
impl Answers<Head> for ReadLogEnds {
    fn answer(self, _: &mut Head, _: &Stop) -> Result<LogTexts, Declined> {
        Ok(LogTexts::default())
    }
}

const QUESTIONS: &[Entry<Head>] = &[
    Entry::of::<ReadPulse>(),
    Entry::of::<ReadHeartbeats>(),
    Entry::of::<ReadStanding>(),
    Entry::of::<ReadLogEnds>(),
    Entry::of::<OpenReadings>(),
    Entry::of::<KeepReading>(),
];

/// A cluster in which all is well, seen at once.
#[derive(Default)]
struct AllWell {
    begun: u64,
    lasts: bool,
}

impl Look for AllWell {
    fn begin(&mut self) {
        self.begun += 1;
        self.lasts = true;
    }

    fn ended(&mut self) -> Option<Viewed> {
        if !std::mem::take(&mut self.lasts) {
            return None;
        }
        let file = file();
        let nodes = file.nodes.iter().map(|node| NodeStatus {
            name: node.name.get().clone(),
            state: NodeCondition::Online,
        });
        let nodes = nodes.collect();
        let status = ClusterStatus {
            cluster: "lab".into(),
            state: ServiceState::Redundant,
            reason: None,
            quorate: true,
            redundant: true,
            view_of: None,
            degraded: Vec::new(),
            notes: Vec::new(),
            quorum_device: None,
            nodes,
            pools: Vec::new(),
            if_lost: BTreeMap::new(),
            last_takeover: None,
        };
        let said = Vec::new();
        Some(Ok((StatusFacts::default(), Judged { status, said })))
    }
}

fn file() -> ClusterFile {
    static FILE: LazyLock<ClusterFile> = LazyLock::new(|| {
        let text = include_str!("../../../examples/lab/hawser.toml");
        parse_complete(text, "hawser.toml").unwrap()
    });
    FILE.clone()
}

struct Ran {
    /// Second, `+` or `-`, code, times.
    told: Vec<(u64, char, String, u64)>,
    programs: u64,
    views: u64,
    watch: Watch,
}

fn run(seconds: u64, cuts: &[(u64, u64)], carrier: bool) -> Ran {
    let wire = Wire::default();
    let clock = wire.clock();
    let head = Head {
        clock: clock.clone(),
        cuts: cuts.to_vec(),
        carrier,
        full: 0..0,
        kept: Arc::default(),
    };
    let mut host = Simulated::new("head1".into(), head, QUESTIONS, &wire);
    let mut look = AllWell::default();
    let mut watch = Watch::new(file(), "head1".into());
    let mut told = Vec::new();
    for _ in 0..seconds {
        let second = clock.now().as_secs();
        for change in watch.tick(&mut host, &mut look, &clock) {
            let (sign, alarm) = match change {
                Change::Began(alarm) => ('+', alarm),
                Change::Ended(alarm) => ('-', alarm),
            };
            told.push((second, sign, alarm.code, alarm.times));
        }
        clock.sleep(EVERY);
    }
    let asked = wire.asked();
    let programs = asked
        .iter()
        .filter(|(_, name)| *name == "corosync's statistics");
    Ran {
        told,
        programs: programs.count() as u64,
        views: look.begun,
        watch,
    }
}

#[test]
fn a_clean_day_has_no_alarm_and_starts_few_programs() {
    let day = 24 * 3600;
    let ran = run(day, &[], true);
    assert_eq!(ran.told, []);
    assert!(ran.programs <= day / 10 + 10, "{}", ran.programs);
    assert!(ran.views <= day / 300 + 2, "{}", ran.views);
}

#[test]
fn a_port_without_carrier_is_told_in_that_second_and_takes_its_heartbeat_link_with_it() {
    let ran = run(120, &[(30, 60)], true);
    assert_eq!(
        ran.told,
        [
            (30, '+', "link-down".into(), 1),
            (66, '-', "link-down".into(), 1),
        ]
    );
}

#[test]
fn a_link_that_only_corosync_sees_down_is_told_when_its_log_grows() {
    let ran = run(120, &[(30, 60)], false);
    assert_eq!(
        ran.told,
        [
            (32, '+', "heartbeat-link-down".into(), 1),
            (65, '-', "heartbeat-link-down".into(), 1),
        ]
    );
}

#[test]
fn a_flapping_link_is_one_alarm() {
    let cuts: Vec<(u64, u64)> = (0..10).map(|n| (30 + 6 * n, 33 + 6 * n)).collect();
    let ran = run(300, &cuts, false);
    assert_eq!(ran.told.len(), 2, "{:?}", ran.told);
    assert_eq!(ran.told[0], (32, '+', "heartbeat-link-down".into(), 1));
    let (second, sign, _, times) = &ran.told[1];
    assert_eq!((*sign, *times), ('-', 10));
    assert!((140..170).contains(second), "{second}");
}

#[test]
fn metrics_are_what_was_read_and_nothing_that_a_head_says_breaks_their_lines() {
    let ran = run(60, &[(30, 60)], true);
    let (mut shown, health) = ran.watch.shown();
    let text = metrics::text(&shown, health);
    for line in [
        "hawser_build_info{version=\"0.1.0\"} 1",
        "hawser_corosync_up 1.0",
        "hawser_heartbeat_link_up{link=\"ring0\",peer=\"head2\"} 1.0",
        "hawser_heartbeat_link_up{link=\"ring1\",peer=\"head2\"} 0.0",
        "hawser_heartbeat_link_latency_seconds{link=\"ring0\",peer=\"head2\"} 0.000312",
        "hawser_interface_carrier{interface=\"eth1\"} 0.0",
        "hawser_watch_readings_total 60",
        "# EOF",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    assert!(text.contains("hawser_alarm_active{code=\"link-down\",severity=\"error\","));
    assert!(!text.contains("hawser_quorate"), "it was never read");
    let planted = "eth0\"} 1\nhawser_corosync_up 0\n\u{1b}[2J\\";
    let port = shown.interfaces["eth0"].clone();
    shown.interfaces.insert(planted.into(), port);
    shown.reading.alarms[0].place.object = Some(planted.into());
    let text = metrics::text(&shown, health);
    assert!(!text.contains('\u{1b}'));
    assert!(!text.lines().any(|l| l.starts_with("hawser_corosync_up 0")));
    let quoted = text
        .lines()
        .filter(|line| line.contains("eth0\\\"} 1"))
        .count();
    assert!(quoted > 1, "{text}");
    let mut names = text.lines().filter(|line| !line.starts_with('#'));
    assert!(names.all(|line| line.starts_with("hawser_")), "{text}");
}

#[test]
fn a_head_that_does_not_answer_leaves_what_was_known() {
    let ran = run(40, &[(30, 60)], true);
    let wire = Wire::default();
    wire.lose("head1".into());
    let head = Head {
        clock: wire.clock(),
        cuts: Vec::new(),
        carrier: true,
        full: 0..0,
        kept: Arc::default(),
    };
    let mut gone = Simulated::new("head1".into(), head, QUESTIONS, &wire);
    let mut watch = ran.watch;
    let clock = Clock::simulated();
    clock.sleep(Duration::from_secs(100));
    assert_eq!(watch.tick(&mut gone, &mut AllWell::default(), &clock), []);
    let (shown, health) = watch.shown();
    assert_eq!((shown.reading.alarms.len(), health.failures), (1, 1));
}

#[test]
fn a_full_disk_is_said_once_and_the_watch_goes_on() {
    let wire = Wire::default();
    let clock = wire.clock();
    let kept = Arc::<Mutex<Vec<Reading>>>::default();
    let head = Head {
        clock: clock.clone(),
        cuts: vec![(30, 40), (60, 70)],
        carrier: true,
        full: 50..80,
        kept: kept.clone(),
    };
    let mut host = Simulated::new("head1".into(), head, QUESTIONS, &wire);
    let mut watch = Watch::new(file(), "head1".into()).keeping(Keeping::new(LIMIT, Vec::new()));
    let (mut said, mut began) = (Vec::new(), Vec::new());
    for _ in 0..120 {
        let second = clock.now().as_secs();
        for change in watch.tick(&mut host, &mut AllWell::default(), &clock) {
            began.extend(matches!(change, Change::Began(_)).then_some(second));
        }
        said.extend(watch.said().into_iter().map(|words| (second, words)));
        clock.sleep(EVERY);
    }
    assert_eq!(began, [30, 60]);
    let [(50, full), (80, again)] = said.as_slice() else {
        panic!("{said:?}");
    };
    assert!(full.contains("readings are not kept: "), "{full}");
    assert!(full.contains("No space left on device"), "{full}");
    assert_eq!(again, "readings are kept again; 30 were not");
    let (shown, health) = watch.shown();
    let counts = KeptCounts {
        kept: 90,
        lost: 30,
        steps: 0,
    };
    assert_eq!(health.kept, Some(counts));
    let text = metrics::text(&shown, health);
    assert!(
        text.contains("hawser_watch_readings_lost_total 30\n"),
        "{text}"
    );
    // One a second; the first cut and its end are among them, at their seconds.
    let kept = kept.lock().unwrap();
    let mut known = AllNoted::new();
    let mut carrier = Vec::new();
    for reading in kept.iter().filter(|reading| reading.at.0 < 50_000_000) {
        reading.apply(&mut known);
        let Some(Noted::Port(port)) = known.get(&Subject::Port("eth1".into())) else {
            panic!("{reading:?}");
        };
        carrier.push(port.carrier);
    }
    let expected: Vec<bool> = (0..50).map(|second| !(30..40).contains(&second)).collect();
    assert_eq!(carrier, expected);
    let quiet = kept.iter().filter(|reading| reading.is_quiet()).count();
    assert!(quiet > 50, "{quiet}");
}
