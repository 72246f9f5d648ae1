//! What `hawser explain --logs --json` prints: the outages that the logs of a cluster's heads tell of.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::drill::{OutagePhase, PromiseReport};
use super::link_outage::LinkOutage;
use crate::finding::WordedFinding;
use crate::names::HostName;
use crate::readings::{Noted, Subject};

/// What the logs of all heads tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IncidentsReport {
    /// What was read, of each head.
    pub heads: Vec<ReadLog>,
    /// How far a boundary between two heads may be off because of their clocks and the steps of their stamps, either way,
    /// in seconds. Absent: the heads' logs have no event in common from which that could be known.
    pub clock_error_s: Option<f64>,
    /// The incidents, oldest first.
    pub incidents: Vec<IncidentReport>,
    /// What stood in the way, in words: a log that is missing, stamps without a fraction of a second.
    pub gaps: Vec<String>,
    /// When the logs were read, in seconds since 1970 UTC; absent in what an older version printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at: Option<u64>,
}

/// A head's logs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReadLog {
    /// The head, as it names itself in them.
    pub host: HostName,
    /// Lines of corosync.log with a time stamp.
    pub corosync: u64,
    /// Lines of pacemaker.log with a time stamp.
    pub pacemaker: u64,
    /// Lines of Corosync and Pacemaker in syslog or the journal. Absent: there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syslog: Option<u64>,
    /// The first stamp; local time of the head. Absent: there is none.
    pub from: Option<String>,
    /// The last one.
    pub to: Option<String>,
    /// By how many seconds its clock is ahead of the first head's, by the memberships that both have logged; its times are
    /// corrected by that. Below 0.2 s it is 0. Absent: they have logged none in common.
    pub ahead_s: Option<f64>,
}

/// Which log of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogKind {
    /// corosync.log.
    Corosync,
    /// pacemaker.log.
    Pacemaker,
}

impl LogKind {
    /// The name of its file.
    pub fn file(self) -> &'static str {
        match self {
            Self::Corosync => "corosync.log",
            Self::Pacemaker => "pacemaker.log",
        }
    }
}

/// A line of a log that tells something of an incident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IncidentLine {
    /// Seconds from the beginning of the incident, on the first head's clock.
    pub at_s: f64,
    /// Whose.
    pub host: HostName,
    /// Of which log.
    pub log: LogKind,
    /// It was read from syslog, or from the journal. Absent: from the log itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub syslog: bool,
    /// The line; its stamp is the head's own, in the form of Corosync's `timestamp: hires`.
    pub text: String,
}

impl IncidentLine {
    /// Where it was read.
    pub fn source(&self) -> &'static str {
        match self.syslog {
            true => "syslog",
            false => self.log.file(),
        }
    }
}

/// Something that happened to the cluster: a head that was lost, a fencing, a service that was not there for a while, a
/// heartbeat link that was down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IncidentReport {
    /// When it began, as digits: `20261122-111412`.
    pub id: String,
    /// When it began: local time of the heads, to the millisecond.
    pub began: String,
    /// Seconds to the end of what belongs to it.
    pub lasted_s: f64,
    /// What began it, in words.
    pub trigger: String,
    /// Why that happened, as far as the logs say it. Absent: they do not.
    pub cause: Option<String>,
    /// Heads that were fenced, in order, each once.
    pub fenced: Vec<HostName>,
    /// The longest outage of a service, in seconds; 0 when none was away. Absent: nothing but heartbeat links was down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage_s: Option<f64>,
    /// The services that were away, longest outage first.
    pub services: Vec<ServiceOutage>,
    /// The heartbeat links that were down. Those of a head that was lost went down with it, and are not told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkOutage>,
    /// Whether it went as the cluster file's timing lets one expect; empty where no file was there or it says nothing of this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promises: Vec<PromiseReport>,
    /// The lines that mark its steps, in the order of time: a phase begins and ends at the moment of one, unless a rule of
    /// docs/outage.md says when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<IncidentLine>,
    /// How many more there are, which are not among `lines`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines_left_out: u64,
    /// What the heads' watches read around it, of each head that keeps a ring of readings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<HeadReadings>,
}

/// What the ring of a head has of the time around an incident: from a minute before it to two after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeadReadings {
    /// The head that read it.
    pub host: HostName,
    /// When its first reading of that time was, in seconds from the beginning of the incident.
    pub first_s: f64,
    /// How everything stood then.
    pub first: Vec<Noted>,
    /// What changed, in the order of time; numbers that change all the time are left out.
    pub changes: Vec<NotedChange>,
}

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotedChange {
    /// Seconds from the beginning of the incident, on the first head's clock.
    pub at_s: f64,
    /// What.
    pub what: Changed,
}

