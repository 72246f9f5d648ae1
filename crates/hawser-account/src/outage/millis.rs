//! Times of an outage.

use std::fmt;

use hawser_model::drill::Moment;
use serde::Serialize;

use super::spans::Span;

/// Milliseconds, shown as seconds: `1.25 s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Millis(pub(crate) u64);

impl Millis {
    /// From one moment to a later one.
    pub(crate) fn between(from: Moment, to: Moment) -> Self {
        Self(to.0.saturating_sub(from.0) / 1000)
    }

    /// How long these were together.
    pub(crate) fn together<'a>(spans: impl Iterator<Item = &'a Span>) -> Self {
        let us = spans.map(|span| span.to.0.saturating_sub(span.from.0));
        Self(us.fold(0, u64::saturating_add) / 1000)
    }

    /// `1.25 s of the outage of 4.90 s`.
    pub(crate) fn of(self, outage: Self) -> String {
        format!("{self} of the outage of {outage}")
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} s", self.0 as f64 / 1000.0)
    }
}
