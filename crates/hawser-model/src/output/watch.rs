//! What `hawser watch --once --json` prints: one reading of all heads, and what is wrong.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Place, Severity};
use crate::names::{HostName, LinkName};

/// One reading of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchReading {
    /// The cluster's name; empty for hosts that were named without a cluster file.
    pub cluster: String,
    /// When it was read, in seconds since 1970 UTC.
    pub read_at: u64,
    /// The heads, by name.
    pub heads: Vec<HeadReading>,
    /// All that is wrong, worst first. Empty: all is well.
    pub alarms: Vec<Alarm>,
}

impl WatchReading {
    /// The same with these alarms, each with every head that it is on.
    #[must_use]
    pub fn with(mut self, alarms: Vec<Alarm>) -> Self {
        for head in &mut self.heads {
            let own = alarms.iter().filter(|it| it.is_of(&head.name));
            head.alarms = own.cloned().collect();
        }
        Self { alarms, ..self }
    }
}

/// One head in a reading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeadReading {
    /// The head.
    pub name: HostName,
    /// Why it did not answer; absent when it did. Everything else is empty or absent then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreached: Option<String>,
    /// When it answered last, in seconds since 1970 UTC, if it does not now; absent in a single reading, which does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<u64>,
    /// Its heartbeat links, to each peer.
    pub links: Vec<LinkReading>,
    /// Whether its Corosync says that it has quorum; absent when it does not run or did not say.
    pub quorate: Option<bool>,
    /// The pools that it may run.
    pub pools: Vec<PoolReading>,
    /// What it offers of the pools that are here.
    pub exports: Vec<ExportReading>,
    /// Those of the alarms that concern it.
    pub alarms: Vec<Alarm>,
}

/// A heartbeat link to one peer, as Corosync's transport sees it (`stats.knet`, cmap_keys(7)).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkReading {
    /// The link.
    pub name: LinkName,
    /// The other head.
    pub peer: HostName,
    /// Whether it is up.
    pub state: LinkState,
    /// The running mean of the round trips of its pings, in seconds (`latency_ave`); absent where Corosync does not say.
    pub latency_s: Option<f64>,
    /// Pings that were not answered while it was watched; absent when it was read only once. Two may have been on their
    /// way.
    pub lost: Option<u64>,
    /// Pings that were sent meanwhile.
    pub sent: Option<u64>,
}

impl LinkReading {
    /// How it is, and if that is known its round trip and lost pings.
    pub fn words(&self) -> Vec<String> {
        let mut all = vec![self.state.word().to_owned()];
        if let (LinkState::Up, Some(latency)) = (self.state, self.latency_s) {
            all[0] += &format!(", round trip {:.3} ms", latency * 1e3);
        }
        if let (Some(lost), Some(sent)) = (self.lost, self.sent) {
            all.push(format!("{lost} of {sent} pings not answered"));
        }
        all
    }
}

/// Whether a link is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkState {
    /// It answers.
    Up,
    /// It does not.
    Down,
    /// Corosync does not say.
    Unknown,
}

impl LinkState {
    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "DOWN",
            Self::Unknown => "not known",
        }
    }
}

/// A pool on a head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolReading {
    /// The pool.
    pub name: String,
    /// Whether it is mounted there; absent when that was not seen.
    pub here: Option<bool>,
    /// How full it is, in percent; absent when it is not there or did not say.
    pub used_percent: Option<u8>,
    /// What is left, in bytes; absent when it is not there or did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
}

/// What a head offers of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportReading {
    /// The pool.
    pub pool: String,
    /// Whether all of it is offered as it was started; absent when nothing answered.
    pub offered: Option<bool>,
    /// What is missing.
    pub missing: Vec<String>,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alarm {
    /// Kebab-case, explained by `hawser explain CODE`, never renamed.
    pub code: String,
    /// How much it matters; a note is no alarm.
    pub severity: Severity,
    /// Where.
    #[serde(rename = "where")]
    pub place: Place,
    /// Where the troubles are that it was made of, each once; empty: it is one trouble.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Place>,
    /// When it was first seen, in seconds since 1970 UTC; absent in a single reading, which does not know.
    pub since: Option<u64>,
    /// How often it has come, with what came and went in between; 1 in a single reading.
    pub times: u64,
    /// What is wrong, in words.
    pub text: String,
    /// What to do, where the text does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Alarm {
    /// Which trouble it is: two alarms with one key are the same at two times, or as two heads see it.
    pub fn key(&self) -> (String, Place) {
        (self.code.clone(), self.place.clone())
    }

    /// Whether it, or a trouble that it was made of, is on this head or on the way to it.
    pub fn is_of(&self, head: &HostName) -> bool {
        let mut places = std::iter::once(&self.place).chain(&self.parts);
        places.any(|place| [&place.host, &place.peer].contains(&&Some(head.clone())))
    }
}
