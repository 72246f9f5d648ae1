//! A tune as text: every trial with its verdict, what was kept, and the proof.

use std::fmt::Write as _;

use hawser_account::trial::judge;
use hawser_model::account::Account;
use hawser_model::case::Case;
use hawser_model::knob::{Change, Knob, Scope, Undone, change_id};
use hawser_model::names::HostName;
use hawser_model::output::tune::{
    ChangeReport, CorosyncEffect, EngineEffect, RateEffect, SideEffects, TrialReport, TuneReport,
    WOULD_BE_TRIED, short,
};
use hawser_model::topology::Reach;
use hawser_model::trial::{Trial, Verdict};

use super::findings::wrap;
use super::table::{Align, Table};
use crate::output::paint::style;

/// The whole report. `which` is how the cluster was named, for the commands that are shown.
pub fn report(case: &Case, report: &TuneReport, which: &str) -> String {
    let fanout = hawser_account::fanout::report(case);
    let mut out = match case.fanout.as_ref().zip(fanout) {
        Some((run, found)) => super::fanout::measured(case, run, &found),
        None => format!(
            "{} {}: {}\n\n",
            style("Cluster").bold(),
            case.topology.cluster,
            before(report),
        ),
    };
    out.push_str(&trials(case, report));
    out.push_str(&placebos(case));
    out.push_str(&corosync(&report.corosync));
    if report.changes.is_empty() {
        let _ = writeln!(out, "{}", report.nothing_kept());
        for trial in tuned(case).iter().filter(|trial| trial.restarted) {
            let _ = writeln!(
                out,
                "But Corosync on {} was started again, and has the buffers that it got then.",
                trial.host
            );
        }
    } else {
        let _ = writeln!(out, "{}", style("Kept").bold());
        out.push_str(&changes(&report.changes));
        let _ = writeln!(out, "  undo: hawser undo --all {which}\n");
        let _ = writeln!(
            out,
            "{}  {}{}",
            style("Proof").bold(),
            proof(report),
            match report.after.findings.as_slice() {
                [] => "; no findings are left".to_owned(),
                left => format!("; still found: {}", once(left)),
            }
        );
    }
    let _ = writeln!(out, "Case file: {}", report.case);
    out
}

/// What the trials did to the cluster engines, or that there are none to ask.
fn corosync(effects: &[CorosyncEffect]) -> String {
    let told = effects.iter().map(|e| {
        let counted = |what: &str, count: Option<u64>| match count {
            Some(count) => format!("{count} {what}"),
            None => format!("{what} not known"),
        };
        match (e.runs, e.watched) {
            (false, _) => format!("{} runs none", e.node),
            (true, watched) => format!(
                "{} {}: {}, {}",
                e.node,
                if watched { "watched" } else { "not watched" },
                counted("tokens lost", e.gained.token_lost),
                counted("messages sent again", e.gained.retransmits)
            ),
        }
    });
    match effects.iter().any(|e| e.runs) {
        true => format!("Corosync: {}\n\n", told.collect::<Vec<_>>().join("; ")),
        false => {
            "Corosync runs on none of the hosts: what a change does to its token was not seen.\n\n"
                .to_owned()
        }
    }
}

fn proof(report: &TuneReport) -> String {
    if !report.before.fanout.is_empty() {
        return super::fanout::proof(&report.before.fanout, &report.after.fanout);
    }
    let (before, after) = (&report.before, &report.after);
    let mut out = format!(
        "lost before: {}; with what was kept: {}",
        share(&before.packets.total),
        share(&after.packets.total)
    );
    for trial in report.trials.iter().filter(|trial| trial.kept) {
        if let Some(engine) = &trial.engine {
            let _ = write!(
                out,
                "; Corosync on {} dropped {} of {} packets before, {} of {} with it",
                trial.place,
                engine.dropped_without,
                engine.of_without,
                engine.dropped_with,
                engine.of_with,
            );
        }
    }
    for (link, frames) in &before.frames_per_8_kib {
        let now = after.frames_per_8_kib.get(link);
        if let Some(now) = now.filter(|now| *now != frames) {
            let _ = write!(
                out,
                "; a block of 8 KiB in {frames} frames before on {link}, in {now} now"
            );
        }
    }
    out
}

fn before(report: &TuneReport) -> String {
    match report.before.findings.as_slice() {
        [] => "the check found nothing; there is nothing to cure".to_owned(),
        found => format!(
            "{} lost: {}",
            share(&report.before.packets.total),
            once(found)
        ),
    }
}

fn once(codes: &[String]) -> String {
    let mut codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    codes.dedup();
    codes.join(", ")
}

fn share(account: &Account) -> String {
    if account.sent.is_zero() {
        return "nothing sent".to_owned();
    }
    format!(
        "{} of {} packets ({:.2} %)",
        account.lost,
        account.sent,
        account.lost.0 as f64 * 100.0 / account.sent.0 as f64
    )
}

