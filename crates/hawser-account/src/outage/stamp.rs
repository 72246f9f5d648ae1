//! The time stamps of corosync.log (`timestamp: hires`) and pacemaker.log: `Nov 22 08:21:57.579`,
//! local time without a year.

use std::time::UNIX_EPOCH;

use hawser_model::drill::Moment;

pub(crate) const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// So much later than the recording a line may claim to be, in microseconds: two days, for clocks that differ.
const AHEAD: i64 = 2 * 86_400_000_000;

/// When a line was written, by the node's clock, and what follows the stamp. `None` for a line
/// without milliseconds: those of resource agents have whole seconds, too coarse to account with.
///
/// The year is the latest by which it is not later than `recorded` (seconds since 1970 UTC).
pub(crate) fn stamped(line: &str, recorded: u64, utc_offset_s: i32) -> Option<(Moment, &str)> {
    let stamp = line.get(..19)?;
    let rest = line.get(19..)?;
    let (month, clock) = (stamp.get(..3)?, stamp.get(7..)?);
    let month = MONTHS.iter().position(|m| *m == month)? + 1;
    let day: u8 = stamp.get(4..6)?.trim_start().parse().ok()?;
    // The stamp holds three digits of the fraction; hires writes three.
    let whole = stamp.get(6..7)? == " " && clock.get(8..9)? == ".";
    if !whole || rest.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let offset = i64::from(utc_offset_s) * 1_000_000;
    let recorded = i64::try_from(recorded).ok()?;
    let recorded = recorded.checked_mul(1_000_000)?.checked_add(offset)?;
    let year = year_of(u64::try_from(recorded).ok()?)?;
    let local = (year - 1..=year + 1)
        .filter_map(|year| micros(&format!("{year}-{month:02}-{day:02} {clock}")))
        .filter(|at| *at <= recorded.saturating_add(AHEAD))
        .max()?;
    let us = u64::try_from(local - offset).ok()?;
    Some((Moment(us), rest.trim_start()))
}

/// Microseconds since 1970 of a date and time in UTC; `None` for a day that its year does not have.
fn micros(text: &str) -> Option<i64> {
    let time = humantime::parse_rfc3339_weak(text).ok()?;
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_micros()).ok()
}

/// The year of a moment.
fn year_of(micros: u64) -> Option<u16> {
    let time = hawser_model::date::utc_millis(micros);
    time.get(..4)?.parse().ok()
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
        // A year of logs, as Pacemaker's logrotate keeps them, is read on 2026-11-27: April is the last one.
        let (april, _) = stamped("Apr 10 00:00:00.000 x", 1_795_780_000, 0).expect("a stamp");
        assert_eq!(april, Moment(1_775_779_200_000_000));
    }

    #[test]
    fn whole_seconds_are_too_coarse() {
        let line = "Nov 22 08:22:02  Filesystem(vmpool01)[2487]:    INFO: Running start";
        assert_eq!(stamped(line, 1_795_335_700, 0), None);
        assert_eq!(stamped("", 0, 0), None);
        assert_eq!(stamped("ÄÖÜ 22 08:21:57.579 x", 0, 0), None);
    }
}
