//! What a tune, and each of its trials, did to the cluster engine of its hosts: the counters of Corosync's ring before
//! the first window and after the last.

use hawser_model::case::{Case, Intensity};
use hawser_model::host::CorosyncFacts;
use hawser_model::output::tune::CorosyncEffect;
use hawser_model::trial::RingGain;

/// The token was lost, in whatever state of the ring (cmap_keys(7)).
const TOKEN_LOST: [&str; 4] = [
    "stats.srp.operational_token_lost",
    "stats.srp.gather_token_lost",
    "stats.srp.commit_token_lost",
    "stats.srp.recovery_token_lost",
];

const RETRANSMITS: &str = "stats.srp.mcast_retx";

/// Each host of a tuned case. A host is asked when the tune begins and, where something was kept, when
/// that is proven.
pub(super) fn effects(case: &Case) -> Vec<CorosyncEffect> {
    let after = case.tuning.as_ref().and_then(|t| t.after.as_deref());
    let hosts = case.hosts.iter().map(|(host, facts)| {
        let before = facts.corosync.as_ref();
        let now = after.and_then(|case| case.hosts.get(host)?.corosync.as_ref());
        CorosyncEffect {
            node: host.to_string(),
            runs: before.is_some(),
            watched: before.is_some()
                && case.fanout.is_none()
                && case.intensity == Intensity::Gentle,
            gained: gained(before, now),
        }
    });
    hosts.collect()
}

/// What a Corosync has counted between two looks. One that was restarted in between counts from zero.
pub fn gained(before: Option<&CorosyncFacts>, now: Option<&CorosyncFacts>) -> RingGain {
    let both = before.zip(now).filter(|(b, n)| b.pid == n.pid);
    let gained = |names: &[&str]| {
        let (before, now) = both?;
        Some(sum(now, names)?.saturating_sub(sum(before, names)?))
    };
    RingGain {
        token_lost: gained(&TOKEN_LOST),
        retransmits: gained(&[RETRANSMITS]),
    }
}

fn sum(facts: &CorosyncFacts, names: &[&str]) -> Option<u64> {
    names
        .iter()
        .map(|name| facts.stats.get(*name)?.parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_is_not_told_is_not_zero() {
        let mut facts = CorosyncFacts::default();
        assert_eq!(sum(&facts, &[RETRANSMITS]), None);
        facts.stats.insert(RETRANSMITS.to_owned(), "12".to_owned());
        assert_eq!(sum(&facts, &[RETRANSMITS]), Some(12));
        assert_eq!(sum(&facts, &TOKEN_LOST), None);
        let mut later = facts.clone();
        later.stats.insert(RETRANSMITS.to_owned(), "15".to_owned());
        let gain = gained(Some(&facts), Some(&later));
        assert_eq!((gain.retransmits, gain.token_lost), (Some(3), None));
        later.pid += 1;
        let restarted = gained(Some(&facts), Some(&later));
        assert_eq!(restarted.retransmits, None, "it counts from zero");
        assert_eq!(gain.and(gain).retransmits, Some(6));
        assert_eq!(gain.and(restarted).retransmits, None);
    }
}
