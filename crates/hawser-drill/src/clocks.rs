//! How another machine's clock stands to this one's, from questions and answers.

use hawser_host::HostError;
use hawser_model::drill::Clock;

/// So often a clock is asked.
const ROUND_TRIPS: usize = 8;

/// Compares a clock that is asked for its microseconds since 1970 with this machine's: by the shortest of some round
/// trips.
pub(crate) fn compare(
    ours: &hawser_host::Clock,
    mut ask: impl FnMut() -> Result<u64, HostError>,
) -> Result<Clock, HostError> {
    let mut seen = Vec::new();
    for _ in 0..ROUND_TRIPS {
        let asked = ours.time_of_day().0;
        let theirs = ask()?;
        seen.push(of_trip(asked, theirs, ours.time_of_day().0));
    }
    Ok(best(seen).unwrap_or_default())
}

/// From one question: when it was asked and answered by our clock, and what theirs showed in between.
fn of_trip(asked_us: u64, theirs_us: u64, told_us: u64) -> Clock {
    let trip = told_us.saturating_sub(asked_us);
    let middle = i128::from(asked_us + trip / 2);
    Clock {
        offset_us: i64::try_from(middle - i128::from(theirs_us)).unwrap_or(i64::MAX),
        error_us: trip / 2,
    }
}

/// The one that is known best.
fn best(clocks: impl IntoIterator<Item = Clock>) -> Option<Clock> {
    clocks.into_iter().min_by_key(|clock| clock.error_us)
}

/// Over a time in which a clock was compared at both ends: between them it is somewhere between the two.
pub(crate) fn over(first: Clock, last: Clock) -> Clock {
    let drift = last.offset_us.abs_diff(first.offset_us);
    Clock {
        offset_us: first.offset_us + (last.offset_us - first.offset_us) / 2,
        error_us: first.error_us.max(last.error_us) + drift.div_ceil(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_lies_somewhere_in_its_round_trip() {
        let clock = of_trip(1_000, 5_600, 1_400);
        assert_eq!((clock.offset_us, clock.error_us), (-4_400, 200));
        let better = of_trip(2_000, 6_550, 2_100);
        assert_eq!(best([clock, better]), Some(better));
        assert_eq!(best([]), None);
    }

    #[test]
    fn what_a_clock_drifts_is_part_of_its_error() {
        let (first, last) = (of_trip(0, 1_000, 100), of_trip(9_000, 10_400, 9_060));
        assert_eq!((first.offset_us, last.offset_us), (-950, -1_370));
        let over = over(first, last);
        assert_eq!((over.offset_us, over.error_us), (-1_160, 50 + 210));
    }
}
