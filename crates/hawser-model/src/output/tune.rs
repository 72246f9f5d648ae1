//! What `hawser tune` and `hawser changes` print with `--json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::account::PacketsAccount;
use crate::knob::Scope;
use crate::output::fanout::FanoutResult;
use crate::trial::Verdict;

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

/// Corosync on one host, over the whole tune.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CorosyncEffect {
    /// The host.
    pub node: String,
    /// It runs there.
    pub runs: bool,
    /// It was watched during every window, and trouble would have ended the tune: not with `--full`.
    pub watched: bool,
    /// How often the token was lost; absent when it is not known, as when nothing was kept.
    pub token_lost: Option<u64>,
    /// Messages that were sent again; absent when it is not known.
    pub retransmits: Option<u64>,
}

/// One of the two checks of a tune.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TuneCheck {
    /// Its packets account.
    pub packets: PacketsAccount,
    /// Codes of its findings, worst first.
    pub findings: Vec<String>,
    /// How many receivers each host served, with `--multicast-fanout`; then `packets` is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fanout: Vec<FanoutResult>,
}

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
    /// in the second half of a window. Absent when it was not measured.
    pub effect: Option<f64>,
    /// 95 % or more of such intervals hold the true effect: low, high.
    pub interval: Option<[f64; 2]>,
    /// Windows of traffic measured, with and without it together.
    pub windows: u32,
    /// It stayed.
    pub kept: bool,
    /// Why it could not be tried, or why the verdict is not the last word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl TrialReport {
    /// Its row in a table: knob, where, scope, from, to, windows, effect, verdict.
    pub fn row(&self) -> [String; 8] {
        let missing = || "–".to_owned();
        [
            self.knob.clone(),
            self.place.clone(),
            self.scope.map_or_else(missing, |s| s.word().to_owned()),
            self.from.as_deref().map_or_else(missing, short),
            self.to.as_deref().map_or_else(missing, short),
            self.windows.to_string(),
            self.effect_in_points().unwrap_or_else(missing),
            self.outcome(),
        ]
    }

    /// Effect and interval in percentage points: `-44.31 (-45.02 to -43.87)`.
    pub fn effect_in_points(&self) -> Option<String> {
        let [low, high] = self.interval?.map(|share| share * 100.0);
        let effect = self.effect? * 100.0;
        Some(format!("{effect:+.2} ({low:+.2} to {high:+.2})"))
    }

    /// `better, kept`; a trial without a window was none.
    pub fn outcome(&self) -> String {
        let end = if self.kept { "kept" } else { "rolled back" };
        match self.windows {
            0 => "not tried".to_owned(),
            _ => format!("{}, {end}", self.verdict.word()),
        }
    }
}

/// A value for a table: of a value for each of many receivers the first two, and how many there are.
pub fn short(value: &str) -> String {
    let items: Vec<&str> = value.split_whitespace().collect();
    match items.as_slice() {
        [one, two, .., _] if items.len() > 3 && items.iter().all(|i| i.contains('=')) => {
            format!("{one} {two} … ({})", items.len())
        }
        _ => value.to_owned(),
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_receivers_take_no_more_room_than_few() {
        assert_eq!(short("v1=1 v2=2 v3=1"), "v1=1 v2=2 v3=1");
        assert_eq!(short("v1=1 v2=2 v3=1 v4=2"), "v1=1 v2=2 … (4)");
        assert_eq!(short("adaptive off usecs 50"), "adaptive off usecs 50");
    }
}
