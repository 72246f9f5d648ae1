//! Heartbeat links that were down while nobody was lost: when, between whom, and which of it is one incident.

use std::collections::BTreeMap;

use hawser_model::drill::Moment;
use hawser_model::names::{HostName, LinkName};
use hawser_model::output::link_outage::{LinkOutage, LinkUntil};

use super::case::Heads;
use super::heard::is_name;
use super::spans::Span;
use super::windows::{Incident, ONE_US};

/// A link that is down again within this is one that flaps: the lines of an incident are kept for so long after it.
const FLAPS_US: u64 = 120_000_000;

/// The two ends of a link notice within this of each other, by their own pings.
const BOTH_US: u64 = 1_000_000;

/// Pairs of heads that are named in a sentence.
const NAMED: usize = 4;

/// Whose Corosync's numbers are, where something else than the logs says it.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Heads by the number of their node.
    pub nodes: BTreeMap<u32, HostName>,
    /// Heartbeat links by theirs.
    pub links: BTreeMap<u8, LinkName>,
}

/// A link: its two ends, and Corosync's number of it.
type Link = ([String; 2], u8);

/// A time in which a link was down, as both ends saw it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Down {
    pub(super) between: [String; 2],
    pub(super) link: u8,
    pub(super) said_by: Vec<HostName>,
    pub(super) from: Moment,
    pub(super) to: Moment,
    pub(super) since_known: bool,
    pub(super) until: LinkUntil,
    pub(super) last_left: bool,
    of_loss: bool,
}

/// All times in which a link was down and nobody was lost, in the order of time.
pub(super) fn downs(heads: &Heads, names: &Names) -> Vec<Down> {
    let numbers = heads.numbers(names);
    let mut seen: BTreeMap<Link, Vec<(HostName, Span)>> = BTreeMap::new();
    for (own, spans) in heads.spans() {
        for span in spans {
            let named = numbers.get(&span.node).filter(|name| **name != own);
            let other = named.map_or(format!("node {}", span.node), HostName::to_string);
            let mut between = [own.to_string(), other];
            between.sort();
            let seen = seen.entry((between, span.link)).or_default();
            seen.push((own.clone(), span));
        }
    }
    let mut all = Vec::new();
    for ((between, link), mut spans) in seen {
        spans.sort_by_key(|(_, span)| span.from);
        let first = all.len();
        for (by, span) in spans {
            let both = |last: &&mut Down| {
                let slack = if last.said_by.contains(&by) {
                    0
                } else {
                    BOTH_US
                };
                span.from.0 <= last.to.0.saturating_add(slack)
            };
            match all
                .get_mut(first..)
                .and_then(|own| own.last_mut())
                .filter(both)
            {
                Some(last) => last.also(by, &span),
                None => all.push(Down {
                    between: between.clone(),
                    link,
                    said_by: vec![by],
                    from: span.from,
                    to: span.to,
                    since_known: span.since_known,
                    until: span.until,
                    last_left: span.last_left,
                    of_loss: span.of_loss,
                }),
            }
        }
    }
    all.retain(|down: &Down| !down.of_loss);
    all.sort_by_key(|down| (down.from, down.to));
    all
}

impl Down {
    /// What the other end saw of it. That it was up again is a fact if one of them saw it.
    fn also(&mut self, by: HostName, span: &Span) {
        self.until = match (self.until, span.until) {
            (LinkUntil::Up, _) | (_, LinkUntil::Up) => LinkUntil::Up,
            (LinkUntil::EndGone, _) | (_, LinkUntil::EndGone) => LinkUntil::EndGone,
            _ => LinkUntil::NotKnown,
        };
        self.to = self.to.max(span.to);
        self.since_known |= span.since_known;
        self.last_left |= span.last_left;
        self.of_loss |= span.of_loss;
        if !self.said_by.contains(&by) {
            self.said_by.push(by);
        }
    }
}

/// The incidents of heads and services, each with the links that went down within it, and the incidents of links alone.
pub(super) fn with_links(mut incidents: Vec<Incident>, downs: Vec<Down>) -> Vec<Incident> {
    let mut alone: Vec<Incident> = Vec::new();
    for down in downs {
        let latest = Moment(down.from.0.saturating_add(ONE_US));
        let after = incidents.partition_point(|incident| incident.from <= latest);
        let near = incidents[..after].last_mut();
        if let Some(near) = near.filter(|near| down.from.0 <= near.to.0.saturating_add(ONE_US)) {
            near.links.push(down);
            continue;
        }
        match alone.last_mut() {
            Some(last) if down.from.0 <= last.to.0.saturating_add(FLAPS_US) => {
                last.to = last.to.max(down.to);
                last.links.push(down);
            }
            _ => {
                let only = Incident::new(down.from, down.to);
                alone.push(Incident {
                    links: vec![down],
                    links_alone: true,
                    ..only
                });
            }
        }
    }
    incidents.extend(alone);
    incidents.sort_by_key(|incident| (incident.from, incident.to));
    incidents
}

