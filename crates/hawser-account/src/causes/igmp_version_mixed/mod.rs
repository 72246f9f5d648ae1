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

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::{HostName, LinkName};
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, on_link};
use crate::compare::topic::{About, Topic};
use crate::losses::Losses;
use crate::multicast::groups;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct IgmpVersionMixed {
    /// What each host speaks, as a list.
    versions: String,
    hosts_forced: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_query_version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    newest_query_version: Option<u64>,
}

/// The version a host is forced to on a link, zero for none.
pub(crate) fn forced(view: &View<'_>, host: &HostName, link: &LinkName) -> Option<u64> {
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

impl CheckCause for IgmpVersionMixed {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
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
}

impl Cause for IgmpVersionMixed {
    const CODE: &'static str = "igmp-version-mixed";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[
        Topic::Sysctl.with("force_igmp_version"),
        Topic::Sysctl.with("force_mld_version"),
    ];

    fn words(&self, at: &Place) -> Words {
        let queries = match (self.oldest_query_version, self.newest_query_version) {
            (Some(old), Some(new)) if old != new => {
                format!("; queries of versions {old} and {new} came")
            }
            (Some(version), _) => format!("; the querier speaks version {version}"),
            _ => String::new(),
        };
        Words {
            text: format!(
                "Not all hosts and queriers{} speak the same version of IGMP or MLD: {}{queries}. A report of a newer \
                 version than the querier's means nothing to it, and version 1 cannot leave a group.",
                on_link(at),
                self.versions,
            ),
            fix: match self.hosts_forced {
                0 => "Set all queriers of the link to one version.".to_owned(),
                _ => "Let every host follow the querier: `sysctl -w \
                      net.ipv4.conf.all.force_igmp_version=0` and the same of the interface \
                      (`net.ipv6.conf.*.force_mld_version` for IPv6)."
                    .to_owned(),
            },
        }
    }
}

fn mixed(
    view: &View<'_>,
    link: LinkName,
    hosts: &BTreeSet<HostName>,
    queried: &BTreeSet<u64>,
) -> Option<Found<IgmpVersionMixed>> {
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
    Some(Found {
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        place,
        evidence: IgmpVersionMixed {
            versions: told.join(", "),
            hosts_forced: odd.len() as u64,
            oldest_query_version: oldest,
            newest_query_version: queried.last().copied(),
        },
    })
}
