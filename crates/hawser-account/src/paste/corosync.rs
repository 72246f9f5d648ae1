//! `corosync-cmapctl -m stats` (cmap_keys(7)): what Corosync counted since it was started.

use std::collections::BTreeMap;

use hawser_model::cmap;
use hawser_model::output::paste::Pasted;

use super::{BOTH_ENDS, number, shown, start};

pub(super) fn read(text: &str) -> Option<Pasted> {
    let mut said = start("corosync-cmapctl -m stats");
    let all: BTreeMap<&str, &str> = cmap::entries(text)
        .filter(|(key, _)| key.starts_with("stats."))
        .collect();
    if all.is_empty() {
        return None;
    }
    let value = |key: &str| all.get(key).and_then(|text| text.parse::<u64>().ok());
    for key in all.keys().copied() {
        let Some((link, name)) = key
            .strip_prefix("stats.knet.")
            .and_then(|rest| rest.rsplit_once('.'))
        else {
            continue;
        };
        let Some((node, on)) = link.split_once(".link") else {
            continue;
        };
        let n = value(key).unwrap_or_default();
        let place = format!("link {on} to {}", node.replace("node", "node "));
        match name {
            "connected" if n == 0 && value(&format!("stats.knet.{link}.enabled")) != Some(0) => {
                said.loss = true;
                said.numbers.push(number(key, n));
                said.follows.push(format!(
                    "{place} is down now (`hawser explain knet-link-not-active`)."
                ));
            }
            // It counts as down before the first answer, so once is nothing.
            "down_count" if n > 1 => {
                said.loss = true;
                said.numbers.push(number(key, n));
                said.follows.push(format!(
                    "{place} went down {} times since Corosync was started.",
                    shown(n)
                ));
            }
            "tx_data_errors" | "tx_ping_errors" | "tx_pong_errors" | "tx_pmtu_errors" if n > 0 => {
                said.loss = true;
                said.numbers.push(number(key, n));
                said.follows.push(format!(
                    "{place}: {} packets could not be sent ({name}).",
                    shown(n)
                ));
            }
            "mtu" if n > 0 && n < 1300 => {
                said.numbers.push(number(key, n));
                said.follows.push(format!(
                    "{place} carries packets of {n} bytes only (`hawser explain knet-mtu-too-small`)."
                ));
            }
            _ => {}
        }
    }
    let key = "stats.srp.operational_token_lost";
    if let Some(n) = value(key).filter(|n| *n > 0) {
        said.loss = true;
        said.numbers.push(number(key, n));
        said.follows.push(format!(
            "The token was lost {} times while the cluster was whole: each time a new membership was formed.",
            shown(n)
        ));
    }
    // `stats.schedmiss.0`: the last time that it waited too long.
    if let Some(waited) = all.get("stats.schedmiss.0.delay") {
        said.loss = true;
        said.follows.push(format!(
            "Corosync was not given a processor for {} ms: other nodes saw a silence that was not the network's (`hawser \
             explain corosync-without-priority`).",
            waited.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect::<String>()
        ));
    }
    if said.follows.is_empty() {
        said.follows
            .push("No link is down, none went down more than once, and no token was lost.".into());
    }
    said.open.push(
        "Why a link went down: Corosync counts its own pings, not where they were lost.".into(),
    );
    said.open.push(
        "When: the counters run since Corosync was started. `corosync.log` has the times.".into(),
    );
    said.next.push("the same on the other nodes: a link that only one of them counts as down loses packets one way".into());
    said.next.push(BOTH_ENDS.into());
    Some(said)
}
