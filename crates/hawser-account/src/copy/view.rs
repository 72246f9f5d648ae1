//! A copy as the causes look at it: before and after the change, and as a whole.

use hawser_model::copy::{CopyCase, RateSample};
use hawser_model::output::copy::{ChangePoint, RatePoint};
use hawser_model::units::Nanos;

use super::{change_point, rate_points};

/// A copy and what was derived of it.
pub(crate) struct View<'a> {
    pub(crate) case: &'a CopyCase,
    pub(crate) change: Option<ChangePoint>,
    /// From the first to the last byte.
    pub(crate) whole: Part,
    /// Up to the change, and from it on.
    pub(crate) parts: Option<(Part, Part)>,
    /// How much the rates after the change vary: standard deviation by mean, over pieces of a
    /// quarter of a second and more.
    pub(crate) unsteadiness: Option<f64>,
}

/// What happened in a part of the time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part {
    pub(crate) seconds: f64,
    pub(crate) bytes: u64,
    /// Segments sent again because they were lost.
    pub(crate) lost: u64,
    /// Share of the time with data under way that the receiver's window held it back.
    pub(crate) window_share: f64,
    /// Share of the time that the sender spent reading, a stream.
    pub(crate) read_share: f64,
    /// Share of the time that the receiver spent writing, a stream.
    pub(crate) write_share: f64,
    /// Samples in which the window was shut.
    pub(crate) zero_windows: u64,
}

impl Part {
    pub(crate) fn mb_per_s(&self) -> f64 {
        if self.seconds > 0.0 {
            self.bytes as f64 / 1e6 / self.seconds
        } else {
            0.0
        }
    }
}

impl<'a> View<'a> {
    pub(crate) fn new(case: &'a CopyCase) -> Self {
        let points = rate_points(&case.receiver.samples);
        let change = change_point(&points);
        let end = points.last().map_or(0.0, |point| point.at_s);
        let unsteadiness = change.and_then(|change| unsteadiness_after(&points, &change));
        Self {
            case,
            whole: part(case, 0.0, end),
            parts: change
                .map(|change| (part(case, 0.0, change.at_s), part(case, change.at_s, end))),
            change,
            unsteadiness,
        }
    }

    /// What is to be explained: from the change on, or all of it.
    pub(crate) fn slow(&self) -> Part {
        self.parts.map_or(self.whole, |(_, after)| after)
    }

    /// Share of the time the streams ran that the receiver waited for data.
    pub(crate) fn receiver_idle(&self) -> f64 {
        let end = &self.case.receiver;
        let waited = end
            .stage(hawser_model::copy::Stage::Receive)
            .map_or(Nanos::ZERO, |stage| stage.waiting);
        share(waited.as_secs_f64(), self.whole.seconds * self.streams())
    }

    pub(crate) fn streams(&self) -> f64 {
        f64::from(self.case.options.streams.max(1))
    }
}

/// How much the rates after a change vary: standard deviation by mean, over pieces of a quarter of
/// a second and more; absent when there are too few.
pub(crate) fn unsteadiness_after(points: &[RatePoint], change: &ChangePoint) -> Option<f64> {
    let after: Vec<f64> = steps(points, change.at_s)
        .into_iter()
        .map(|(_, rate)| rate)
        .collect();
    unsteadiness(&after)
}

/// Time and rate of pieces of at least a quarter of a second.
fn steps(points: &[RatePoint], from: f64) -> Vec<(f64, f64)> {
    let mut steps = Vec::new();
    let mut start = points.iter().find(|p| p.at_s >= from).copied();
    for point in points.iter().filter(|p| p.at_s > from) {
        let Some(since) = start else { continue };
        let time = point.at_s - since.at_s;
        if time >= 0.25 {
            let bytes = point.bytes.saturating_sub(since.bytes);
            steps.push((point.at_s, bytes as f64 / 1e6 / time));
            start = Some(*point);
        }
    }
    steps
}

fn unsteadiness(rates: &[f64]) -> Option<f64> {
    if rates.len() < 3 {
        return None;
    }
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    let variance = rates.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean > 0.0).then(|| variance.sqrt() / mean)
}

fn part(case: &CopyCase, from: f64, to: f64) -> Part {
    let (sender, receiver) = (&case.sender.samples, &case.receiver.samples);
    let (s0, s1) = (at(sender, from), at(sender, to));
    let (r0, r1) = (at(receiver, from), at(receiver, to));
    let streams = f64::from(case.options.streams.max(1));
    let seconds = to - from;
    let span = |a: Nanos, b: Nanos| b.saturating_sub(a).as_secs_f64();
    let inside = |s: &&RateSample| (from..=to).contains(&s.at.as_secs_f64());
    Part {
        seconds,
        bytes: r1.bytes.0.saturating_sub(r0.bytes.0),
        lost: s1.lost().saturating_sub(s0.lost()),
        window_share: share(
            span(s0.window_limited, s1.window_limited),
            span(s0.tcp_busy, s1.tcp_busy),
        ),
        read_share: share(span(s0.disk, s1.disk), seconds * streams),
        write_share: share(span(r0.disk, r1.disk), seconds * streams),
        zero_windows: sender
            .iter()
            .filter(inside)
            .map(|s| u64::from(s.zero_windows))
            .sum(),
    }
}

/// The last sample up to a moment.
fn at(samples: &[RateSample], seconds: f64) -> RateSample {
    samples
        .iter()
        .take_while(|s| s.at.as_secs_f64() <= seconds + 1e-9)
        .last()
        .copied()
        .unwrap_or_default()
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        (part / whole).min(1.0)
    } else {
        0.0
    }
}
