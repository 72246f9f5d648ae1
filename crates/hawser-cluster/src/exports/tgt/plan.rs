//! The operations that make tgtd what is desired, and the ones that take a pool away from it.
//!
//! A unit that does not change is not touched, so its clients do not notice. Of a new target, access
//! comes last: nobody can log in and find it half made. Other targets are in the same tgtd and are not
//! known here: what is found is what this pool made, and new targets come first, so that a name that
//! somebody else has is found before anything is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sha2::{Digest, Sha256};

use super::access::{accounts, admitted, chap, cut, loses};
use super::current::{CurrentTarget, CurrentUnit, Targets};
use super::operations::Operation;
use crate::exports::desired::{Desired, DesiredTarget, DesiredUnit, Portal};

/// What this pool has made before: from the copy that is saved beside the running target, so that
/// what is no longer declared is removed, and a pool that is gone can still be stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ours {
    /// Names of accounts.
    pub accounts: BTreeSet<String>,
    /// Portals that tgtd was told to listen on.
    pub portals: BTreeSet<Portal>,
}

/// What tgtd has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// This pool's targets by name.
    pub targets: Targets,
    /// Numbers that other targets have.
    pub taken: BTreeSet<u32>,
    /// Accounts that other pools need.
    pub others_accounts: BTreeSet<String>,
    /// Where it listens.
    pub portals: BTreeSet<Portal>,
    /// What is known of its accounts.
    pub accounts: BTreeMap<String, Account>,
    /// Portals that other pools need.
    pub others_portals: BTreeSet<Portal>,
}

/// An account that tgtd has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// With the secret that it is to have.
    Same,
    /// With another one.
    Older,
}

impl Ours {
    /// What a start with this outcome makes.
    pub fn of(desired: &Desired) -> Self {
        Self {
            accounts: desired.accounts().into_keys().collect(),
            portals: BTreeSet::new(),
        }
    }
}

/// The targets' names by their numbers, as `found` and after `operations`.
pub fn names(found: &Found, operations: &[Operation]) -> BTreeMap<u32, String> {
    let there = found.targets.values().map(|t| (t.tid, t.iqn.clone()));
    let new = operations.iter().filter_map(|operation| match operation {
        Operation::NewTarget { tid, iqn } => Some((*tid, iqn.clone())),
        _ => None,
    });
    there.chain(new).collect()
}

/// The operations of a start: none when everything is as desired.
pub fn start(desired: &Desired, found: &Found, ours: &Ours) -> Vec<Operation> {
    let mut operations = Vec::new();
    let none = CurrentTarget::default();
    let mut taken = found.taken.clone();
    taken.extend(found.targets.values().map(|target| target.tid));
    let mut targets = Vec::new();
    for (iqn, target) in &desired.targets {
        let there = found.targets.get(iqn);
        let tid = there.map_or_else(|| number(iqn, &taken), |there| there.tid);
        if taken.insert(tid) {
            let iqn = iqn.clone();
            operations.push(Operation::NewTarget { tid, iqn });
        }
        targets.push((tid, target, there.unwrap_or(&none)));
    }
    portals(desired, found, ours, &mut operations);
    for (iqn, target) in &found.targets {
        if !desired.targets.contains_key(iqn) {
            remove(target, &mut operations);
        }
    }
    let replaced: BTreeSet<String> = desired
        .accounts()
        .into_keys()
        .filter(|user| found.accounts.get(user) == Some(&Account::Older))
        .collect();
    // While an account is replaced its target has none, and would let anybody in.
    let closed = |target: &DesiredTarget, there: &CurrentTarget| {
        let accounts = target.accounts();
        there.unsure || accounts.keys().any(|user| replaced.contains(user))
    };
    for (tid, target, there) in &targets {
        let wanted = admitted(target);
        let closed = closed(target, there);
        for who in there
            .acl
            .iter()
            .filter(|who| closed || !wanted.contains(*who))
        {
            let who = who.clone();
            operations.push(Operation::Dismiss { tid: *tid, who });
        }
    }
    accounts(desired, found, &replaced, &mut operations);
    for (tid, target, there) in &targets {
        chap(*tid, target, there, &replaced, &mut operations);
        if loses(target, there, &replaced) {
            cut(*tid, there, &mut operations);
        }
        units(*tid, target, desired, there, &mut operations);
        let closed = closed(target, there);
        for who in admitted(target) {
            if closed || !there.acl.contains(&who) {
                operations.push(Operation::Admit { tid: *tid, who });
            }
        }
    }
    let wanted = desired.accounts();
    let gone = ours
        .accounts
        .iter()
        .filter(|user| !wanted.contains_key(*user) && found.accounts.contains_key(*user));
    let gone = gone.filter(|user| !found.others_accounts.contains(*user));
    operations.extend(gone.map(|user| Operation::DeleteAccount { user: user.clone() }));
    operations
}

/// The operations of a stop: everything that this pool has made goes, and nothing else.
pub fn stop(found: &Found, ours: &Ours) -> Vec<Operation> {
    let mut operations = Vec::new();
    for target in found.targets.values() {
        remove(target, &mut operations);
    }
    let gone = ours.accounts.iter().filter(|user| {
        found.accounts.contains_key(*user) && !found.others_accounts.contains(*user)
    });
    operations.extend(gone.map(|user| Operation::DeleteAccount { user: user.clone() }));
    let gone = ours
        .portals
        .iter()
        .filter(|portal| found.portals.contains(portal) && !found.others_portals.contains(portal));
    operations.extend(gone.map(|portal| Operation::DeletePortal { portal: *portal }));
    operations
}

