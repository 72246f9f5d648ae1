//! Hosts compared with each other: what differs, and what of it a finding is about. "The neighbour is fine with the
//! same file" is a clue that no counter gives.

mod beside;
mod items;
pub(crate) mod topic;

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::case::Case;
use hawser_model::finding::{Finding, WordedFinding};
use hawser_model::names::HostName;
use hawser_model::output::compare::{CompareReport, Difference};

use crate::causes::pages::about;
use items::{Key, items};
use topic::Topic;

pub(crate) use beside::tell;

/// The kernel derives these from the memory that it finds: two hosts with the same modules differ a little.
const OF_MEMORY: [&str; 5] = [
    "net.ipv4.tcp_mem",
    "net.ipv4.udp_mem",
    "net.netfilter.nf_conntrack_max",
    "vm.min_free_kbytes",
    "memory",
];

/// So much may values of [`OF_MEMORY`] differ: firmware keeps some memory for itself, and not on all boards as much.
const NEARLY: f64 = 0.05;

/// What differs between the hosts of a case, whatever was measured in it; `None` where it has fewer than two.
///
/// `case` of the report is empty: where the file lies, its reader knows.
pub fn compare(case: &Case) -> Option<CompareReport> {
    let hosts: Vec<HostName> = case.hosts.keys().cloned().collect();
    if hosts.len() < 2 {
        return None;
    }
    let found = found(case);
    let mut compared = 0;
    let (mut differences, mut not_known) = (Vec::new(), Vec::new());
    for (key, values) in items(case) {
        compared += u64::from(values.len() > 1);
        let differs = values.len() > 1 && differ(&key, values.values());
        // A link that one host is not on is no gap.
        let asked: Vec<&HostName> = hosts.iter().filter(|host| on(case, host, &key)).collect();
        let complete = asked.iter().all(|host| values.contains_key(*host));
        if complete && !differs {
            continue;
        }
        let about = found.iter().filter(|finding| is_about(finding, &key));
        let about: BTreeSet<String> = about.map(|finding| finding.code.clone()).collect();
        let all = asked.into_iter();
        let item = Difference {
            item: key.name,
            link: key.link,
            values: all
                .map(|host| (host.clone(), values.get(host).cloned()))
                .collect(),
            findings: about.into_iter().collect(),
        };
        match differs {
            true => differences.push(item),
            false => not_known.push(item),
        }
    }
    // They come by link and topic, and stay in that order.
    for list in [&mut differences, &mut not_known] {
        list.sort_by_key(|item: &Difference| (item.findings.is_empty(), item.link.is_none()));
    }
    Some(CompareReport {
        absent: case.absent.clone(),
        hosts,
        compared,
        differences,
        not_known,
        case: String::new(),
    })
}

/// What is found in a case, whatever it is of.
fn found(case: &Case) -> Vec<Finding> {
    let worded = match (crate::ladder(case), crate::fanout::report(case)) {
        (Some(ladder), _) => ladder.findings,
        (_, Some(fanout)) => fanout.findings,
        (None, None) => crate::explain(case).findings,
    };
    worded
        .into_iter()
        .map(|WordedFinding { finding, .. }| finding)
        .collect()
}

/// Whether the finding is about this item, there where it was found.
fn is_about(finding: &Finding, key: &Key) -> bool {
    let elsewhere = match (&finding.place.link, &key.link) {
        (Some(found), Some(item)) => found != item,
        _ => false,
    };
    !elsewhere
        && about(&finding.code)
            .iter()
            .any(|about| about.covers(key.topic, &key.name))
}

/// Whether a host is on the link of an item.
fn on(case: &Case, host: &HostName, key: &Key) -> bool {
    let Some(link) = &key.link else {
        return true;
    };
    let node = case.topology.node(host);
    node.is_some_and(|node| node.addresses.contains_key(link))
}

/// Whether some of these values are not the same.
fn differ<'a>(key: &Key, values: impl Iterator<Item = &'a String>) -> bool {
    let values: BTreeSet<&String> = values.collect();
    let mut others = values.iter();
    let Some(first) = others.next() else {
        return false;
    };
    others.any(|other| !same(key.topic, &key.name, first, other))
}

/// Whether two values are the same for what they are compared for.
fn same(topic: Topic, name: &str, one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    if !matches!(topic, Topic::Memory | Topic::Sysctl) || !OF_MEMORY.contains(&name) {
        return false;
    }
    let numbers = |text: &str| -> Option<Vec<f64>> {
        text.split_whitespace()
            .map(|word| word.parse().ok())
            .collect()
    };
    let (Some(one), Some(other)) = (numbers(one), numbers(other)) else {
        return false;
    };
    one.len() == other.len()
        && one
            .iter()
            .zip(&other)
            .all(|(a, b)| (a - b).abs() <= NEARLY * a.max(*b))
}

/// The values of one item at the hosts, as far as they are known.
type Values = BTreeMap<HostName, String>;
