//! Who may log in to a target, as whom, and who is cut off.

use std::collections::BTreeSet;

use super::current::CurrentTarget;
use super::operations::Operation;
use super::plan::{Account, Found};
use crate::exports::desired::{Desired, DesiredTarget};

/// tgtd's rule for everybody. A target without any rule lets nobody in.
const EVERYBODY: &str = "ALL";

pub(super) fn admitted(target: &DesiredTarget) -> BTreeSet<String> {
    match target.hosts() {
        None => BTreeSet::from([EVERYBODY.to_owned()]),
        Some(hosts) => hosts.into_iter().map(str::to_owned).collect(),
    }
}

/// Whether somebody who is logged in may lack a right now: tgtd looks at its rules and asks for a proof
/// only at a login. Who a session is was said by the client, so it is not asked.
pub(super) fn loses(
    target: &DesiredTarget,
    there: &CurrentTarget,
    replaced: &BTreeSet<String>,
) -> bool {
    let wanted = admitted(target);
    let dismissed = there.acl.iter().any(|who| !wanted.contains(who));
    let user = target.chap.as_ref().map(|chap| &chap.user);
    let asked = user.is_some_and(|user| !there.incoming.contains(user) || replaced.contains(user));
    there.unsure || asked || (dismissed && !wanted.contains(EVERYBODY))
}

/// Cuts everybody off. Who has the right is back at once.
pub(super) fn cut(tid: u32, there: &CurrentTarget, operations: &mut Vec<Operation>) {
    for session in &there.sessions {
        let connections = session.connections.iter();
        operations.extend(connections.map(|connection| Operation::Disconnect {
            tid,
            session: session.id,
            connection: *connection,
        }));
    }
}

/// Accounts that are new, or whose secret is: tgtd does not show a secret and cannot change one.
pub(super) fn accounts(
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
        operations.push(Operation::NewAccount { user, secret });
    }
}

pub(super) fn chap(
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
        let stays =
            |user: &String| bound.contains(user) && !replaced.contains(user) && !there.unsure;
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
            .filter(|user| (wanted != Some(*user) || there.unsure) && !replaced.contains(*user))
            .map(|user| Operation::UnbindAccount {
                tid,
                user: user.clone(),
                outgoing,
            })
            .collect();
        match outgoing || there.unsure {
            true => operations.extend(unbind.into_iter().chain(bind)),
            false => operations.extend(bind.into_iter().chain(unbind)),
        }
    }
}
