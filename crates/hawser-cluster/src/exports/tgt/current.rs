//! What a pool has in tgtd, by its own knowledge: what starts made and wrote down, and numbers that tgtd
//! confirms. tgtd's listing of targets is not read: names and aliases of clients are in it as they sent
//! them, line breaks included, so a client could write targets into it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::operations::Operation;
use super::wire;
use crate::exports::desired::Desired;

/// A target that a start of this pool made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrentTarget {
    /// Its number in this tgtd.
    pub tid: u32,
    /// Its name.
    pub iqn: String,
    /// Its units by number; the controller, which is always LUN 0, is left out.
    pub units: BTreeMap<u16, CurrentUnit>,
    /// Clients that are logged in: never kept, always asked for.
    #[serde(skip)]
    pub sessions: Vec<Session>,
    /// Accounts that clients use.
    pub incoming: BTreeSet<String>,
    /// Accounts that the target itself uses.
    pub outgoing: BTreeSet<String>,
    /// Who may log in: `ALL`, addresses, networks, names.
    pub acl: BTreeSet<String>,
    /// A start was ended while it changed the rules or accounts: each of them may be there or not.
    #[serde(default)]
    pub unsure: bool,
}

impl CurrentTarget {
    /// The accounts that the target itself uses, or those that clients use.
    fn bound(&mut self, outgoing: bool) -> &mut BTreeSet<String> {
        match outgoing {
            true => &mut self.outgoing,
            false => &mut self.incoming,
        }
    }

    /// Says of it and of all its units whether they may be there or not.
    pub fn set_unsure(&mut self, unsure: bool) {
        self.unsure = unsure;
        for unit in self.units.values_mut() {
            unit.unsure = unsure;
        }
    }
}

/// A unit that a start of this pool made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrentUnit {
    /// Its serial number; empty until it has been told.
    pub serial: String,
    /// The company in its NAA identifier, if it is not LIO's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub company: Option<String>,
    /// What its volume is known by, whatever it is called.
    pub identity: String,
    /// Bytes of a block.
    pub block_size: u32,
    /// Whether clients may read only.
    pub read_only: bool,
    /// Whether every write is on the disks before it is acknowledged.
    pub sync: bool,
    /// What is behind it.
    pub path: String,
    /// A start was ended while it changed the unit: it may be there or not, and be anything.
    #[serde(default)]
    pub unsure: bool,
}

/// A client that is logged in, by tgtd's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// tgtd's number of it (I_T nexus).
    pub id: u64,
    /// Its connections.
    pub connections: Vec<u32>,
}

/// Targets by name.
pub type Targets = BTreeMap<String, CurrentTarget>;

/// The targets after these operations.
pub fn after(targets: &Targets, operations: &[Operation], desired: &Desired) -> Targets {
    let mut all = targets.clone();
    for operation in operations {
        perform(&mut all, operation, desired);
    }
    // Of what a start ended in the middle of, nothing is left as it was.
    for target in all.values_mut() {
        target.unsure = false;
    }
    all
}

/// The targets while these operations are done, one of which may be the last: what is the same before and
/// after is sure, and of the rest everything that may be there is known.
pub fn during(targets: &Targets, operations: &[Operation], desired: &Desired) -> Targets {
    let after = after(targets, operations, desired);
    let mut all = targets.clone();
    for (iqn, mut then) in after {
        let Some(now) = all.get_mut(&iqn) else {
            then.set_unsure(true);
            all.insert(iqn, then);
            continue;
        };
        let tid = Some(now.tid);
        let touched = operations.iter().any(|it| it.rules_of() == tid);
        let same =
            (&now.acl, &now.incoming, &now.outgoing) == (&then.acl, &then.incoming, &then.outgoing);
        now.unsure |= touched || !same;
        now.acl.extend(then.acl);
        now.incoming.extend(then.incoming);
        now.outgoing.extend(then.outgoing);
        for (lun, unit) in then.units {
            now.units.entry(lun).or_insert(CurrentUnit {
                unsure: true,
                ..unit
            });
        }
        for (lun, unit) in &mut now.units {
            let it = Some((now.tid, *lun));
            unit.unsure |= operations.iter().any(|operation| operation.unit_of() == it);
        }
    }
    for target in all.values_mut() {
        let gone = Operation::DeleteTarget { tid: target.tid };
        if operations.contains(&gone) {
            target.set_unsure(true);
        }
    }
    all
}

