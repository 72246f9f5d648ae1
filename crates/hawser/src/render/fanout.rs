//! A fan-out as text: a bar each for the most receivers, the loss by their number, what was exhausted.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use hawser_model::case::Case;
use hawser_model::fanout::{FanoutRun, Spread};
use hawser_model::output::fanout::{FanoutLimit, FanoutPoint, FanoutReport, FanoutResult};
use hawser_model::units::Packets;

use super::findings::findings;
use super::table::{Align, Table};
use crate::output::paint::style;
use crate::output::width::columns;

/// Cells of the longest bar on a wide terminal.
const BAR: usize = 40;

/// Loss from which on a number of receivers is too many, percent.
const TOO_MUCH: f64 = 0.01;

/// The sender's share of its rate below which a number does not stand.
const HELD: f64 = 0.995;

/// A hypervisor took this share of the processors: it is said.
const STOLEN: f64 = 0.01;

/// The whole report.
pub fn report(case: &Case, run: &FanoutRun, report: &FanoutReport) -> String {
    format!(
        "{}Case file: {}\n",
        measured(case, run, report),
        report.case
    )
}

/// What was measured and found.
pub fn measured(case: &Case, run: &FanoutRun, report: &FanoutReport) -> String {
    let mut out = format!(
        "{} {}: most receivers of one multicast flow of {} bytes with less than {TOO_MUCH} % lost{}\n\n",
        style("Fan-out").bold(),
        case.topology.cluster,
        run.payload,
        match run.count_only {
            true => ",\ncounted in the kernel and not read",
            false => "",
        },
    );
    if !report.groups.is_empty() {
        return joined(case, report);
    }
    for group in groups(report) {
        let first = group[0];
        let _ = writeln!(out, "{}, {}", style(first.host.as_str()).bold(), first.rate);
        out.push_str(&bars(&group));
        out.push_str(&losses(&group));
    }
    out.push_str(&findings(&report.findings));
    out
}

/// How many groups each host takes.
fn joined(case: &Case, report: &FanoutReport) -> String {
    use Align::{Left, Right};
    let mut out = format!(
        "{} {}: groups that one receiver behind a bridge joins, one packet sent to each\n\n",
        style("Groups").bold(),
        case.topology.cluster,
    );
    let mut table = Table::new(&[Left, Right, Right, Right, Right, Right, Left]);
    let heads = [
        "host",
        "asked",
        "one socket",
        "joined",
        "arrived",
        "strayed",
        "the bridge",
    ];
    table.row(heads.map(|h| style(h).dim().to_string()));
    for (host, groups) in &report.groups {
        let bridge = groups.bridge();
        let most = groups
            .hash_max
            .map_or(String::new(), |most| format!(" (most: {most})"));
        table.row([
            host.to_string(),
            groups.asked.to_string(),
            groups.one_socket.to_string(),
            groups.joined.to_string(),
            groups.arrived.to_string(),
            groups.strayed.to_string(),
            format!("{bridge}{most}"),
        ]);
    }
    for line in table.lines("  ") {
        let _ = writeln!(out, "{line}");
    }
    out.push('\n');
    out.push_str(&findings(&report.findings));
    out
}

/// How many receivers each host served before and after.
pub fn proof(before: &[FanoutResult], after: &[FanoutResult]) -> String {
    let as_set = |r: &&FanoutResult| r.spread == Spread::AsSet;
    let most = |r: &FanoutResult| match r.most_receivers {
        Some(most) => most.to_string(),
        None => "unknown".to_owned(),
    };
    let lines = before.iter().filter(as_set).map(|r| {
        let mut now = after.iter().filter(as_set);
        let now = now.find(|now| now.host == r.host && now.rate == r.rate);
        let limit = now.and_then(|now| now.limit.as_ref());
        // A machine that was taken away meanwhile proves little, either way.
        let taken = limit.filter(|limit| limit.stolen_share >= STOLEN);
        let taken = taken.map(|limit| {
            let percent = limit.stolen_share * 100.0;
            format!(" (where a hypervisor took {percent:.0} % of the processors)")
        });
        format!(
            "{} at {}: {} receivers before, {} with what was kept{}",
            r.host,
            r.rate,
            most(r),
            now.map_or("unknown".to_owned(), most),
            taken.unwrap_or_default()
        )
    });
    lines.collect::<Vec<_>>().join("; ")
}

/// The lines of one host and rate together.
fn groups(report: &FanoutReport) -> Vec<Vec<&FanoutResult>> {
    let mut groups: Vec<Vec<&FanoutResult>> = Vec::new();
    for result in &report.series {
        match groups.last_mut() {
            Some(group) if group[0].host == result.host && group[0].rate == result.rate => {
                group.push(result);
            }
            _ => groups.push(vec![result]),
        }
    }
    groups
}

