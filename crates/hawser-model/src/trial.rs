//! Trials: what was tried against a fault, and what each window of traffic showed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::case::{Case, PhaseKind};
use crate::knob::{Change, Knob, Scope};
use crate::names::{HostName, LinkName};
use crate::units::{Bytes, Nanos, Packets, PacketsPerSec};

/// What `hawser tune` did after the check whose facts the case holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tuning {
    /// The candidates in the order in which their turn came.
    pub trials: Vec<Trial>,
    /// The changes that were kept, by host.
    pub changes: BTreeMap<HostName, Vec<Change>>,
    /// The same check again with everything that was kept; absent when nothing was.
    pub after: Option<Box<Case>>,
}

/// Why a dry run does not try what it could.
pub const DRY_RUN: &str = "a dry run";

impl Trial {
    /// Whether only a dry run keeps it from being tried.
    pub fn would_be_tried(&self) -> bool {
        self.not_tried.as_deref() == Some(DRY_RUN)
    }
}

/// One candidate and the windows in which it was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// The code of the finding it might cure.
    pub cause: String,
    /// What was turned.
    pub knob: Knob,
    /// How far that reached; absent when it could not even be read.
    pub scope: Option<Scope>,
    /// The host on which it was turned.
    pub host: HostName,
    /// The value before; absent when it could not be read.
    pub from: Option<String>,
    /// The value tried; absent when there was none to try.
    pub to: Option<String>,
    /// The traffic; absent when nothing was sent.
    pub traffic: Option<TrialTraffic>,
    /// What was turned together with it, as one change; `knob` itself is not among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Also>,
    /// The windows, in pairs, in order.
    pub pairs: Vec<Pair>,
    /// Why it could not be tried, or not to its end.
    pub not_tried: Option<String>,
    /// It stayed.
    pub kept: bool,
    /// What has another value than its own before, now that the trial is over: somebody else has set that meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_at: Vec<LeftAt>,
    /// What the cluster engine of each host that has one counted during these windows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub corosync: BTreeMap<HostName, RingGain>,
    /// Measured once more with the other survivors in place: windows without it, and with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Pair>,
    /// The cluster engine of the host was started again for it, once: the windows without it are all from before that, and
    /// no coin chose their order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restarted: bool,
}

/// What a Corosync's counters gained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RingGain {
    /// How often the token was lost; absent when it is not known, as of one that was restarted.
    pub token_lost: Option<u64>,
    /// Messages that were sent again; absent when it is not known.
    pub retransmits: Option<u64>,
}

impl RingGain {
    /// This and what was gained later.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        Self {
            token_lost: sum(self.token_lost, later.token_lost),
            retransmits: sum(self.retransmits, later.retransmits),
        }
    }
}

/// A knob that is turned together with another: the other end of a link, a switch's port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Also {
    /// The host, or the lab's switch.
    pub host: HostName,
    /// Its knob; it gets the same value.
    pub knob: Knob,
}

/// A knob that did not get its old value back, and the value that it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftAt {
    /// The host, or the lab's switch.
    pub host: HostName,
    /// Its knob.
    pub knob: Knob,
    /// The value.
    pub value: String,
}

/// The traffic of a trial: one phase of the check that showed the fault. Of a fan-out, `from` and `to`
/// are the host itself, and the link is named for the bridge whose receivers' settings are copied. Of a cluster engine's
/// own traffic they are the host too, and the link has the engine's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialTraffic {
    /// The sender.
    pub from: HostName,
    /// The receiver.
    pub to: HostName,
    /// The link.
    pub link: LinkName,
    /// The phase.
    pub phase: PhaseKind,
    /// The rate and the receivers of a fan-out, when it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fanout: Option<FanoutTraffic>,
    /// Where the fault is a receive buffer that was not granted and nothing is lost for it yet: what the kernel
    /// grants where it grants all, twice what was asked (socket(7)). The windows are then judged by what is
    /// missing of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Bytes>,
    /// Nothing is sent: the windows show what the cluster engine's own sockets drop of what its peers send.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub engine: bool,
}