/// The links of an incident, those first that were down longest.
pub(super) fn outages(incident: &Incident, names: &Names) -> Vec<LinkOutage> {
    let mut links: BTreeMap<(&[String; 2], u8), Vec<&Down>> = BTreeMap::new();
    for down in &incident.links {
        let link = links.entry((&down.between, down.link)).or_default();
        link.push(down);
    }
    let mut outages: Vec<LinkOutage> = links
        .into_iter()
        .map(|((between, link), downs)| {
            let mut said_by: Vec<HostName> = Vec::new();
            for by in downs.iter().flat_map(|down| &down.said_by) {
                if !said_by.contains(by) {
                    said_by.push(by.clone());
                }
            }
            said_by.sort();
            let whole = |down: &&&Down| down.since_known && down.until != LinkUntil::NotKnown;
            let known: Vec<u64> = downs
                .iter()
                .filter(whole)
                .map(|down| down.to.0.saturating_sub(down.from.0))
                .collect();
            let first = downs.first();
            let name = names.links.get(&link);
            LinkOutage {
                link: name.map_or(link.to_string(), |name| name.0.clone()),
                between: between.clone(),
                said_by,
                times: downs.len() as u64,
                start_s: first
                    .filter(|down| down.since_known)
                    .map(|down| down.from.since(incident.from)),
                down_s: (!known.is_empty()).then(|| known.iter().sum::<u64>() as f64 / 1e6),
                at_least: known.len() < downs.len(),
                since_known: downs.iter().all(|down| down.since_known),
                until: downs.last().map_or(LinkUntil::NotKnown, |down| down.until),
                last_left: downs.iter().any(|down| down.last_left),
            }
        })
        .collect();
    let length = |outage: &LinkOutage| outage.down_s.unwrap_or(f64::MAX);
    outages.sort_by(|a, b| length(b).total_cmp(&length(a)));
    outages
}

/// What happened to the links, in words; of links alone.
pub(super) fn trigger(outages: &[LinkOutage]) -> String {
    let mut pairs: Vec<&[String; 2]> = outages.iter().map(|outage| &outage.between).collect();
    pairs.sort();
    pairs.dedup();
    let between = |[one, other]: &[String; 2]| format!("between {one} and {other}");
    let what = match (outages, pairs.as_slice()) {
        ([only], _) => {
            let how = match (only.since_known, only.until, only.times) {
                (false, LinkUntil::Up, 1) => {
                    "came up; when it went down is not in these logs".to_owned()
                }
                (_, LinkUntil::NotKnown, 1) => "went down".to_owned(),
                (_, _, 1) => "was down".to_owned(),
                (_, _, times) => format!("was down {times} times"),
            };
            format!("link {} {} {how}", only.link, between(&only.between))
        }
        (all, [pair]) => {
            let mut links: Vec<&str> = all.iter().map(|outage| outage.link.as_str()).collect();
            links.sort_unstable();
            format!("links {} {} were down", links.join(" and "), between(pair))
        }
        (all, _) => {
            let named = all.iter().take(NAMED);
            let named: Vec<String> = named
                .map(|outage| format!("link {} {}", outage.link, between(&outage.between)))
                .collect();
            let more = match all.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{}{more} were down", named.join(", "))
        }
    };
    match outages.iter().find(|outage| outage.last_left) {
        Some(outage) => format!(
            "{what}; for a time there was no link {}",
            between(&outage.between)
        ),
        None => what,
    }
}

impl Heads {
    /// Whose each number is: as somebody has said, or as all logs say that say something of it.
    pub(super) fn numbers(&self, names: &Names) -> BTreeMap<u32, HostName> {
        let mut found: BTreeMap<u32, Option<HostName>> = BTreeMap::new();
        for (number, name) in self.numbered() {
            found
                .entry(number)
                .and_modify(|known| *known = known.take().filter(|known| *known == name))
                .or_insert(Some(name));
        }
        let found = found.into_iter();
        let mut numbers: BTreeMap<u32, HostName> = found
            .filter_map(|(number, name)| Some((number, name?)))
            .collect();
        let said = names
            .nodes
            .iter()
            .filter(|(_, name)| is_name(name.as_str()));
        numbers.extend(said.map(|(number, name)| (*number, name.clone())));
        numbers
    }
}
