//! What a tune came to, derived from its case alone.

use std::collections::BTreeMap;

use hawser_model::case::{BLOCK, Case};
use hawser_model::knob::{Change, Knob, change_id};
use hawser_model::names::HostName;
use hawser_model::output::tune::{
    ChangeReport, RateEffect, TrialReport, TuneCheck, TuneReport, WOULD_BE_TRIED,
};
use hawser_model::trial::{DRY_RUN, LeftAt, Pair, StreamRates, Trial, Tuning, Verdict};

use super::{Judgement, judge};
use crate::packets::frames;
use crate::{findings, packets_account};

/// The report of a tuned case; `None` for the case of a check. `case` of it is empty: where the
/// file lies, its reader knows.
pub fn tune_report(case: &Case) -> Option<TuneReport> {
    let tuning = case.tuning.as_ref()?;
    let before = check(case);
    Some(TuneReport {
        after: tuning
            .after
            .as_deref()
            .map_or_else(|| before.clone(), check),
        before,
        trials: (0..tuning.trials.len())
            .map(|place| trial(&tuning.trials[place], &tuning.trials[..place]))
            .collect(),
        changes: changes(tuning),
        corosync: super::corosync::effects(case),
        case: String::new(),
    })
}

fn check(case: &Case) -> TuneCheck {
    let packets = packets_account(case);
    if let Some(report) = crate::fanout::report(case) {
        let codes = report.findings.into_iter().map(|f| f.finding.code);
        return TuneCheck {
            packets,
            findings: codes.collect(),
            frames_per_8_kib: BTreeMap::new(),
            count_only: report.count_only,
            fanout: report.series,
        };
    }
    let findings = findings(case, &packets);
    TuneCheck {
        packets,
        findings: findings.into_iter().map(|f| f.code).collect(),
        frames_per_8_kib: frames(case, BLOCK),
        count_only: false,
        fanout: Vec::new(),
    }
}

/// How fast the stream of the trial was; `None` of other traffic.
fn rate(trial: &Trial) -> Option<RateEffect> {
    let median = |late: fn(&Pair) -> Option<StreamRates>| {
        let mut rates: Vec<u64> = trial
            .pairs
            .iter()
            .filter_map(|pair| Some(late(pair)?.late.0))
            .collect();
        rates.sort_unstable();
        // In MB, to three decimals.
        let middle = *rates.get(rates.len() / 2)?;
        Some((middle as f64 / 1e3).round() / 1e3)
    };
    Some(RateEffect {
        without_mb_per_s: median(|pair| pair.without.stream)?,
        with_mb_per_s: median(|pair| pair.with.stream)?,
    })
}

fn trial(trial: &Trial, before: &[Trial]) -> TrialReport {
    let judged = judge(&trial.pairs);
    let left_at: Vec<String> = trial.left_at.iter().map(left_at).collect();
    TrialReport {
        knob: trial.knob.to_string(),
        scope: trial.scope,
        place: trial.host.to_string(),
        also: trial
            .also
            .iter()
            .map(|also| format!("{} on {}", also.knob, also.host))
            .collect(),
        from: trial.from.clone(),
        to: trial.to.clone(),
        verdict: judged.verdict,
        effect: judged.effect,
        interval: judged.interval,
        rate: rate(trial),
        engine: super::engine::effect(trial),
        windows: 2 * (trial.pairs.len() + trial.left_out.len()) as u32,
        kept: trial.kept,
        side_effects: super::side_effects::side_effects(trial),
        note: notes(note(trial, before, &judged), &left_at),
        left_at,
    }
}

/// What is said of the verdict, and of what was not put back.
fn notes(note: Option<String>, left_at: &[String]) -> Option<String> {
    let left = (!left_at.is_empty()).then(|| {
        let left = left_at.join(", ");
        format!("not put back, since somebody else has set it meanwhile: {left}")
    });
    let notes: Vec<String> = note.into_iter().chain(left).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn left_at(left: &LeftAt) -> String {
    format!("{} on {} at {}", left.knob, left.host, left.value)
}

fn note(trial: &Trial, before: &[Trial], judged: &Judgement) -> Option<String> {
    if let Some(why) = &trial.not_tried {
        return match why.as_str() {
            DRY_RUN => Some(WOULD_BE_TRIED.to_owned()),
            _ => Some(format!("not tried: {why}")),
        };
    }
    if let Some(why) = super::engine::too_quiet(trial, before) {
        return Some(why);
    }
    if !trial.left_out.is_empty() && !trial.kept {
        return Some("the other changes do as well without it".to_owned());
    }
    match (judged.verdict, judged.needs) {
        (Verdict::Better, _) if !trial.kept && matches!(trial.knob, Knob::SocketBuffer { .. }) => Some(
            "the engine was started again, which closed its socket: see what it takes when it starts"
                .to_owned(),
        ),
        (Verdict::Better, _) if !trial.kept => {
            Some("it leaves some of the fault, and another change cures all of it".to_owned())
        }
        (Verdict::CannotTell, Some(more)) => {
            Some(format!("noise too high: about {more} more windows needed"))
        }
        _ => None,
    }
}

fn changes(tuning: &Tuning) -> Vec<ChangeReport> {
    let all = tuning.changes.iter();
    all.flat_map(|(host, changes)| changes.iter().map(|c| change(host, c)))
        .collect()
}

/// A change as it is reported.
pub fn change(host: &HostName, change: &Change) -> ChangeReport {
    ChangeReport {
        id: change_id(host, change.number),
        node: host.to_string(),
        object: change.knob.to_string(),
        before: change.before.clone(),
        after: change.after.clone(),
        persisted_in: change.persisted_in.clone(),
        note: change.not_persisted.clone(),
        together: change.together.clone(),
    }
}
