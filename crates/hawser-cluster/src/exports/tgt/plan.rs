//! The operations that make tgtd what is desired, and the ones that take a pool away from it.
//!
//! A unit that does not change is not touched, so its clients do not notice. Of a new target, access
//! comes last: nobody can log in and find it half made. Other pools' targets are in the same tgtd and
//! are never touched.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sha2::{Digest, Sha256};

use super::operations::{Operation, Secret};
use super::show::{CurrentTarget, CurrentUnit};
use crate::exports::desired::{Desired, DesiredTarget, DesiredUnit, Portal, naa};

/// What this pool has made before: from the copy that is saved beside the running target, so that
/// what is no longer declared is removed, and a pool that is gone can still be stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ours {
    /// Names of targets.
    pub targets: BTreeSet<String>,
    /// Names of accounts.
    pub accounts: BTreeSet<String>,
    /// Portals that tgtd was told to listen on.
    pub portals: BTreeSet<Portal>,
    /// The volume behind each serial number, by its identity.
    pub volumes: BTreeMap<String, String>,
}

/// What tgtd has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Targets by name.
    pub targets: BTreeMap<String, CurrentTarget>,
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
            targets: desired.targets.keys().cloned().collect(),
            accounts: desired.accounts().into_keys().collect(),
            portals: BTreeSet::new(),
            volumes: desired
                .units
                .iter()
                .map(|(serial, unit)| (serial.clone(), unit.identity.clone()))
                .collect(),
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
    portals(desired, found, ours, &mut operations);
    for (iqn, target) in &found.targets {
        if ours.targets.contains(iqn) && !desired.targets.contains_key(iqn) {
            remove(target, &mut operations);
        }
    }
    let none = CurrentTarget::default();
    let mut taken: BTreeSet<u32> = found.targets.values().map(|target| target.tid).collect();
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
    let replaced: BTreeSet<String> = desired
        .accounts()
        .into_keys()
        .filter(|user| found.accounts.get(user) == Some(&Account::Older))
        .collect();
    // While an account is replaced its target has none, and would let anybody in.
    let closed = |target: &DesiredTarget| {
        let accounts = target.accounts();
        accounts.keys().any(|user| replaced.contains(user))
    };
    for (tid, target, there) in &targets {
        let wanted = admitted(target);
        let closed = closed(target);
        for who in there
            .acl
            .iter()
            .filter(|who| closed || !wanted.contains(*who))
        {
            let who = who.clone();
            operations.push(Operation::Dismiss { tid: *tid, who });
        }
        strangers(*tid, &wanted, there, &mut operations);
    }
    accounts(desired, found, &replaced, &mut operations);
    for (tid, target, there) in &targets {
        units(*tid, target, &desired.units, there, ours, &mut operations);
        chap(*tid, target, there, &replaced, &mut operations);
        let closed = closed(target);
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
    let gone = gone.filter(|user| !bound_elsewhere(user, found, ours));
    operations.extend(gone.map(|user| Operation::DeleteAccount { user: user.clone() }));
    operations
}

/// The operations of a stop: everything that this pool has made goes, and nothing else.
pub fn stop(found: &Found, ours: &Ours) -> Vec<Operation> {
    let mut operations = Vec::new();
    let targets = found.targets.values();
    for target in targets.filter(|target| ours.targets.contains(&target.iqn)) {
        remove(target, &mut operations);
    }
    let gone = ours
        .accounts
        .iter()
        .filter(|user| found.accounts.contains_key(*user) && !bound_elsewhere(user, found, ours));
    operations.extend(gone.map(|user| Operation::DeleteAccount { user: user.clone() }));
    let gone = ours
        .portals
        .iter()
        .filter(|portal| found.portals.contains(portal) && !found.others_portals.contains(portal));
    operations.extend(gone.map(|portal| Operation::DeletePortal { portal: *portal }));
    operations
}

/// Targets of other pools share tgtd's accounts.
fn bound_elsewhere(user: &str, found: &Found, ours: &Ours) -> bool {
    let others = found.targets.values();
    others
        .filter(|target| !ours.targets.contains(&target.iqn))
        .any(|target| target.incoming.contains(user) || target.outgoing.contains(user))
}

/// The number of a new target. tgtd makes one of a unit's identifiers of it, so it is made from the
/// name: the same on every head, unless another target happens to have it.
fn number(iqn: &str, taken: &BTreeSet<u32>) -> u32 {
    // tgtd prints it with four hexadecimal digits.
    const LAST: u32 = 0xfffe;
    let digest = Sha256::digest(iqn.as_bytes());
    let first = u32::from(u16::from_be_bytes([digest[0], digest[1]])) % LAST + 1;
    let all = (first..=LAST).chain(1..first);
    all.into_iter()
        .find(|tid| !taken.contains(tid))
        .unwrap_or(LAST)
}

