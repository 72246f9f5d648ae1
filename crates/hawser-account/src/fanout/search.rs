//! The most receivers that a host serves, by bisection with repeats. A function of the windows so far:
//! how many receivers to measure next, or that it is done.
//!
//! The number is doubled until one is too many, and the gap is halved until it is closed. No number
//! is believed for one window: what is reported has passed twice, what was too many has fallen
//! twice, and where a number did both, a third window decides.

use std::collections::BTreeMap;

use hawser_model::fanout::FanoutWindow;
use hawser_model::units::PacketsPerSec;

use crate::throughput::stolen_share;

/// A window stands when fewer than one in so many packets is lost (0.01 %) …
const LOST_ONE_IN: u64 = 10_000;

/// … and the sender reached this share of the rate that was asked of it.
pub(super) const RATE_HELD: f64 = 0.995;

/// What decides about a number of receivers: so many windows that say the same.
const SAME: u32 = 2;

/// A window in which a hypervisor took away this share of the processors says nothing when it falls …
const STOLEN: f64 = 0.005;

/// … but where it does so all the time, a number that keeps falling has fallen.
const PATIENCE: u32 = 3;

/// What a window says of its number of receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowVerdict {
    /// Served.
    Stands,
    /// Too many.
    Falls,
    /// The machine itself was not there.
    Disturbed,
}

/// Judges a window.
pub(super) fn verdict(window: &FanoutWindow, rate: PacketsPerSec) -> WindowVerdict {
    let served =
        window.sent.0 > 0 && window.lost().0.saturating_mul(LOST_ONE_IN) < window.expected().0;
    if served && held(window, rate) {
        return WindowVerdict::Stands;
    }
    match stolen_share(&window.usage) >= STOLEN {
        true => WindowVerdict::Disturbed,
        false => WindowVerdict::Falls,
    }
}

/// Whether the sender held its rate.
pub(super) fn held(window: &FanoutWindow, rate: PacketsPerSec) -> bool {
    window.achieved() >= RATE_HELD * rate.0 as f64
}

/// What the windows of a number of receivers said.
#[derive(Clone, Copy, Default)]
struct Said {
    stood: u32,
    fell: u32,
    disturbed: u32,
}

impl Said {
    fn fell(self) -> u32 {
        self.fell + self.disturbed.saturating_sub(PATIENCE)
    }

    fn stands(self) -> bool {
        self.stood >= SAME
    }

    fn falls(self) -> bool {
        self.fell() >= SAME
    }

    /// Another window is needed before anything is built on it. One that only stood may carry the next
    /// step: whatever is the answer in the end is measured again.
    fn open(self) -> bool {
        !self.stands() && !self.falls() && (self.fell() > 0 || self.stood == 0)
    }
}

fn said(windows: &[FanoutWindow], rate: PacketsPerSec) -> BTreeMap<u32, Said> {
    let mut all: BTreeMap<u32, Said> = BTreeMap::new();
    for window in windows {
        let said = all.entry(window.receivers).or_default();
        match verdict(window, rate) {
            // What was decided stays so.
            _ if said.stands() || said.falls() => {}
            WindowVerdict::Stands => said.stood += 1,
            WindowVerdict::Falls => said.fell += 1,
            WindowVerdict::Disturbed => said.disturbed += 1,
        }
    }
    all
}

/// The least that fell, and the most below it that stood at least once.
fn bounds(said: &BTreeMap<u32, Said>) -> (u32, Option<u32>) {
    let above = said.iter().find(|(_, s)| s.falls()).map(|(n, _)| *n);
    let below = said
        .iter()
        .filter(|(n, s)| above.is_none_or(|above| **n < above) && s.stood > 0)
        .map(|(n, _)| *n)
        .max();
    (below.unwrap_or(0), above)
}

/// How many receivers to measure next, at most `most`; `None` when the answer is known.
pub fn next(windows: &[FanoutWindow], rate: PacketsPerSec, most: u32) -> Option<u32> {
    let said = said(windows, rate);
    let (below, above) = bounds(&said);
    let open = said
        .iter()
        .find(|(n, s)| s.open() && above.is_none_or(|above| **n < above));
    if let Some((number, _)) = open {
        return Some(*number);
    }
    let confirm = (below > 0 && !said[&below].stands()).then_some(below);
    match above {
        None if below >= most => confirm,
        None => Some((below * 2).clamp(1, most)),
        Some(above) if above - below > 1 => Some(below + (above - below) / 2),
        Some(_) => confirm,
    }
}