/// One multicast flow for many receivers on one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FanoutTraffic {
    /// Packets a second. What a sender that was slowed did not send counts as lost.
    pub rate: PacketsPerSec,
    /// How many receive.
    pub receivers: u32,
}

/// Two windows of the same traffic, one after the other, in an order chosen by a coin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// Which came first.
    pub with_first: bool,
    /// With the value before.
    pub without: Window,
    /// With the value tried.
    pub with: Window,
}

/// What one window of traffic showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Packets sent.
    pub sent: Packets,
    /// Packets that did not arrive.
    pub lost: Packets,
    /// Interarrival jitter, 99th percentile.
    pub jitter: Nanos,
    /// CPU time of the sending and the receiving thread.
    pub cpu: Nanos,
    /// How long packets were on their way, on average, in nanoseconds: by two hosts' clocks, so that only the
    /// difference between the windows of a pair means something. Of a TCP stream, its smoothed round trip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<i64>,
    /// Memory that the receive buffer may take.
    pub buffer: Bytes,
    /// [`TrialTraffic::due`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Bytes>,
    /// Of a TCP stream, which loses nothing but time: how fast it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamRates>,
    /// Of a cluster engine's own traffic: the messages that the cluster sent again, on all hosts that tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
}

/// How fast a stream was within one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamRates {
    /// Bytes a second in its fastest quarter.
    pub fastest: Bytes,
    /// Bytes a second over the second half of the window.
    pub late: Bytes,
}

impl StreamRates {
    /// Share of a rate of `fastest` bytes a second that the second half of the window fell short
    /// of.
    pub fn missing(&self, fastest: Bytes) -> f64 {
        if fastest.is_zero() {
            return 0.0;
        }
        (1.0 - self.late.0 as f64 / fastest.0 as f64).max(0.0)
    }
}

impl Window {
    /// Share of the sent packets that was lost; of a stream, of its own fastest rate; of a buffer that is due,
    /// of it.
    pub fn loss(&self) -> f64 {
        if let Some(due) = self.due.filter(|due| !due.is_zero()) {
            return due.saturating_sub(self.buffer).0 as f64 / due.0 as f64;
        }
        if let Some(stream) = &self.stream {
            return stream.missing(stream.fastest);
        }
        if self.sent.is_zero() {
            0.0
        } else {
            self.lost.0 as f64 / self.sent.0 as f64
        }
    }
}

impl Pair {
    /// Share lost without the value tried, and with it. Streams are held against the faster of the
    /// two windows: one that is slow from its beginning has not been cured.
    pub fn losses(&self) -> (f64, f64) {
        match (&self.without.stream, &self.with.stream) {
            (Some(without), Some(with)) => {
                let fastest = with.fastest.max(without.fastest);
                (without.missing(fastest), with.missing(fastest))
            }
            _ => (self.without.loss(), self.with.loss()),
        }
    }

    /// Share lost with the value tried, less the share lost without.
    pub fn difference(&self) -> f64 {
        let (without, with) = self.losses();
        with - without
    }

    /// Whether it is of a TCP stream, which loses nothing but time.
    pub fn is_of_a_stream(&self) -> bool {
        self.without.stream.is_some()
    }

    /// Whether it is of a buffer that was not granted.
    pub fn is_of_a_buffer(&self) -> bool {
        self.without.due.is_some()
    }
}

/// What a trial came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Proven to lose less.
    Better,
    /// Any effect is smaller than what would matter.
    NoEffect,
    /// Proven to lose more.
    Worse,
    /// The noise is too high for the windows there were, or there were none.
    CannotTell,
}

impl Verdict {
    /// As people call it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::NoEffect => "no effect",
            Self::Worse => "worse",
            Self::CannotTell => "cannot tell",
        }
    }
}
