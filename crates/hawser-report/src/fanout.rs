//! Receivers against loss: a picture and a table for each host and rate, and the findings.

use hawser_model::case::Case;
use hawser_model::fanout::FanoutRun;
use hawser_model::output::fanout::{FanoutReport, FanoutResult};

use crate::findings;
use crate::page::{Page, Section, Source};
use crate::plot::{Axis, Curve, Mark, Plot, plot, short};
use crate::scale::Scale;
use crate::table::{Column, table};
use crate::{trials, undo};

/// The page of a fan-out.
pub fn page(case: &Case, run: &FanoutRun, report: &FanoutReport, file: &str) -> String {
    let title = format!("Fan-out of {}", case.topology.cluster);
    let mut page = Page::new(&title, case.recorded, &case.hawser);
    if !report.groups.is_empty() {
        page.lead(
            "How many groups one receiver behind a bridge joins, under the host's own limits. One packet was sent to \
             each; strayed is what another guest got, which had joined none.",
        );
        page.section("Groups", |s| joined(s, report));
        findings::section(&mut page, &report.findings);
        return page.finish(Source::Case(file));
    }
    page.lead(format_args!(
        "How many receivers of one multicast flow of {} bytes a host serves with less than 0.01 % lost. A \
         number counts only where the sender held its rate.{}",
        run.payload,
        match run.count_only {
            true => " Receivers counted in the kernel and read nothing.",
            false => "",
        },
    ));
    groups(&mut page, &report.series, "");
    findings::section(&mut page, &report.findings);
    if let (Some(tuned), Some(tuning)) = (hawser_account::trial::tune_report(case), &case.tuning) {
        trials::section(&mut page, &tuning.trials, &tuned);
        if tuning.after.is_some() {
            groups(&mut page, &tuned.after.fanout, ", with what was kept");
        }
        undo::section(&mut page, &case.topology, tuning);
    }
    page.finish(Source::Case(file))
}

/// What each host's socket and bridge took.
fn joined(s: &mut Section<'_>, report: &FanoutReport) {
    let columns = [
        Column::Text("host"),
        Column::Number("asked"),
        Column::Number("one socket"),
        Column::Number("joined"),
        Column::Number("arrived"),
        Column::Number("strayed"),
        Column::Text("the bridge"),
    ];
    let rows = report.groups.iter().map(|(host, groups)| {
        vec![
            host.to_string(),
            groups.asked.to_string(),
            groups.one_socket.to_string(),
            groups.joined.to_string(),
            groups.arrived.to_string(),
            groups.strayed.to_string(),
            groups.bridge().to_owned(),
        ]
    });
    table(
        s,
        "groups that were joined",
        &columns,
        &rows.collect::<Vec<_>>(),
    );
}

/// A section for each host and rate.
fn groups(page: &mut Page, series: &[FanoutResult], when: &str) {
    let mut rest = series;
    while let Some(first) = rest.first() {
        let same = |r: &&FanoutResult| r.host == first.host && r.rate == first.rate;
        let count = rest.iter().take_while(same).count();
        let (group, others) = rest.split_at(count);
        rest = others;
        let heading = format!("{} at {}{when}", first.host, first.rate);
        page.section(&heading, |s| {
            picture(s, group);
            numbers(s, group);
        });
    }
}

fn picture(s: &mut Section<'_>, group: &[FanoutResult]) {
    let points = || group.iter().flat_map(|r| r.points.iter());
    let most = points().map(|p| p.receivers).max().unwrap_or(1);
    let worst = points().map(|p| p.loss_percent).fold(1.0, f64::max);
    let curves = group.iter().map(|r| Curve {
        name: r.spread.word().to_owned(),
        points: r
            .points
            .iter()
            .map(|p| (f64::from(p.receivers), p.loss_percent))
            .collect(),
        dots: true,
        filled: false,
    });
    let answers = group.iter().filter_map(|r| {
        Some(Mark {
            x: f64::from(r.most_receivers.filter(|most| *most > 0)?),
            words: r.spread.word().to_owned(),
            row: 0,
        })
    });
    let described: Vec<String> = group
        .iter()
        .map(|r| match r.most_receivers {
            Some(most) => format!("{}: {most} receivers", r.spread.word()),
            None => format!("{}: not measured", r.spread.word()),
        })
        .collect();
    let best = answers.max_by(|a, b| a.x.total_cmp(&b.x));
    plot(
        s,
        &Plot {
            title: "Receivers against loss",
            description: format!("{}.", described.join(", ")),
            x: Axis {
                scale: Scale::from_zero(f64::from(most)),
                words: &short,
            },
            y: Axis {
                scale: Scale::from_zero(worst),
                words: &|loss| format!("{} %", short(loss)),
            },
            curves: curves.collect(),
            marks: best.into_iter().collect(),
        },
    );
}

fn numbers(s: &mut Section<'_>, group: &[FanoutResult]) {
    let columns = [
        Column::Text("worked off by"),
        Column::Number("most receivers"),
        Column::Number("of the default"),
        Column::Number("of one context"),
        Column::Number("too many"),
        Column::Text("busiest processor then"),
        Column::Number("lost at its backlog"),
        Column::Number("taken by a hypervisor"),
        Column::Text("rate held"),
    ];
    let times = |times: Option<f64>| times.map_or("–".to_owned(), |t| format!("{t:.2} ×"));
    let rows: Vec<Vec<String>> = group
        .iter()
        .map(|r| {
            let limit = r.limit.as_ref();
            let of = |text: &dyn Fn(&hawser_model::output::fanout::FanoutLimit) -> String| {
                limit.map_or("–".to_owned(), text)
            };
            vec![
                r.spread.word().to_owned(),
                match (&r.most_receivers, &r.problem) {
                    (Some(most), _) => most.to_string(),
                    (None, Some(why)) => format!("not measured: {why}"),
                    (None, None) => "–".to_owned(),
                },
                times(r.times_default),
                times(r.times_one_context),
                of(&|l| l.receivers.to_string()),
                of(&|l| {
                    format!(
                        "{}: {:.0} % busy, {:.0} % softirq",
                        l.processor,
                        l.busy_share * 100.0,
                        l.softirq_share * 100.0
                    )
                }),
                of(&|l| l.backlog_drops.to_string()),
                of(&|l| format!("{:.1} %", l.stolen_share * 100.0)),
                of(&|l| if l.sender_slowed { "no" } else { "yes" }.to_owned()),
            ]
        })
        .collect();
    table(
        s,
        "The most receivers, and what was exhausted with more",
        &columns,
        &rows,
    );
    let mut points: Vec<(u32, String, String, String)> = Vec::new();
    for result in group {
        for point in &result.points {
            points.push((
                point.receivers,
                result.spread.word().to_owned(),
                format!("{} %", short(point.loss_percent)),
                format!("{:.1} %", point.rate_share * 100.0),
            ));
        }
    }
    points.sort();
    let columns = [
        Column::Number("receivers"),
        Column::Text("worked off by"),
        Column::Number("lost"),
        Column::Number("of the rate reached"),
    ];
    let rows: Vec<Vec<String>> = points
        .into_iter()
        .map(|(n, spread, loss, rate)| vec![n.to_string(), spread, loss, rate])
        .collect();
    table(s, "Every number that was measured", &columns, &rows);
}
