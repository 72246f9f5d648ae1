//! Where a transfer that started well became slow and stayed slow.
//!
//! The method is the standardised CUSUM of binary segmentation (A. Sen, M. S. Srivastava: *On tests
//! for detecting change in mean*, Annals of Statistics 3, 1975): of all places to cut the series of
//! log rates in two, the one where the means differ most against the noise,
//!
//! ```text
//! T = max over k of  sqrt(k (n − k) / n) · (mean of the first k − mean of the rest) / σ
//! ```
//!
//! counts as a change when T is above 1.3 · sqrt(2 ln n), the threshold of P. Fryzlewicz (*Wild
//! binary segmentation for multiple change-point detection*, Annals of Statistics 42, 2014). σ is the
//! median absolute difference of neighbours, scaled as for normal noise, which a change or a few
//! outliers do not move. Logarithms, because rates differ by factors. Standardising by k keeps the
//! power at the edges: a burst can be over within the first interval.
//!
//! Neighbouring rates are alike, which makes σ too small; so a fall must also matter: to less than
//! half of before, for at least half a second, and until the end.

use hawser_model::output::copy::{ChangePoint, RatePoint};
use hawser_model::statistics::upper_median;

/// Of the threshold; see above.
const FACTOR: f64 = 1.3;

/// The rate after, of the rate before.
const FALL: f64 = 0.5;

/// The same where fewer than [`FEW`] intervals came before: one alone may be an accident.
const FALL_AFTER_FEW: f64 = 0.25;
const FEW: usize = 3;

/// Then no later interval may come near it either.
const NEAR: f64 = 0.5;

/// Intervals that must follow, and their time.
const REST: usize = 6;
const REST_S: f64 = 0.5;

/// Differences of logarithms below this are not noise of the network but of the clock.
const SMALLEST_NOISE: f64 = 0.05;

/// MB/s that stand for zero, of which there is no logarithm.
const FLOOR: f64 = 0.01;

/// The place after which the rate stayed lower, if there is one.
pub fn change_point(points: &[RatePoint]) -> Option<ChangePoint> {
    let n = points.len();
    if n < REST + 1 {
        return None;
    }
    let logs: Vec<f64> = points.iter().map(|p| p.mb_per_s.max(FLOOR).ln()).collect();
    let noise = noise(&logs);
    let total: f64 = logs.iter().sum();
    let mut before = 0.0;
    let mut best: Option<(usize, f64)> = None;
    for k in 1..=n - REST {
        before += logs[k - 1];
        let (first, rest) = (k as f64, (n - k) as f64);
        let fall = before / first - (total - before) / rest;
        let statistic = (first * rest / n as f64).sqrt() * fall / noise;
        if best.is_none_or(|(_, most)| statistic > most) {
            best = Some((k, statistic));
        }
    }
    let (k, statistic) = best?;
    let threshold = FACTOR * (2.0 * (n as f64).ln()).sqrt();
    let (cut, end) = (points[k - 1], points[n - 1]);
    let rest_s = end.at_s - cut.at_s;
    let rate = |bytes: u64, seconds: f64| bytes as f64 / 1e6 / seconds.max(1e-9);
    let before = rate(cut.bytes, cut.at_s);
    let after = rate(end.bytes.saturating_sub(cut.bytes), rest_s);
    let accident = k < FEW && points[k..].iter().any(|p| p.mb_per_s > NEAR * before);
    let fall = if k < FEW { FALL_AFTER_FEW } else { FALL };
    let last = points[n - (n - k).div_ceil(3)..].iter();
    let stays = upper_median(last.map(|p| p.mb_per_s)).unwrap_or(0.0) < fall * before;
    let matters = after < fall * before && rest_s >= REST_S && stays && !accident;
    (matters && statistic > threshold).then(|| ChangePoint {
        at_s: cut.at_s,
        at_bytes: cut.bytes,
        before_mb_per_s: before,
        after_mb_per_s: after,
        ahead_bytes: (cut.bytes as f64 - after * 1e6 * cut.at_s).max(0.0) as u64,
        statistic,
        threshold,
    })
}

