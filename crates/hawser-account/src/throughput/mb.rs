//! Rates of a path.

use std::fmt;

use serde::Serialize;

use crate::cause::Tenths;

/// Megabytes a second, to a tenth: `1234 MB/s`, `12.3 MB/s`.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct MbPerS(Tenths);

impl MbPerS {
    /// This rate.
    pub(crate) fn of(rate: f64) -> Self {
        Self(Tenths::of(rate))
    }
}

impl fmt::Display for MbPerS {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.0.0;
        match rate >= 100.0 {
            true => write!(f, "{rate:.0} MB/s"),
            false => write!(f, "{rate:.1} MB/s"),
        }
    }
}