/// The number of a new target. tgtd makes one of a unit's identifiers of it, so it is made from the
/// name: the same on every head, unless another target happens to have it.
fn number(iqn: &str, taken: &BTreeSet<u32>) -> u32 {
    let mut all = numbers(iqn);
    all.find(|tid| !taken.contains(tid)).unwrap_or(LAST)
}

/// tgtd prints a target's number with four hexadecimal digits.
const LAST: u32 = 0xfffe;

/// The numbers that a target may get, the first one first.
pub fn numbers(iqn: &str) -> impl Iterator<Item = u32> + use<> {
    let digest = Sha256::digest(iqn.as_bytes());
    let first = u32::from(u16::from_be_bytes([digest[0], digest[1]])) % LAST + 1;
    (first..=LAST).chain(1..first)
}

/// Where tgtd is to listen for a portal. It cannot bind to an address that is not there yet, and the pool's
/// addresses come after its units, so it listens on all addresses of the family.
fn listens(portal: &Portal) -> Portal {
    let all = match portal.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    Portal::new(all, portal.port())
}

/// Where tgtd is to listen for these targets. A port is one for all targets, whichever pool they are of.
pub fn needed(desired: &Desired) -> BTreeSet<Portal> {
    let targets = desired.targets.values();
    targets
        .flat_map(|target| target.portals.iter().map(listens))
        .collect()
}

fn portals(desired: &Desired, found: &Found, ours: &Ours, operations: &mut Vec<Operation>) {
    let portals = desired.targets.values().flat_map(|target| &target.portals);
    let missing = portals.filter(|portal| !found.portals.contains(portal));
    let missing: BTreeSet<Portal> = missing.map(listens).collect();
    let needed = needed(desired);
    let gone = ours
        .portals
        .difference(&needed)
        .filter(|portal| found.portals.contains(portal) && !found.others_portals.contains(portal));
    operations.extend(gone.map(|portal| Operation::DeletePortal { portal: *portal }));
    let new = missing.difference(&found.portals);
    operations.extend(new.map(|portal| Operation::NewPortal { portal: *portal }));
}

/// Nobody new, then nobody at all, then the units, then the target.
fn remove(target: &CurrentTarget, operations: &mut Vec<Operation>) {
    let tid = target.tid;
    let acl = target.acl.iter();
    operations.extend(acl.map(|who| Operation::Dismiss {
        tid,
        who: who.clone(),
    }));
    cut(tid, target, operations);
    let luns = target.units.keys();
    operations.extend(luns.map(|lun| Operation::DeleteUnit { tid, lun: *lun }));
    for (users, outgoing) in [(&target.incoming, false), (&target.outgoing, true)] {
        operations.extend(users.iter().map(|user| Operation::UnbindAccount {
            tid,
            user: user.clone(),
            outgoing,
        }));
    }
    operations.push(Operation::DeleteTarget { tid });
}

fn units(
    tid: u32,
    target: &DesiredTarget,
    desired: &Desired,
    there: &CurrentTarget,
    operations: &mut Vec<Operation>,
) {
    let wanted: BTreeMap<u16, (&String, &DesiredUnit)> = desired
        .units_of(target)
        .map(|(lun, exposure, unit)| (lun, (&exposure.serial, unit)))
        .collect();
    // A volume that was replaced by another of the same path is still the old one to tgtd.
    let same = |lun: &u16, unit: &CurrentUnit| {
        let (_, wanted) = wanted.get(lun)?;
        same_store(wanted, unit).then_some(())
    };
    // Numbers that change hands are given back before they are given out.
    for (lun, unit) in &there.units {
        if same(lun, unit).is_none() {
            operations.push(Operation::DeleteUnit { tid, lun: *lun });
        }
    }
    for (lun, (serial, unit)) in &wanted {
        let lun = *lun;
        let stays = there
            .units
            .get(&lun)
            .filter(|there| same(&lun, there).is_some());
        if stays.is_none() {
            operations.push(Operation::NewUnit {
                tid,
                lun,
                volume: unit.name.clone(),
                path: unit.path.clone(),
                block_size: unit.block_size,
                sync: !unit.write_cache,
            });
        }
        let described = stays.is_some_and(|there| {
            there.serial == **serial
                && there.company == unit.company
                && there.read_only == unit.read_only
        });
        if !described {
            operations.push(Operation::Describe {
                tid,
                lun,
                serial: (*serial).clone(),
                company: unit.company.clone(),
                volume: unit.name.clone(),
                read_only: unit.read_only,
                write_cache: unit.write_cache,
            });
        }
    }
}

/// What cannot be changed under a unit that stays: it is made anew.
fn same_store(wanted: &DesiredUnit, there: &CurrentUnit) -> bool {
    !there.unsure
        && wanted.identity == there.identity
        && wanted.path == there.path
        && wanted.block_size == there.block_size
        && there.sync != wanted.write_cache
}

/// A target as a start that ended well leaves it.
pub fn whole(tid: u32, iqn: &str, desired: &Desired) -> Option<CurrentTarget> {
    let target = desired.targets.get(iqn)?;
    let units = desired.units_of(target).map(|(lun, exposure, unit)| {
        let unit = CurrentUnit {
            serial: exposure.serial.clone(),
            company: unit.company.clone(),
            identity: unit.identity.clone(),
            block_size: unit.block_size,
            read_only: unit.read_only,
            sync: !unit.write_cache,
            path: unit.path.clone(),
            unsure: false,
        };
        (lun, unit)
    });
    let mutual = target.chap.as_ref().and_then(|chap| chap.mutual.as_ref());
    Some(CurrentTarget {
        tid,
        iqn: iqn.to_owned(),
        units: units.collect(),
        incoming: target.chap.iter().map(|chap| chap.user.clone()).collect(),
        outgoing: mutual.map(|(user, _)| user.clone()).into_iter().collect(),
        acl: admitted(target),
        ..CurrentTarget::default()
    })
}
