//! How many receivers of one flow a host serves, what is exhausted beyond, and what it means.

pub(crate) mod gain;
mod limit;
mod search;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use hawser_model::case::Case;
use hawser_model::fanout::{FanoutRun, FanoutSeries, FanoutWindow, Spread};
use hawser_model::finding::WordedFinding;
use hawser_model::names::HostName;
use hawser_model::output::fanout::{FanoutPoint, FanoutReport, FanoutResult};
use hawser_model::statistics::{median, rounded};
use hawser_model::units::PacketsPerSec;

use crate::causes::FANOUT;

pub use search::next;

/// The code of every cause of a fan-out.
pub fn codes() -> impl Iterator<Item = &'static str> {
    FANOUT.iter().map(|cause| cause.code)
}

/// A case as the causes look at it.
pub(crate) struct FanoutView<'a> {
    pub(crate) case: &'a Case,
    pub(crate) run: &'a FanoutRun,
    pub(crate) results: &'a [FanoutResult],
}

impl FanoutView<'_> {
    /// What a host served at a rate, spread so.
    fn result(
        &self,
        host: &HostName,
        rate: PacketsPerSec,
        spread: Spread,
    ) -> Option<&FanoutResult> {
        let mut all = self.results.iter();
        all.find(|r| r.host == *host && r.rate == rate && r.spread == spread)
    }
}

/// Everything Hawser says of a fan-out's case; `None` for a case that is none.
///
/// `case` of the report is empty: where the file lies, its reader knows.
pub fn report(case: &Case) -> Option<FanoutReport> {
    let run = case.fanout.as_ref()?;
    let series = results(run);
    let view = FanoutView {
        case,
        run,
        results: &series,
    };
    let mut findings: Vec<WordedFinding> = FANOUT.iter().flat_map(|c| (c.find)(&view)).collect();
    findings.sort_by_key(|f| (Reverse(f.finding.severity), Reverse(f.finding.confidence)));
    Some(FanoutReport {
        payload_bytes: run.payload,
        tried_up_to: run.most,
        count_only: run.count_only,
        groups: run
            .hosts
            .iter()
            .filter_map(|(host, measured)| Some((host.clone(), measured.groups.clone()?)))
            .collect(),
        findings,
        series,
        case: String::new(),
    })
}

/// How many receivers each host served, spread so.
pub(crate) fn results(run: &FanoutRun) -> Vec<FanoutResult> {
    let mut all: Vec<FanoutResult> = Vec::new();
    for (host, measured) in &run.hosts {
        let results = measured.series.iter().map(|s| result(host, s, run.most));
        all.extend(results);
    }
    compare(&mut all);
    all
}

fn result(host: &HostName, series: &FanoutSeries, most: u32) -> FanoutResult {
    let answer = match series.problem {
        Some(_) => None,
        None => search::answer(&series.windows, series.rate, most),
    };
    let fell = answer.and_then(|(_, fell)| fell);
    let limit = fell.and_then(|receivers| {
        let mut windows = series.windows.iter();
        let first = windows.find(|w| {
            w.receivers == receivers
                && search::verdict(w, series.rate) != search::WindowVerdict::Stands
        })?;
        limit::limit(first, series.rate)
    });
    FanoutResult {
        host: host.clone(),
        rate: series.rate,
        spread: series.spread,
        most_receivers: answer.map(|(stood, _)| stood),
        limit,
        times_default: None,
        times_one_context: None,
        points: points(series),
        problem: series.problem.clone(),
    }
}

fn points(series: &FanoutSeries) -> Vec<FanoutPoint> {
    let mut by_number: BTreeMap<u32, Vec<&FanoutWindow>> = BTreeMap::new();
    for window in &series.windows {
        by_number.entry(window.receivers).or_default().push(window);
    }
    by_number
        .into_iter()
        .map(|(receivers, windows)| {
            let stood = windows
                .iter()
                .filter(|w| search::verdict(w, series.rate) == search::WindowVerdict::Stands)
                .count();
            let rate = series.rate.0.max(1) as f64;
            FanoutPoint {
                receivers,
                windows: windows.len() as u32,
                stood: stood as u32,
                loss_percent: rounded(median(windows.iter().map(|w| w.loss() * 100.0)), 4),
                rate_share: rounded(median(windows.iter().map(|w| w.achieved() / rate)), 4),
            }
        })
        .collect()
}

/// Each line as a multiple of the default and of one context, on the same host at the same rate.
fn compare(series: &mut [FanoutResult]) {
    let mut bases = BTreeMap::new();
    for result in series.iter() {
        if let Some(most) = result.most_receivers.filter(|most| *most > 0) {
            bases.insert((result.host.clone(), result.rate.0, result.spread), most);
        }
    }
    for result in series {
        let times = |base| {
            let base = bases.get(&(result.host.clone(), result.rate.0, base))?;
            Some(rounded(
                f64::from(result.most_receivers?) / f64::from(*base),
                2,
            ))
        };
        (result.times_default, result.times_one_context) =
            (times(Spread::Default), times(Spread::OneContext));
    }
}