/// The answer: the most that stood, and the least that fell if any did. `None` while a window is
/// missing.
pub(super) fn answer(
    windows: &[FanoutWindow],
    rate: PacketsPerSec,
    most: u32,
) -> Option<(u32, Option<u32>)> {
    if next(windows, rate, most).is_some() {
        return None;
    }
    Some(bounds(&said(windows, rate)))
}

#[cfg(test)]
mod tests {
    use hawser_model::ladder::ProcessorTime;
    use hawser_model::units::{Nanos, Packets};
    use proptest::prelude::*;

    use super::*;

    const RATE: PacketsPerSec = PacketsPerSec(40_000);

    /// A window of half a second that lost so many packets at the rate's so many thousandths.
    fn window(receivers: u32, lost: u64, rate_permille: u64) -> FanoutWindow {
        let sent = 20 * rate_permille;
        let each = sent * u64::from(receivers);
        FanoutWindow {
            receivers,
            sent: Packets(sent),
            elapsed: Nanos::from_millis(500),
            received: Packets(each - lost.min(each)),
            ..FanoutWindow::default()
        }
    }

    fn stolen(mut window: FanoutWindow) -> FanoutWindow {
        let time = ProcessorTime {
            steal: Nanos::from_millis(20),
            idle: Nanos::from_millis(480),
            ..ProcessorTime::default()
        };
        window.usage.processors.insert(0, time);
        window
    }

    /// Searches on a host that serves `limit`; how many windows it took, and the answer.
    fn search(most: u32, mut measure: impl FnMut(u32) -> FanoutWindow) -> (u32, usize) {
        let mut windows = Vec::new();
        while let Some(receivers) = next(&windows, RATE, most) {
            assert!((1..=most).contains(&receivers));
            windows.push(measure(receivers));
            assert!(windows.len() < 400, "it does not end");
        }
        let (answer, _) = answer(&windows, RATE, most).expect("it is done");
        (answer, windows.len())
    }

    #[test]
    fn one_in_ten_thousand_is_too_many_and_a_slow_sender_is_no_proof() {
        assert_eq!(verdict(&window(10, 19, 1_000), RATE), WindowVerdict::Stands);
        assert_eq!(verdict(&window(10, 20, 1_000), RATE), WindowVerdict::Falls);
        assert_eq!(verdict(&window(10, 0, 995), RATE), WindowVerdict::Stands);
        assert_eq!(verdict(&window(10, 0, 994), RATE), WindowVerdict::Falls);
        assert_eq!(verdict(&window(10, 0, 0), RATE), WindowVerdict::Falls);
        assert_eq!(
            verdict(&stolen(window(10, 20, 1_000)), RATE),
            WindowVerdict::Disturbed
        );
        assert_eq!(
            verdict(&stolen(window(10, 0, 1_000)), RATE),
            WindowVerdict::Stands
        );
    }

    #[test]
    fn one_bad_window_of_three_decides_nothing() {
        for bad in 0..12 {
            let mut made = 0;
            let (answer, _) = search(64, |receivers| {
                made += 1;
                let lost = u64::from(receivers > 13 || made - 1 == bad) * 5_000;
                window(receivers, lost, 1_000)
            });
            assert_eq!(answer, 13, "the bad one was window {bad}");
        }
    }

    #[test]
    fn a_machine_that_is_taken_away_all_the_time_still_gets_an_answer() {
        let (answer, _) = search(64, |receivers| {
            stolen(window(receivers, u64::from(receivers > 3) * 5_000, 1_000))
        });
        assert_eq!(answer, 3);
    }

    proptest! {
        #[test]
        fn any_limit_is_found_in_few_windows(limit in 0_u32..=80, most in 1_u32..=64) {
            let (answer, windows) = search(most, |receivers| {
                window(receivers, u64::from(receivers > limit) * 5_000, 1_000)
            });
            prop_assert_eq!(answer, limit.min(most));
            prop_assert!(windows <= 25, "{} windows", windows);
        }

        #[test]
        fn whatever_is_measured_it_ends(outcomes in prop::collection::vec(0_u8..3, 1..40)) {
            let mut turn = outcomes.iter().cycle();
            search(64, |receivers| match turn.next().expect("an endless turn") {
                0 => window(receivers, 0, 1_000),
                1 => window(receivers, 5_000, 1_000),
                _ => stolen(window(receivers, 5_000, 1_000)),
            });
        }
    }
}