/// The trials of a tuned case; nothing for the case of a check.
pub fn trials(case: &Case, report: &TuneReport) -> String {
    use Align::{Left, Right};
    if report.trials.is_empty() {
        return match report.before.findings.as_slice() {
            [] => String::new(),
            _ => "No knob of a host cures what was found; `hawser check` says what does.\n\n"
                .to_owned(),
        };
    }
    let mut out = format!("{}\n", style("Trials").bold());
    let mut table = Table::new(&[Left, Left, Left, Left, Left, Right, Right, Left]);
    let heads = [
        "knob", "where", "scope", "from", "to", "windows", "effect", "verdict",
    ];
    table.row(heads.map(|h| style(h).dim().to_string()));
    for trial in &report.trials {
        table.row(row(trial));
    }
    for line in table.lines("  ") {
        let _ = writeln!(out, "{line}");
    }
    for trial in &report.trials {
        let note = trial.note.clone().filter(|note| note != WOULD_BE_TRIED);
        let mut notes: Vec<String> = note.into_iter().collect();
        notes.extend(trial.rate.iter().map(RateEffect::told));
        notes.extend(trial.engine.iter().map(EngineEffect::told));
        notes.extend(trial.side_effects.iter().flat_map(SideEffects::told));
        if !notes.is_empty() {
            let _ = writeln!(out, "  {}: {}", trial.knob, notes.join("; "));
        }
    }
    if wider_than_a_node(case) {
        wrap(
            &mut out,
            "  ",
            "Scope machine: in this lab that is every node and the host itself; `hawser lab down` puts the host's own \
             value back.",
        );
    }
    if report.trials.iter().any(|trial| trial.windows > 0) {
        wrap(
            &mut out,
            "  ",
            "Effect: percentage points of packets lost with it, less without it (of a TCP stream: of its fastest rate, \
         missing in the second half of a window), and the interval of 95 % (Hodges-Lehmann). Windows in pairs, in an \
         order chosen by a coin; exact Wilcoxon signed-rank test. Side effects (delay, jitter, CPU time, memory, \
         Corosync's token) are told where they are large.",
        );
    }
    out.push('\n');
    out
}

/// What was said of changes that do nothing.
fn placebos(case: &Case) -> String {
    let verdicts: Vec<Verdict> = tuned(case)
        .iter()
        .filter(|t| t.knob == Knob::Placebo && t.not_tried.is_none())
        .map(|t| judge(&t.pairs).verdict)
        .collect();
    if verdicts.is_empty() {
        return String::new();
    }
    let count = |verdict| verdicts.iter().filter(|v| **v == verdict).count();
    format!(
        "Placebo: of {} trials {} called better, {} worse, {} without effect, {} undecided\n",
        verdicts.len(),
        count(Verdict::Better),
        count(Verdict::Worse),
        count(Verdict::NoEffect),
        count(Verdict::CannotTell)
    )
}

fn tuned(case: &Case) -> &[Trial] {
    case.tuning.as_ref().map_or(&[], |t| &t.trials)
}

fn wider_than_a_node(case: &Case) -> bool {
    let lab = |host: &HostName| {
        let node = case.topology.node(host);
        node.is_some_and(|n| matches!(n.reach, Reach::Lab(_)))
    };
    tuned(case)
        .iter()
        .any(|t| t.scope == Some(Scope::Machine) && !t.pairs.is_empty() && lab(&t.host))
}

/// Its row, in which the eye finds what was kept.
fn row(trial: &TrialReport) -> [String; 8] {
    let mut row = trial.row();
    let outcome = &mut row[7];
    if trial.windows == 0 {
        *outcome = style(&outcome).dim().to_string();
    } else if trial.kept {
        *outcome = style(&outcome).green().to_string();
    }
    row
}

/// One line on a trial that is over, for those who wait.
pub fn trial_line(trial: &Trial) -> String {
    let judged = judge(&trial.pairs);
    let what = match (&trial.not_tried, judged.effect) {
        (Some(why), _) => format!("not tried: {why}"),
        (None, Some(effect)) => {
            format!("{} ({:+.2} points)", judged.verdict.word(), effect * 100.0)
        }
        (None, None) => judged.verdict.word().to_owned(),
    };
    format!("{} on {}: {what}", trial.knob, trial.host)
}

/// Changes in force.
pub fn changes(changes: &[ChangeReport]) -> String {
    use Align::Left;
    if changes.is_empty() {
        return "No changes: every node is as it was before Hawser.\n".to_owned();
    }
    let mut table = Table::new(&[Left, Left, Left, Left, Left]);
    let heads = ["id", "what", "before", "now", "after a reboot"];
    table.row(heads.map(|h| style(h).dim().to_string()));
    for change in changes {
        let lasts = match (&change.persisted_in, &change.note) {
            (Some(file), _) => format!("lasts: {file}"),
            (None, Some(why)) => format!("gone: {why}"),
            (None, None) => "gone: still a trial".to_owned(),
        };
        table.row([
            &change.id,
            &change.object,
            &short(&change.before),
            &short(&change.after),
            &lasts,
        ]);
    }
    table.lines("  ").join("\n") + "\n"
}

/// What became of a change that was undone; `later` is one of the same knob that is in force.
pub fn undone(host: &HostName, undone: &Undone, later: Option<&Change>) -> String {
    let change = &undone.change;
    let id = change_id(host, change.number);
    let socket = matches!(change.knob, Knob::SocketBuffer { .. });
    match (&undone.left_at, later) {
        (None, _) if undone.gone && socket => format!(
            "{id}: {}: the socket is closed, and nothing is left of the change",
            change.knob
        ),
        (None, _) if undone.gone => format!(
            "{id}: {} does not exist any more, and nothing is left of the change",
            change.knob
        ),
        (None, _) => format!("{id}: {} is {} again", change.knob, change.before),
        (Some(found), Some(later)) => format!(
            "{id}: {} stays {found}, as {later} has set it since: `hawser undo {later}` takes that back",
            change.knob,
            later = change_id(host, later.number)
        ),
        (Some(found), None) => format!(
            "{id}: {} is {found}, which somebody else has set since: left alone (before: {})",
            change.knob, change.before
        ),
    }
}
