//! From a value to a share of a picture, and the round numbers to write beside it.

/// How values spread over an axis.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// Even steps from zero; the end is a round number at or above `high`.
    pub fn from_zero(high: f64) -> Self {
        let step = step(high, 4.0);
        Self {
            low: 0.0,
            high: (high / step - 1e-9).ceil().max(1.0) * step,
        }
    }

    /// Even steps between two values as they are.
    pub fn between(low: f64, high: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { low, high }
    }

    /// Where a value is, from 0 to 1; what is beyond the ends is at the end.
    pub fn share(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    /// Round values in the range, about as many as asked for.
    pub fn ticks(&self, about: f64) -> Vec<f64> {
        let step = step(self.high - self.low, about);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last.min(first + 100))
            .map(|n| n as f64 * step)
            .collect()
    }
}

/// 1, 2 or 5 times a power of ten, so that a span is cut into about so many pieces.
fn step(span: f64, pieces: f64) -> f64 {
    let rough = span / pieces;
    if !(rough.is_finite() && rough > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0];
    let found = round
        .into_iter()
        .find(|r| r * power >= rough * (1.0 - 1e-9));
    found.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        let scale = Scale::from_zero(870.0);
        assert_eq!(scale.ticks(4.0), [0.0, 500.0, 1000.0]);
        assert_eq!(scale.share(500.0), 0.5);
        assert_eq!(scale.share(f64::NAN), 0.0);
        assert_eq!(Scale::from_zero(0.0).share(0.0), 0.0);
        let ticks = Scale::between(1.0, 36.0).ticks(5.0);
        assert_eq!(ticks, [10.0, 20.0, 30.0]);
    }
}
