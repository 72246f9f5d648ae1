//! Cluster-wide properties and defaults.

use crate::crm::{Crm, Score};
use crate::page::Page;
use crate::picture::{Picture, Said};
use crate::place::quoted;

use super::millis;

/// Properties that Pacemaker or its tools write by themselves, or that Hawser sets to the same end.
const NOT_NEEDED: &[(&str, &str)] = &[
    ("dc-version", "Pacemaker writes it"),
    ("cluster-infrastructure", "Pacemaker writes it"),
    ("cluster-name", "Corosync's cluster_name counts"),
    ("have-watchdog", "Pacemaker writes it"),
    ("last-lrm-refresh", "a tool's note"),
    ("expected-quorum-votes", "votequorum counts the node list"),
    ("default-action-timeout", "each operation has its own"),
    ("crmd-transition-delay", "no longer needed"),
    ("dc_deadtime", "dc-deadtime is written [timing] initial"),
    ("stonith-timeout", "60 s, and each device's delay beside it"),
];

/// Properties of Pacemaker 2 that are passed on as they are (`pacemaker-schedulerd metadata`, `pacemaker-controld
/// metadata`).
const PASSED: &[&str] = &[
    "batch-limit",
    "cluster-delay",
    "cluster-ipc-limit",
    "cluster-recheck-interval",
    "concurrent-fencing",
    "election-timeout",
    "enable-acl",
    "enable-startup-probes",
    "fence-reaction",
    "join-finalization-timeout",
    "join-integration-timeout",
    "load-threshold",
    "migration-limit",
    "node-action-limit",
    "node-health-base",
    "node-health-green",
    "node-health-red",
    "node-health-strategy",
    "node-health-yellow",
    "node-pending-timeout",
    "pe-error-series-max",
    "pe-input-series-max",
    "pe-warn-series-max",
    "placement-strategy",
    "priority-fencing-delay",
    "remove-after-stop",
    "shutdown-escalation",
    "shutdown-lock",
    "shutdown-lock-limit",
    "start-failure-is-fatal",
    "startup-fencing",
    "stonith-max-attempts",
    "stop-all-resources",
    "stop-orphan-actions",
    "stop-orphan-resources",
    "transition-delay",
];

