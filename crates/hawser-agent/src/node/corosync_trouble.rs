//! What in Corosync's statistics means that a check must get out of its way.
//!
//! Names and units are those of `corosync-cmapctl -m stats` (corosync 3: `exec/stats.c`,
//! cmap_keys(7)). Everything is compared with the moment before the flow, so that a cluster
//! that has been in trouble for long can still be checked, as long as checking does not add
//! to it.

use hawser_model::host::CorosyncFacts;

/// Messages sent again in one flow, which lasts seconds: a healthy cluster sends none again, a
/// single one is what a busy CPU does. Corosync itself has no limit; it logs each ("Retransmit
/// List").
const RETRANSMITS: u64 = 10;

/// The token may take half its timeout to come back. An idle ring holds it for up to 0.19 of the
/// timeout (`token_hold_timeout`: 0.8 of `token / 4.2`, corosync.conf(5)), and Corosync itself
/// warns at 0.75 (`token_warning`).
const TOKEN_SHARE: u64 = 2;

/// Counters of the ring protocol of which one more is trouble: the token was lost, or the
/// members are being gathered anew.
const RING: [&str; 6] = [
    "stats.srp.operational_token_lost",
    "stats.srp.gather_token_lost",
    "stats.srp.commit_token_lost",
    "stats.srp.recovery_token_lost",
    "stats.srp.gather_entered",
    "stats.srp.consensus_timeouts",
];

/// The first statistic that moved the wrong way since `before`, with its values, if any did.
pub fn trouble(before: &CorosyncFacts, now: &CorosyncFacts) -> Option<String> {
    link_down(before, now)
        .or_else(|| RING.iter().find_map(|name| rose(before, now, name, 1)))
        .or_else(|| rose(before, now, "stats.srp.mcast_retx", RETRANSMITS))
        .or_else(|| rose(before, now, "stats.srp.continuous_sendmsg_failures", 1))
        .or_else(|| not_scheduled(before, now))
        .or_else(|| token_away(before, now))
}

/// A kronosnet link that was up is not, or was down in between.
fn link_down(before: &CorosyncFacts, now: &CorosyncFacts) -> Option<String> {
    before.stats.iter().find_map(|(name, value)| {
        let link = name.strip_prefix("stats.knet.node")?;
        if link.ends_with(".down_count") {
            return rose(before, now, name, 1);
        }
        let after = now.stats.get(name)?;
        (link.ends_with(".connected") && value == "1" && after != "1")
            .then(|| moved(name, value, after))
    })
}

/// Corosync records each time it was not given a CPU for most of a token, newest first.
fn not_scheduled(before: &CorosyncFacts, now: &CorosyncFacts) -> Option<String> {
    let name = "stats.schedmiss.0.timestamp";
    let after = now.stats.get(name)?;
    let was = before.stats.get(name).map_or("none", String::as_str);
    (after != was).then(|| moved(name, was, after))
}

/// How long the token took to come back the last time it came; the number stays until it comes
/// again (seen with corosync 3.1.7), so one that has not changed is old news.
fn token_away(before: &CorosyncFacts, now: &CorosyncFacts) -> Option<String> {
    let name = "stats.srp.time_since_token_last_received";
    let token = before.token?.get() / 1_000_000;
    let away = number(now, name)?;
    (token > 0 && away > token / TOKEN_SHARE && number(before, name) != Some(away))
        .then(|| format!("{name}: {away} ms, with a token timeout of {token} ms"))
}

fn rose(before: &CorosyncFacts, now: &CorosyncFacts, name: &str, by: u64) -> Option<String> {
    let was = number(before, name)?;
    let is = number(now, name)?;
    (is.saturating_sub(was) >= by).then(|| moved(name, was, is))
}

fn moved(name: &str, was: impl std::fmt::Display, is: impl std::fmt::Display) -> String {
    format!("{name}: {was} → {is}")
}

fn number(facts: &CorosyncFacts, name: &str) -> Option<u64> {
    facts.stats.get(name)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use hawser_model::units::Nanos;

    use super::*;

    /// `corosync-cmapctl -m stats` (3.1.7) on one of two nodes, token 1000 ms.
    const QUIET: &str = include_str!("../../tests/corosync/quiet.txt");
    /// The same node 0.5 s after its only link was cut.
    const LINK_CUT: &str = include_str!("../../tests/corosync/link-cut-500ms.txt");
    /// And 1 s after.
    const TOKEN_LOST: &str = include_str!("../../tests/corosync/link-cut-1000ms.txt");

    fn facts(text: &str) -> CorosyncFacts {
        let stats = text.lines().map(|line| {
            let (name, value) = line.split_once(" = ").unwrap();
            (name.split(' ').next().unwrap().to_owned(), value.to_owned())
        });
        CorosyncFacts {
            pid: 1,
            token: Some(Nanos::from_millis(1000)),
            stats: stats.collect(),
            process: None,
        }
    }

    fn with(text: &str, name: &str, value: &str) -> CorosyncFacts {
        let mut facts = facts(text);
        facts.stats.insert(name.to_owned(), value.to_owned());
        facts
    }

    #[test]
    fn a_quiet_cluster_is_no_trouble_and_neither_is_one_that_was_broken_before() {
        assert_eq!(trouble(&facts(QUIET), &facts(QUIET)), None);
        assert_eq!(trouble(&facts(LINK_CUT), &facts(LINK_CUT)), None);
    }

    #[test]
    fn a_link_that_goes_down_is_seen_before_the_token_is_lost() {
        assert_eq!(
            trouble(&facts(QUIET), &facts(LINK_CUT)).as_deref(),
            Some("stats.knet.node2.link0.connected: 1 → 0")
        );
    }

    #[test]
    fn a_link_that_came_back_between_two_samples_is_still_seen() {
        let name = "stats.knet.node2.link0.down_count";
        let was: u64 = facts(QUIET).stats[name].parse().unwrap();
        let now = with(QUIET, name, &(was + 1).to_string());
        assert!(trouble(&facts(QUIET), &now).unwrap().starts_with(name));
    }

    #[test]
    fn a_lost_token_is_trouble_also_when_the_links_say_nothing() {
        let before = facts(LINK_CUT);
        assert!(
            trouble(&before, &facts(TOKEN_LOST))
                .unwrap()
                .starts_with("stats.srp.operational_token_lost: 0 → 1")
        );
    }

    #[test]
    fn single_retransmits_are_borne_and_ten_are_not() {
        let name = "stats.srp.mcast_retx";
        let before = with(QUIET, name, "500");
        assert_eq!(trouble(&before, &with(QUIET, name, "509")), None);
        assert_eq!(
            trouble(&before, &with(QUIET, name, "510")).as_deref(),
            Some("stats.srp.mcast_retx: 500 → 510")
        );
    }

    #[test]
    fn a_token_that_took_more_than_half_its_timeout_is_trouble() {
        let name = "stats.srp.time_since_token_last_received";
        assert_eq!(trouble(&facts(QUIET), &with(QUIET, name, "500")), None);
        assert_eq!(
            trouble(&facts(QUIET), &with(QUIET, name, "501")).as_deref(),
            Some(
                "stats.srp.time_since_token_last_received: 501 ms, with a token timeout of 1000 ms"
            )
        );
        let old_news = with(QUIET, name, "2131");
        assert_eq!(trouble(&old_news, &old_news), None);
    }

    #[test]
    fn a_corosync_that_got_no_cpu_is_trouble() {
        let name = "stats.schedmiss.0.timestamp";
        assert!(trouble(&facts(QUIET), &with(QUIET, name, "1763761084")).is_some());
    }
}
