//! The hosts of a link speak different versions of IGMP or MLD, because some are forced to
//! (`force_igmp_version`, `force_mld_version`), or one is forced to a version that the querier does
//! not understand. A version 3 report means nothing to a version 2 querier; and with version 1 nobody
//! ever leaves a group.
//!
//! Evidence: the sysctls, the larger of `all` and the interface's own being in force, and the
//! versions of the queries heard. Asked only where multicast was measured. Certain: it is read, not
//! concluded. A warning, since kernels get along with older queriers unless they are forced. Cases:
//! `igmp-version-mixed`, `igmp-version-above-querier`.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::names::{HostName, LinkName};

use super::Cause;
use super::support::Draft;
use crate::losses::Losses;
use crate::multicast::groups;
use crate::view::View;

pub(super) const CAUSE: Cause = Cause {
    code: "igmp-version-mixed",
    find,
};

/// The version a host is forced to on a link, zero for none.
pub(super) fn forced(view: &View<'_>, host: &HostName, link: &LinkName) -> Option<u64> {
    let ports = view.ports();
    let (name, interface) = ports.get(&(link.clone(), host.clone()))?;
    let v4 = interface.addresses.iter().any(|(a, _)| a.is_ipv4());
    let dotless = name.as_str().replace('.', "/");
    let both = match v4 {
        true => ["all", &dotless].map(|of| format!("net.ipv4.conf.{of}.force_igmp_version")),
        false => ["all", &dotless].map(|of| format!("net.ipv6.conf.{of}.force_mld_version")),
    };
    both.iter()
        .filter_map(|sysctl| view.sysctl(host, sysctl))
        .max()
}

fn find(view: &View<'_>, _: &mut Losses) -> Vec<Finding> {
    let mut links: BTreeMap<LinkName, (BTreeSet<HostName>, BTreeSet<u64>)> = BTreeMap::new();
    for group in groups(view) {
        let (hosts, queried) = links.entry(group.path.link.clone()).or_default();
        hosts.extend([group.path.from.clone(), group.path.to.clone()]);
        queried.extend(group.heard.queries.iter().map(|q| u64::from(q.version)));
    }
    links
        .into_iter()
        .filter_map(|(link, (hosts, queried))| mixed(view, link, &hosts, &queried))
        .collect()
}

fn mixed(
    view: &View<'_>,
    link: LinkName,
    hosts: &BTreeSet<HostName>,
    queried: &BTreeSet<u64>,
) -> Option<Finding> {
    let versions: BTreeMap<&HostName, u64> = hosts
        .iter()
        .map(|host| (host, forced(view, host, &link).unwrap_or(0)))
        .collect();
    let distinct: BTreeSet<u64> = versions.values().copied().collect();
    let oldest = queried.first().copied();
    let above = |version: u64| oldest.is_some_and(|oldest| version > oldest);
    let odd: Vec<&HostName> = versions
        .iter()
        .filter(|(_, version)| **version > 0 && (distinct.len() > 1 || above(**version)))
        .map(|(host, _)| *host)
        .collect();
    if odd.is_empty() && queried.len() < 2 {
        return None;
    }
    let told: Vec<String> = versions
        .iter()
        .map(|(host, version)| match version {
            0 => format!("{host} follows the querier"),
            n => format!("{host} forced to {n}"),
        })
        .collect();
    let place = Place {
        host: match odd.as_slice() {
            [host] => Some((*host).clone()),
            _ => None,
        },
        link: Some(link),
        ..Place::default()
    };
    let draft = Draft::new(CAUSE.code, Severity::Warning, Confidence::Certain, place)
        .name("versions", &told.join(", "))
        .number("hosts_forced", odd.len() as u64)
        .maybe("oldest_query_version", oldest)
        .maybe("newest_query_version", queried.last().copied());
    Some(draft.done())
}
