//! The rings of simulated heads, and what of them is told beside an incident.

use std::collections::BTreeMap;

use crate::told::told;
use hawser_account::incident::moment;
use hawser_agent::questions::ReadReadings;
use hawser_cluster::host::HeadsReadings;
use hawser_cluster::host::questions::ReadKeptReadings;
use hawser_host::sim::{Simulated, Wire};
use hawser_host::{Answers, Declined, Entry, Host, Hosts, Stop};
use hawser_model::drill::Moment;
use hawser_model::names::HostName;
use hawser_model::output::incident::{Changed, IncidentsReport};
use hawser_model::output::watch::{LinkReading, LinkState};
use hawser_model::readings::{AllNoted, KeptReadings, Noted, Reading};
use hawser_watch::around::with_readings;

/// A head with what its ring has of the time it was asked for, and what it has kept with incidents.
struct Head(Answer, Vec<HeadsReadings>);

impl Answers<Head> for ReadReadings {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<KeptReadings, Declined> {
        head.0(self.from, self.to)
    }
}

impl Answers<Head> for ReadKeptReadings {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<Vec<HeadsReadings>, Declined> {
        Ok(head.1.clone())
    }
}

const QUESTIONS: &[Entry<Head>] = &[Entry::of::<ReadReadings>(), Entry::of::<ReadKeptReadings>()];

fn link(state: LinkState, latency_s: f64) -> Noted {
    Noted::Link(LinkReading {
        name: "ring0".into(),
        peer: "head1".into(),
        state,
        latency_s: Some(latency_s),
        lost: None,
        sent: None,
    })
}

type Answer = Box<dyn Fn(Moment, Moment) -> Result<KeptReadings, Declined> + Send>;

fn asked(heads: BTreeMap<&str, Answer>, report: &mut IncidentsReport) {
    let heads = heads.into_iter();
    let heads = heads.map(|(name, answer)| (name, Head(answer, Vec::new())));
    asked_of(heads.collect(), report);
}

fn asked_of(heads: BTreeMap<&str, Head>, report: &mut IncidentsReport) {
    let wire = Wire::default();
    let mut hosts: Hosts = heads
        .into_iter()
        .map(|(name, head)| {
            let name = HostName::from(name);
            let head = Simulated::new(name.clone(), head, QUESTIONS, &wire);
            (name, Box::new(head) as Box<dyn Host>)
        })
        .collect();
    with_readings(&mut hosts, report);
}

#[test]
fn the_changes_around_an_incident_stand_beside_its_lines_on_one_clock() {
    let mut report = told();
    // head2's clock was found to be three seconds ahead: its ring is asked for, and told, by that.
    let ahead = report
        .heads
        .iter_mut()
        .find(|head| head.host == "head2".into());
    ahead.unwrap().ahead_s = Some(3.0);
    let began = moment(&report.incidents[0].began).unwrap();
    let head2 = move |from: Moment, to: Moment| {
        assert_eq!(from, began.shifted(3_000_000 - 60_000_000));
        assert!(to > began.shifted(3_000_000 + 120_000_000 + 5_000_000));
        let stood =
            AllNoted::from([(link(LinkState::Up, 0.1).subject(), link(LinkState::Up, 0.1))]);
        let at = |ms: i64| began.shifted(3_000_000 + ms * 1000);
        let now = |ms, noted: Noted| Reading {
            at: at(ms),
            now: vec![noted],
            ..Reading::default()
        };
        Ok(KeptReadings {
            readings: vec![
                Reading::whole(from, &stood),
                // A number that changes all the time is no change.
                now(-20_000, link(LinkState::Up, 0.2)),
                now(800, link(LinkState::Down, 0.2)),
                Reading {
                    stepped_us: Some(-2_000_000),
                    ..now(4_000, Noted::Quorum(false))
                },
            ],
            oldest: Some(from.shifted(-1)),
            newest: Some(to),
            gaps: vec![(at(10_000), at(19_000))],
            ..KeptReadings::default()
        })
    };
    let none = |_, _| Ok(KeptReadings::default());
    let heads: BTreeMap<&str, Answer> = BTreeMap::from([
        ("head1", Box::new(none) as Answer),
        ("head2", Box::new(head2)),
    ]);
    asked(heads, &mut report);
    let incident = &report.incidents[0];
    let [head2] = incident.readings.as_slice() else {
        panic!("{:#?}", incident.readings);
    };
    assert_eq!((head2.host.as_str(), head2.first_s), ("head2", -60.0));
    assert_eq!(head2.first, [link(LinkState::Up, 0.1)]);
    let changes: Vec<_> = head2.changes.iter().map(|c| (c.at_s, &c.what)).collect();
    assert_eq!(
        changes,
        [
            (0.8, &Changed::Now(link(LinkState::Down, 0.2))),
            (4.0, &Changed::ClockStepped(-2.0)),
            (4.0, &Changed::Now(Noted::Quorum(false))),
        ]
    );
    let course = incident.course();
    let at = |words: &str| {
        course
            .iter()
            .position(|step| step.text.contains(words))
            .unwrap()
    };
    assert!(at("link ring0 to head1 is down") < at("token timed out"));
    assert!(at("token timed out") < at("it has no quorum"));
    let clock = |second: u64| format!("2026-11-22 11:14:{second}");
    for gap in [
        "head1 has no ring of readings".to_owned(),
        format!("head2: no reading was kept from {}", clock(25)),
    ] {
        assert!(
            report.gaps.iter().any(|told| told.starts_with(&gap)),
            "{gap}: {:?}",
            report.gaps
        );
    }
}

