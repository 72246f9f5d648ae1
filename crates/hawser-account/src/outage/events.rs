//! What happened, for the picture of a drill.

use hawser_model::drill::{Moment, PathChange};
use hawser_model::names::HostName;
use hawser_model::output::drill::OutageEvent;

use super::log_lines::Mark;
use super::phase::Phase;
use super::timeline::on_drills_clock;
use super::view::DrillView;

/// Faults and healings, the fence, the end of each kind of start, the first answer.
pub(super) fn events(view: &DrillView<'_>) -> Vec<OutageEvent> {
    let mut events: Vec<(Moment, String, HostName)> = Vec::new();
    for fault in &view.case.faults {
        let host = fault.hosts.first().cloned();
        let host = host.unwrap_or_else(|| HostName::from("cluster"));
        let object = fault
            .object
            .as_ref()
            .map_or(String::new(), |o| format!(" {o}"));
        events.push((
            fault.ordered,
            format!("{}{object}", fault.name),
            host.clone(),
        ));
        events.extend(
            fault
                .healed
                .map(|at| (at, format!("{} healed", fault.name), host)),
        );
    }
    for mark in &view.marks {
        if let Mark::FenceEnded { target, ok } = &mark.mark {
            let what = if *ok { "fenced" } else { "not fenced" };
            events.push((mark.at, what.to_owned(), target.clone()));
        }
    }
    for phase in [Phase::Pool, Phase::Exports, Phase::Addresses] {
        let last = view.of(phase).max_by_key(|span| span.to);
        events.extend(last.map(|span| (span.to, phase.name().to_owned(), span.host.clone())));
    }
    let client = &view.case.client;
    let here = client
        .host
        .clone()
        .unwrap_or_else(|| HostName::from("client"));
    let up = client
        .paths
        .iter()
        .filter(|p| p.what == PathChange::Up && p.writer == view.outage.writer);
    let up = up.map(|path| on_drills_clock(path.at, client.clock));
    let up = up
        .filter(|at| *at > view.outage.from && *at <= view.outage.to)
        .max();
    events.extend(up.map(|at| (at, "client connected".to_owned(), here.clone())));
    if view.outage.over {
        let first = match view.facts().beside_creator() {
            Some(_) => "first file",
            None => "first write",
        };
        events.push((view.outage.to, first.to_owned(), here));
    }
    events.retain(|(at, _, _)| Some(*at) >= view.fault());
    events.sort_by_key(|(at, _, _)| *at);
    let events = events.into_iter();
    events
        .map(|(at, what, host)| OutageEvent {
            at_s: at.since(view.outage.from),
            what,
            host,
        })
        .collect()
}