pub(super) fn translate(crm: &Crm, picture: &mut Picture, page: &mut Page) {
    let mut stickiness = None;
    for (name, value, at) in &crm.properties {
        // Pacemaker 3's names of them.
        let name = match name.strip_prefix("fencing-") {
            Some(rest) if name != "fencing-reaction" => format!("stonith-{rest}"),
            _ => name.clone(),
        };
        let what = format!("{name}={}", quoted(value));
        let yes = matches!(
            value.to_ascii_lowercase().as_str(),
            "true" | "yes" | "on" | "1" | "y"
        );
        match name.as_str() {
            "stonith-enabled" if yes => page.understood(at, what, "always, unless [fencing] none says otherwise"),
            "stonith-enabled" => page.unsaid(
                at,
                what,
                "a cluster that does not fence may destroy its pools: give each node its bmc, or accept it in [fencing] none",
            ),
            "stonith-action" => {
                let action = match value.as_str() {
                    "off" | "poweroff" => "off",
                    "reboot" => "reboot",
                    _ => {
                        page.unsaid(at, what, "[fencing] action is off or reboot; off is taken");
                        continue;
                    }
                };
                picture.action = Some(Said::new(action.into(), at));
                page.understood(at, what, format!("[fencing] action = \"{action}\""));
            }
            "maintenance-mode" | "is-managed-default" => {
                let on = yes == (name == "maintenance-mode");
                picture.maintenance = Some(Said::new(on, at));
                page.understood(at, what, format!("[cluster] maintenance = {on}"));
            }
            "no-quorum-policy" if value == "stop" => page.understood(at, what, "always"),
            "no-quorum-policy" => page.changed(
                at,
                what,
                "stop: two nodes are quorate alone (two_node), and of more the part without quorum is fenced",
            ),
            "dc-deadtime" => match millis(value) {
                Some(ms) => {
                    let own = picture.timing.initial.is_some();
                    if !own {
                        picture.timing.initial = Some(Said::new(ms, at));
                    }
                    page.understood(at, what, "[timing] initial");
                }
                None => page.unsaid(at, what, "it is no time"),
            },
            "stonith-watchdog-timeout" if millis(value) == Some(0) => page.not_needed(at, what, "no watchdog is used"),
            "stonith-watchdog-timeout" => page.unsaid(at, what, "Hawser fences by power; it does not drive a watchdog or sbd"),
            "default-resource-stickiness" => stickiness = Some((value, at)),
            "symmetric-cluster" if yes => page.understood(at, what, "always: `nodes` of a pool says where else not"),
            "symmetric-cluster" => page.understood(at, what, "`nodes` of each pool"),
            name if PASSED.contains(&name) => {
                picture.properties.insert(name.to_owned(), Said::new(value.clone(), at));
                page.understood(at, what, "[cluster.properties]");
            }
            name => match NOT_NEEDED.iter().find(|(known, _)| *known == name) {
                Some((_, why)) => page.not_needed(at, what, why),
                None => page.unsaid(at, what, "Pacemaker 2 has no such property that Hawser knows"),
            },
        }
    }
    for (name, value, at) in &crm.operations {
        let what = format!("{name}={} of operations", quoted(value));
        match name.as_str() {
            "timeout" => page.understood(at, what, "timeouts of each pool"),
            _ => page.unsaid(at, what, "Hawser's resources have their own operations"),
        }
    }
    for (name, value, at) in &crm.defaults {
        match name.as_str() {
            "resource-stickiness" => stickiness = Some((value, at)),
            "migration-threshold" if value == "3" => {
                page.understood(at, format!("{name}={value}"), "always")
            }
            "failure-timeout" if millis(value) == Some(3_600_000) => {
                page.understood(at, format!("{name}={value}"), "always");
            }
            "migration-threshold" => {
                page.changed(at, format!("{name}={}", quoted(value)), "3 failures")
            }
            "failure-timeout" => page.changed(at, format!("{name}={}", quoted(value)), "1 h"),
            _ => page.unsaid(
                at,
                format!("{name}={}", quoted(value)),
                "Hawser's resources have their own",
            ),
        }
    }
    failback(crm, stickiness, picture, page);
}

/// Whether a pool goes back: it does when it prefers its node more than it sticks to where it is.
fn failback(
    crm: &Crm,
    stickiness: Option<(&String, &crate::SourceLine)>,
    picture: &mut Picture,
    page: &mut Page,
) {
    let strongest = picture.pools.iter().filter_map(|pool| pool.prefer.as_ref());
    let strongest = strongest.map(|said| said.value.1).max();
    if crm.primitives.is_empty() || (strongest.is_none() && stickiness.is_none()) {
        return;
    }
    // Even where nothing is preferred, 1 is as good as nothing.
    let strongest = strongest.unwrap_or(1);
    let score = stickiness.map_or(Some(Score::Finite(0)), |(value, _)| Score::read(value));
    let sticks = score > Some(Score::Finite(i64::from(strongest)));
    let first = picture.pools.iter().find_map(|pool| pool.prefer.as_ref());
    let at = match (stickiness, first) {
        (Some((_, at)), _) => at.clone(),
        (None, Some(said)) => said.at.clone(),
        (None, None) => return,
    };
    let what = match stickiness {
        Some((value, _)) => format!("resource-stickiness={}", quoted(value)),
        None => "no resource-stickiness".into(),
    };
    let why = match sticks {
        true => "[cluster] failback = \"manual\"",
        false => "[cluster] failback = \"automatic\": pools go back to the nodes they prefer",
    };
    page.understood(&at, what, why);
    if let Some(heartbeat) = picture
        .automatic_failback
        .as_ref()
        .filter(|said| said.value == sticks)
    {
        page.changed(
            &heartbeat.at,
            "auto_failback",
            format!("Pacemaker decides, at {at}"),
        );
    }
    picture.automatic_failback = Some(Said::new(!sticks, &at));
}
