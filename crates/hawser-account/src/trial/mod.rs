//! What the windows of a trial come to. Pure: the same windows give the same verdict anywhere.
//!
//! The measure is the share of packets lost; of a TCP stream, the share of its fastest rate that is
//! missing in the second half of a window; of a buffer that was not granted, what is missing of it. Windows come in pairs, one with the change and one
//! without, in an order chosen by a coin; the paired differences are tested (`signed_rank`).
//!
//! **When it stops.** After [`LOOKS`] pairs, with the chance of a false "better" that each look may
//! spend: together 0.006, so a change that does nothing is called better in fewer than one of
//! 100 trials, whatever the noise. The same holds for "worse".
//!
//! **What matters.** An effect smaller than a fifth of the loss at hand, or than 0.05 percentage
//! points, is none: when the interval of 95 % lies within that, the trial ends with "no effect".

mod corosync;
mod engine;
mod placebo;
mod report;
mod side_effects;
mod signed_rank;

use hawser_model::statistics::upper_median;
use hawser_model::trial::{Pair, Verdict};

pub use corosync::gained;
pub use engine::{EngineCounts, engine_window, too_quiet};
pub use placebo::{PlaceboRate, placebo_rate};
pub use report::{change, tune_report};

/// Pairs after which is looked, and the chance of a false "better" that each look may spend.
pub const LOOKS: [(usize, f64); 3] = [(8, 0.004), (12, 0.001), (20, 0.001)];

/// Confidence of the interval.
const CONFIDENCE: f64 = 0.95;

/// An effect below this share of the loss at hand does not matter.
const MATTERS_SHARE: f64 = 0.2;

/// Of a stream's missing rate it matters from this share up: a stalled one is cured by whatever
/// lets it go on, also at a fraction of a rate that merging alone made possible.
const MATTERS_SHARE_OF_STREAM: f64 = 0.05;

/// Nor does one below this share of packets.
const MATTERS_LEAST: f64 = 0.000_5;

/// What the pairs so far come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict, if the trial ended now.
    pub verdict: Verdict,
    /// Share of packets lost with the change less the share without (Hodges-Lehmann).
    pub effect: Option<f64>,
    /// Its interval.
    pub interval: Option<[f64; 2]>,
    /// Pairs to measure before the next look; zero when the trial is over.
    pub more: usize,
    /// With [`Verdict::CannotTell`]: about so many more windows would tell, at this noise.
    pub needs: Option<u64>,
}

/// Judges a trial by its pairs so far.
pub fn judge(pairs: &[Pair]) -> Judgement {
    let differences: Vec<f64> = pairs.iter().map(Pair::difference).collect();
    let opposite: Vec<f64> = differences.iter().map(|d| -d).collect();
    let shift = signed_rank::shift(&differences, CONFIDENCE);
    let (effect, interval) = (shift.map(|s| s.0), shift.map(|s| s.1));
    let matters = matters(pairs);
    let next = |looked: usize| LOOKS.get(looked).map_or(0, |(n, _)| n - pairs.len());
    let looked = LOOKS.iter().filter(|(n, _)| *n <= pairs.len()).count();
    let open = |more| Judgement {
        verdict: Verdict::CannotTell,
        effect,
        interval,
        more,
        needs: None,
    };
    let (Some((_, may)), Some(effect_now), Some([low, high])) = (
        looked.checked_sub(1).map(|look| LOOKS[look]),
        effect,
        interval,
    ) else {
        return open(next(looked));
    };
    let over = |verdict| Judgement {
        verdict,
        more: 0,
        ..open(0)
    };
    let large = effect_now.abs() >= matters;
    if large && effect_now < 0.0 && signed_rank::chance_if_less(&differences) <= may {
        over(Verdict::Better)
    } else if large && effect_now > 0.0 && signed_rank::chance_if_less(&opposite) <= may {
        over(Verdict::Worse)
    } else if low > -matters && high < matters {
        over(Verdict::NoEffect)
    } else {
        // The interval narrows with the square root of the number of pairs.
        let too_wide = ((high - low) / 2.0 / matters).max(1.1);
        let pairs_needed = (pairs.len() as f64 * too_wide * too_wide).ceil() as u64;
        Judgement {
            needs: Some(2 * pairs_needed.saturating_sub(pairs.len() as u64)),
            ..open(next(looked))
        }
    }
}

/// Whether a survivor goes again: left out while the others stay in place, nothing is lost for it.
/// `left_out` are the windows of that, its own value being the change.
pub fn needless(left_out: &[Pair]) -> bool {
    judge(left_out).verdict == Verdict::NoEffect
}

