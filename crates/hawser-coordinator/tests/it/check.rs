//! Whole checks.

use std::collections::BTreeSet;
use std::sync::Mutex;

use hawser_coordinator::check::{CheckError, Progress, check};
use hawser_coordinator::schedule::Direction;
use hawser_coordinator::traffic_plan::TrafficOptions;
use hawser_host::HostError;
use hawser_host::sim::{Fate, Wire};
use hawser_model::case::Case;
use hawser_model::names::HostName;

use crate::world::{SENT, hosts};

/// What a check tells.
#[derive(Default)]
struct Told {
    directions: Mutex<usize>,
    measured: Mutex<usize>,
    lost: Mutex<Vec<String>>,
}

impl Progress for Told {
    fn begin(&self, directions: usize) {
        *self.directions.lock().unwrap() = directions;
    }

    fn measured(&self, _: &Direction) {
        *self.measured.lock().unwrap() += 1;
    }

    fn lost(&self, error: &HostError) {
        self.lost.lock().unwrap().push(error.to_string());
    }
}

fn checked(base: &str, wire: &Wire) -> (Result<Case, CheckError>, Told) {
    let base: Case = hawser_cases::read(base);
    let told = Told::default();
    let case = check(
        &mut hosts(&base, wire),
        base.topology,
        base.hosts,
        &TrafficOptions::default(),
        &|_| false,
        &told,
        1,
    );
    (case, told)
}

/// Which directions were measured, and that nothing was lost in any.
fn clean(case: &Case) -> BTreeSet<(&str, &str)> {
    let mut found = BTreeSet::new();
    for measurement in &case.measurements {
        assert_eq!(measurement.problems, [""; 0]);
        assert!(measurement.phases.len() >= 2);
        for phase in &measurement.phases {
            assert_eq!((phase.sender.sent, phase.receiver.received), (SENT, SENT));
        }
        found.insert((measurement.from.as_str(), measurement.to.as_str()));
    }
    found
}

#[test]
fn two_hosts_are_measured_both_ways() {
    let wire = Wire::default();
    let (case, told) = checked("bases/pair", &wire);
    let case = case.unwrap();
    assert_eq!(
        clean(&case),
        [("head1", "head2"), ("head2", "head1")].into()
    );
    assert!(case.absent.is_empty() && case.stopped.is_none());
    assert_eq!(
        (
            told.directions.into_inner().unwrap(),
            told.measured.into_inner().unwrap()
        ),
        (2, 2)
    );
    // Whatever was opened on a host was closed on it.
    let asked = wire.asked();
    for host in ["head1", "head2"] {
        let times = |name: &str| {
            asked
                .iter()
                .filter(|(of, what)| of.as_str() == host && *what == name)
                .count()
        };
        assert_eq!(times("open window"), times("close window"), "{asked:?}");
        assert_eq!(
            times("open receiver"),
            times("finish receiver"),
            "{asked:?}"
        );
    }
}

#[test]
fn of_two_hosts_one_that_is_lost_anywhere_ends_the_check_and_is_named() {
    let whole = Wire::default();
    checked("bases/pair", &whole).0.unwrap();
    for number in 0..whole.asked().len() {
        for fate in [Fate::Lost, Fate::Silent] {
            let wire = Wire::default();
            wire.befalls("head2".into(), fate, number);
            match checked("bases/pair", &wire).0 {
                Err(CheckError::Host(error)) => assert_eq!(error.host.as_str(), "head2"),
                // The last questions may all have been head1's.
                Ok(case) => assert_eq!(clean(&case).len(), 2, "{fate:?} at question {number}"),
                Err(other) => panic!("{fate:?} at question {number}: {other}"),
            }
        }
    }
}

#[test]
fn of_three_hosts_the_others_are_measured_when_one_is_lost_in_the_middle() {
    let whole = Wire::default();
    checked("bases/three-heads", &whole).0.unwrap();
    let middle = whole.asked().len() / 2;
    for (fate, why) in [
        (Fate::Lost, "agent was ended"),
        (Fate::Silent, "no answer to"),
    ] {
        let wire = Wire::default();
        wire.befalls("head3".into(), fate, middle);
        let (case, told) = checked("bases/three-heads", &wire);
        let case = case.unwrap();
        let between = clean(&case);
        assert!(between.contains(&("head1", "head2")) && between.contains(&("head2", "head1")));
        let absent: Vec<&HostName> = case.absent.iter().map(|it| &it.host).collect();
        assert_eq!(absent, [&HostName::from("head3")]);
        let reason = &case.absent[0].reason;
        assert!(
            reason.contains("lost while it was measured") && reason.contains(why),
            "{reason}"
        );
        assert_eq!(told.lost.into_inner().unwrap().len(), 1);
    }
}

#[test]
fn a_host_that_is_lost_when_windows_open_costs_the_other_end_nothing() {
    let whole = Wire::default();
    checked("bases/three-heads", &whole).0.unwrap();
    // Both are asked at once: in either order head2 is gone by then.
    let asked = whole.asked();
    let both = |pair: &[(HostName, &str)]| {
        let open = pair.iter().all(|(_, what)| *what == "open window");
        open && pair.iter().any(|(host, _)| host.as_str() == "head2")
    };
    let number = asked.windows(2).position(both).unwrap();
    for fate in [Fate::Lost, Fate::Silent] {
        let wire = Wire::default();
        wire.befalls("head2".into(), fate, number);
        let case = checked("bases/three-heads", &wire).0.unwrap();
        assert_eq!(case.absent[0].host.as_str(), "head2");
        assert_eq!(
            clean(&case),
            [("head1", "head3"), ("head3", "head1")].into()
        );
    }
}

#[test]
fn a_host_that_declines_a_question_costs_that_phase_and_no_more() {
    let whole = Wire::default();
    checked("bases/pair", &whole).0.unwrap();
    let asked = whole.asked();
    for (number, (host, what)) in asked.iter().enumerate() {
        let wire = Wire::default();
        wire.decline(number);
        match checked("bases/pair", &wire).0 {
            Ok(case) => assert_eq!(case.measurements.len(), 2, "{what} of {host} ({number})"),
            // What every check needs, or a peer's own opening undone.
            Err(CheckError::Host(error)) => {
                assert!(error.host_goes_on(), "{what} of {host} ({number}): {error}");
            }
            Err(other) => panic!("{what} of {host} ({number}): {other}"),
        }
    }
}
