//! What `hawser tune` and `hawser changes` print with `--json`.

mod row;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::account::PacketsAccount;
use crate::knob::Scope;
use crate::names::{HostName, LinkName};
use crate::output::fanout::FanoutResult;
use crate::trial::{RingGain, Verdict};
use crate::units::{Nanos, Packets, mb_per_s};

pub use row::short;

/// What `hawser tune --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TuneReport {
    /// The check that everything began with.
    pub before: TuneCheck,
    /// The same check with what was kept; equal to `before` when nothing was.
    pub after: TuneCheck,
    /// Every candidate, also the useless ones, in the order in which they were tried.
    pub trials: Vec<TrialReport>,
    /// What was changed and kept.
    pub changes: Vec<ChangeReport>,
    /// What it did to the cluster engine of each host.
    pub corosync: Vec<CorosyncEffect>,
    /// Path of the case file.
    pub case: String,
}

impl TuneReport {
    /// Said where nothing was kept.
    pub fn nothing_kept(&self) -> &'static str {
        match self.trials.iter().all(|trial| trial.left_at.is_empty()) {
            true => "Nothing was kept: every host is as it was.",
            false => "Nothing was kept. What was not put back is named with its trial.",
        }
    }
}

/// Corosync on one host, over the whole tune.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CorosyncEffect {
    /// The host.
    pub node: String,
    /// It runs there.
    pub runs: bool,
    /// It was watched during every window, and trouble would have ended the tune: not with `--full`.
    pub watched: bool,
    /// From the first check to the proof; not known where nothing was kept, and so nothing proven.
    #[serde(flatten)]
    pub gained: RingGain,
}

/// One of the two checks of a tune.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TuneCheck {
    /// Its packets account.
    pub packets: PacketsAccount,
    /// Codes of its findings, worst first.
    pub findings: Vec<String>,
    /// In how many frames a block of 8 KiB, as one datagram, goes through each link's smallest path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub frames_per_8_kib: BTreeMap<LinkName, u64>,
    /// Those receivers counted in the kernel and read nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count_only: bool,
    /// How many receivers each host served, with `--multicast-fanout`; then `packets` is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fanout: Vec<FanoutResult>,
}

/// The note on a candidate of a dry run that nothing keeps from being tried.
pub const WOULD_BE_TRIED: &str = "would be tried";

/// One candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialReport {
    /// What was turned, as people call it: `net.core.rmem_default`.
    pub knob: String,
    /// How far it reaches; absent when it could not be read.
    pub scope: Option<Scope>,
    /// The host.
    #[serde(rename = "where")]
    pub place: String,
    /// What was turned together with it, as one change: `mtu of ring0 on head1`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The value before; absent when it could not be read.
    pub from: Option<String>,
    /// The value tried; absent when there was none to try.
    pub to: Option<String>,
    /// What it came to.
    pub verdict: Verdict,
    /// Share of packets lost with it, less the share lost without it (Hodges-Lehmann): -0.44 is
    /// 44 percentage points fewer. Of a TCP stream, the share of its fastest rate that is missing
    /// in the second half of a window; of a buffer that was not granted, the share of it that is missing. Absent when it was not measured.
    pub effect: Option<f64>,
    /// 95 % or more of such intervals hold the true effect: low, high.
    pub interval: Option<[f64; 2]>,
    /// How fast the stream was, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateEffect>,
    /// What the cluster engine's own sockets dropped, where those were watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineEffect>,
    /// Windows of traffic measured, with and without it together.
    pub windows: u32,
    /// It stayed.
    pub kept: bool,
    /// What has another value than its own before, now that the trial is over, since somebody else has set that meanwhile:
    /// `mtu of ring0 on head1 at 9000`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_at: Vec<String>,
    /// What it did besides; absent when it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side_effects: Option<SideEffects>,
    /// Why it could not be tried, or why the verdict is not the last word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What a cluster engine's own sockets dropped of the packets that reached them, in all windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineEffect {
    /// Dropped without it: the kernel's count of each socket (`SK_MEMINFO_DROPS`).
    pub dropped_without: Packets,
    /// Of so many: those and the ones that the engine counts as received.
    pub of_without: Packets,
    /// Dropped with it.
    pub dropped_with: Packets,
    /// Of so many.
    pub of_with: Packets,
    /// Messages that the cluster sent again without it (`stats.srp.mcast_retx` of all hosts); absent when not all told.
    pub retransmits_without: Option<u64>,
    /// With it.
    pub retransmits_with: Option<u64>,
    /// The engine was started again in between, so the windows without it are all from before that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restarted: bool,
}

impl EngineEffect {
    /// In one line.
    pub fn told(&self) -> String {
        let again = |count: Option<u64>| match count {
            Some(count) => Packets(count).to_string(),
            None => "an unknown number of".to_owned(),
        };
        let restarted = match self.restarted {
            true => {
                "; the engine was started again once, between the windows without it and those with it"
            }
            false => "",
        };
        format!(
            "the engine's sockets dropped {} of {} packets without it, {} of {} with it; the cluster sent {} messages again \
             without it, {} with it{restarted}",
            self.dropped_without,
            self.of_without,
            self.dropped_with,
            self.of_with,
            again(self.retransmits_without),
            again(self.retransmits_with),
        )
    }
}

/// How fast a TCP stream was in the second half of the windows; medians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateEffect {
    /// Without it, MB/s (10^6 bytes).
    pub without_mb_per_s: f64,
    /// With it.
    pub with_mb_per_s: f64,
}