/// How something changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Changed {
    /// It is so from then on.
    Now(Noted),
    /// It is not there any more.
    Gone(Subject),
    /// The head's clock was stepped by so many seconds.
    ClockStepped(f64),
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(noted) => noted.fmt(f),
            Self::Gone(subject) => subject.fmt(f),
            Self::ClockStepped(seconds) => write!(f, "the clock was stepped by {seconds:+.3} s"),
        }
    }
}

pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A service that was not there for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceOutage {
    /// The pool, the group, or the resource.
    pub service: String,
    /// Where it was started again. Absent: nowhere, as far as the logs go.
    pub on: Option<HostName>,
    /// Seconds from the beginning of the incident to that of this outage.
    pub start_s: f64,
    /// How long it was away, in seconds. No client is heard: one may have noticed later, and come back later.
    pub outage_s: f64,
    /// Whether it was there again before the logs end.
    pub over: bool,
    /// The service was found dead by a check: since when it was, the logs do not say, and `outage_s` is the least.
    pub at_least: bool,
    /// What it was made of, in the order of time; with `unattributed_s` they add up to `outage_s`.
    pub phases: Vec<OutagePhase>,
    /// What nothing marks, in seconds.
    pub unattributed_s: f64,
    /// The findings, worst first.
    pub findings: Vec<WordedFinding>,
}

impl ServiceOutage {
    /// What stands before its length, in words.
    pub fn least(&self) -> &'static str {
        match self.at_least {
            true => "at least ",
            false => "",
        }
    }

    /// How it ended, in words that follow its length.
    pub fn end(&self) -> String {
        match (&self.on, self.over) {
            (Some(on), true) => format!(", until it stood on {on}"),
            (None, true) => String::new(),
            (_, false) => ", and it did not end in these logs".to_owned(),
        }
    }
}

/// What `hawser incident list --json` prints: an array of these, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedIncident {
    /// When it began, as digits: `20261122-111412`.
    pub id: String,
    /// When it began: local time of the heads, to the millisecond.
    pub began: String,
    /// What began it, in words.
    pub trigger: String,
    /// The longest outage of a service, in seconds; 0 when none was away. Absent: nothing but heartbeat links was down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage_s: Option<f64>,
    /// What of it nothing marks, in seconds; absent where `outage_s` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unattributed_s: Option<f64>,
    /// The services that were away, longest outage first.
    pub pools: Vec<String>,
    /// The heartbeat links that were down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkOutage>,
    /// Why it happened, as far as the logs say it. Absent: they do not.
    pub cause: Option<String>,
}

impl From<IncidentReport> for ListedIncident {
    fn from(incident: IncidentReport) -> Self {
        let services = &incident.services;
        Self {
            unattributed_s: incident
                .outage_s
                .map(|_| services.first().map_or(0.0, |it| it.unattributed_s)),
            pools: services.iter().map(|it| it.service.clone()).collect(),
            id: incident.id,
            began: incident.began,
            trigger: incident.trigger,
            outage_s: incident.outage_s,
            links: incident.links,
            cause: incident.cause,
        }
    }
}

/// Something of an incident at its time: a line of a log, or a change that a watch has read.
#[derive(Clone, Debug, PartialEq)]
pub struct CourseStep<'a> {
    /// Seconds from the beginning of the incident.
    pub at_s: f64,
    /// The head.
    pub host: &'a HostName,
    /// The log's file, or `read`.
    pub by: &'static str,
    /// What.
    pub text: String,
}

impl IncidentReport {
    /// Which services were away and for how long at most, in a few words; of links alone, how long the first was down.
    pub fn away(&self) -> String {
        let [longest, rest @ ..] = self.services.as_slice() else {
            let link = self.links.first().filter(|_| self.outage_s.is_none());
            let link = link.map(|link| format!(", a link down {}", link.how_long()));
            return format!("no service was away{}", link.unwrap_or_default());
        };
        let more = match rest.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        format!(
            "{}{more} away for {}{:.3} s",
            longest.service,
            longest.least(),
            longest.outage_s
        )
    }

    /// Lines of the logs and changes that were read, in the order of time.
    pub fn course(&self) -> Vec<CourseStep<'_>> {
        let lines = self.lines.iter().map(|line| CourseStep {
            at_s: line.at_s,
            host: &line.host,
            by: line.source(),
            text: line.text.clone(),
        });
        let changes = self.readings.iter().flat_map(|head| {
            head.changes.iter().map(|change| CourseStep {
                at_s: change.at_s,
                host: &head.host,
                by: "read",
                text: change.what.to_string(),
            })
        });
        let mut all: Vec<CourseStep<'_>> = lines.chain(changes).collect();
        all.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        all
    }
}