/// The smallest effect that matters against the loss at hand.
fn matters(pairs: &[Pair]) -> f64 {
    let median = upper_median(pairs.iter().map(|p| p.losses().0)).unwrap_or(0.0);
    match pairs.iter().any(Pair::is_of_a_stream) {
        true => MATTERS_SHARE_OF_STREAM,
        false => (median * MATTERS_SHARE).max(MATTERS_LEAST),
    }
}

#[cfg(test)]
mod tests {
    use hawser_model::trial::Window;
    use hawser_model::units::{Bytes, Packets};

    use super::*;

    fn pairs(without: u64, with: u64, noise: u64, count: usize) -> Vec<Pair> {
        let window = |lost| Window {
            sent: Packets(10_000),
            lost: Packets(lost),
            ..Window::default()
        };
        (0..count as u64)
            .map(|i| Pair {
                with_first: i % 2 == 0,
                without: window(without + i * 7 % 5 * noise),
                with: window(with + i * 11 % 7 * noise),
            })
            .collect()
    }

    #[test]
    fn a_cure_is_proven_in_eight_pairs_and_nothing_in_seven() {
        let judged = judge(&pairs(4_400, 0, 20, 8));
        assert_eq!((judged.verdict, judged.more), (Verdict::Better, 0));
        assert!(judged.effect.unwrap() < -0.42);
        let early = judge(&pairs(4_400, 0, 20, 7));
        assert_eq!((early.verdict, early.more), (Verdict::CannotTell, 1));
        assert_eq!(judge(&[]).more, 8);
    }

    #[test]
    fn a_buffer_that_is_granted_is_proven_where_nothing_is_lost() {
        let window = |granted| Window {
            sent: Packets(10_000),
            buffer: Bytes(granted),
            due: Some(Bytes(16 << 20)),
            ..Window::default()
        };
        let all = |with| {
            let pair = Pair {
                with_first: true,
                without: window(425_984),
                with: window(with),
            };
            judge(&[pair; 8])
        };
        let judged = all(16 << 20);
        assert_eq!(judged.verdict, Verdict::Better);
        assert!((judged.effect.unwrap() + 0.9746).abs() < 1e-3);
        assert_eq!(all(425_984).verdict, Verdict::NoEffect);
    }

    #[test]
    fn what_makes_no_difference_ends_as_such_and_what_harms_as_worse() {
        let judged = judge(&pairs(4_400, 4_400, 20, 8));
        assert_eq!((judged.verdict, judged.more), (Verdict::NoEffect, 0));
        let [low, high] = judged.interval.unwrap();
        assert!(low > -0.088 && high < 0.088, "{low} {high}");
        assert_eq!(judge(&pairs(4_400, 6_000, 20, 8)).verdict, Verdict::Worse);
        let proven_but_tiny = judge(&pairs(4_400, 4_300, 0, 8));
        assert_eq!(proven_but_tiny.verdict, Verdict::NoEffect);
        assert_eq!(judge(&pairs(0, 0, 0, 8)).verdict, Verdict::NoEffect);
    }

    #[test]
    fn noise_asks_for_more_windows_until_the_last_look() {
        let noisy = |count| judge(&pairs(2_000, 2_000, 900, count));
        assert_eq!((noisy(8).verdict, noisy(8).more), (Verdict::CannotTell, 4));
        let last = noisy(20);
        assert_eq!((last.verdict, last.more), (Verdict::CannotTell, 0));
        assert!(last.needs.unwrap() > 20);
    }

    /// Windows as two survivors of one fault gave them: without the larger queue nothing is lost,
    /// without the larger buffer half of it is.
    #[test]
    fn a_survivor_that_the_others_do_as_well_without_goes_and_one_that_matters_stays() {
        assert!(needless(&pairs(0, 0, 0, 8)));
        assert!(needless(&pairs(2, 1, 0, 8)), "0.01 points do not matter");
        assert!(!needless(&pairs(4_400, 0, 20, 8)));
        assert!(
            !needless(&pairs(2_000, 2_000, 900, 20)),
            "what cannot be told stays"
        );
        assert!(!needless(&[]), "what was not measured stays");
    }

    #[test]
    fn all_looks_together_spend_less_than_one_in_a_hundred() {
        let spent: f64 = LOOKS.iter().map(|(_, may)| may).sum();
        assert!(spent < 0.01, "{spent}");
    }
}