#[test]
fn what_is_no_longer_in_a_ring_or_was_never_read_is_said() {
    let mut report = told();
    let began = moment(&report.incidents[0].began).unwrap();
    let late = move |_, _| {
        Ok(KeptReadings {
            oldest: Some(began.shifted(-5_000_000)),
            newest: Some(began.shifted(1_000_000)),
            thinned: true,
            damaged: 3,
            ..KeptReadings::default()
        })
    };
    let broken = |_, _| Err("list /var/lib/hawser/readings: EIO".into());
    let heads: BTreeMap<&str, Answer> = BTreeMap::from([
        ("head1", Box::new(late) as Answer),
        ("head2", Box::new(broken)),
    ]);
    asked(heads, &mut report);
    assert_eq!(report.incidents[0].readings, []);
    for gap in [
        "head1: its ring of readings begins at 2026-11-22 11:14:07.903: what was before is not in it",
        "head1: its last reading is of 2026-11-22 11:14:13.903: none was kept since",
        "head1: of that time each change of state and a reading a minute are left",
        "head1: 3 damaged lines",
        "head2: its readings could not be read: ",
    ] {
        assert!(
            report.gaps.iter().any(|told| told.starts_with(gap)),
            "{gap}: {:?}",
            report.gaps
        );
    }
}

#[test]
fn readings_that_are_kept_with_incidents_stand_in_for_a_ring_and_for_a_head_that_is_away() {
    let mut report = told();
    let began = moment(&report.incidents[0].began).unwrap();
    let from = began.shifted(-60_000_000);
    let kept = |state, thinned| {
        let stood = AllNoted::from([(link(state, 0.1).subject(), link(state, 0.1))]);
        KeptReadings {
            readings: vec![Reading::whole(from, &stood)],
            oldest: Some(from),
            newest: Some(began.shifted(1_000_000_000)),
            thinned,
            ..KeptReadings::default()
        }
    };
    // Head1's ring has been written over and thinned since; of head2, which does not answer, head1 has a copy.
    let ring = kept(LinkState::Unknown, true);
    let of = |head: Option<&str>, readings| HeadsReadings {
        head: head.map(Into::into),
        readings,
    };
    let with = vec![
        of(None, kept(LinkState::Up, false)),
        of(Some("head2"), kept(LinkState::Down, false)),
    ];
    let head1 = Head(Box::new(move |_, _| Ok(ring.clone())), with);
    asked_of([("head1", head1)].into(), &mut report);
    let readings = &report.incidents[0].readings;
    let told: Vec<_> = readings
        .iter()
        .map(|it| (it.host.as_str(), it.first.clone()))
        .collect();
    assert_eq!(
        told,
        [
            ("head1", vec![link(LinkState::Up, 0.1)]),
            ("head2", vec![link(LinkState::Down, 0.1)])
        ]
    );
    let said = "head2: its readings are those that head1 has kept".to_owned();
    assert!(report.gaps.contains(&said), "{:?}", report.gaps);
    // A ring that has all of it is what counts.
    let mut report = self::told();
    let ring = kept(LinkState::Up, false);
    let with = vec![of(None, kept(LinkState::Down, false))];
    let head1 = Head(Box::new(move |_, _| Ok(ring.clone())), with);
    asked_of([("head1", head1)].into(), &mut report);
    assert_eq!(
        report.incidents[0].readings[0].first,
        [link(LinkState::Up, 0.1)]
    );
}