fn bars(group: &[&FanoutResult]) -> String {
    use Align::{Left, Picture, Right};
    let best = group.iter().filter_map(|r| r.most_receivers).max();
    let best = f64::from(best.unwrap_or(0).max(1));
    let mut table = Table::new(&[Left, Right, Right, Picture, Left]);
    let first = group.first().map_or("", |r| r.spread.word());
    let of_first = format!("of {first}");
    let heads = [
        "",
        "receivers",
        &of_first,
        "",
        "what was exhausted with more",
    ];
    table.row(heads.map(|h| style(h).dim().to_string()));
    for result in group {
        let (number, bar) = match result.most_receivers {
            Some(most) => {
                let cells =
                    (f64::from(most) / best * BAR.min(columns() / 6) as f64).round() as usize;
                (most.to_string(), "█".repeat(cells))
            }
            None => ("–".to_owned(), String::new()),
        };
        let why = match (&result.limit, &result.problem) {
            (_, Some(_)) => "not measured".to_owned(),
            (Some(limit), _) => exhausted(limit),
            (None, None) => "nothing: as many as were tried".to_owned(),
        };
        let base = group.first().and_then(|r| r.most_receivers);
        let times = match (result.most_receivers, base) {
            (Some(most), Some(base)) if base > 0 => {
                format!("{:.2} ×", f64::from(most) / f64::from(base))
            }
            _ => "–".to_owned(),
        };
        table.row([result.spread.word().to_owned(), number, times, bar, why]);
    }
    lines(&table)
}

fn exhausted(limit: &FanoutLimit) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut parts = vec![format!(
        "cpu{} {} busy, {} softirq",
        limit.processor,
        percent(limit.busy_share),
        percent(limit.softirq_share)
    )];
    if let Some(idle) = limit.others_idle_share {
        parts.push(format!("others {} idle", percent(idle)));
    }
    // What the machine was not there for is not the host's to answer.
    if limit.stolen_share >= STOLEN {
        parts.push(format!(
            "{} taken by the hypervisor",
            percent(limit.stolen_share)
        ));
    }
    let drops = [
        (limit.backlog_drops, "at the backlog"),
        (limit.socket_drops, "at the sockets"),
        (limit.other_drops, "elsewhere"),
    ];
    for (count, at) in drops {
        if count > Packets::ZERO {
            parts.push(format!("{count} lost {at}"));
        }
    }
    if limit.sender_slowed {
        parts.push("the sender was slowed".to_owned());
    }
    parts.join("; ")
}

/// Rows of receivers, a column for each way of spreading.
fn losses(group: &[&FanoutResult]) -> String {
    let numbers: BTreeSet<u32> = group
        .iter()
        .flat_map(|r| r.points.iter().map(|p| p.receivers))
        .collect();
    let mut columns = vec![Align::Right];
    columns.extend(group.iter().map(|_| Align::Right));
    let mut table = Table::new(&columns);
    let mut heads = vec!["receivers".to_owned()];
    heads.extend(group.iter().map(|r| r.spread.word().to_owned()));
    table.row(heads.iter().map(|h| style(h).dim().to_string()));
    for number in numbers {
        let mut row = vec![number.to_string()];
        for result in group {
            let point = result.points.iter().find(|p| p.receivers == number);
            row.push(point.map_or(String::new(), cell));
        }
        table.row(row);
    }
    lines(&table)
}

fn cell(point: &FanoutPoint) -> String {
    let loss = match point.loss_percent {
        0.0 => "0 %".to_owned(),
        loss if loss < 0.1 => format!("{loss:.4} %"),
        loss => format!("{loss:.2} %"),
    };
    let slow = match point.rate_share < HELD {
        true => format!(", rate {:.1} %", point.rate_share * 100.0),
        false => String::new(),
    };
    let cell = format!("{loss}{slow}");
    match point.loss_percent >= TOO_MUCH || !slow.is_empty() {
        true => style(cell).red().to_string(),
        false => cell,
    }
}

fn lines(table: &Table) -> String {
    let mut out = table.lines("  ").join("\n");
    out.push_str("\n\n");
    out
}

#[cfg(test)]
mod tests {
    use hawser_model::names::HostName;
    use hawser_model::units::PacketsPerSec;

    use super::*;

    fn result(spread: Spread, most: u32) -> FanoutResult {
        FanoutResult {
            host: HostName::from("head2"),
            rate: PacketsPerSec(40_000),
            spread,
            most_receivers: Some(most),
            limit: None,
            times_default: None,
            times_one_context: None,
            points: vec![FanoutPoint {
                receivers: most,
                windows: 2,
                stood: 2,
                loss_percent: 0.0,
                rate_share: 0.98,
            }],
            problem: None,
        }
    }

    #[test]
    fn the_most_has_the_longest_bar_and_a_slow_sender_is_told() {
        console::set_colors_enabled(false);
        let (one, split) = (result(Spread::OneContext, 5), result(Spread::Split, 10));
        let bars = bars(&[&one, &split]);
        for (most, times, cells) in [("10", "2.00", 40), (" 5", "1.00", 20)] {
            let bar = "█".repeat(cells);
            let line = bars
                .lines()
                .find(|line| line.contains(&format!(" {bar} ")) || line.ends_with(&bar));
            let line = line.unwrap_or_else(|| panic!("{bars}"));
            assert!(
                line.contains(most) && line.contains(&format!("{times} ×")),
                "{bars}"
            );
        }
        assert!(losses(&[&split]).contains("0 %, rate 98.0 %"));
    }
}