/// Standard deviation of the noise, from the median absolute difference of neighbours.
fn noise(logs: &[f64]) -> f64 {
    let median = upper_median(logs.windows(2).map(|w| (w[1] - w[0]).abs()));
    // The median of |x| is 0.6745 σ for normal x; a difference of two has √2 σ.
    (median.unwrap_or(0.0) / 0.6745 / std::f64::consts::SQRT_2).max(SMALLEST_NOISE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A xorshift generator and normal numbers from it (Box and Muller).
    struct Random(u64);

    impl Random {
        fn uniform(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            let (a, b) = (self.uniform().max(1e-12), self.uniform());
            (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
        }
    }

    /// Rates at intervals of `step` seconds.
    fn series(step: f64, rates: impl Iterator<Item = f64>) -> Vec<RatePoint> {
        let mut bytes = 0.0;
        rates
            .enumerate()
            .map(|(i, rate)| {
                bytes += rate * 1e6 * step;
                RatePoint {
                    at_s: (i + 1) as f64 * step,
                    bytes: bytes as u64,
                    mb_per_s: rate,
                }
            })
            .collect()
    }

    /// Share of noise series in which a change is seen. `carry` of the noise stays for the next
    /// interval; one in fifty is an outlier with `outlier` times the rate.
    fn false_alarms(sigma: f64, carry: f64, outlier: f64) -> f64 {
        let mut random = Random(0x853c_49e6_748f_ea9b);
        let runs = 2_000;
        let alarms = (0..runs)
            .filter(|run| {
                let n = 20 + run % 300;
                let mut noise = 0.0;
                let rates: Vec<f64> = (0..n)
                    .map(|_| {
                        let fresh = random.normal() * sigma * (1.0 - carry * carry).sqrt();
                        noise = carry * noise + fresh;
                        let odd = random.uniform() < 0.02;
                        100.0 * noise.exp() * if odd { outlier } else { 1.0 }
                    })
                    .collect();
                change_point(&series(0.05, rates.into_iter())).is_some()
            })
            .count();
        alarms as f64 / f64::from(runs)
    }

    #[test]
    fn noise_alone_is_called_a_change_in_less_than_one_of_a_hundred() {
        for (sigma, carry, outlier) in [
            (0.05, 0.0, 1.0),
            (0.3, 0.0, 1.0),
            (0.3, 0.5, 1.0),
            (0.3, 0.8, 1.0),
            (0.2, 0.0, 3.0),
            (0.2, 0.5, 0.05),
        ] {
            let share = false_alarms(sigma, carry, outlier);
            assert!(
                share < 0.01,
                "σ {sigma}, carry {carry}, outliers {outlier}: {share}"
            );
        }
    }

    #[test]
    fn a_burst_is_found_wherever_it_ends_and_its_depth_is_told() {
        for fast in [1, 2, 5, 20, 60] {
            let mut random = Random(77 + fast);
            let rates = (0..120).map(|i| {
                let level = if i < fast { 900.0 } else { 10.0 };
                level * (0.2 * random.normal()).exp()
            });
            let points = series(0.05, rates);
            let change = change_point(&points).expect("a change");
            assert_eq!(change.at_bytes, points[fast as usize - 1].bytes, "{fast}");
            let depth = points[fast as usize - 1].bytes as f64 - fast as f64 * 0.05 * 10e6;
            let off = (change.ahead_bytes as f64 - depth).abs() / depth;
            assert!(off < 0.02, "{fast}: {} against {depth}", change.ahead_bytes);
        }
    }

    #[test]
    fn a_slow_start_and_a_hiccup_that_passes_are_no_change() {
        let ramp = (0..100).map(|i| {
            if i < 10 {
                10.0 * f64::from(i + 1)
            } else {
                100.0
            }
        });
        assert_eq!(change_point(&series(0.05, ramp)), None);
        let hiccup = (0..100).map(|i| if (40..60).contains(&i) { 5.0 } else { 100.0 });
        assert_eq!(change_point(&series(0.05, hiccup)), None);
        assert_eq!(change_point(&[]), None);
    }

    #[test]
    fn a_complete_stall_is_a_change() {
        let stall = (0..60).map(|i| if i < 20 { 68.0 } else { 0.0 });
        let change = change_point(&series(0.25, stall)).expect("a change");
        assert_eq!((change.at_s, change.after_mb_per_s), (5.0, 0.0));
    }
}
