//! What began an incident, and why, as far as the logs say it.

use std::collections::BTreeSet;

use hawser_model::drill::Moment;
use hawser_model::names::HostName;

use super::heard::is_name;
use super::said::Said;
use super::windows::{Incident, before};
use crate::outage::log_lines::Mark;
use crate::outage::timeline::At;
use crate::place_words::listed;

/// A head that stood still tells it when it runs again.
pub(super) const AFTER_US: u64 = 120_000_000;

/// Heads that are named.
const NAMED: usize = 4;

/// In words.
pub(super) struct Trigger {
    pub(super) what: String,
    pub(super) why: Option<String>,
}

/// What began an incident.
pub(super) fn trigger(
    incident: &Incident,
    marks: &[At],
    said: &[(Moment, HostName, Said)],
) -> Trigger {
    let inside = |at: Moment| at >= incident.since && at <= incident.to;
    let marks: Vec<&At> = marks.iter().filter(|mark| inside(mark.at)).collect();
    let lost = said.iter().find_map(|(at, _, said)| match said {
        Said::NodeLost(node) if inside(*at) => Some(node),
        _ => None,
    });
    let target = marks.iter().find_map(|mark| match &mark.mark {
        Mark::FenceAsked(target) => Some(target),
        _ => None,
    });
    let who = lost.or(target);
    let named = who.map_or("a member".to_owned(), HostName::to_string);
    let first = marks.iter().find_map(|mark| match &mark.mark {
        Mark::TokenLost { token_ms } => Some((
            before(mark.at, *token_ms),
            format!(
                "{named} was lost: {} waited {token_ms} ms for the token in vain",
                mark.host
            ),
        )),
        Mark::Left => Some((
            mark.at,
            format!("{named} left the membership, as {} saw it", mark.host),
        )),
        Mark::PortLost { host, .. } => Some((
            mark.at,
            format!("{host} found a port to a SAN without carrier"),
        )),
        Mark::OperationEnded(operation, false) if operation.task == "monitor" => Some((
            mark.at,
            format!(
                "a check of {} on {} failed",
                operation.resource, operation.host
            ),
        )),
        _ => None,
    });
    // No configuration takes a head's token away.
    let by_loss = incident.loss && first.as_ref().is_some_and(|(at, _)| *at <= incident.from);
    let deed = first_deed(incident, &marks);
    let changed = said.iter().find_map(|(at, host, said)| match said {
        Said::Changed(what) if !by_loss && inside(*at) && *at <= deed => Some((
            *at,
            format!("the configuration was changed ({what}), as {host} saw it"),
        )),
        _ => None,
    });
    let stopped = stopped(incident, &marks, lost);
    let unsaid = || {
        let stop = marks.iter().find_map(|mark| match &mark.mark {
            Mark::OperationBegun(operation) if operation.task == "stop" => Some(format!(
                "{} was stopped on {}; nothing before it says why",
                operation.resource, operation.host
            )),
            _ => None,
        });
        let asked = target.map(|target| format!("the fencing of {target} was asked for"));
        stop.or(asked)
            .unwrap_or_else(|| "the logs do not show what began it".to_owned())
    };
    let began = first.into_iter().chain(changed).chain(stopped);
    let earliest = began.min_by_key(|(at, _)| *at);
    Trigger {
        what: earliest.map_or_else(unsaid, |(_, what)| what),
        why: why(incident, who, target, &marks, said),
    }
}

/// The heads whose Pacemaker was told to stop, where that began it: the first service that was stopped ran on one of them, or
/// nothing but one of them left.
fn stopped(
    incident: &Incident,
    marks: &[&At],
    lost: Option<&HostName>,
) -> Option<(Moment, String)> {
    let deed = first_deed(incident, marks);
    let told = marks.iter().filter_map(|mark| match &mark.mark {
        Mark::EngineStops(host) if mark.at <= deed && is_name(host.as_str()) => {
            Some((mark.at, host))
        }
        _ => None,
    });
    let first = told.clone().next()?.0;
    let hosts: BTreeSet<&HostName> = told.map(|(_, host)| host).collect();
    let later = marks.iter().filter(|mark| mark.at >= incident.from);
    let stop = later.clone().find_map(|mark| match &mark.mark {
        Mark::OperationBegun(operation) if operation.task == "stop" => Some(&operation.host),
        _ => None,
    });
    let fault = |mark: &Mark| matches!(mark, Mark::TokenLost { .. } | Mark::FenceAsked(_));
    let began = match stop {
        Some(host) => hosts.contains(host),
        None => {
            let mut later = later.map(|mark| &mark.mark);
            let left = later.clone().any(|mark| *mark == Mark::Left);
            left && !later.any(fault) && lost.is_none_or(|lost| hosts.contains(lost))
        }
    };
    let mut named: Vec<String> = hosts
        .iter()
        .take(NAMED)
        .map(|host| host.to_string())
        .collect();
    if let Some(more @ 1..) = hosts.len().checked_sub(NAMED) {
        named.push(format!("{more} others"));
    }
    let named = listed(&named);
    began.then(|| (first, format!("Pacemaker was told to stop on {named}")))
}

/// The first thing that Pacemaker did: what was changed later did not begin it.
fn first_deed(incident: &Incident, marks: &[&At]) -> Moment {
    let deed = marks.iter().find(|mark| {
        matches!(mark.mark, Mark::OperationBegun(_) | Mark::FenceAsked(_))
            && mark.at >= incident.from
    });
    deed.map_or(incident.from, |mark| mark.at)
}

fn why(
    incident: &Incident,
    who: Option<&HostName>,
    target: Option<&HostName>,
    marks: &[&At],
    said: &[(Moment, HostName, Said)],
) -> Option<String> {
    let token = marks.iter().find_map(|mark| match mark.mark {
        Mark::TokenLost { token_ms } => Some((token_ms, &mark.host)),
        _ => None,
    });
    // Who stood still says it after the fact.
    let since = incident.since;
    let until = Moment(incident.from.0 + AFTER_US);
    if let Some((token_ms, seen_by)) = token {
        let pauses = said.iter().filter_map(|(at, host, said)| match said {
            Said::Paused(ms) if *at >= since && *at <= until && *ms >= token_ms => {
                Some((host, *ms))
            }
            _ => None,
        });
        let longest = pauses.max_by_key(|(_, ms)| *ms);
        if let Some((host, ms)) = longest {
            if Some(host) == who {
                return Some(format!(
                    "Corosync of {host} did not run for {ms} ms, as its own log says, which is longer than the token \
                     of {token_ms} ms: the host stood still (a hypervisor, a full processor, a disk that Corosync \
                     waited for); the network need not be at fault"
                ));
            }
            if host == seen_by {
                return Some(format!(
                    "Corosync of {host}, which declared the loss, did not run for {ms} ms itself: it may have been \
                     deaf, and the other head well"
                ));
            }
        }
    }
    let reason = said.iter().find_map(|(at, _, said)| match said {
        Said::FenceReason { target: of, reason }
            if Some(of) == target && *at >= since && *at <= incident.to =>
        {
            Some(format!("Pacemaker's reason to fence {of}: {reason}"))
        }
        _ => None,
    });
    // That a peer is gone is what the trigger says.
    reason.filter(|reason| !reason.ends_with("peer is no longer part of the cluster"))
}
