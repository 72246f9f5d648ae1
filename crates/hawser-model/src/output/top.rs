//! What `hawser top` shows: a cluster at this moment, as all of its heads that answer know it.

use std::collections::BTreeMap;

use super::live::{Light, LiveEnd, LiveHead, LiveIncidents, LivePool, LiveRunning};
use super::watch::{Alarm, LinkReading};
use crate::names::{HostName, LinkName};

/// A cluster at this moment.
#[derive(Clone, Debug, PartialEq)]
pub struct TopPicture {
    /// Its name; empty for hosts that were named without a cluster file.
    pub cluster: String,
    /// When this is, in seconds since 1970 UTC.
    pub now: u64,
    /// Since when it is looked at: what is older has begun then or before.
    pub begun_at: u64,
    /// What of it was asked so far.
    pub look: TopLook,
    /// The heads, in the file's order.
    pub heads: Vec<TopHead>,
    /// The links, in the file's order.
    pub links: Vec<TopLink>,
    /// The pools, in the file's order.
    pub pools: Vec<LivePool>,
    /// What is wrong, worst first.
    pub alarms: Vec<Alarm>,
    /// For each head, what Pacemaker says would happen if it died now.
    pub if_lost: BTreeMap<HostName, Vec<String>>,
    /// What is happening now.
    pub running: Option<LiveRunning>,
    /// What happened before, from the logs of all heads.
    pub incidents: LiveIncidents,
}

/// What the heads were asked about the cluster as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopLook {
    /// When that was, in seconds since 1970 UTC. Absent: there is no answer yet, or nothing is asked for want of a
    /// cluster file.
    pub at: Option<u64>,
    /// Why the last time failed, if it did.
    pub problem: Option<String>,
}

/// A head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopHead {
    /// What it is.
    pub head: LiveHead,
    /// Whether it answers.
    pub answers: Answers,
}

/// Whether a head answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answers {
    /// It does.
    Yes,
    /// It has not been reached yet, nor refused.
    NotYet,
    /// It does not.
    No {
        /// Why.
        why: String,
        /// When it answered last, in seconds since 1970 UTC; absent if it never did.
        seen: Option<u64>,
    },
}

/// A link.
#[derive(Clone, Debug, PartialEq)]
pub struct TopLink {
    /// Its name.
    pub name: LinkName,
    /// What it carries, in words.
    pub carries: String,
    /// The switch that it runs over, where the file names one.
    pub switch: Option<String>,
    /// The switch is where to look first: several of its links are down.
    pub suspect: bool,
    /// Its port at each head.
    pub ports: Vec<TopPort>,
    /// Its ways from each head to each other one, by Corosync's pings.
    pub ways: Vec<TopWay>,
}

/// A head's port on a link.
#[derive(Clone, Debug, PartialEq)]
pub struct TopPort {
    /// The head.
    pub head: HostName,
    /// How it is.
    pub end: LiveEnd,
}

/// A way over a link.
#[derive(Clone, Debug, PartialEq)]
pub struct TopWay {
    /// Who pings.
    pub from: HostName,
    /// How it is.
    pub light: Light,
    /// To whom, and how that goes.
    pub link: LinkReading,
}

impl TopPicture {
    /// How all of it is: as the worst alarm, and not known before all of it was looked at.
    pub fn light(&self) -> Light {
        let alarms = self.alarms.iter().map(|alarm| Light::from(alarm.severity));
        let answers = self.heads.iter().map(|head| match head.answers {
            Answers::Yes => Light::Good,
            Answers::NotYet => Light::Unknown,
            Answers::No { .. } => Light::Bad,
        });
        let looked = match self.look.at.is_some() || self.cluster.is_empty() {
            true => Light::Good,
            false => Light::Unknown,
        };
        alarms.chain(answers).max().unwrap_or(looked).max(looked)
    }
}
