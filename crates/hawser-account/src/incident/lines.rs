//! Lines of logs as they lie in a folder: whose they are, and when they were written.

use std::collections::BTreeSet;
use std::time::UNIX_EPOCH;

use hawser_model::drill::Moment;
use hawser_model::names::HostName;
use hawser_model::output::incident::LogKind;

use super::flapping::{Cut, left_out};
use super::heard::{heard, is_name, numbered};
use super::zones::{ZONES, Zone, zone_ahead};
use super::{said, syslog};
use crate::outage::stamp::{MONTHS, stamped};
use crate::outage::{log_lines, start_result};

/// As `journalctl -o short-full` writes them.
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// A file of a log.
#[derive(Clone, Debug)]
pub struct LogFile {
    /// Which log.
    pub kind: LogKind,
    /// Whose it is where its lines do not say: the folder it lies in.
    pub folder: String,
    /// What it holds.
    pub text: String,
}

/// A line that tells something.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) at: Moment,
    /// With a stamp as `stamped` reads it.
    pub(super) text: String,
    /// How far its zone is ahead of UTC, in minutes, where the stamp says so.
    pub(super) ahead_min: Option<i16>,
    /// The stamp says its year.
    pub(super) has_year: bool,
}

impl Line {
    /// Stamps it so many minutes later.
    pub(super) fn move_by(&mut self, minutes: i64) {
        let at = self.at.shifted(minutes * 60_000_000);
        let stamp = local(at);
        let month: Option<usize> = stamp.get(5..7).and_then(|month| month.parse().ok());
        let month = month.and_then(|month| MONTHS.get(month.checked_sub(1)?));
        let day: Option<u8> = stamp.get(8..10).and_then(|day| day.parse().ok());
        if let (Some(month), Some(day), Some(clock)) = (month, day, stamp.get(11..23)) {
            let rest = self.text.get(19..).unwrap_or_default();
            self.text = format!("{month} {day:2} {clock}{rest}");
            self.at = at;
        }
    }

    /// What follows the stamp.
    pub(super) fn rest(&self) -> &str {
        self.text.get(19..).unwrap_or_default()
    }
}

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    pub(super) host: Option<HostName>,
    pub(super) kept: Vec<Line>,
    /// Lines with a stamp.
    pub(super) stamped: u64,
    pub(super) first: Option<Moment>,
    pub(super) last: Option<Moment>,
    /// A stamp of whole seconds was found.
    pub(super) coarse: bool,
    /// They are lines of syslog.
    pub(super) syslog: bool,
    /// The zones of its stamps.
    pub(super) zones: BTreeSet<Zone>,
    /// Where lines were left out when they were kept.
    pub(super) cuts: Vec<Cut>,
}

/// Reads a file; of its lines it keeps those that mark or say something.
pub(super) fn read(file: &LogFile, recorded: u64) -> Lines {
    let mut lines = Lines::default();
    let mut cut: Option<(Moment, u64)> = None;
    for raw in file.text.lines() {
        if let Some(count) = left_out(raw) {
            cut = lines.kept.last().map(|line| (line.at, count));
            continue;
        }
        let Some(Stamp {
            text,
            coarse,
            year,
            zone,
        }) = stamp_in_milliseconds(raw)
        else {
            continue;
        };
        let Some((at, rest)) = stamped(&text, recorded, 0) else {
            continue;
        };
        let rest = rest.to_owned();
        let at = match year {
            Some(date) => {
                match moment(&format!("{date} {}", text.get(7..19).unwrap_or_default())) {
                    Some(at) => at,
                    None => continue,
                }
            }
            None => at,
        };
        if lines.host.is_none() {
            let tagged = syslog::wrote(&rest);
            lines.syslog = tagged.is_some();
            lines.host =
                tagged.map_or_else(|| host(file.kind, &rest), |(host, _)| Some(host.into()));
        }
        let ahead_min = match zone {
            Zone::Ahead(minutes) => Some(minutes),
            _ => None,
        };
        if !lines.zones.contains(&zone) && lines.zones.len() < ZONES {
            lines.zones.insert(zone);
        }
        lines.stamped += 1;
        lines.first = Some(lines.first.map_or(at, |first| first.min(at)));
        lines.last = Some(lines.last.map_or(at, |last| last.max(at)));
        let tells = match file.kind {
            LogKind::Corosync => log_lines::corosync(&rest).is_some() || heard(&rest).is_some(),
            LogKind::Pacemaker => {
                log_lines::pacemaker(&rest).is_some()
                    || numbered(&rest).is_some()
                    || start_result::is_one(&rest)
                    || rest.contains("Retrieving metadata for ")
                    || rest.contains(" is eligible to fence (")
            }
        };
        if tells || said::said(&rest).is_some() {
            lines.coarse |= coarse;
            if let Some((from, count)) = cut.take() {
                lines.cuts.push(Cut {
                    from,
                    to: at,
                    lines: count,
                });
            }
            lines.kept.push(Line {
                at,
                text,
                ahead_min,
                has_year: year.is_some(),
            });
        }
    }
    lines
}