/// tgtd listens on a port for all targets. It cannot bind to an address that is not there yet, and
/// the pool's addresses come after its units, so it listens on all addresses of the family.
fn portals(desired: &Desired, found: &Found, ours: &Ours, operations: &mut Vec<Operation>) {
    let mut needed = BTreeSet::new();
    for portal in desired.targets.values().flat_map(|target| &target.portals) {
        let all = match portal.ip() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let all = Portal::new(all, portal.port());
        if !found.portals.contains(portal) {
            needed.insert(all);
        }
    }
    let gone = ours
        .portals
        .difference(&needed)
        .filter(|portal| found.portals.contains(portal) && !found.others_portals.contains(portal));
    operations.extend(gone.map(|portal| Operation::DeletePortal { portal: *portal }));
    let new = needed.difference(&found.portals);
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
    strangers(tid, &BTreeSet::new(), target, operations);
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

/// Cuts off who is logged in and no longer allowed: tgtd looks at its rules only at a login.
fn strangers(
    tid: u32,
    wanted: &BTreeSet<String>,
    there: &CurrentTarget,
    operations: &mut Vec<Operation>,
) {
    let sessions = there.sessions.iter();
    let cut = sessions.filter(|s| !wanted.contains(EVERYBODY) && !wanted.contains(&s.initiator));
    for session in cut {
        let connections = session.connections.iter();
        operations.extend(connections.map(|connection| Operation::Disconnect {
            tid,
            session: session.id,
            connection: *connection,
        }));
    }
}

fn units(
    tid: u32,
    target: &DesiredTarget,
    units: &BTreeMap<String, DesiredUnit>,
    there: &CurrentTarget,
    ours: &Ours,
    operations: &mut Vec<Operation>,
) {
    let wanted: BTreeMap<u16, (&String, &DesiredUnit)> = target
        .luns
        .iter()
        .filter_map(|(lun, exposure)| {
            Some((*lun, (&exposure.serial, units.get(&exposure.serial)?)))
        })
        .collect();
    // A volume that was replaced by another of the same path is still the old one to tgtd.
    let same = |lun: &u16, unit: &CurrentUnit| {
        let (serial, wanted) = wanted.get(lun)?;
        let before = ours.volumes.get(*serial);
        (same_store(wanted, unit) && before.is_none_or(|before| *before == wanted.identity))
            .then_some(())
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
        let scsi_id = naa(serial);
        let described = stays.is_some_and(|there| {
            there.serial == **serial
                && there.scsi_id == scsi_id
                && there.read_only == unit.read_only
        });
        if !described {
            operations.push(Operation::Describe {
                tid,
                lun,
                serial: (*serial).clone(),
                scsi_id,
                volume: unit.name.clone(),
                read_only: unit.read_only,
                write_cache: unit.write_cache,
            });
        }
    }
}

/// What cannot be changed under a unit that stays: it is made anew.
fn same_store(wanted: &DesiredUnit, there: &CurrentUnit) -> bool {
    there.online
        && wanted.path == there.path
        && wanted.block_size == there.block_size
        && there.flags.contains("sync") != wanted.write_cache
}

/// Accounts that are new, or whose secret is: tgtd does not show a secret and cannot change one.
fn accounts(
    desired: &Desired,
    found: &Found,
    replaced: &BTreeSet<String>,
    operations: &mut Vec<Operation>,
) {
    for (user, secret) in desired.accounts() {
        if found.accounts.get(&user) == Some(&Account::Same) {
            continue;
        }
        if replaced.contains(&user) {
            let targets = found.targets.values();
            for target in targets.filter(|target| desired.targets.contains_key(&target.iqn)) {
                for (bound, outgoing) in [(&target.incoming, false), (&target.outgoing, true)] {
                    if bound.contains(&user) {
                        let (tid, user) = (target.tid, user.clone());
                        operations.push(Operation::UnbindAccount {
                            tid,
                            user,
                            outgoing,
                        });
                    }
                }
            }
            operations.push(Operation::DeleteAccount { user: user.clone() });
        }
        let secret = Secret(secret);
        operations.push(Operation::NewAccount { user, secret });
    }
}

fn chap(
    tid: u32,
    target: &DesiredTarget,
    there: &CurrentTarget,
    replaced: &BTreeSet<String>,
    operations: &mut Vec<Operation>,
) {
    let chap = target.chap.as_ref();
    let incoming = chap.map(|chap| &chap.user);
    let outgoing = chap
        .and_then(|chap| chap.mutual.as_ref())
        .map(|(user, _)| user);
    for (wanted, bound, outgoing) in [
        (incoming, &there.incoming, false),
        (outgoing, &there.outgoing, true),
    ] {
        // A replaced account was unbound when it went.
        let stays = |user: &String| bound.contains(user) && !replaced.contains(user);
        // The new one first: a target without an account lets anybody in. But a target proves
        // itself with one at a time.
        let bind = wanted
            .filter(|user| !stays(user))
            .map(|user| Operation::BindAccount {
                tid,
                user: user.clone(),
                outgoing,
            });
        let unbind: Vec<Operation> = bound
            .iter()
            .filter(|user| wanted != Some(*user) && stays(user))
            .map(|user| Operation::UnbindAccount {
                tid,
                user: user.clone(),
                outgoing,
            })
            .collect();
        match outgoing {
            true => operations.extend(unbind.into_iter().chain(bind)),
            false => operations.extend(bind.into_iter().chain(unbind)),
        }
    }
}

/// tgtd's rule for everybody. A target without any rule lets nobody in.
const EVERYBODY: &str = "ALL";

fn admitted(target: &DesiredTarget) -> BTreeSet<String> {
    match target.hosts() {
        None => BTreeSet::from([EVERYBODY.to_owned()]),
        Some(hosts) => hosts.into_iter().map(str::to_owned).collect(),
    }
}
