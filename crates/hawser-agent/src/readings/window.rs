//! The readings of some time, out of all. Pure.

use hawser_model::drill::Moment;
use hawser_model::readings::{AllNoted, KeptReadings, Reading};

use super::line::{Lines, encode};

/// A watch reads each second; a busy head makes it wait.
const SILENT_US: u64 = 5_000_000;

/// Of what is thinned a reading a minute is left.
const SILENT_THINNED_US: u64 = 130_000_000;

/// Bytes of an answer: a message of the agent's holds 16 MiB.
const MOST: usize = 8 << 20;

/// A time, and what was found of it so far.
pub(super) struct Window {
    from: Moment,
    to: Moment,
    known: AllNoted,
    last: Option<Moment>,
    begun: bool,
    kept: KeptReadings,
    bytes: usize,
}

impl Window {
    pub(super) fn new(from: Moment, to: Moment) -> Self {
        Self {
            from,
            to,
            known: AllNoted::new(),
            last: None,
            begun: false,
            kept: KeptReadings::default(),
            bytes: 0,
        }
    }

    /// Takes the next part of the ring.
    pub(super) fn part(&mut self, thinned: bool, lines: Lines) {
        self.kept.damaged += lines.damaged;
        for reading in lines.readings {
            self.reading(thinned, reading);
        }
    }

    fn reading(&mut self, thinned: bool, reading: Reading) {
        let at = reading.at;
        self.kept.oldest.get_or_insert(at);
        self.kept.newest = Some(at);
        let silent = if thinned {
            SILENT_THINNED_US
        } else {
            SILENT_US
        };
        if let Some(last) = self.last.replace(at) {
            let long = at.0.saturating_sub(last.0) > silent && reading.stepped_us.is_none();
            if long && at > self.from && last < self.to {
                self.kept.gaps.push((last, at));
            }
        }
        let inside = (self.from..=self.to).contains(&at);
        if at >= self.from && !self.begun {
            self.begun = true;
            // The first reading of that time or after it: what stood when it began.
            if !self.known.is_empty() {
                self.kept.thinned |= thinned;
                self.put(Reading::whole(self.from, &self.known));
            }
        }
        self.kept.thinned |= thinned && inside;
        // What a watch tells when it begins is no news where it is known.
        let news = match reading.whole {
            true => {
                let mut all = AllNoted::new();
                reading.apply(&mut all);
                let mut news = Reading::between(at, &self.known, &all);
                news.stepped_us = reading.stepped_us;
                self.known = all;
                news
            }
            false => {
                reading.apply(&mut self.known);
                reading
            }
        };
        if inside && !news.is_quiet() {
            self.put(news);
        }
    }

    fn put(&mut self, reading: Reading) {
        self.bytes += encode(&reading).len();
        match self.bytes > MOST {
            true => self.kept.left_out += 1,
            false => self.kept.readings.push(reading),
        }
    }

    /// What was found.
    pub(super) fn finish(self) -> KeptReadings {
        self.kept
    }
}
