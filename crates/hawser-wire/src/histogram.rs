//! Measured times as quantiles: an HDR histogram with three significant digits.

use hawser_model::traffic::Quantiles;
use hawser_model::units::Nanos;
use hdrhistogram::Histogram;

/// The longest time told apart; longer ones count as this.
const LONGEST: Nanos = Nanos(60_000_000_000);

/// A distribution of times. Recording allocates nothing.
#[derive(Debug)]
pub struct Times {
    histogram: Histogram<u32>,
}

impl Default for Times {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST.0, 3)
            .expect("1 ns to 60 s with three digits are bounds the histogram takes");
        Self { histogram }
    }
}

impl Times {
    /// Adds one time.
    #[inline]
    pub fn record(&mut self, time: Nanos) {
        self.histogram.saturating_record(time.0);
    }

    /// What was recorded.
    pub fn quantiles(&self) -> Quantiles {
        let h = &self.histogram;
        if h.is_empty() {
            return Quantiles::default();
        }
        Quantiles {
            count: h.len(),
            min: Nanos(h.min()),
            p50: Nanos(h.value_at_quantile(0.5)),
            p90: Nanos(h.value_at_quantile(0.9)),
            p99: Nanos(h.value_at_quantile(0.99)),
            p999: Nanos(h.value_at_quantile(0.999)),
            max: Nanos(h.max()),
        }
    }
}
