//! `hawser bench cipher` as text: a table for each key size and number of threads, then what share
//! of a link that is.

use std::fmt::Write as _;

use hawser_cipher::bench::{self, BenchPlan, LINKS_GBIT, Layout, Row};
use hawser_cipher::{CHUNK, KeySize, PROVIDER};
use hawser_model::units::{Bytes, grouped};

use super::table::{Align, Table};
use crate::output::paint::style;

/// The whole report.
pub fn table(rows: &[Row], plan: &BenchPlan) -> String {
    let others: Vec<String> = bench::openssl_version()
        .map(str::to_owned)
        .into_iter()
        .chain(
            rows.iter()
                .any(|row| row.aws_lc_mb_per_s.is_some())
                .then(|| "AWS-LC bare".to_owned()),
        )
        .collect();
    let beside = if others.is_empty() {
        ", with nothing to compare with".to_owned()
    } else {
        format!(" beside {}", others.join(" and "))
    };
    let rounds = |row: &Row| row.rounds;
    let (least, most) = (
        rows.iter().map(rounds).min().unwrap_or_default(),
        rows.iter().map(rounds).max().unwrap_or_default(),
    );
    let rounds = if least == most {
        most.to_string()
    } else {
        format!("{least} to {most}")
    };
    let mut out = format!(
        "{} by {PROVIDER}{beside}\nMB/s of processor time, medians of {rounds} rounds in turns, contiguous; ratio: \
         ours over the faster\nof the others; then our other layouts over our contiguous\n",
        style("AES").bold(),
    );
    let layouts: Vec<Layout> = Layout::ALL
        .into_iter()
        .filter(|layout| *layout != Layout::Contiguous && plan.layouts.contains(layout))
        .collect();
    for &size in &plan.key_sizes {
        for &threads in &plan.threads {
            let here: Vec<&Row> = rows
                .iter()
                .filter(|row| row.key_bits == size.bits() && row.threads == threads)
                .collect();
            let _ = writeln!(out, "\n{}, {}", title(size), threads_in_words(threads));
            out.push_str(&speeds(&here, &layouts));
            out.push_str(&kernel(&here));
        }
        out.push_str(&shares(rows, size, plan));
    }
    out.push_str(&longest(rows));
    out.push_str(&refused(rows));
    out
}

fn title(size: KeySize) -> String {
    style(format!("AES-{}", size.bits())).bold().to_string()
}

fn threads_in_words(threads: usize) -> String {
    match threads {
        1 => "one thread".to_owned(),
        n => format!("{n} threads"),
    }
}

fn speeds(rows: &[&Row], layouts: &[Layout]) -> String {
    let mut columns = vec![Align::Left];
    columns.resize(6 + layouts.len(), Align::Right);
    let mut table = Table::new(&columns);
    let heads = ["", "chunk", "ours", "OpenSSL", "AWS-LC", "ratio"];
    let others = layouts.iter().map(ToString::to_string);
    table.row(heads.map(String::from).into_iter().chain(others));
    for row in rows.iter().filter(|row| row.layout == Layout::Contiguous) {
        let in_layout = |layout: Layout| {
            let same = |other: &&&Row| {
                (other.mode, other.op, other.chunk, other.layout)
                    == (row.mode, row.op, row.chunk, layout)
            };
            let found = rows.iter().find(same)?;
            Some(format!("{:.2}", found.of_contiguous))
        };
        let mut cells = vec![
            format!("{} {}", row.mode, row.op),
            Bytes(row.chunk as u64).to_string().replace(".0", ""),
            whole(row.mb_per_s),
            row.openssl_mb_per_s.map(whole).unwrap_or_default(),
            row.aws_lc_mb_per_s.map(whole).unwrap_or_default(),
            row.ratio
                .map(|ratio| format!("{ratio:.2}{}", uncertain(row.spread)))
                .unwrap_or_default(),
        ];
        cells.extend(
            layouts
                .iter()
                .map(|layout| in_layout(*layout).unwrap_or_default()),
        );
        table.row(cells);
    }
    lines(&table)
}

