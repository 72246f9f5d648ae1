//! Packets were lost and nothing that could be read says where: a place without a counter
//! (a queue freed with its socket), a host without drop events, a counter that other traffic
//! moves too. Hawser does not guess.
//!
//! Evidence: what the account could not book. Possible; an error. Cases: `unattributed-loss`,
//! `echo-lost`.

use std::collections::BTreeSet;

use hawser_model::finding::{Confidence, Finding, Severity};
use hawser_model::host::HostWindow;
use hawser_model::names::HostName;

use super::Cause;
use super::pattern::localize;
use super::support::{Draft, sent_in};
use crate::losses::{Losses, packets};
use crate::packets::facts::Side;
use crate::view::{Path, View};

pub(super) const CAUSE: Cause = Cause {
    code: "unattributed-loss",
    find,
};

fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Finding> {
    let affected: BTreeSet<Path> = losses.open().map(|l| l.path.clone()).collect();
    let mut measured = view.paths();
    measured.extend(affected.iter().cloned());
    localize(&affected, &measured)
        .into_iter()
        .map(|spot| {
            let group = losses.claim(CAUSE.code, |l| spot.paths.contains(&l.path));
            let phases = || group.iter().map(|l| &view.phases[l.phase].facts);
            let both = |has: fn(&HostWindow) -> bool| {
                phases().all(|f| {
                    [Side::Sender, Side::Receiver]
                        .iter()
                        .all(|s| has(f.window(*s)))
                })
            };
            let of_echoes = group.iter().all(|l| view.phases[l.phase].path() != l.path);
            let hosts: BTreeSet<&HostName> =
                spot.paths.iter().flat_map(|p| [&p.from, &p.to]).collect();
            let blind = hosts.into_iter().find_map(|host| missing(view, host));
            let draft = Draft::new(
                CAUSE.code,
                Severity::Error,
                Confidence::Possible,
                spot.place,
            )
            .name("pattern", spot.pattern.name())
            .number("unattributed_packets", packets(&group))
            .number("sent_packets", sent_in(view, &group))
            .number("echoes_only", u64::from(of_echoes))
            .number("drop_events_read", u64::from(both(|w| w.drops.is_some())))
            .number("taps_read", u64::from(both(|w| w.taps.is_some())));
            match blind {
                Some(why) => draft.name("collector_unavailable", &why).done(),
                None => draft.done(),
            }
        })
        .collect()
}

/// The first collector that would have told more and cannot run on the host, and why.
fn missing(view: &View<'_>, host: &HostName) -> Option<String> {
    let telling = ["drop-reasons", "tap"];
    let collectors = &view.host(host)?.collectors;
    let blind = collectors
        .iter()
        .find(|c| telling.contains(&c.name.as_str()) && c.unavailable.is_some())?;
    let why = blind.unavailable.as_deref().unwrap_or_default();
    Some(format!("{} on {host}: {why}", blind.name))
}
