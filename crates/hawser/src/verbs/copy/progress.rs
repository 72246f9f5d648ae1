//! What is shown while a copy runs: a bar on a terminal, a line every few seconds elsewhere.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use hawser_coordinator::copy::Watcher;
use hawser_copy::Now;
use hawser_lab::Interrupt;
use hawser_model::copy::{CopyCase, CopySink};
use hawser_model::units::Bytes;
use indicatif::{ProgressBar, ProgressStyle};

use hawser_model::units::mb_per_s;

use crate::output::{bar, complain};

/// The rate of the moment is that of this time.
const MOMENT: Duration = Duration::from_secs(1);

/// How often a log gets a line.
const LINE: Duration = Duration::from_secs(5);

/// A bar or lines; asked by the copy whether to go on.
pub(super) struct Display<'a> {
    interrupt: &'a Interrupt,
    bar: ProgressBar,
    terminal: bool,
    /// When the first byte had moved, and what had been kept then.
    start: Option<(Instant, u64)>,
    recent: VecDeque<(Instant, u64)>,
    said: Option<Instant>,
    interrupted: bool,
}

impl<'a> Display<'a> {
    pub(super) fn new(interrupt: &'a Interrupt) -> Self {
        let bar = ProgressBar::new_spinner();
        bar::message(&bar, "starting agents");
        bar.enable_steady_tick(Duration::from_millis(100));
        Self {
            interrupt,
            bar,
            terminal: std::io::stderr().is_terminal(),
            start: None,
            recent: VecDeque::new(),
            said: None,
            interrupted: false,
        }
    }

    /// Takes the bar away; true when the copy was interrupted.
    pub(super) fn finish(self) -> bool {
        self.bar.finish_and_clear();
        self.interrupted
    }

    fn rates(&mut self, at: Instant, moved: u64) -> (f64, f64) {
        let (start, _) = *self.start.get_or_insert((at, moved));
        self.recent.push_back((at, moved));
        while self.recent.len() > 2 && at.duration_since(self.recent[0].0) > MOMENT {
            self.recent.pop_front();
        }
        let rate = |since: (Instant, u64)| {
            let seconds = at.duration_since(since.0).as_secs_f64();
            let bytes = moved.saturating_sub(since.1) as f64;
            if seconds > 0.0 {
                bytes / 1e6 / seconds
            } else {
                0.0
            }
        };
        (rate(self.recent[0]), rate((start, 0)))
    }
}

impl Watcher for Display<'_> {
    fn at(&mut self, now: Now) -> bool {
        if self.interrupt.requested() {
            self.interrupted = true;
            return false;
        }
        let Some(size) = now.size else {
            let what = "connecting, looking at what is there already";
            bar::message(&self.bar, what);
            return true;
        };
        let at = Instant::now();
        if self.start.is_none() && self.terminal {
            let style = ProgressStyle::with_template("{bar:12} {percent:>3} %  {wide_msg}")
                .expect("a template that was tried");
            self.bar.set_style(style);
            self.bar.set_length(size.0);
        }
        let moved = now.bytes.saturating_sub(now.kept).0;
        let (moment, average) = self.rates(at, moved);
        let left = if average > 0.0 {
            let seconds = size.saturating_sub(now.bytes).0 as f64 / 1e6 / average;
            format!(", {} left", span(seconds))
        } else {
            String::new()
        };
        let message = format!(
            "{} of {size}, now {}, average {}{left}",
            now.bytes,
            mb_per_s(moment),
            mb_per_s(average)
        );
        if self.terminal {
            self.bar.set_position(now.bytes.0);
            bar::message(&self.bar, message);
        } else if self.said.get_or_insert(at).elapsed() >= LINE {
            self.said = Some(at);
            complain!("{message}");
        }
        true
    }
}

fn span(seconds: f64) -> String {
    match seconds.ceil() as u64 {
        s if s < 100 => format!("{s} s"),
        s if s < 6_000 => format!("{} min", s.div_ceil(60)),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

/// What an interrupted copy leaves.
pub(super) fn interrupted(case: &CopyCase) -> String {
    let end = &case.receiver;
    let there = Bytes(end.moved.0 + end.kept.0 + end.holes.0);
    match (&case.sink, case.options.checksum && there.0 > 0) {
        (CopySink::Path { path, .. }, _) if end.failure.is_none() => {
            format!("interrupted when all was in place: {path} on {}", case.to)
        }
        (CopySink::Path { path, .. }, true) => format!(
            "interrupted after {there} of {}: what {} has of {path} is kept; the same command goes on \
             from there",
            end.size, case.to
        ),
        _ => format!("interrupted after {there} of {}", end.size),
    }
}