impl RateEffect {
    /// `620 MB/s → 1.85 GB/s (× 2.98)`.
    pub fn told(&self) -> String {
        let (without, with) = (self.without_mb_per_s, self.with_mb_per_s);
        let times = match without > 0.0 {
            true => format!(" (× {:.2})", with / without),
            false => String::new(),
        };
        format!("{} → {}{times}", mb_per_s(without), mb_per_s(with))
    }
}

/// What a change did besides, by the pairs of windows. Of a measure that the windows do not have: absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SideEffects {
    /// Nanoseconds that packets were longer on their way with it, on average (Hodges-Lehmann); of a TCP stream, its
    /// round trip.
    pub delay: Option<i64>,
    /// 95 % or more of such intervals hold the true difference: low, high.
    pub delay_interval: Option<[i64; 2]>,
    /// Jitter, 99th percentile: with it over without it, as the two below.
    pub jitter: Option<f64>,
    /// CPU time a packet that arrived.
    pub cpu: Option<f64>,
    /// Memory of the receive buffer.
    pub memory: Option<f64>,
    /// What the Corosync of each host that has one counted during the windows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub corosync: BTreeMap<HostName, RingGain>,
}

impl SideEffects {
    /// A ratio is told from here up, or below the inverse.
    pub const NOTEWORTHY: f64 = 1.5;
    /// And a delay from here up, when its interval leaves no doubt of its sign.
    pub const NOTEWORTHY_DELAY: Nanos = Nanos(100_000);

    /// Those that are large enough to be told.
    pub fn told(&self) -> Vec<String> {
        let mut told: Vec<String> = self.delay_told().into_iter().collect();
        let ratios = [
            ("jitter (99 %)", self.jitter),
            ("CPU time a packet", self.cpu),
            ("memory of the socket", self.memory),
        ];
        let ratios = ratios.into_iter().filter_map(|(what, r)| Some((what, r?)));
        told.extend(
            ratios
                .filter(|(_, r)| *r >= Self::NOTEWORTHY || *r <= 1.0 / Self::NOTEWORTHY)
                .map(|(what, r)| format!("{what} × {r:.2}")),
        );
        for (host, gained) in &self.corosync {
            let counted = [
                ("token lost", gained.token_lost),
                ("messages sent again", gained.retransmits),
            ];
            let counted = counted.into_iter().filter_map(|(what, n)| Some((what, n?)));
            told.extend(
                counted
                    .filter(|(_, n)| *n > 0)
                    .map(|(what, n)| format!("Corosync on {host}: {what} × {n}")),
            );
        }
        told
    }

    fn delay_told(&self) -> Option<String> {
        let (delay, [low, high]) = (self.delay?, self.delay_interval?);
        let size = Nanos(delay.unsigned_abs());
        let sign = if delay < 0 { "−" } else { "+" };
        let sure = low > 0 || high < 0;
        (sure && size >= Self::NOTEWORTHY_DELAY).then(|| format!("delay {sign}{size}"))
    }
}

/// A change that is in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeReport {
    /// For `hawser undo`.
    pub id: String,
    /// The host whose journal has it.
    pub node: String,
    /// What was turned.
    pub object: String,
    /// The value before.
    pub before: String,
    /// The value now.
    pub after: String,
    /// The file that makes it last over a reboot; absent when none does.
    pub persisted_in: Option<String>,
    /// Why none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Ids of the changes that are one with this and are undone with it, itself included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<String>,
}

/// What `hawser changes --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangesReport {
    /// The changes in force, by node, oldest first.
    pub changes: Vec<ChangeReport>,
    /// Entries of journals that cannot be read. They stay as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableChange>,
}

/// An entry of a node's journal that cannot be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadableChange {
    /// The node.
    pub host: HostName,
    /// Its file, and why.
    pub error: String,
}

/// What `hawser undo --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UndoReport {
    /// What was undone, in that order: the last change first.
    pub undone: Vec<UndoneChange>,
    /// What could not be, and why.
    pub failed: Vec<String>,
}

/// A change that was undone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UndoneChange {
    /// The change, as it was.
    #[serde(flatten)]
    pub change: ChangeReport,
    /// The value that was found instead of the change's own, and was left alone: somebody else had set it, or a later change of
    /// the same knob, which then has the old value to put back. Absent when the old value is back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_at: Option<String>,
    /// There was nothing to put back: what was changed is gone (a closed socket, a removed interface).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_small_or_in_doubt_is_not_told() {
        let effects = SideEffects {
            delay: Some(-1_250_000),
            delay_interval: Some([-1_300_000, -900_000]),
            jitter: Some(1.2),
            cpu: Some(0.5),
            corosync: [("head1", Some(2)), ("head2", Some(0))]
                .map(|(host, token_lost)| {
                    let retransmits = None;
                    let gained = RingGain {
                        token_lost,
                        retransmits,
                    };
                    (host.into(), gained)
                })
                .into(),
            ..SideEffects::default()
        };
        assert_eq!(
            effects.told(),
            [
                "delay −1.25 ms",
                "CPU time a packet × 0.50",
                "Corosync on head1: token lost × 2"
            ]
        );
        let doubtful = SideEffects {
            delay: Some(1_250_000),
            delay_interval: Some([-10, 2_000_000]),
            ..SideEffects::default()
        };
        assert!(doubtful.told().is_empty());
    }
}
