//! `hawser check --multicast-fanout` in a lab: what must hold on any machine, however fast or busy; and a
//! join that the host itself refuses.

mod support;

use hawser_model::case::Case;
use hawser_model::fanout::Spread;
use hawser_model::output::fanout::{FanoutReport, FanoutResult};
use support::Lab;

/// Runs a fan-out on head2 and takes report and case; the report must be what the schema says, and
/// what the case gives again.
#[track_caller]
fn fanout(lab: &Lab, options: &[&str]) -> (FanoutReport, Case) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("case.json");
    let path = file.display().to_string();
    let mut arguments = vec!["check", "--lab", lab.name(), "--json", "--case", &path];
    arguments.extend(["--multicast-fanout", "head2", "--duration", "300ms"]);
    arguments.extend(options);
    let ran = support::run(&arguments);
    let value = support::json(&ran, "fanout");
    let report: FanoutReport = serde_json::from_value(value.clone()).expect("a report");
    let findings = i32::from(!report.findings.is_empty());
    assert_eq!(ran.code, Some(findings), "{report:#?}");
    let again = support::run(&["explain", &path, "--json"]);
    let again: serde_json::Value = serde_json::from_str(&again.stdout).expect("a replay");
    assert_eq!(again, value, "the case file gives the same answer");
    let page = folder.path().join("page.html").display().to_string();
    assert_eq!(support::run(&["report", &path, "-o", &page]).code, Some(0));
    let text = std::fs::read_to_string(page).expect("a page");
    assert!(text.contains("Receivers against loss"));
    let case = std::fs::read_to_string(&file).expect("the case file");
    (report, serde_json::from_str(&case).expect("a case"))
}

/// The answer is what its points say.
#[track_caller]
fn consistent(result: &FanoutResult, tried: u32) {
    let most = result.most_receivers.expect("the search came to its end");
    let point = |n: u32| result.points.iter().find(|p| p.receivers == n);
    if most > 0 {
        assert!(point(most).is_some_and(|p| p.stood >= 2), "{result:#?}");
    }
    match &result.limit {
        Some(limit) => {
            assert_eq!(limit.receivers, most + 1, "{result:#?}");
            let fell = point(limit.receivers).expect("it was measured");
            assert!(fell.windows - fell.stood >= 2, "{result:#?}");
        }
        None => assert_eq!(most, tried, "{result:#?}"),
    }
}

#[test]
fn nothing_is_lost_at_a_walking_pace_and_no_sender_holds_ten_million() {
    let lab = Lab::up_with(&["--links", "1"]);
    let interfaces = || lab.sh("head2", "ip -o link | cut -d: -f2 | cut -d@ -f1");
    let before = interfaces();

    // Fewer packets than any queue on the way holds: whatever processor is late, none is lost.
    let (report, case) = fanout(&lab, &["--rate", "500", "--receivers", "2"]);
    let spreads: Vec<Spread> = report.series.iter().map(|r| r.spread).collect();
    assert_eq!(spreads, Spread::ALL, "{report:#?}");
    for result in &report.series {
        consistent(result, 2);
        for point in &result.points {
            assert_eq!(point.loss_percent, 0.0, "{report:#?}");
        }
    }
    let run = case.fanout.expect("a fan-out");
    for series in &run.hosts["head2"].series {
        for window in &series.windows {
            assert!(window.sent.0 > 0, "{window:?}");
            assert_eq!(
                window.received.0,
                window.sent.0 * u64::from(window.receivers)
            );
            assert_eq!(window.least, window.sent);
            assert!(!window.usage.processors.is_empty());
        }
    }

    // What no sender reaches: not one receiver stands, however few packets are lost.
    let (report, _) = fanout(&lab, &["--rate", "10000000", "--receivers", "8"]);
    for result in &report.series {
        consistent(result, 8);
        assert_eq!(result.most_receivers, Some(0), "{report:#?}");
        let limit = result.limit.as_ref().expect("something was exhausted");
        assert!(limit.sender_slowed, "{report:#?}");
    }
    assert_eq!(interfaces(), before, "the host's own network is as it was");

    let unknown = support::run(&["check", "--lab", lab.name(), "--multicast-fanout", "head7"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown
            .stderr
            .contains("head7 is not known: there are head1, head2"),
        "{unknown:?}"
    );
}

#[test]
fn a_kernel_that_refuses_to_join_is_told_from_a_switch_that_does_not_deliver() {
    let lab = Lab::up_with(&["--links", "1"]);
    lab.sh("head2", "sysctl -qw net.ipv4.igmp_max_memberships=0");
    let options = [
        "--json",
        "--case",
        "/dev/null",
        "--multicast",
        "--duration",
        "300ms",
    ];
    let mut arguments = vec!["check", "--lab", lab.name()];
    arguments.extend(options);
    let value = support::json(&support::run(&arguments), "check");
    let findings = value["findings"].as_array().expect("findings");
    let refused: Vec<_> = findings
        .iter()
        .filter(|f| f["code"] == "multicast-join-refused")
        .collect();
    assert_eq!(refused.len(), 1, "{value:#}");
    assert_eq!(refused[0]["where"]["host"], "head2");
    assert_eq!(refused[0]["where"]["link"], "ring0");
    assert_eq!(refused[0]["evidence"]["igmp_max_memberships"], 0);
    for other in ["not-measured", "group-not-forwarded"] {
        assert!(findings.iter().all(|f| f["code"] != other), "{value:#}");
    }
}
