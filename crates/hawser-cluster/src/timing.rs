//! The file's timing in Corosync's and Pacemaker's numbers.

use hawser_model::cluster_file::{ClusterFile, Period, Profile};

/// What the engine is told about time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineTiming {
    /// `totem.token`: a node whose token does not come round for so long is lost.
    pub token: Period,
    /// `totem.token_coefficient`: added to the token for each node beyond two. `None`: Corosync's
    /// own 650 ms.
    pub token_coefficient: Option<Period>,
    /// `totem.consensus`: how long the others then confer. `None`: Corosync's own 1.2 × token.
    pub consensus: Option<Period>,
    /// `totem.token_warning`: after so many per cent of the token a warning is logged.
    pub token_warning: Option<u8>,
    /// `knet_ping_interval` and `knet_ping_timeout` of every link: how often it is asked, and after
    /// how much silence it counts as down.
    pub ping: Option<(Period, Period)>,
    /// Pacemaker's `dc-deadtime`: how long a starting node waits for the others.
    pub dc_deadtime: Period,
    /// Time that fencing by IPMI waits between the order and the question. `None`: the agent's own.
    pub power_wait: Option<Period>,
}

/// Corosync's own `token_coefficient` (corosync.conf(5)).
const TOKEN_COEFFICIENT: Period = Period::from_millis(650);

/// How much longer the shot at one of two nodes must be held back than the shot at the other. The controller of one may
/// sleep a second before it decides, where that of the other does not (`do_pe_invoke_callback` of Pacemaker's
/// controld_schedulerd.c), and a shot takes up to a second until the power is off.
pub const DUEL: Period = Period::from_secs(2);

/// Pacemaker's own `dc-deadtime`.
const DC_DEADTIME: Period = Period::from_secs(20);

impl EngineTiming {
    /// The numbers of a file.
    pub fn of(file: &ClusterFile) -> Self {
        let timing = &file.timing;
        let token = timing.token();
        let base = Self {
            token,
            token_coefficient: None,
            consensus: timing.consensus(),
            token_warning: None,
            ping: None,
            dc_deadtime: timing
                .initial
                .as_ref()
                .map_or(DC_DEADTIME, |initial| **initial),
            power_wait: None,
        };
        match (
            *timing.profile,
            &timing.keepalive,
            &timing.warning,
            &timing.dead,
        ) {
            // The file's rules say: keepalive < warning < dead.
            (Profile::Heartbeat, Some(keepalive), Some(warning), Some(dead)) => {
                // Corosync knows a silence as long as the token and no longer one, so what is a part of `dead` is
                // the same part of the token. A link must count as down before the token is lost, or one that fails
                // while another carries on costs a membership.
                let of_token = |part: Period| {
                    let share = part.as_millis() * token.as_millis() / dead.as_millis().max(1);
                    Period::from_millis(share.max(1))
                };
                Self {
                    // Heartbeat's deadtime does not grow with the cluster.
                    token_coefficient: Some(Period::from_millis(0)),
                    token_warning: Some(percent(**warning, **dead)),
                    // A silence worth a warning is also what makes a link count as down; the two
                    // knet times must be given together (corosync.conf(5)).
                    ping: Some((of_token(**keepalive), of_token(**warning))),
                    ..base
                }
            }
            // The agent asks for the power status until it is off (fence-agents `power_timeout`,
            // 20 s), so not waiting before the first question loses nothing.
            (Profile::Tuned, ..) => Self {
                power_wait: Some(Period::from_secs(0)),
                ..base
            },
            _ => base,
        }
    }

    /// Silence after which a lost node is noticed at the latest, with so many nodes. Each node counts from the last
    /// token that it received; when nobody sends, one of them holds the token for a while (`totem.hold`), so the count
    /// may have begun that much before the silence.
    pub fn noticed(&self, nodes: usize) -> Period {
        let beyond_two = u64::try_from(nodes.saturating_sub(2)).unwrap_or(u64::MAX);
        let coefficient = self.token_coefficient.unwrap_or(TOKEN_COEFFICIENT);
        Period::from_millis(self.token.as_millis() + beyond_two * coefficient.as_millis())
    }

    /// Silence after which the others have agreed that it is lost at the latest, and fencing begins.
    pub fn declared_lost(&self, nodes: usize) -> Period {
        let noticed = self.noticed(nodes);
        let consensus = match self.consensus {
            Some(consensus) => consensus.as_millis(),
            None => noticed.as_millis() * 6 / 5,
        };
        Period::from_millis(noticed.as_millis() + consensus)
    }
}

fn percent(part: Period, whole: Period) -> u8 {
    let percent = part.as_millis() * 100 / whole.as_millis().max(1);
    u8::try_from(percent.clamp(1, 100)).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(text: &str) -> EngineTiming {
        let nodes = "[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n";
        let text = format!("[cluster]\nname = \"t\"\n{nodes}[timing]\n{text}");
        EngineTiming::of(&hawser_model::cluster_file::parse(&text, "test").unwrap())
    }

    #[test]
    fn heartbeats_four_times_each_have_their_place() {
        let t = timing(
            "profile = \"heartbeat\"\nkeepalive = \"1s\"\nwarning = \"5s\"\ndead = \"10s\"\ninitial = \"60s\"",
        );
        assert_eq!(t.token, Period::from_millis(4545));
        assert_eq!(t.consensus, Some(Period::from_millis(5455)));
        assert_eq!(t.token_warning, Some(50));
        let (interval, timeout) = t.ping.unwrap();
        assert_eq!(interval, Period::from_millis(454));
        assert_eq!(timeout, Period::from_millis(2272));
        assert_eq!(t.dc_deadtime, Period::from_secs(60));
    }

    #[test]
    fn heartbeats_dead_is_token_and_consensus_of_any_number_of_nodes() {
        let times = "profile = \"heartbeat\"\nkeepalive = \"1s\"\nwarning = \"5s\"\ndead = ";
        for dead in [700, 1000, 3333, 10_000, 60_001] {
            let times = times.replace("1s", "100ms").replace("5s", "500ms");
            let t = timing(&format!("{times}\"{dead}ms\""));
            for nodes in [2, 3, 8] {
                assert_eq!(t.declared_lost(nodes), Period::from_millis(dead));
                assert_eq!(t.noticed(nodes), t.token);
            }
            // corosync.conf(5): with three nodes and more consensus must be at least 1.2 × token.
            let consensus = t.consensus.unwrap().as_millis();
            assert!(consensus * 10 >= t.token.as_millis() * 12, "{t:?}");
            // A link is given up before the node is.
            assert!(t.ping.unwrap().1 < t.token, "{t:?}");
        }
        let own = timing(&format!("{times}\"10s\"\nconsensus = \"6s\""));
        assert_eq!(own.token, Period::from_secs(4));
        assert_eq!(own.declared_lost(3), Period::from_secs(10));
    }

    #[test]
    fn stock_and_tuned_are_told_apart_by_token_and_power_wait() {
        let stock = timing("");
        assert_eq!(stock.declared_lost(2), Period::from_millis(6600));
        assert_eq!(stock.noticed(3), Period::from_millis(3650));
        assert_eq!(stock.power_wait, None);
        let tuned = timing("profile = \"tuned\"\nconsensus = \"500ms\"");
        assert_eq!(tuned.declared_lost(2), Period::from_millis(1500));
        assert_eq!(tuned.power_wait, Some(Period::from_secs(0)));
    }
}
