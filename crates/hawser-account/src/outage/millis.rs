//! Times of an outage.

use std::fmt;

use serde::Serialize;

/// Milliseconds, shown as seconds: `1.25 s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Millis(pub(crate) u64);

impl Millis {
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
