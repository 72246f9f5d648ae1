//! Zones of stamps. Logs of the programs themselves say none, so whether those of a head are of one zone shows only where two
//! logs tell the same.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::drill::Moment;
use hawser_model::names::HostName;
use hawser_model::output::incident::LogKind;

use super::lines::{Line, Lines, local};
use crate::outage::stamp::stamped;

/// Zones of one log that are told apart: summer's and winter's, and some more.
pub(super) const ZONES: usize = 8;

/// Zones are apart by multiples of this, in minutes.
const STEP_MIN: i64 = 15;

/// What two logs tell of one event may be this far apart, in microseconds: stamps of whole seconds, and a daemon between.
const NEAR_US: u64 = 2_000_000;

/// A log as it was read, and whose it is.
pub(super) type Read = (LogKind, HostName, Lines);

/// What a stamp says of its zone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Zone {
    /// Nothing.
    Unsaid,
    /// So many minutes ahead of UTC.
    Ahead(i16),
    /// A word, such as `CET`, that several zones have.
    Called(String),
}

impl Zone {
    /// `+01:00`, `Z`, `CET`.
    pub(super) fn named(word: &str) -> Self {
        match (word, zone_ahead(word)) {
            ("", _) => Self::Unsaid,
            (_, Some(minutes)) => Self::Ahead(minutes),
            _ => Self::Called(word.chars().take(8).collect()),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Unsaid => "not said".to_owned(),
            Self::Called(word) => {
                let safe = |c: char| c.is_ascii_alphanumeric() || "+-:/_".contains(c);
                word.chars().filter(|c| safe(*c)).collect()
            }
            Self::Ahead(minutes) => {
                let sign = if *minutes < 0 { '-' } else { '+' };
                let minutes = minutes.unsigned_abs();
                format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }
}

/// How many minutes a zone is ahead of UTC: `+01:00`, `-0330`, `+08`, `Z`, `UTC`.
pub(super) fn zone_ahead(word: &str) -> Option<i16> {
    if matches!(word, "Z" | "UTC" | "GMT") {
        return Some(0);
    }
    let sign = match word.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = word.get(1..)?.replace(':', "");
    let digit = digits.bytes().all(|b| b.is_ascii_digit());
    if !digit || !matches!(digits.len(), 2 | 4) {
        return None;
    }
    let hours: i16 = digits.get(..2)?.parse().ok()?;
    let minutes: i16 = match digits.get(2..)? {
        "" => 0,
        minutes => minutes.parse().ok()?,
    };
    (hours <= 14 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

/// Whether two clocks are apart as zones are.
pub(super) fn like_zones(us: i64) -> bool {
    let (rounded, rest) = rounded(us);
    rounded != 0 && rest <= NEAR_US
}

/// The nearest number of minutes by which zones are apart, and how far that is off.
fn rounded(us: i64) -> (i64, u64) {
    let step = STEP_MIN * 60_000_000;
    let steps = (us + us.signum() * step / 2) / step;
    (steps * STEP_MIN, (us - steps * step).unsigned_abs())
}

/// Brings the logs to one zone, as far as that can be known; they stand in the order of trust. Returns whether all zones are
/// known now, and what is not, in words.
pub(super) fn in_one_zone(read: &mut Vec<Read>) -> (bool, Vec<String>) {
    let zones: BTreeSet<Zone> = read
        .iter()
        .flat_map(|(_, _, lines)| lines.zones.clone())
        .collect();
    let numbers = zones.iter().all(|zone| matches!(zone, Zone::Ahead(_)));
    if zones.len() <= 1 {
        return (!zones.contains(&Zone::Unsaid), Vec::new());
    }
    match numbers {
        true => (true, to_newest(read).into_iter().collect()),
        false => (false, to_first(read)),
    }
}

/// All zones are known: everything is told in that of the newest line.
fn to_newest(read: &mut [Read]) -> Option<String> {
    let lines = read.iter().flat_map(|(_, _, lines)| &lines.kept);
    let utc = |line: &&Line| {
        line.at
            .shifted(-i64::from(line.ahead_min.unwrap_or(0)) * 60_000_000)
    };
    let wanted = lines.max_by_key(utc)?.ahead_min?;
    for (_, _, lines) in read {
        let later = |ahead: i16| i64::from(wanted) - i64::from(ahead);
        for line in &mut lines.kept {
            line.move_by(later(line.ahead_min.unwrap_or(wanted)));
        }
        let mut zones = lines.zones.iter();
        (lines.first, lines.last) = match (zones.next(), zones.next()) {
            (Some(Zone::Ahead(ahead)), None) => {
                let moved =
                    |at: Option<Moment>| at.map(|at| at.shifted(later(*ahead) * 60_000_000));
                (moved(lines.first), moved(lines.last))
            }
            // Of several zones: by the lines that tell something.
            _ => {
                let at = || lines.kept.iter().map(|line| line.at);
                (at().min(), at().max())
            }
        };
    }
    let wanted = Zone::Ahead(wanted).words();
    Some(format!(
        "the stamps are of several zones: all times are told in {wanted}"
    ))
}

/// Of each head the logs whose zone differs are brought to that of the first, by what both tell.
fn to_first(read: &mut Vec<Read>) -> Vec<String> {
    let mut gaps = Vec::new();
    let hosts: BTreeSet<HostName> = read.iter().map(|(_, host, _)| host.clone()).collect();
    for host in hosts {
        // A log that tells nothing is of no zone.
        let own = |of: &&Read| of.1 == host && !of.2.kept.is_empty();
        let Some(first) = read
            .iter()
            .find(own)
            .map(|(_, _, lines)| lines.zones.clone())
        else {
            continue;
        };
        let others = read
            .iter()
            .filter(own)
            .map(|(_, _, lines)| lines.zones.clone());
        let others: BTreeSet<BTreeSet<Zone>> = others.filter(|zones| *zones != first).collect();
        for zones in others {
            let of = |wanted: &BTreeSet<Zone>| {
                let logs = read.iter().filter(own);
                once(logs.filter(|(_, _, lines)| lines.zones == *wanted))
            };
            let (base, other) = (of(&first), of(&zones));
            let both = other.iter().filter_map(|(key, at)| {
                Some(base.get(key)?.as_ref()?.0 as i64 - at.as_ref()?.0 as i64)
            });
            let mut apart: Vec<i64> = both.collect();
            apart.sort_unstable();
            let named = |zones: &BTreeSet<Zone>| {
                let words: Vec<String> = zones.iter().map(Zone::words).collect();
                words.join(", ")
            };
            let which = format!(
                "{host}: logs with stamps of different zones ({}; {})",
                named(&first),
                named(&zones)
            );
            let Some(middle) = apart.get(apart.len() / 2).copied() else {
                gaps.push(format!(
                    "{which} tell nothing in common: whether their times are of one zone is not known, and they are taken for that"
                ));
                continue;
            };
            let (minutes, rest) = rounded(middle);
            let ours = |of: &Read| of.1 == host && of.2.zones == zones;
            if rest > NEAR_US {
                gaps.push(format!(
                    "{which} tell the same at different times: the latter are left out"
                ));
                read.retain(|of| !ours(of));
            } else if minutes != 0 {
                gaps.push(format!(
                    "{which} tell the same {} minutes apart: the latter are brought to the former",
                    minutes.unsigned_abs()
                ));
                for (_, _, lines) in read.iter_mut().filter(|of| ours(of)) {
                    lines.kept.iter_mut().for_each(|line| line.move_by(minutes));
                    let moved = |at: Option<Moment>| at.map(|at| at.shifted(minutes * 60_000_000));
                    (lines.first, lines.last) = (moved(lines.first), moved(lines.last));
                }
            }
        }
    }
    gaps
}

/// What logs tell, and when, where they tell it once.
fn once<'a>(logs: impl Iterator<Item = &'a Read>) -> BTreeMap<String, Option<Moment>> {
    let mut told = BTreeMap::new();
    for (kind, _, lines) in logs {
        for line in &lines.kept {
            let Some(key) = said(*kind, line.rest()) else {
                continue;
            };
            let at = told.entry(key).or_insert(Some(line.at));
            // The same line in two files is no second time.
            if *at != Some(line.at) {
                *at = None;
            }
        }
    }
    told
}

/// What a line says, in its own log as in syslog.
fn said(kind: LogKind, text: &str) -> Option<String> {
    let said = match kind {
        LogKind::Corosync => text.split_once("A new membership (")?.1,
        LogKind::Pacemaker => text.split_once("notice: ")?.1.split(" | ").next()?,
    };
    Some(said.trim_end().to_owned())
}

/// Stamps without a year get theirs by when the logs were `recorded`, in seconds since 1970, and the account does so with all:
/// a line that says another year is left out. Returns that time, and what is left out, in words.
pub(super) fn years(read: &mut [Read], recorded: u64) -> (u64, Option<String>) {
    let lines = || read.iter().flat_map(|(_, _, lines)| &lines.kept);
    let recorded = match lines().all(|line| line.has_year) {
        // The logs say it themselves.
        true => lines()
            .map(|line| line.at.0 / 1_000_000 + 1)
            .max()
            .unwrap_or(recorded),
        false => recorded,
    };
    let mut left_out: Option<(u64, Moment)> = None;
    for (_, _, lines) in read {
        lines.kept.retain(|line| {
            let same = stamped(&line.text, recorded, 0).is_some_and(|(at, _)| at == line.at);
            if !same {
                let (count, newest) = left_out.unwrap_or((0, line.at));
                left_out = Some((count + 1, newest.max(line.at)));
            }
            same
        });
    }
    let gap = left_out.map(|(count, newest)| {
        format!(
            "{count} lines are left out, the newest of {}: by the year that they say they are not of the year before the logs \
             were written",
            local(newest)
        )
    });
    (recorded, gap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_numbers_or_words() {
        for (word, minutes) in [
            ("+01:00", 60),
            ("+0530", 330),
            ("-03", -180),
            ("Z", 0),
            ("UTC", 0),
        ] {
            assert_eq!(zone_ahead(word), Some(minutes), "{word}");
        }
        for none in [
            "", "CET", "+", "+1", "+010", "+2500", "-01:99", "+\u{e9}", "head1",
        ] {
            assert_eq!(zone_ahead(none), None, "{none}");
        }
        assert_eq!(Zone::named("-0330").words(), "-03:30");
        assert!(like_zones(3_600_400_000) && like_zones(-19_800_000_000));
        assert!(!like_zones(400_000) && !like_zones(3_000_000) && !like_zones(600_000_000));
    }
}
