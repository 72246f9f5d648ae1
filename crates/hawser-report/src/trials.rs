//! The trials: every window with and without each change, the useless ones too.

use hawser_model::output::tune::{SideEffects, TrialReport, TuneReport};
use hawser_model::statistics::{median, quantile};
use hawser_model::trial::{Pair, Trial};

use crate::bars::{Bar, bars};
use crate::markup::{Markup, percent};
use crate::page::{Page, Section};
use crate::scale::Scale;
use crate::table::{Column, table};

/// The section; `trials` are the facts behind `report.trials`, in the same order.
pub fn section(page: &mut Page, trials: &[Trial], report: &TuneReport) {
    page.section("What was tried", |s| {
        if trials.is_empty() {
            return s.paragraph("No knob of a host cures what was found, so none was turned.");
        }
        s.remark(
            "Windows of the same traffic, in pairs with and without the change, in an order chosen by a \
             coin. A thin line is a window, the grey box holds the middle half of them, the thick line is \
             their median. Effect: percentage points of packets lost (of a TCP stream: of its fastest rate, \
             missing in the second half of a window; of a buffer that was not granted: of what was asked) with the change, less without it, and the interval \
             of 95 %. Besides: what else it did to delay, jitter, CPU time a packet, the socket's memory and \
             the cluster engine's token, where that is large.",
        );
        let most = trials
            .iter()
            .flat_map(|t| t.pairs.iter().map(Pair::losses))
            .fold(0.0, |most, (without, with)| with.max(without).max(most));
        let scale = Scale::from_zero(most * 100.0);
        for (trial, reported) in trials.iter().zip(&report.trials) {
            if !trial.pairs.is_empty() {
                windows(s, trial, reported, &scale);
            }
        }
        let rows: Vec<Vec<String>> = report.trials.iter().map(|t| t.row().into()).collect();
        use Column::{Number, Text};
        let heads = [
            Text("knob"),
            Text("where"),
            Text("scope"),
            Text("from"),
            Text("to"),
            Number("windows"),
            Number("effect"),
            Text("verdict"),
        ];
        table(s, "All trials", &heads, &rows);
        // Sentences of a system call's length would push the numbers off the page.
        for trial in &report.trials {
            if let Some(note) = &trial.note {
                s.remark(format_args!("{} on {}: {note}", trial.knob, trial.place));
            }
        }
        proof(s, report);
    });
}

/// Before and after, as bars.
fn proof(s: &mut Section<'_>, report: &TuneReport) {
    if report.changes.is_empty() {
        return s.paragraph(report.nothing_kept());
    }
    let row = |label: &str, check: &hawser_model::output::tune::TuneCheck| {
        let total = &check.packets.total;
        let loss = match total.sent.0 {
            0 => 0.0,
            sent => total.lost.0 as f64 / sent as f64,
        };
        let mut codes: Vec<&str> = check.findings.iter().map(String::as_str).collect();
        codes.dedup();
        Bar {
            label: label.to_owned(),
            note: match codes.as_slice() {
                [] => "nothing is found any more".to_owned(),
                codes => codes.join(", "),
            },
            value: format!("{:.2} %", loss * 100.0),
            to: loss,
            class: "bad",
            ..Bar::default()
        }
    };
    if !report.before.fanout.is_empty() {
        return s
            .paragraph("The proof is the same measurement again, with what was kept in place.");
    }
    s.heading("The proof: the same check before and after");
    let rows = [
        row("before", &report.before),
        row("with what was kept", &report.after),
    ];
    bars(s, "Share of packets lost", ["check", "lost"], &rows);
}

