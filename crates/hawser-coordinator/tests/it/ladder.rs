//! Whole ladders.

use std::cell::Cell;

use hawser_coordinator::check::CheckError;
use hawser_coordinator::ladder::{LadderError, LadderOptions, Progress, Task, ladder, tasks};
use hawser_host::Hosts;
use hawser_host::sim::{Fate, Wire};
use hawser_model::case::Case;
use hawser_model::ladder::{RungKind, Storage};
use hawser_model::traffic::SLICE;
use hawser_model::units::{Bytes, Nanos};

use crate::world::{hosts, receiving};

#[derive(Default)]
struct Told(Cell<usize>);

impl Progress for Told {
    fn begin(&self, rungs: usize) {
        self.0.set(rungs);
    }

    fn measuring(&self, _: &Task) {}
}

fn options() -> LadderOptions {
    LadderOptions {
        from: None,
        to: None,
        link: None,
        source: Storage::default(),
        sink: Storage::default(),
        cipher: None,
        iscsi: None,
        streams: 4,
        duration: Nanos::from_millis(1_000),
        block: None,
        beside_a_cluster: false,
    }
}

fn climbed(wire: &Wire) -> Result<Case, LadderError> {
    let base: Case = hawser_cases::read("bases/ladder");
    climbed_by(hosts(&base, wire), base)
}

fn climbed_by(mut hosts: Hosts, base: Case) -> Result<Case, LadderError> {
    let told = Told::default();
    let case = ladder(
        &mut hosts,
        base.topology,
        base.hosts,
        &options(),
        [7; 32],
        &told,
        1,
    );
    if case.is_ok() {
        assert_eq!(told.0.get(), tasks(&options()).len());
    }
    case
}

#[test]
fn every_rung_is_measured_where_it_belongs() {
    let wire = Wire::default();
    let run = climbed(&wire).unwrap().ladder.unwrap();
    assert_eq!((run.from.as_str(), run.to.as_str()), ("head1", "head2"));
    assert!(run.path_mtu.is_some());
    let not_measured: Vec<RungKind> = run
        .rungs
        .iter()
        .filter(|r| r.unavailable.is_some())
        .map(|r| r.kind)
        .collect();
    // No unit was named.
    assert_eq!(not_measured, [RungKind::IscsiRead]);
    let of = |kind| run.rungs.iter().find(|rung| rung.kind == kind).unwrap();
    let wire_tcp = of(RungKind::WireTcp);
    // Both hosts were watched meanwhile.
    assert_eq!(wire_tcp.usage.len(), 2);
    assert!(!of(RungKind::Whole).samples.is_empty());
    let asked = wire.asked();
    let times = |name: &str| asked.iter().filter(|(_, what)| *what == name).count();
    assert_eq!(times("open usage"), times("close usage"));
}

#[test]
fn a_host_that_is_lost_or_hangs_anywhere_ends_the_ladder_and_is_named() {
    let whole = Wire::default();
    climbed(&whole).unwrap();
    for number in 0..whole.asked().len() {
        for fate in [Fate::Lost, Fate::Silent] {
            let wire = Wire::default();
            wire.befalls("head2".into(), fate, number);
            match climbed(&wire) {
                Err(LadderError::Check(CheckError::Host(error))) => {
                    assert_eq!(
                        error.host.as_str(),
                        "head2",
                        "{fate:?} at question {number}"
                    );
                }
                // A copy that began and failed is one that says so.
                Ok(case) => {
                    let run = case.ladder.unwrap();
                    let whole = run.rungs.last().unwrap();
                    assert_eq!(whole.kind, RungKind::Whole);
                }
                Err(other) => panic!("{fate:?} at question {number}: {other}"),
            }
        }
    }
}

#[test]
fn a_rung_that_is_declined_says_so_and_the_others_are_measured() {
    let whole = Wire::default();
    let rungs = climbed(&whole).unwrap().ladder.unwrap().rungs.len();
    let asked = whole.asked();
    let measured = asked
        .iter()
        .position(|(_, what)| *what == "measure rung")
        .unwrap();
    let wire = Wire::default();
    wire.decline(measured);
    let run = climbed(&wire).unwrap().ladder.unwrap();
    assert_eq!(run.rungs.len(), rungs);
    let why = run.rungs[0].unavailable.as_deref().unwrap();
    assert!(why.contains("planted"), "{why}");
}

#[test]
fn a_stream_that_stands_still_is_told_over_all_of_its_time() {
    let fast = Bytes(25_000_000);
    for slices in [&[fast; 4][..], &[]] {
        let base: Case = hawser_cases::read("bases/ladder");
        let hosts = receiving(&base, &Wire::default(), slices);
        let case = climbed_by(hosts, base).unwrap();
        let run = case.ladder.as_ref().unwrap();
        let rung = run.rung(RungKind::WireTcp, None).unwrap();
        let time: Nanos = rung.samples.iter().map(|s| s.elapsed).sum();
        let bytes: Bytes = rung.samples.iter().map(|s| s.bytes).sum();
        // The wire has twice the time of other rungs.
        assert_eq!(time, Nanos::from_millis(2_000));
        assert_eq!(bytes.0, fast.0 * slices.len() as u64);
        assert!(rung.samples.iter().all(|s| s.elapsed == SLICE));
    }
}
