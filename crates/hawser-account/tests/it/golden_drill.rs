//! Saved drills with the answers expected of them, as `hawser-cases` finds them.
//!
//! `recorded` drills are real: their logs, history and watch are those of a lab. The others are one
//! of them with something broken; their bases have only the lines of its logs that mark something.

use std::collections::BTreeSet;

use hawser_account::outage::{drill_codes as codes, explain_drill as explain};
use hawser_model::drill::{ClientRecord, DrillCase, FenceEvent};
use hawser_model::finding::WordedFinding;
use hawser_model::output::drill::DrillReport;

use crate::support::logs::drill;
use crate::support::saved::{self, found, hold_answers, hold_pages, planted};

/// Every folder, in order.
fn saved() -> Vec<(String, DrillCase)> {
    saved::saved("drill")
}

#[test]
fn every_saved_drill_gives_the_answer_beside_it() {
    hold_answers(&saved(), explain);
}

#[test]
fn what_was_broken_is_named_and_nothing_else() {
    let mut wrong = Vec::new();
    for (name, case, must) in planted(saved()) {
        let answer = explain(&case);
        let found: BTreeSet<&str> = found(&answer.findings).into_iter().collect();
        let expected: BTreeSet<&str> = must.codes.iter().map(String::as_str).collect();
        if Some(&answer.broken) != must.broken.as_ref() || found != expected {
            wrong.push(format!(
                "{name}: broken {:?}, found {found:?} instead of {must:?}",
                answer.broken
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// By fencing with reservations a head that boots is let in again.
#[test]
fn a_head_that_is_let_in_was_not_shot() {
    let case = drill("switchover");
    let before = explain(&case);
    let mut let_in = case.clone();
    let_in.fencing.push(FenceEvent {
        target: case.logs.keys().next().unwrap().clone(),
        action: "on".into(),
        delegate: None,
        succeeded: true,
        completed: case.faults[0].ordered.shifted(5_000_000),
    });
    let after = explain(&let_in);
    assert_eq!((after.fenced, after.broken), (before.fenced, before.broken));
}

#[test]
fn every_account_balances_and_no_two_phases_overlap() {
    for (name, case) in saved() {
        let answer = explain(&case);
        let sum: f64 = answer.phases.iter().map(|phase| phase.seconds).sum();
        let rest = answer.outage_s - sum - answer.unattributed_s;
        assert!(rest.abs() < 1e-6, "{name}: {rest}");
        let mut end = 0.0;
        for phase in &answer.phases {
            assert!(phase.start_s >= end - 1e-6, "{name}: {phase:?}");
            end = phase.start_s + phase.seconds;
        }
    }
}

#[test]
fn a_real_drill_is_explained_to_within_fifty_milliseconds() {
    for name in [
        "power-cut",
        "switchover",
        "stock-power-cut",
        "target-killed",
        "hang",
        "wrong-password",
        "failed-start",
        "sans-down",
        "boot-awaited",
    ] {
        let answer = explain(&drill(name));
        assert!(
            answer.unattributed_s <= 0.05,
            "{name}: {}",
            answer.unattributed_s
        );
        assert!(answer.passed, "{name}: {:?}", answer.broken);
    }
}

#[test]
fn the_phases_of_a_power_cut_come_in_their_order() {
    let answer = explain(&drill("power-cut"));
    let at = |name: &str| {
        let mut phases = answer.phases.iter();
        phases
            .position(|phase| phase.name == name)
            .unwrap_or_else(|| panic!("no {name}"))
    };
    let order = [
        "token loss",
        "consensus",
        "decision",
        "fence delay",
        "fence agent",
        "pool",
        "exports",
        "addresses",
    ];
    let places: Vec<usize> = order.iter().map(|name| at(name)).collect();
    assert!(places.is_sorted(), "{places:?}");
}

/// The client's clock is so much ahead of the drill's.
fn client_ahead(client: &mut ClientRecord, us: i64) {
    client.clock.offset_us = -us;
    for at in [&mut client.began, &mut client.ended] {
        *at = at.shifted(us);
    }
    for stall in &mut client.stalls {
        stall.from = stall.from.shifted(us);
        stall.to = stall.to.shifted(us);
    }
    for path in &mut client.paths {
        path.at = path.at.shifted(us);
    }
}

/// A line of a log, `Nov 22 12:00:00.123 head2 …`, as a clock that is three minutes slow stamps it.
fn three_minutes_less(line: &String) -> String {
    let Some(Ok(minute)) = line.get(10..12).map(str::parse::<u32>) else {
        return line.clone();
    };
    assert!(minute >= 3, "the hour would change: {line}");
    format!("{}{:02}{}", &line[..10], minute - 3, &line[12..])
}

#[test]
fn clocks_that_differ_are_put_on_one() {
    let as_it_was = explain(&drill("power-cut"));
    let mut case = drill("power-cut");
    // The surviving head's clock is three minutes slow, and the client's a second fast.
    let late = |line: &String| three_minutes_less(line);
    for logs in case.logs.values_mut() {
        logs.clock.offset_us = 180_000_000;
        logs.clock.error_us = 400;
        logs.corosync = logs.corosync.iter().map(late).collect();
        logs.pacemaker = logs.pacemaker.iter().map(late).collect();
    }
    client_ahead(&mut case.client, 1_000_000);
    case.client.clock.error_us = 150;
    let answer: DrillReport = explain(&case);
    assert_eq!(answer.phases, as_it_was.phases);
    assert_eq!(answer.clock_error_s, 0.00055);
}

#[test]
fn every_cause_has_a_case_and_a_page_that_explains_its_numbers_and_a_price() {
    let findings: Vec<WordedFinding> = saved()
        .iter()
        .flat_map(|(_, case)| explain(case).findings)
        .collect();
    hold_pages(codes(), &findings, &[]);
    for worded in &findings {
        let code = &worded.finding.code;
        let priced = worded.fix.contains("rice:") || code == "unattributed-outage";
        assert!(priced, "{code}: no price");
    }
}