/// The kernel's speeds, a column a chunk; nothing where it offers none.
fn kernel(rows: &[&Row]) -> String {
    let measured: Vec<&&Row> = rows
        .iter()
        .filter(|row| row.kernel_mb_per_s.is_some())
        .collect();
    let mut chunks: Vec<usize> = measured.iter().map(|row| row.chunk).collect();
    chunks.sort_unstable();
    chunks.dedup();
    if chunks.is_empty() {
        return String::new();
    }
    let mut columns = vec![Align::Left];
    columns.resize(1 + chunks.len(), Align::Right);
    let mut table = Table::new(&columns);
    let heads = chunks
        .iter()
        .map(|chunk| Bytes(*chunk as u64).to_string().replace(".0", ""));
    table.row(std::iter::once("the kernel, by AF_ALG".to_owned()).chain(heads));
    for first in measured.iter().filter(|row| row.chunk == chunks[0]) {
        let speed = |chunk: &usize| {
            let mut same = measured.iter();
            let same =
                same.find(|row| (row.mode, row.op, row.chunk) == (first.mode, first.op, *chunk));
            same.and_then(|row| row.kernel_mb_per_s)
                .map(whole)
                .unwrap_or_default()
        };
        let cells = chunks.iter().map(speed);
        table.row(std::iter::once(format!("{} {}", first.mode, first.op)).chain(cells));
    }
    lines(&table)
}

/// Why the kernel was not measured, each reason once.
fn refused(rows: &[Row]) -> String {
    let mut whys: Vec<&str> = rows
        .iter()
        .filter_map(|row| row.kernel_refused.as_deref())
        .collect();
    whys.sort_unstable();
    whys.dedup();
    let whys = whys.iter().map(|why| format!("  {why}\n"));
    match whys.clone().next() {
        None => String::new(),
        Some(_) => format!(
            "\nThe kernel's own AES was not measured:\n{}",
            whys.collect::<String>()
        ),
    }
}

/// A spread behind its ratio, without the zero before the point: columns are scarce.
fn uncertain(spread: f64) -> String {
    let digits = format!("{spread:.2}");
    format!("±{}", digits.strip_prefix('0').unwrap_or(&digits))
}

fn shares(rows: &[Row], size: KeySize, plan: &BenchPlan) -> String {
    // 32 KiB where it was measured: what a storage head moves at once.
    let Some(chunk) = plan
        .chunks
        .iter()
        .copied()
        .min_by_key(|chunk| chunk.abs_diff(CHUNK))
    else {
        return String::new();
    };
    let mut columns = vec![Align::Left];
    columns.resize(
        1 + plan.threads.len() * (1 + LINKS_GBIT.len()),
        Align::Right,
    );
    let mut table = Table::new(&columns);
    let heads = plan.threads.iter().flat_map(|threads| {
        std::iter::once(threads_in_words(*threads)).chain(LINKS_GBIT.map(|link| format!("{link}G")))
    });
    table.row(std::iter::once(String::new()).chain(heads));
    for &mode in &plan.modes {
        for &op in &plan.directions {
            let mut cells = vec![format!("{mode} {op}")];
            for &threads in &plan.threads {
                let found = rows.iter().find(|row| {
                    (row.key_bits, row.mode, row.op) == (size.bits(), mode, op)
                        && (row.chunk, row.threads) == (chunk, threads)
                        && row.layout == Layout::Contiguous
                });
                let Some(row) = found else {
                    continue;
                };
                let share = bench::link_shares(row);
                cells.push(format!("{:.1}", share.gbit_per_s));
                cells.extend(share.shares.map(|share| format!("{:.0} %", share * 100.0)));
            }
            table.row(cells);
        }
    }
    format!(
        "\n{}, {} contiguous: Gbit/s, and the share of a link's rate that this could encrypt\n{}",
        title(size),
        Bytes(chunk as u64).to_string().replace(".0", ""),
        lines(&table)
    )
}

fn longest(rows: &[Row]) -> String {
    let timed = rows.iter().filter(|row| row.call_us.is_some());
    let slowest = timed
        .clone()
        .max_by(|a, b| a.call_us.partial_cmp(&b.call_us).expect("a time"));
    let Some((row, median, longest)) =
        slowest.and_then(|row| Some((row, row.call_us?, row.longest_call_us?)))
    else {
        return String::new();
    };
    let disturbed: usize = timed.clone().filter_map(|row| row.disturbed_calls).sum();
    let undisturbed = match row.longest_undisturbed_us {
        Some(longest) => {
            format!(
                "the longest of its least disturbed hundred took {longest:.1} µs of processor time"
            )
        }
        None => "no hundred of its calls were without another program".to_owned(),
    };
    format!(
        "\nNo call into {PROVIDER} covers more than 32 KiB. The slowest, AES-{}-{} {}, takes {median:.1} µs;\n\
         {undisturbed};\n\
         the longest of all {longest:.1} µs by the wall clock. Other programs ran during {disturbed} of all calls.\n",
        row.key_bits, row.mode, row.op,
    )
}

fn whole(value: f64) -> String {
    grouped(value.round() as u64)
}

fn lines(table: &Table) -> String {
    table
        .lines("  ")
        .into_iter()
        .map(|line| line + "\n")
        .collect()
}
