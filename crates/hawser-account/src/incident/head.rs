//! The logs of one head, and what is missing in them.

use std::collections::BTreeSet;

use hawser_model::drill::Moment;
use hawser_model::output::incident::LogKind;

use super::case::within;
use super::covers::Covers;
use super::flapping::Cut;
use super::heard::heard;
use super::lines::{self, Line, Lines};
use super::syslog;

/// What all logs of one head tell.
#[derive(Default)]
pub(super) struct Head {
    pub(super) lines: [Vec<Line>; 2],
    pub(super) corosync: u64,
    pub(super) pacemaker: u64,
    pub(super) first: Option<Moment>,
    pub(super) last: Option<Moment>,
    /// Stamps of whole seconds in its own logs, and in syslog.
    coarse: [bool; 2],
    /// Lines of both programs in syslog.
    pub(super) syslog: [u64; 2],
    /// What syslog has of Pacemaker is in no other log.
    notices: bool,
    covers: [Covers; 2],
    /// Where lines of it were left out when they were kept.
    cuts: BTreeSet<Cut>,
}

impl Head {
    /// Takes what a log tells that was not told yet.
    pub(super) fn take(&mut self, kind: LogKind, mut read: Lines) {
        match (read.syslog, kind) {
            (true, _) => self.syslog[kind as usize] += read.stamped,
            (false, LogKind::Corosync) => self.corosync += read.stamped,
            (false, LogKind::Pacemaker) => self.pacemaker += read.stamped,
        }
        self.first = self.first.into_iter().chain(read.first).min();
        self.last = self.last.into_iter().chain(read.last).max();
        self.covers[kind as usize].uncovered(&mut read);
        if !read.kept.is_empty() {
            self.coarse[usize::from(read.syslog)] |= read.coarse;
            self.notices |= read.syslog && kind == LogKind::Pacemaker;
        }
        self.cuts.extend(read.cuts);
        self.lines[kind as usize].extend(read.kept);
    }

    /// It has stamps of whole seconds.
    pub(super) fn coarse(&self) -> bool {
        self.coarse.contains(&true)
    }

    /// What is missing in it, in words.
    pub(super) fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        for (kind, count) in [
            (LogKind::Corosync, self.corosync),
            (LogKind::Pacemaker, self.pacemaker),
        ] {
            if count + self.syslog[kind as usize] == 0 {
                gaps.push(format!("no line of {} with a time stamp", kind.file()));
            }
        }
        if self.notices {
            gaps.push(syslog::NOTICES.to_owned());
        }
        let [own, of_syslog] = self.coarse;
        if of_syslog {
            gaps.push(syslog::COARSE.to_owned());
        }
        if own {
            gaps.push(
                "stamps of whole seconds: each step may be off by one. `timestamp: hires` in the section \
                 logging of corosync.conf writes milliseconds"
                    .to_owned(),
            );
        }
        gaps.extend(self.cuts.iter().filter(|cut| self.lacks(cut)).map(|cut| {
            format!(
                "between {} and {} lines about links were not kept, {} or more: how often and how long they \
                 were down then is not known",
                lines::local(cut.from),
                lines::local(cut.to),
                cut.lines
            )
        }));
        gaps
    }

    /// Whether the lines are still missing: the log itself may have them.
    fn lacks(&self, cut: &Cut) -> bool {
        let lines = &self.lines[LogKind::Corosync as usize];
        let there = within(lines, |line| line.at, &(cut.from..=cut.to)).iter();
        let there = there.filter(|line| heard(line.rest()).is_some()).count() as u64;
        // With the two that were kept on both sides of them.
        there < cut.lines.saturating_add(2)
    }
}
