//! What a change does besides curing the fault: latency, jitter, CPU time, memory, the cluster engine's token.

use hawser_model::output::tune::SideEffects;
use hawser_model::trial::{Pair, Trial, Window};

use super::{CONFIDENCE, signed_rank};

/// The side effects that a trial's windows show; none without windows.
pub(super) fn side_effects(trial: &Trial) -> Option<SideEffects> {
    let pairs = &trial.pairs;
    if pairs.is_empty() {
        return None;
    }
    let delay = signed_rank::shift(&delays(pairs), CONFIDENCE);
    Some(SideEffects {
        delay: delay.map(|(median, _)| median as i64),
        delay_interval: delay.map(|(_, interval)| interval.map(|ns| ns as i64)),
        jitter: ratio(pairs, |w| Some(w.jitter.0 as f64)),
        cpu: ratio(pairs, |w| {
            let arrived = w.sent.0.checked_sub(w.lost.0).filter(|n| *n > 0)?;
            Some(w.cpu.0 as f64 / arrived as f64)
        }),
        memory: ratio(pairs, |w| Some(w.buffer.0 as f64)),
        corosync: trial.corosync.clone(),
    })
}

/// How much longer packets were on their way with it, pair by pair. What two clocks differ by cancels out; what
/// one gains on the other from one window to the next is as often for it as against it, since a coin chose
/// which window came first.
fn delays(pairs: &[Pair]) -> Vec<f64> {
    let both = |pair: &Pair| Some(pair.with.delay?.wrapping_sub(pair.without.delay?) as f64);
    pairs.iter().filter_map(both).collect()
}

/// A measure with it over the same without it: the median over the pairs.
fn ratio(pairs: &[Pair], of: fn(&Window) -> Option<f64>) -> Option<f64> {
    let mut ratios: Vec<f64> = pairs
        .iter()
        .filter_map(|p| Some(of(&p.with)? / of(&p.without)?))
        .filter(|ratio| ratio.is_finite())
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use hawser_model::knob::Knob;
    use hawser_model::units::{Bytes, Nanos, Packets};

    use super::*;

    fn trial(pairs: Vec<Pair>) -> Trial {
        Trial {
            cause: String::new(),
            knob: Knob::Placebo,
            scope: None,
            host: "head1".into(),
            from: None,
            to: None,
            traffic: None,
            also: Vec::new(),
            pairs,
            not_tried: None,
            kept: false,
            left_at: Vec::new(),
            corosync: [("head1".into(), Default::default())].into(),
            left_out: Vec::new(),
            restarted: false,
        }
    }

    fn window(lost: u64, buffer: u64, cpu: u64, delay: i64) -> Window {
        Window {
            sent: Packets(10_000),
            lost: Packets(lost),
            buffer: Bytes(buffer),
            cpu: Nanos(cpu),
            delay: Some(delay),
            ..Window::default()
        }
    }

    /// The receiver's clock is a day ahead and gains 50 µs from each window to the next; what is not lost any more
    /// waits 800 µs longer in the larger buffer.
    fn pairs() -> Vec<Pair> {
        let day = 86_400_000_000_000;
        (0..8)
            .map(|i| {
                let with_first = i % 2 == 0;
                let clock = |second: bool| day + 50_000 * (2 * i + i64::from(second));
                Pair {
                    with_first,
                    without: window(5_000, 4_096, 5_000_000, clock(with_first)),
                    with: window(0, 65_536, 20_000_000, clock(!with_first) + 800_000),
                }
            })
            .collect()
    }

    #[test]
    fn a_longer_way_is_seen_through_clocks_that_differ_and_drift() {
        let effects = side_effects(&trial(pairs())).unwrap();
        assert_eq!(effects.delay, Some(800_000));
        assert_eq!(effects.delay_interval, Some([750_000, 850_000]));
        assert_eq!((effects.memory, effects.cpu), (Some(16.0), Some(2.0)));
        assert_eq!(effects.corosync.len(), 1);
        assert!(effects.told()[0].starts_with("delay +800.0 µs"));
    }

    #[test]
    fn a_clock_that_drifts_alone_is_no_delay() {
        let mut pairs = pairs();
        for pair in &mut pairs {
            pair.with.delay = pair.with.delay.map(|d| d - 800_000);
        }
        let effects = side_effects(&trial(pairs)).unwrap();
        let [low, high] = effects.delay_interval.unwrap();
        assert!(low < 0 && high > 0, "{low} {high}");
    }

    #[test]
    fn what_cannot_be_compared_is_not_told() {
        let mut none_arrived = pairs();
        for pair in &mut none_arrived {
            pair.without.lost = Packets(10_000);
            pair.without.delay = None;
        }
        let effects = side_effects(&trial(none_arrived)).unwrap();
        assert_eq!((effects.cpu, effects.delay), (None, None));
        assert_eq!(side_effects(&trial(Vec::new())), None);
    }
}