/// The host that a line names: `[17] head2 corosync notice`, `head2 pacemaker-controld  [40]`.
fn host(kind: LogKind, rest: &str) -> Option<HostName> {
    let name = match kind {
        LogKind::Corosync => {
            let (_, rest) = rest.strip_prefix('[')?.split_once("] ")?;
            rest.split_once(" corosync ")?.0
        }
        LogKind::Pacemaker => rest.split_once(" pacemaker-")?.0,
    };
    is_name(name).then(|| name.into())
}

/// A line whose stamp has the form that `stamped` reads.
struct Stamp<'a> {
    text: String,
    /// It had whole seconds.
    coarse: bool,
    /// `2026-11-22`, where it has the year.
    year: Option<&'a str>,
    zone: Zone,
}

/// Brings the stamp of a line to that form. Beside it logs have stamps without milliseconds (`timestamp: on`, syslog), with
/// microseconds (`journalctl -o short-precise`), those of RFC 3339 (rsyslog, `short-iso`), and these with a weekday and the zone
/// as a word (`short-full`).
fn stamp_in_milliseconds(line: &str) -> Option<Stamp<'_>> {
    let (line, full) = match line.split_once(' ') {
        Some((weekday, rest)) if WEEKDAYS.contains(&weekday) => (rest, true),
        _ => (line, false),
    };
    let fraction = |rest: &str| {
        let digits: String = rest
            .strip_prefix('.')?
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        (!digits.is_empty()).then_some(digits)
    };
    if line.as_bytes().first()?.is_ascii_digit() {
        // `2026-11-22T11:14:13.103456+01:00 head2 …`, with a space for the T too.
        let (date, clock) = (line.get(..10)?, line.get(11..19)?);
        let month: usize = date.get(5..7)?.parse().ok()?;
        let month = MONTHS.get(month.checked_sub(1)?)?;
        let rest = line.get(19..)?;
        let digits = fraction(rest);
        let after = &rest[digits.as_ref().map_or(0, |digits| digits.len() + 1)..];
        let (zone, text) = after.split_once(' ').unwrap_or_default();
        // ` CET head2 …`, ` -03 head2 …`. Without a weekday such a word is a host's name.
        let (zone, text) = match (zone, text.split_once(' ')) {
            ("", Some((word, text))) if full || zone_ahead(word).is_some() => (word, text),
            _ => (zone, text),
        };
        let ms = format!("{:0<3.3}", digits.as_deref().unwrap_or(""));
        let day: u8 = date.get(8..)?.parse().ok()?;
        let stamp = format!("{month} {day:2} {clock}.{ms} {text}");
        return Some(Stamp {
            text: stamp,
            coarse: digits.is_none(),
            year: Some(date),
            zone: Zone::named(zone),
        });
    }
    let of = |text, coarse| {
        Some(Stamp {
            text,
            coarse,
            year: None,
            zone: Zone::Unsaid,
        })
    };
    let (clock, rest) = (line.get(..15)?, line.get(15..)?);
    match fraction(rest).as_deref() {
        Some(digits) if digits.len() == 3 => of(line.to_owned(), false),
        Some(digits) if digits.len() == 6 => {
            let (ms, rest) = (digits.get(..3)?, rest.get(7..)?);
            of(format!("{clock}.{ms}{rest}"), false)
        }
        Some(_) => None,
        None if rest.starts_with(' ') => of(format!("{clock}.000{rest}"), true),
        None => None,
    }
}

/// What follows the stamp of a line, whatever its form.
pub(super) fn after_stamp(line: &str) -> Option<String> {
    let text = stamp_in_milliseconds(line)?.text;
    Some(text.get(19..)?.trim_start().to_owned())
}

/// A moment that [`local`] has written.
pub fn moment(local: &str) -> Option<Moment> {
    let time = humantime::parse_rfc3339_weak(local).ok()?;
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    Some(Moment(u64::try_from(since.as_micros()).ok()?))
}

/// `2026-11-22 11:14:12.903`.
pub fn local(at: Moment) -> String {
    let text = hawser_model::date::utc_millis(at.0);
    text.trim_end_matches('Z').replace('T', " ")
}

