//! What the cluster file lets one expect of a takeover, held against what a takeover took. Pure.

use hawser_cluster::plan::{Forecast, forecast};
use hawser_cluster::xml::Element;
use hawser_model::cluster_file::{ClusterFile, Period};
use hawser_model::output::drill::{OutagePhase, PromiseReport};
use hawser_model::output::incident::{IncidentReport, ServiceOutage};

/// Phases until a head is declared lost, one after the other.
const SILENCE: &str = "token loss";
const CONSENSUS: &str = "consensus";

/// Phases of a shot at it, after which it is off.
const SHOT: [&str; 4] = ["fence delay", "fence agent", "bmc", "power wait"];

/// What follows a shot that failed: the one that succeeded is somewhere in it.
const FAILED: &str = "waiting for a human";

/// `plan` says its times to a tenth of a second, and no more is promised.
const TENTH_S: f64 = 0.05;

/// How long the silence of the head lasted until it was declared lost, and until it was off, beside the longest that the file's
/// timing lets one expect (`hawser plan`). Nothing is said of an incident in which no head or more than one was fenced, in which
/// the shot came before the silence, or whose logs do not show the silence; and nothing of a shot that was tried again.
pub fn promised(file: &ClusterFile, incident: &IncidentReport) -> Vec<PromiseReport> {
    let [head] = incident.fenced.as_slice() else {
        return Vec::new();
    };
    // How long a pool takes to start is no promise of the file's.
    let all = forecast(file, &Element::new("cib"));
    let Some(of_head) = all.iter().find(|one| one.node == head.as_str()) else {
        return Vec::new();
    };
    let Some(took) = incident.services.iter().find_map(took) else {
        return Vec::new();
    };
    let Forecast { lost, fenced, .. } = of_head;
    let lost = Some((took.lost_s, *lost, "declared-lost", "was declared lost"));
    let shot = took.off_s.zip(*fenced);
    let shot = shot.map(|(took, allowed)| (took, allowed, "fenced-in-time", "was off"));
    let judged = lost.into_iter().chain(shot);
    judged
        .map(|(took, allowed, code, what)| PromiseReport {
            promise: code.to_owned(),
            held: took < seconds(allowed) + TENTH_S,
            text: format!(
                "{head} {what} after {took:.3} s of silence; the cluster file allows {:.1} s",
                seconds(allowed)
            ),
        })
        .collect()
}

/// Seconds from the beginning of the silence.
struct Took {
    lost_s: f64,
    off_s: Option<f64>,
}

/// As the phases of an outage show it: the token is waited for, the others confer, then comes the shot.
fn took(service: &ServiceOutage) -> Option<Took> {
    let phases = &service.phases;
    let last = |name: &str, before: usize| {
        let mut phases = phases[..before].iter();
        phases.rposition(|phase| phase.name == name)
    };
    let agreed = last(CONSENSUS, phases.len())?;
    let silent = last(SILENCE, agreed)?;
    let is_shot = |phase: &&OutagePhase| SHOT.contains(&phase.name.as_str());
    if phases[..agreed].iter().any(|phase| is_shot(&phase)) {
        return None;
    }
    let since = |phase: &OutagePhase| phase.start_s + phase.seconds - phases[silent].start_s;
    let after = &phases[agreed..];
    let again = after.iter().any(|phase| phase.name == FAILED);
    let shot = after.iter().rfind(is_shot).filter(|_| !again);
    Some(Took {
        lost_s: since(&phases[agreed]),
        off_s: shot.map(since),
    })
}

fn seconds(period: Period) -> f64 {
    period.as_millis() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use hawser_model::cluster_file::parse_complete;

    use super::*;

    fn incident(fenced: &[&str], phases: &[(&str, f64, f64)]) -> IncidentReport {
        let phase = |(name, start_s, seconds): &(&str, f64, f64)| OutagePhase {
            name: (*name).to_owned(),
            start_s: *start_s,
            seconds: *seconds,
            host: "head1".into(),
        };
        let service = ServiceOutage {
            service: "vmpool01".to_owned(),
            on: Some("head1".into()),
            start_s: 0.0,
            outage_s: 5.0,
            over: true,
            at_least: false,
            phases: phases.iter().map(phase).collect(),
            unattributed_s: 0.0,
            findings: Vec::new(),
        };
        IncidentReport {
            id: "20261122-111412".to_owned(),
            began: "2026-11-22 11:14:12.903".to_owned(),
            lasted_s: 9.0,
            trigger: "head2 was lost".to_owned(),
            cause: None,
            fenced: fenced.iter().map(|&name| name.into()).collect(),
            outage_s: Some(5.0),
            services: vec![service],
            links: Vec::new(),
            promises: Vec::new(),
            lines: Vec::new(),
            lines_left_out: 0,
            readings: Vec::new(),
        }
    }

    fn judged(incident: &IncidentReport) -> Vec<(String, bool)> {
        let text = include_str!("../../../examples/lab/hawser.toml");
        let file = parse_complete(text, "hawser.toml").expect("it is right");
        let all = promised(&file, incident).into_iter();
        all.map(|it| (it.text, it.held)).collect()
    }

    #[test]
    fn a_takeover_is_held_against_what_plan_says_of_it() {
        let quick = [
            ("token loss", 0.0, 1.0),
            ("consensus", 1.0, 1.204),
            ("decision", 2.204, 0.3),
            ("fence agent", 2.504, 0.4),
            ("pool", 2.904, 1.0),
        ];
        let lost =
            "head2 was declared lost after 2.204 s of silence; the cluster file allows 2.2 s";
        let off = |took: &str| {
            format!("head2 was off after {took} s of silence; the cluster file allows 4.2 s")
        };
        let kept = judged(&incident(&["head2"], &quick));
        assert_eq!(kept, [(lost.to_owned(), true), (off("2.904"), true)]);
        let mut slow = quick;
        slow[3] = ("fence agent", 2.504, 1.8);
        let broken = judged(&incident(&["head2"], &slow));
        assert_eq!(broken, [(lost.to_owned(), true), (off("4.304"), false)]);
        // A shot that failed is no end of anything, and one that came before the silence is no part of it.
        let mut failed = quick.to_vec();
        failed.insert(4, ("waiting for a human", 2.904, 20.0));
        let judged_lost = judged(&incident(&["head2"], &failed));
        assert_eq!(judged_lost, [(lost.to_owned(), true)]);
        let mut first = quick.to_vec();
        first.insert(0, ("fence agent", 0.0, 0.0));
        assert_eq!(judged(&incident(&["head2"], &first)), []);
        // The silence that counts is the last one, not a token that came back.
        let mut twice = quick
            .map(|(name, start, long)| (name, start + 19.0, long))
            .to_vec();
        twice.insert(0, ("token loss", 0.0, 1.0));
        assert_eq!(judged(&incident(&["head2"], &twice)), kept);
        // What the logs do not show is not judged.
        assert_eq!(judged(&incident(&["head2"], &quick[4..])), []);
        assert_eq!(judged(&incident(&[], &quick)), []);
        assert_eq!(judged(&incident(&["head1", "head2"], &quick)), []);
        assert_eq!(judged(&incident(&["other"], &quick)), []);
    }
}