fn perform(all: &mut Targets, operation: &Operation, desired: &Desired) {
    use Operation as O;
    if let O::NewTarget { tid, iqn } = operation {
        let target = CurrentTarget {
            tid: *tid,
            iqn: iqn.clone(),
            ..CurrentTarget::default()
        };
        all.insert(iqn.clone(), target);
        return;
    }
    if let O::DeleteTarget { tid } = operation {
        all.retain(|_, target| target.tid != *tid);
        return;
    }
    if let O::DeleteAccount { user } = operation {
        for target in all.values_mut() {
            target.incoming.remove(user);
            target.outgoing.remove(user);
        }
        return;
    }
    let mut targets = all.values_mut();
    let Some(target) = targets.find(|target| Some(target.tid) == operation.target()) else {
        return;
    };
    match operation.clone() {
        O::NewUnit {
            lun,
            path,
            block_size,
            sync,
            ..
        } => {
            let unit = CurrentUnit {
                path,
                block_size,
                sync,
                ..CurrentUnit::default()
            };
            target.units.insert(lun, unit);
        }
        O::Describe {
            lun,
            serial,
            company,
            read_only,
            ..
        } => {
            if let Some(unit) = target.units.get_mut(&lun) {
                let volume = desired.units.get(&serial);
                unit.identity = volume.map_or(String::new(), |volume| volume.identity.clone());
                (unit.serial, unit.company, unit.read_only) = (serial, company, read_only);
            }
        }
        O::DeleteUnit { lun, .. } => drop(target.units.remove(&lun)),
        O::BindAccount { user, outgoing, .. } => drop(target.bound(outgoing).insert(user)),
        O::UnbindAccount { user, outgoing, .. } => drop(target.bound(outgoing).remove(&user)),
        O::Admit { who, .. } => drop(target.acl.insert(who)),
        O::Dismiss { who, .. } => drop(target.acl.remove(&who)),
        O::Disconnect { session, .. } => target.sessions.retain(|there| there.id != session),
        O::NewTarget { .. }
        | O::DeleteTarget { .. }
        | O::NewAccount { .. }
        | O::DeleteAccount { .. }
        | O::NewPortal { .. }
        | O::DeletePortal { .. } => {}
    }
}

impl Operation {
    /// The target that it is about.
    pub fn target(&self) -> Option<u32> {
        use Operation as O;
        match self {
            O::NewTarget { tid, .. }
            | O::NewUnit { tid, .. }
            | O::Describe { tid, .. }
            | O::DeleteUnit { tid, .. }
            | O::BindAccount { tid, .. }
            | O::UnbindAccount { tid, .. }
            | O::Admit { tid, .. }
            | O::Dismiss { tid, .. }
            | O::Disconnect { tid, .. }
            | O::DeleteTarget { tid } => Some(*tid),
            O::NewAccount { .. }
            | O::DeleteAccount { .. }
            | O::NewPortal { .. }
            | O::DeletePortal { .. } => None,
        }
    }

    /// The target whose rules or accounts it changes.
    fn rules_of(&self) -> Option<u32> {
        use Operation as O;
        match self {
            O::BindAccount { .. }
            | O::UnbindAccount { .. }
            | O::Admit { .. }
            | O::Dismiss { .. } => self.target(),
            _ => None,
        }
    }

    /// The unit that it changes.
    fn unit_of(&self) -> Option<(u32, u16)> {
        use Operation as O;
        match self {
            O::NewUnit { tid, lun, .. }
            | O::Describe { tid, lun, .. }
            | O::DeleteUnit { tid, lun } => Some((*tid, *lun)),
            _ => None,
        }
    }

    /// Whether this refusal says that it is done already. What goes may be gone; a rule or an account of a
    /// target that is the pool's own may be there. A target, a unit or an account that is to be made and
    /// exists is somebody else's.
    pub fn is_done(&self, error: u32) -> bool {
        use Operation as O;
        let gone: &[u32] = match self {
            O::DeleteTarget { .. } => &[wire::NO_TARGET],
            O::DeleteUnit { .. } => &[wire::NO_TARGET, wire::NO_UNIT],
            O::Dismiss { .. } => &[wire::NO_TARGET, wire::NO_RULE],
            O::UnbindAccount { .. } => &[wire::NO_TARGET, wire::NO_ACCOUNT],
            O::DeleteAccount { .. } => &[wire::NO_ACCOUNT],
            O::Disconnect { .. } => &[wire::NO_TARGET, wire::NO_SESSION, wire::NO_CONNECTION],
            O::Admit { .. } => &[wire::RULE_EXISTS],
            O::BindAccount {
                outgoing: false, ..
            } => &[wire::ACCOUNT_EXISTS],
            O::BindAccount { .. }
            | O::NewTarget { .. }
            | O::NewUnit { .. }
            | O::Describe { .. }
            | O::NewAccount { .. }
            | O::NewPortal { .. }
            | O::DeletePortal { .. } => &[],
        };
        gone.contains(&error)
    }

    /// Whether this refusal says that what is to be made is there already, and so is not this pool's.
    pub fn is_foreign(&self, error: u32) -> bool {
        use Operation as O;
        match self {
            O::NewTarget { .. } => error == wire::TARGET_EXISTS,
            O::NewUnit { .. } => error == wire::UNIT_EXISTS,
            O::NewAccount { .. } => error == wire::ACCOUNT_EXISTS,
            _ => false,
        }
    }
}
