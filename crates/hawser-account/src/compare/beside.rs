//! What is set otherwise at the place of a finding than where the same is not found.

use std::collections::BTreeSet;

use hawser_model::case::Case;
use hawser_model::finding::{Differs, Finding, Place, WordedFinding};
use hawser_model::names::{HostName, LinkName};

use super::items::{Items, Key, items};
use super::topic::{About, Topic};
use super::{Values, same};
use crate::causes::pages::about;

/// A longer list is no clue: `hawser compare` shows all of it.
const MOST: usize = 8;

/// Gives each finding what differs of that which it is about.
pub(crate) fn tell(case: &Case, findings: &mut [WordedFinding]) {
    let wanted = |worded: &WordedFinding| !untold(&worded.finding.code).is_empty();
    if !findings.iter().any(wanted) {
        return;
    }
    let items = items(case);
    let all = findings.iter().map(|worded| worded.finding.clone());
    let all: Vec<Finding> = all.collect();
    for worded in findings {
        let Some(host) = &worded.finding.place.host else {
            continue;
        };
        let beside = Beside {
            case,
            items: &items,
            all: &all,
            code: &worded.finding.code,
            host,
            link: link_of(case, host, &worded.finding.place),
        };
        worded.differs = beside.differs();
    }
}

/// What a cause is about and does not say itself.
fn untold(code: &str) -> Vec<&'static About> {
    let all = about(code).iter();
    all.filter(|about| !about.is_told()).collect()
}

/// A finding at its place, beside everything that it may be compared with.
struct Beside<'a> {
    case: &'a Case,
    items: &'a Items,
    /// All that was found.
    all: &'a [Finding],
    code: &'a str,
    host: &'a HostName,
    link: Option<LinkName>,
}

impl Beside<'_> {
    fn differs(&self) -> Vec<Differs> {
        let about = untold(self.code);
        let mut told = Vec::new();
        for (key, values) in self.items {
            let covered = about.iter().any(|about| about.covers(key.topic, &key.name));
            let here = key.link.is_none() || key.link == self.link;
            let Some(own) = values.get(self.host).filter(|_| covered && here) else {
                continue;
            };
            told.extend(self.neighbours(key, values, own));
            if let Some(link) = &key.link {
                told.extend(self.other_links(key, link, own));
            }
        }
        let items: BTreeSet<&String> = told.iter().map(|one: &Differs| &one.item).collect();
        match items.len() > MOST {
            true => Vec::new(),
            false => told,
        }
    }

    /// The hosts where the same is not found, if the value differs at all of them that told it.
    fn neighbours(&self, key: &Key, values: &Values, own: &str) -> Vec<Differs> {
        let others = values.iter();
        let others = others.filter(|(host, _)| *host != self.host);
        let others = others.filter(|(host, _)| !self.is_found(host, key.link.as_ref()));
        let others = others.map(|(host, value)| (host, None, value));
        differing(key, own, others.collect())
    }

    /// The same of the host's own other links, where the same driver runs them: another card has other numbers.
    fn other_links(&self, key: &Key, link: &LinkName, own: &str) -> Vec<Differs> {
        let driver = |link| self.here(link, Topic::Driver, "driver");
        let links = self.case.topology.links.iter().map(|link| &link.name);
        let clean = links.filter(|other| {
            *other != link
                && driver(other).is_some()
                && driver(other) == driver(link)
                && !self.is_found(self.host, Some(other))
        });
        let others = clean.filter_map(|other| {
            let value = self.here(other, key.topic, &key.name)?;
            Some((self.host, Some(other), value))
        });
        differing(key, own, others.collect())
    }

    /// The value of an item of another link of the host.
    fn here(&self, link: &LinkName, topic: Topic, name: &str) -> Option<&String> {
        let key = Key {
            link: Some(link.clone()),
            topic,
            name: name.to_owned(),
        };
        self.items.get(&key)?.get(self.host)
    }

    /// Whether the same is found on a host, and on this link where one is meant.
    fn is_found(&self, host: &HostName, link: Option<&LinkName>) -> bool {
        let on_link = |finding: &Finding| match (link, link_of(self.case, host, &finding.place)) {
            (Some(link), Some(found)) => *link == found,
            _ => true,
        };
        let mut all = self.all.iter();
        all.any(|finding| {
            finding.code == self.code
                && finding.place.host.as_ref() == Some(host)
                && on_link(finding)
        })
    }
}

/// What differs from all of these; nothing if one of them has the same value and is fine with it.
fn differing(
    key: &Key,
    own: &str,
    others: Vec<(&HostName, Option<&LinkName>, &String)>,
) -> Vec<Differs> {
    let mut values = others.iter().map(|(.., value)| *value);
    if values.any(|value| same(key.topic, &key.name, own, value)) {
        return Vec::new();
    }
    let others = others.into_iter();
    let one = others.map(|(host, link, there)| Differs {
        item: key.name.clone(),
        here: own.to_owned(),
        host: host.clone(),
        link: link.cloned(),
        there: there.clone(),
    });
    one.collect()
}

/// The link of a place: as it says, else that of its interface.
fn link_of(case: &Case, host: &HostName, place: &Place) -> Option<LinkName> {
    if place.link.is_some() {
        return place.link.clone();
    }
    let (interface, facts) = (place.interface.as_ref()?, case.hosts.get(host)?);
    let addresses = &case.topology.node(host)?.addresses;
    let mut on = addresses.iter();
    let (link, _) = on.find(|(_, address)| {
        let port = facts.interface_with(**address);
        port.is_some_and(|(name, _)| name == interface)
    })?;
    Some(link.clone())
}
