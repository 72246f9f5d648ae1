//! What is to be tried against a finding, and the traffic on which it is.

use hawser_account::fixes::{Plan, plans};
use hawser_model::case::{Case, Phase, PhaseKind};
use hawser_model::units::Bytes;

/// A golden case.
fn case(case: &str) -> Case {
    hawser_cases::read(case)
}

/// The plan for this finding of a case.
fn plan(case: &Case, cause: &str) -> Plan {
    let mut plans = plans(case).into_iter();
    plans.find(|p| p.cause == cause).expect("a plan")
}

#[test]
fn a_buffer_that_was_not_granted_is_judged_by_itself_until_it_costs_packets() {
    let due = |name| {
        let plan = plan(&case(name), "buffer-not-granted");
        plan.traffic.expect("the traffic whose receiver asked").due
    };
    assert_eq!(due("buffer-not-granted"), Some(Bytes(8 << 20)));
    assert_eq!(due("buffer-not-granted-lossy"), None);
}

#[test]
fn a_link_that_is_smaller_than_the_file_says_is_judged_by_a_stream() {
    let mut case = case("mtu-mismatch-file");
    let small = plan(&case, "mtu-mismatch");
    assert_eq!((small.host.as_str(), small.candidates.len()), ("head1", 1));
    assert_eq!(small.traffic, None, "nothing is lost for it");
    let measured = &mut case.measurements[0];
    let stream = Phase {
        kind: PhaseKind::Stream,
        ..measured.phases[0].clone()
    };
    measured.phases.push(stream);
    let traffic = plan(&case, "mtu-mismatch").traffic.expect("the stream");
    assert_eq!(traffic.phase, PhaseKind::Stream);
}
