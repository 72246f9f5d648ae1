//! Where the source lets its fence devices run.

use std::collections::{BTreeMap, BTreeSet};

use crate::crm::{Crm, Location, Score};
use crate::page::Page;
use crate::place::quoted;

/// Where the source lets its devices run: wrong constraints are found, right ones are not needed.
pub(super) fn check(
    crm: &Crm,
    targets: &BTreeMap<&str, Vec<String>>,
    nodes: &[String],
    page: &mut Page,
) {
    for location in &crm.locations {
        let devices = || {
            location
                .resources
                .iter()
                .filter_map(|id| targets.get_key_value(id.as_str()))
        };
        for (device, fenced) in devices() {
            // The constraint's name speaks of another device than the constraint.
            let meant = targets.keys().find(|other| {
                *other != device && location.id.contains(**other) && !location.id.contains(*device)
            });
            match meant {
                Some(other) => page.mistake(
                    &location.at,
                    format!("location {} is about {}", quoted(&location.id), quoted(device)),
                    format!(
                        "by its name {} is meant; Hawser keeps each device away from the node it fences by itself",
                        quoted(other)
                    ),
                ),
                None => page.not_needed(
                    &location.at,
                    format!("location {} of {}", quoted(&location.id), quoted(device)),
                    match &fenced[..] {
                        [one] => format!("Hawser never runs it on {one}, which it fences"),
                        _ => "Hawser places fence devices by itself".into(),
                    },
                ),
            }
        }
    }
    for (device, fenced) in targets {
        let about = |l: &&Location| l.resources.iter().any(|id| id == device);
        let locations: Vec<_> = crm.locations.iter().filter(about).collect();
        let barred: BTreeSet<&str> = locations
            .iter()
            .filter(|l| l.score == Score::MinusInfinity)
            .filter_map(|l| l.node.as_deref())
            .collect();
        let Some(primitive) = crm.primitives.iter().find(|p| p.id == *device) else {
            continue;
        };
        if nodes.len() > 1 && nodes.iter().all(|node| barred.contains(node.as_str())) {
            let place = locations.last().map_or(&primitive.at, |l| &l.at);
            page.mistake(
                place,
                format!("{} can run on no node", quoted(device)),
                "every node is forbidden to it, so what it fences is never fenced",
            );
        }
        // The stonithd of Heartbeat's days shot with what had been started on its own node; today every node can use
        // every device that it may run.
        let old = primitive.agent.starts_with("stonith:external/");
        if let ([one], true) = (&fenced[..], old) {
            let pinned = locations
                .iter()
                .any(|l| l.score == Score::Infinity && l.node.as_ref() != Some(one));
            if nodes.len() > 1 && !barred.contains(one.as_str()) && !pinned {
                page.mistake(
                    &primitive.at,
                    format!(
                        "nothing keeps {} from {one}, the node it fences",
                        quoted(device)
                    ),
                    "a node that hangs cannot shoot itself; Hawser keeps it away",
                );
            }
        }
    }
}
