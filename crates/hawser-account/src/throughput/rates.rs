//! A rate and its spread from slices of time.

use hawser_model::ladder::Sample;
use hawser_model::statistics;
use hawser_model::units::{Bytes, Nanos};

/// A rate once it was steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    /// 10^6 bytes a second.
    pub(crate) mb_per_s: f64,
    /// Half the distance between the quartiles of the slices' rates, as a share of their median. Where something came
    /// and the median is nothing, the best slice as a share of the mean: twice as much at least.
    pub(crate) spread: f64,
}

impl Rate {
    /// Whether it is below `share` of another one by more than both of them vary.
    pub(crate) fn clearly_below(self, share: f64, other: Self) -> bool {
        self.mb_per_s * (1.0 + self.spread) < share * other.mb_per_s * (1.0 - other.spread)
    }
}

/// The rate of a slice.
pub(crate) fn of(sample: &Sample) -> f64 {
    match sample.elapsed.0 {
        0 => 0.0,
        nanos => sample.bytes.0 as f64 * 1_000.0 / nanos as f64,
    }
}

/// The slices after the start: slow start, cold caches and full buckets belong to it. A fifth of
/// the slices, none where there are fewer than five.
pub(crate) fn steady(samples: &[Sample]) -> &[Sample] {
    &samples[samples.len() / 5..]
}

/// The rate of all steady slices together; `None` without any.
pub(crate) fn rate(samples: &[Sample]) -> Option<Rate> {
    let steady = steady(samples);
    let bytes = steady.iter().map(|s| s.bytes).sum::<Bytes>().0;
    let nanos = steady.iter().map(|s| s.elapsed).sum::<Nanos>().0;
    if nanos == 0 {
        return None;
    }
    let quantile = |share| statistics::quantile(steady.iter().map(of), share);
    let median = quantile(0.5);
    let mb_per_s = bytes as f64 * 1_000.0 / nanos as f64;
    let spread = if median > 0.0 {
        (quantile(0.75) - quantile(0.25)) / 2.0 / median
    } else if bytes > 0 {
        quantile(1.0) / mb_per_s
    } else {
        0.0
    };
    Some(Rate { mb_per_s, spread })
}

/// The median of the steady slices' rates: a stream that stood still for a while, or had one good moment, does not
/// move it. `None` without any.
pub(crate) fn median(samples: &[Sample]) -> Option<f64> {
    let rates = steady(samples).iter().map(of);
    (rates.len() > 0).then(|| statistics::median(rates))
}

#[cfg(test)]
mod tests {
    use hawser_model::units::{Bytes, Nanos};

    use super::*;

    fn slices(bytes: &[u64]) -> Vec<Sample> {
        bytes
            .iter()
            .map(|&bytes| Sample {
                elapsed: Nanos::from_millis(100),
                bytes: Bytes(bytes),
            })
            .collect()
    }

    #[test]
    fn the_start_does_not_count() {
        let rate = rate(&slices(&[9_000_000, 10_000, 10_000, 10_000, 10_000])).unwrap();
        assert!((rate.mb_per_s - 0.1).abs() < 1e-9, "{rate:?}");
        assert_eq!(rate.spread, 0.0);
    }

    #[test]
    fn the_spread_is_half_of_the_middle_half() {
        let rate = rate(&slices(&[80, 90, 100, 110])).unwrap();
        assert!((rate.spread - 7.5 / 95.0).abs() < 1e-9, "{rate:?}");
        assert!(super::rate(&[]).is_none());
        let still = super::rate(&slices(&[80, 0, 0])).unwrap();
        assert!((still.spread - 3.0).abs() < 1e-9, "{still:?}");
        assert_eq!(super::rate(&slices(&[0, 0])).unwrap().spread, 0.0);
        let stood = slices(&[100_000, 100_000, 0, 0, 100_000, 120_000, 110_000]);
        assert!((median(&stood).unwrap() - 1.0).abs() < 1e-9);
        assert!(median(&[]).is_none());
    }
}
