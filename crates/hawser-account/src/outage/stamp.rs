//! The time stamps of corosync.log (`timestamp: hires`) and pacemaker.log: `Nov 22 08:21:57.579`,
//! local time without a year.

use hawser_model::drill::Moment;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// When a line was written, by the node's clock, and what follows the stamp. `None` for a line
/// without milliseconds: those of resource agents have whole seconds, too coarse to account with.
///
/// The year is the one that brings the line nearest to `recorded` (seconds since 1970 UTC).
pub(super) fn stamped(line: &str, recorded: u64, utc_offset_s: i32) -> Option<(Moment, &str)> {
    let stamp = line.get(..19)?;
    let rest = line.get(19..)?;
    let (month, clock) = (stamp.get(..3)?, stamp.get(7..)?);
    let month = MONTHS.iter().position(|m| *m == month)? as i64 + 1;
    let day: i64 = stamp.get(4..6)?.trim_start().parse().ok()?;
    if stamp.get(6..7)? != " " || clock.get(8..9)? != "." {
        return None;
    }
    let two = |at: usize| clock.get(at..at + 2)?.parse::<i64>().ok();
    let second = two(0)? * 3600 + two(3)? * 60 + two(6)?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    // The stamp above holds three digits of the fraction; hires writes three.
    let fraction: i64 = clock.get(9..12)?.parse().ok()?;
    if digits > 0 {
        return None;
    }
    let recorded = i64::try_from(recorded).ok()? + i64::from(utc_offset_s);
    let year = year_of(recorded.div_euclid(86_400));
    let local = (year - 1..=year + 1)
        .map(|year| days(year, month, day) * 86_400 + second)
        .min_by_key(|at| (at - recorded).abs())?;
    let utc = local - i64::from(utc_offset_s);
    let us = u64::try_from(utc * 1_000_000 + fraction * 1000).ok()?;
    Some((Moment(us), rest.trim_start()))
}

/// Days from 1970-01-01 to a day of the Gregorian calendar (Hinnant, *chrono-compatible low-level
/// date algorithms*).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The year a day lies in.
fn year_of(day: i64) -> i64 {
    let guess = 1970 + day / 366;
    (guess..guess + 3)
        .rev()
        .find(|year| days(*year, 1, 1) <= day)
        .unwrap_or(guess)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_a_moment() {
        let line = "Nov 22 08:21:57.579 [14] head2 corosync info    [KNET  ] link: host: 1 link: 0 is down";
        let (at, rest) = stamped(line, 1_795_335_700, 0).expect("a stamp");
        assert_eq!(at, Moment(1_795_335_717_579_000));
        assert!(rest.starts_with("[14] head2"), "{rest}");
        let (east, _) = stamped(line, 1_795_335_700, 3600).expect("a stamp");
        assert_eq!(east, Moment(1_795_332_117_579_000));
    }

    #[test]
    fn the_turn_of_the_year_is_no_year() {
        // 2027-01-01 00:00:05 UTC.
        let (at, _) = stamped("Dec 31 23:59:59.000 x", 1_798_761_605, 0).expect("a stamp");
        assert_eq!(at, Moment(1_798_761_599_000_000));
        let (leap, _) = stamped("Feb 29 00:00:00.001 x", 1_835_400_000, 0).expect("a stamp");
        assert_eq!(leap, Moment(1_835_395_200_001_000));
    }

    #[test]
    fn whole_seconds_are_too_coarse() {
        let line = "Nov 22 08:22:02  Filesystem(vmpool01)[2487]:    INFO: Running start";
        assert_eq!(stamped(line, 1_795_335_700, 0), None);
        assert_eq!(stamped("", 0, 0), None);
        assert_eq!(stamped("ÄÖÜ 22 08:21:57.579 x", 0, 0), None);
    }
}
