//! The rate over time, from samples.

use hawser_model::copy::RateSample;
use hawser_model::output::copy::RatePoint;

/// An interval that holds less than this many bytes tells the size of the pieces in which a
/// program counts rather than a rate (a copy counts chunks of up to 1 MiB).
const ENOUGH: u64 = 2 << 20;

/// But a stall must be seen: an interval of this many nanoseconds is long enough with any bytes.
const LONG: u64 = 250_000_000;

/// The rate in each interval between two samples; short and empty intervals are joined with the
/// next.
pub fn rate_points(samples: &[RateSample]) -> Vec<RatePoint> {
    let mut points = Vec::new();
    let (mut at, mut bytes) = (0, 0);
    for (index, sample) in samples.iter().enumerate() {
        let time = sample.at.0.saturating_sub(at);
        let moved = sample.bytes.0.saturating_sub(bytes);
        let last = index + 1 == samples.len();
        // Nothing moves while the destination is synced: no point of the copy's rate.
        if time == 0 || (last && moved == 0) || (moved < ENOUGH && time < LONG && !last) {
            continue;
        }
        points.push(RatePoint {
            at_s: sample.at.as_secs_f64(),
            bytes: sample.bytes.0,
            mb_per_s: moved as f64 / 1e6 / (time as f64 / 1e9),
        });
        (at, bytes) = (sample.at.0, sample.bytes.0);
    }
    // What came after the last byte is not the copy's rate either.
    let moved = points.iter().rposition(|point| point.mb_per_s > 0.0);
    points.truncate(moved.map_or(0, |last| last + 1));
    points
}

#[cfg(test)]
mod tests {
    use hawser_model::units::{Bytes, Nanos};

    use super::*;

    fn sample(ms: u64, bytes: u64) -> RateSample {
        RateSample {
            at: Nanos::from_millis(ms),
            bytes: Bytes(bytes),
            ..RateSample::default()
        }
    }

    #[test]
    fn short_intervals_are_joined_and_stalls_are_kept() {
        let samples = [
            sample(0, 0),
            sample(25, 1 << 20),
            sample(50, 5 << 20),
            sample(75, 5 << 20),
            sample(325, 5 << 20),
            sample(350, 15 << 20),
            sample(900, 15 << 20),
        ];
        let points = rate_points(&samples);
        let at: Vec<f64> = points.iter().map(|p| p.at_s).collect();
        assert_eq!(at, [0.05, 0.325, 0.35]);
        assert_eq!(points[1].mb_per_s, 0.0);
        assert!((points[0].mb_per_s - 104.8576).abs() < 1e-6);
    }
}