fn windows(s: &mut Section<'_>, trial: &Trial, reported: &TrialReport, scale: &Scale) {
    s.markup().literal("<article class=\"trial\">");
    s.heading(format_args!("{} on {}", reported.knob, reported.place));
    let class = if trial.kept {
        "verdict stays"
    } else {
        "verdict"
    };
    s.markup().node("p", &[], |m| {
        m.text(format_args!(
            "{} → {}: ",
            reported.from.as_deref().unwrap_or("–"),
            reported.to.as_deref().unwrap_or("–")
        ));
        m.leaf("span", &[("class", &class)], reported.outcome());
        if let Some(effect) = reported.effect_in_points() {
            m.text(format_args!(", {effect}"));
        }
    });
    if let Some(rate) = &reported.rate {
        s.remark(format_args!("Stream: {}", rate.told()));
    }
    if let Some(engine) = &reported.engine {
        s.remark(format_args!("Corosync: {}", engine.told()));
    }
    let besides = reported.side_effects.iter().flat_map(SideEffects::told);
    let besides: Vec<String> = besides.collect();
    if !besides.is_empty() {
        s.remark(format_args!("Besides: {}", besides.join("; ")));
    }
    s.markup().literal("<div class=\"strip\"><div>");
    s.markup().leaf("span", &[], "without");
    s.markup().leaf("span", &[], "with");
    s.markup().literal("</div>");
    let in_percent = |of: fn((f64, f64)) -> f64| -> Vec<f64> {
        let pairs = trial.pairs.iter().map(Pair::losses);
        let mut losses: Vec<f64> = pairs.map(|pair| of(pair) * 100.0).collect();
        losses.sort_by(f64::total_cmp);
        losses
    };
    let (without, with) = (in_percent(|p| p.0), in_percent(|p| p.1));
    let lost = match () {
        () if trial.pairs.iter().any(Pair::is_of_a_stream) => "of its rate missing",
        () if trial.pairs.iter().any(Pair::is_of_a_buffer) => "of the buffer missing",
        () => "lost",
    };
    let description = format!(
        "{} pairs of windows. Median: {:.2} % {lost} without the change, {:.2} % with it.",
        trial.pairs.len(),
        median(without.iter().copied()),
        median(with.iter().copied())
    );
    let title = format!("The windows of {}", reported.knob);
    s.picture(title, description, 66, |m| {
        axis(m, scale, lost);
        strip(m, &without, "tick without", 12, scale);
        strip(m, &with, "tick with", 36, scale);
    });
    s.markup().literal("</div></article>");
}

fn axis(m: &mut Markup, scale: &Scale, lost: &str) {
    let ticks = scale.ticks(4.0);
    let last = ticks.len().saturating_sub(1);
    for (index, tick) in ticks.iter().enumerate() {
        let x = percent(scale.share(*tick));
        m.empty(
            "line",
            &[
                ("class", &"grid"),
                ("x1", &x),
                ("x2", &x),
                ("y1", &"0"),
                ("y2", &"48"),
            ],
        );
        let anchor = match index {
            0 => "start",
            i if i == last => "end",
            _ => "middle",
        };
        let unit = match index == last {
            true => format!(" % {lost}"),
            false => String::new(),
        };
        m.leaf(
            "text",
            &[
                ("class", &"dim"),
                ("x", &x),
                ("y", &"62"),
                ("text-anchor", &anchor),
            ],
            format_args!("{}{unit}", crate::plot::short(*tick)),
        );
    }
}

fn strip(m: &mut Markup, losses: &[f64], class: &str, y: u32, scale: &Scale) {
    let at = |share| scale.share(quantile(losses.iter().copied(), share));
    let (low, high) = (at(0.25), at(0.75));
    m.empty(
        "rect",
        &[
            ("class", &"quartiles"),
            ("x", &percent(low)),
            ("width", &percent((high - low).max(0.004))),
            ("y", &(y - 6)),
            ("height", &"12"),
        ],
    );
    for loss in losses {
        vertical(m, class, scale.share(*loss), y, 6);
    }
    vertical(m, "middle", at(0.5), y, 9);
}

fn vertical(m: &mut Markup, class: &str, share: f64, y: u32, half: u32) {
    let x = percent(share);
    m.empty(
        "line",
        &[
            ("class", &class),
            ("x1", &x),
            ("x2", &x),
            ("y1", &(y - half)),
            ("y2", &(y + half)),
        ],
    );
}
