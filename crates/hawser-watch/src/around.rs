//! What the heads' rings, and what was kept of them, have of the time around an incident: how things stood before it, and each
//! change of state.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::time::Duration;

use hawser_account::incident::{local, moment};
use hawser_agent::questions::ReadReadings;
use hawser_cluster::host::questions::ReadKeptReadings;
use hawser_host::{Hosts, on_all};
use hawser_model::drill::Moment;
use hawser_model::names::HostName;
use hawser_model::output::incident::{
    Changed, HeadReadings, IncidentReport, IncidentsReport, NotedChange,
};
use hawser_model::readings::{AllNoted, KeptReadings, Noted};

/// Readings are asked for from so long before an incident to so long after it, as its lines are kept.
const BEFORE: Duration = Duration::from_secs(60);
const AFTER: Duration = Duration::from_secs(120);

/// Puts into the one incident of a report what the heads' rings have of it; what they have not is among the gaps.
pub fn with_readings(heads: &mut Hosts, report: &mut IncidentsReport) {
    let [incident] = report.incidents.as_mut_slice() else {
        return;
    };
    let Some(began) = moment(&incident.began) else {
        return;
    };
    let mut gaps = Vec::new();
    let ahead_us = |name: &HostName| {
        let head = report.heads.iter().find(|head| head.host == *name);
        let ahead_s = head.and_then(|head| head.ahead_s).unwrap_or(0.0);
        (ahead_s * 1e6).round() as i64
    };
    let lasted_s = incident.lasted_s;
    let time = |name: &HostName| window(began.shifted(ahead_us(name)), lasted_s);
    let Ok(answered) = on_all(heads, |name, head| {
        let (from, to) = time(name);
        let ring = head.ask(&ReadReadings { from, to });
        let kept = head.ask(&ReadKeptReadings { from, to });
        Ok::<_, Infallible>((ring, kept.unwrap_or_default()))
    });
    let (mut rings, mut kept) = (BTreeMap::new(), BTreeMap::new());
    for (name, (ring, with)) in answered {
        for one in with {
            let of = one.head.unwrap_or_else(|| name.clone());
            let began = began.shifted(ahead_us(&of));
            let (_, to) = time(&of);
            if let Some(readings) = within(one.readings, to, began) {
                nearest(&mut kept, of, name.clone(), readings);
            }
        }
        rings.insert(name, ring);
    }
    let names: BTreeSet<HostName> = rings.keys().chain(kept.keys()).cloned().collect();
    for name in names {
        let began = began.shifted(ahead_us(&name));
        let from = began.shifted(-us(BEFORE));
        let ring = rings.remove(&name);
        let is_whole =
            |ring: &KeptReadings| !ring.thinned && ring.oldest.is_some_and(|oldest| oldest <= from);
        let whole = matches!(&ring, Some(Ok(ring)) if is_whole(ring));
        match (ring, kept.remove(&name).filter(|_| !whole)) {
            (_, Some((by, readings))) => {
                if by != name {
                    gaps.push(format!("{name}: its readings are those that {by} has kept"));
                }
                gaps.extend(missing(&name, &readings, began, incident));
                incident.readings.extend(of_head(name, &readings, began));
            }
            (Some(Ok(ring)), None) => {
                gaps.extend(missing(&name, &ring, began, incident));
                incident.readings.extend(of_head(name, &ring, began));
            }
            (Some(Err(e)), None) => {
                gaps.push(format!("{name}: its readings could not be read: {e}"));
            }
            (None, None) => {}
        }
    }
    report.gaps.extend(gaps);
}

/// What was kept, without what came after this time; none if it begins after the incident did, since it was kept around
/// another one.
fn within(mut kept: KeptReadings, to: Moment, began: Moment) -> Option<KeptReadings> {
    kept.readings.retain(|reading| reading.at <= to);
    let first = kept.readings.first()?;
    (first.at <= began).then_some(kept)
}

/// Of several that were kept of one head, those that begin last before the incident, and of equal ones the longer: they were kept
/// around it and not around an earlier one.
fn nearest(
    kept: &mut BTreeMap<HostName, (HostName, KeptReadings)>,
    of: HostName,
    by: HostName,
    readings: KeptReadings,
) {
    let rank = |it: &KeptReadings| (it.readings.first().map(|first| first.at), it.readings.len());
    let known = kept.get(&of);
    if known.is_none_or(|(_, known)| rank(known) < rank(&readings)) {
        kept.insert(of, (by, readings));
    }
}

/// From when to when an incident is looked at that began then, by a head's clock, and lasted so long.
pub(crate) fn window(began: Moment, lasted_s: f64) -> (Moment, Moment) {
    let lasted = Duration::from_secs_f64(lasted_s.max(0.0));
    let ended = began.shifted(us(lasted));
    (began.shifted(-us(BEFORE)), ended.shifted(us(AFTER)))
}

fn us(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// What a head's ring has; `began` is when the incident did, by this head's clock.
fn of_head(host: HostName, kept: &KeptReadings, began: Moment) -> Option<HeadReadings> {
    let (first, rest) = kept.readings.split_first()?;
    let mut known = AllNoted::new();
    first.apply(&mut known);
    let mut changes = Vec::new();
    for reading in rest {
        let at_s = reading.at.since(began);
        let change = |what| NotedChange { at_s, what };
        let stepped = reading
            .stepped_us
            .map(|us| Changed::ClockStepped(us as f64 / 1e6));
        changes.extend(stepped.map(change));
        let is_new = |noted: &&Noted| {
            let before = known.get(&noted.subject());
            !before.is_some_and(|before| before.is_as(noted))
        };
        let now = reading.now.iter().filter(is_new).cloned().map(Changed::Now);
        let gone = reading.gone.iter().cloned().map(Changed::Gone);
        changes.extend(now.chain(gone).map(change));
        reading.apply(&mut known);
    }
    Some(HeadReadings {
        host,
        first_s: first.at.since(began),
        first: first.now.clone(),
        changes,
    })
}

/// What a head's ring has not, in words.
fn missing(
    name: &HostName,
    kept: &KeptReadings,
    began: Moment,
    incident: &IncidentReport,
) -> Vec<String> {
    let (Some(oldest), Some(newest)) = (kept.oldest, kept.newest) else {
        return vec![format!(
            "{name} has no ring of readings: no `hawser watch` keeps one there"
        )];
    };
    let ended = began.shifted((incident.lasted_s * 1e6) as i64);
    let mut said = Vec::new();
    if oldest > began.shifted(-us(BEFORE)) {
        said.push(format!(
            "{name}: its ring of readings begins at {}: what was before is not in it",
            local(oldest)
        ));
    }
    if newest < ended {
        said.push(format!(
            "{name}: its last reading is of {}: none was kept since",
            local(newest)
        ));
    }
    for (from, to) in &kept.gaps {
        said.push(format!(
            "{name}: no reading was kept from {} to {}",
            local(*from),
            local(*to)
        ));
    }
    if kept.thinned {
        said.push(format!(
            "{name}: of that time each change of state and a reading a minute are left"
        ));
    }
    if kept.damaged > 0 {
        let lines = kept.damaged;
        said.push(format!(
            "{name}: {lines} damaged lines in its ring of readings"
        ));
    }
    if kept.left_out > 0 {
        let readings = kept.left_out;
        said.push(format!(
            "{name}: {readings} readings were too many to be sent"
        ));
    }
    said
}
