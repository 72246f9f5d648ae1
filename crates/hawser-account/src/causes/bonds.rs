//! The bonds that carry the links of a case.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::bond::{BondFacts, BondMode};
use hawser_model::finding::Place;
use hawser_model::host::HostFacts;
use hawser_model::names::{HostName, InterfaceName, LinkName};

use crate::view::{Path, View};

/// A bond of a host, and the first link that it carries: its interface is the link's, or lies below it (VLAN, bridge).
pub(super) struct Bonded<'a> {
    pub(super) host: HostName,
    pub(super) link: LinkName,
    pub(super) name: &'a InterfaceName,
    pub(super) bond: &'a BondFacts,
    pub(super) facts: &'a HostFacts,
}

impl Bonded<'_> {
    /// The bond, and one of its members.
    pub(super) fn member(&self, member: &InterfaceName) -> Place {
        Place {
            object: Some(format!("member {member}")),
            ..self.place()
        }
    }

    pub(super) fn place(&self) -> Place {
        Place::port(&self.host, &self.link, self.name)
    }
}

/// The bonds that carry what goes through an interface, each with its members: it is the bond, or lies upon it (VLAN, bridge). Ports of
/// a bridge are members of nothing, and one that `active-backup` keeps in reserve takes no flow. Of a team, and in cases of before bonds were read, only the driver tells what it is.
pub(super) fn with_members<'a>(
    facts: &'a HostFacts,
    top: &'a InterfaceName,
) -> Vec<(&'a InterfaceName, Vec<&'a InterfaceName>)> {
    let members = |name: &'a InterfaceName| -> Option<Vec<&'a InterfaceName>> {
        if let Some(bond) = facts.bonds.get(name) {
            let all = bond.members.iter();
            let sends = all.filter(|(_, it)| bond.mode != BondMode::ActiveBackup || it.active);
            return Some(sends.map(|(member, _)| member).collect());
        }
        let interface = facts.interfaces.get(name)?;
        let is_bond = matches!(interface.driver.as_deref(), Some("bonding" | "team"));
        is_bond.then(|| interface.lower.iter().collect())
    };
    let below = facts.with_lower(top).into_iter();
    below
        .filter_map(|name| Some((name, members(name)?)))
        .collect()
}

/// Each bond once, whatever links it carries.
pub(super) fn bonds<'a>(view: &View<'a>) -> Vec<Bonded<'a>> {
    let mut found: BTreeMap<(HostName, &InterfaceName), Bonded<'a>> = BTreeMap::new();
    for ((link, host), (top, _)) in view.ports() {
        let Some(facts) = view.host(&host) else {
            continue;
        };
        let below = facts.with_lower(top);
        for (name, bond) in facts.bonds.iter().filter(|(name, _)| below.contains(name)) {
            found.entry((host.clone(), name)).or_insert_with(|| Bonded {
                host: host.clone(),
                link: link.clone(),
                name,
                bond,
                facts,
            });
        }
    }
    found.into_values().collect()
}

/// The bond in this mode over which the sender of every one of these paths sends by several members; where they have different
/// names, that of the first.
pub(super) fn all_send_by<'a>(
    view: &View<'a>,
    paths: &BTreeSet<Path>,
    mode: BondMode,
) -> Option<&'a InterfaceName> {
    let ports = view.ports();
    let of = |path: &Path| {
        let (top, _) = ports.get(&(path.link.clone(), path.from.clone()))?;
        let facts = view.host(&path.from)?;
        let (mut bonds, below) = (facts.bonds.iter(), facts.with_lower(top));
        let fits = |(name, bond): &(&InterfaceName, &BondFacts)| {
            bond.mode == mode && bond.up().count() > 1 && below.contains(name)
        };
        bonds.find(fits).map(|(name, _)| name)
    };
    let all: Option<Vec<&InterfaceName>> = paths.iter().map(of).collect();
    all?.into_iter().next()
}
