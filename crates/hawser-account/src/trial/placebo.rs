//! How often a change that does nothing is called better: the trial tried on itself.

use hawser_model::trial::{Pair, Verdict, Window};
use hawser_model::units::Packets;

use super::judge;

/// What many trials of nothing came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaceboRate {
    /// Trials.
    pub trials: u64,
    /// Called better.
    pub better: u64,
    /// Called worse.
    pub worse: u64,
    /// Called without effect.
    pub no_effect: u64,
}

/// Runs `trials` simulated trials of a placebo. The loss in a window has a level that drifts from
/// window to window (a random walk), bursts that hit one window in ten and multiply its loss, and
/// chance of its own; `noise` is the spread of the level, as a share of it.
pub fn placebo_rate(trials: u64, noise: f64, seed: u64) -> PlaceboRate {
    let mut random = Random(seed | 1);
    let mut rate = PlaceboRate {
        trials,
        ..PlaceboRate::default()
    };
    for _ in 0..trials {
        match trial(noise, &mut random) {
            Verdict::Better => rate.better += 1,
            Verdict::Worse => rate.worse += 1,
            Verdict::NoEffect => rate.no_effect += 1,
            Verdict::CannotTell => {}
        }
    }
    rate
}

fn trial(noise: f64, random: &mut Random) -> Verdict {
    let mut level: f64 = 0.02 + 0.3 * random.unit();
    let mut pairs = Vec::new();
    loop {
        let judged = judge(&pairs);
        if judged.more == 0 {
            return judged.verdict;
        }
        for _ in 0..judged.more {
            let with_first = random.unit() < 0.5;
            let first = window(&mut level, noise, random);
            let second = window(&mut level, noise, random);
            let (with, without) = if with_first {
                (first, second)
            } else {
                (second, first)
            };
            pairs.push(Pair {
                with_first,
                without,
                with,
            });
        }
    }
}

fn window(level: &mut f64, noise: f64, random: &mut Random) -> Window {
    *level *= (noise * (random.unit() - 0.45)).exp();
    *level = level.clamp(0.000_1, 0.9);
    let burst = if random.unit() < 0.1 {
        1.0 + 4.0 * random.unit()
    } else {
        1.0
    };
    let loss = (*level * burst * (noise * (random.unit() - 0.5)).exp()).min(1.0);
    Window {
        sent: Packets(3_000),
        lost: Packets((3_000.0 * loss) as u64),
        ..Window::default()
    }
}

/// xorshift64* (Vigna 2016): the same trials everywhere.
struct Random(u64);

impl Random {
    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placebo_is_called_better_in_at_most_one_of_a_hundred_trials() {
        for noise in [0.05, 0.3, 1.0] {
            let rate = placebo_rate(4_000, noise, 20_261_122);
            println!("noise {noise}: {rate:?}");
            assert!(rate.better * 100 <= rate.trials, "noise {noise}: {rate:?}");
            assert!(rate.worse * 100 <= rate.trials, "noise {noise}: {rate:?}");
        }
        let quiet = placebo_rate(500, 0.02, 1);
        assert!(quiet.no_effect > 300, "it can also tell: {quiet:?}");
    }
}