/// `20261122-111412`.
pub(super) fn digits(local: &str) -> String {
    let whole = local.split('.').next().unwrap_or_default();
    whole
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c => c.is_ascii_digit().then_some(c),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_three_forms_are_one_moment() {
        let corosync = "[17] head2 corosync notice  [TOTEM ] A new membership (2.d) was formed. Members left: 1";
        let read = |line: String, kind| {
            let folder = "x".to_owned();
            let text = line + "\n";
            read(&LogFile { kind, folder, text }, 1_795_346_000)
        };
        let hires = read(format!("Nov 22 11:14:15.103 {corosync}"), LogKind::Corosync);
        assert_eq!(hires.host, Some("head2".into()));
        assert_eq!(local(hires.kept[0].at), "2026-11-22 11:14:15.103");
        assert!(!hires.coarse);
        let whole = read(format!("Nov 22 11:14:15 {corosync}"), LogKind::Corosync);
        assert_eq!(local(whole.kept[0].at), "2026-11-22 11:14:15.000");
        assert!(whole.coarse);
        let rfc = read(
            format!("2026-11-22T11:14:15.103456+01:00 {corosync}"),
            LogKind::Corosync,
        );
        assert_eq!(rfc.kept[0].at, hires.kept[0].at);
        let shot = "head2 pacemaker-controld  [40] (controld_execute_fence_action) \tnotice: Requesting fencing (off) of node head1 | action=1";
        let pacemaker = read(format!("Nov  2 01:14:15.335 {shot}"), LogKind::Pacemaker);
        assert_eq!(pacemaker.host, Some("head2".into()));
        assert_eq!(moment(&local(hires.kept[0].at)), Some(hires.kept[0].at));
        assert_eq!(digits(&local(pacemaker.kept[0].at)), "20261102-011415");
    }

    #[test]
    fn stamps_of_syslog_and_the_journal_are_read() {
        let text =
            "head2 corosync[17]:   [TOTEM ] A new membership (2.d) was formed. Members left: 1";
        for (stamp, ms, coarse) in [
            ("Nov 22 11:14:15", "000", true),
            ("Nov 22 11:14:15.103456", "103", false),
            ("2026-11-22T11:14:15.103456+01:00", "103", false),
            ("2026-11-22T11:14:15+0100", "000", true),
            ("Sun 2026-11-22 11:14:15 CET", "000", true),
            ("Sun 2026-11-22 11:14:15 -03", "000", true),
            ("Sun 2026-11-22 11:14:15 +0530", "000", true),
            ("2026-11-22 11:14:15 +08", "000", true),
            ("2026-11-22 11:14:15", "000", true),
            ("Sun 2026-11-22 11:14:15.103456 CET", "103", false),
        ] {
            let file = LogFile {
                kind: LogKind::Corosync,
                folder: "x".to_owned(),
                text: format!("{stamp} {text}\n"),
            };
            let read = read(&file, 1_795_346_000);
            assert!(read.syslog, "{stamp}");
            assert_eq!(read.host, Some("head2".into()), "{stamp}");
            assert_eq!(read.coarse, coarse, "{stamp}");
            let at = format!("2026-11-22 11:14:15.{ms}");
            assert_eq!(local(read.kept[0].at), at, "{stamp}");
        }
    }

    #[test]
    fn a_host_in_capitals_is_no_zone_and_a_year_is_believed() {
        let file = LogFile {
            kind: LogKind::Corosync,
            folder: "x".to_owned(),
            text: "2024-11-22 11:14:15 HA1 corosync[17]:   [TOTEM ] A new membership (2.d) was formed. Members left: 1\n".to_owned(),
        };
        let read = read(&file, 1_795_346_000);
        assert_eq!(read.host, Some("HA1".into()));
        assert_eq!(local(read.kept[0].at), "2024-11-22 11:14:15.000");
        let mut line = read.kept[0].clone();
        line.move_by(-12 * 60);
        assert!(
            line.text.starts_with("Nov 21 23:14:15.000 HA1 "),
            "{}",
            line.text
        );
    }

    #[test]
    fn any_line_is_read_without_a_panic() {
        for line in [
            "",
            "2",
            "2026-13-40T",
            "2026-11-22T11:14:15",
            "Nov 22 11:14:15.1 x",
            "Sun ",
            "Sun 2026-11-22 11:14:15 ",
            "2026-11-22T11:14:15 \u{e9}",
            "ÄÖÜäöü 22 11:14:15.579 x",
            "2026-11-22\u{e9}11:14:15.5",
            "Nov 22 11:14:15.",
            "9999999999999999999999999",
        ] {
            for kind in [LogKind::Corosync, LogKind::Pacemaker] {
                let (folder, text) = (String::new(), line.to_owned());
                assert!(read(&LogFile { kind, folder, text }, 0).kept.is_empty());
            }
        }
    }
}
