//! A tgtd in memory: after the operations of a start, a second start finds nothing to do, and units
//! that did not change were not touched.

use std::collections::{BTreeMap, BTreeSet};

use hawser_cluster::exports::tgt::{
    self, Account, CurrentTarget, CurrentUnit, Found, Operation, Ours, Session,
};
use hawser_cluster::exports::{Desired, State, Volume};
use proptest::prelude::*;

use super::{resolved, volume};

fn by_tid(found: &mut Found, tid: u32) -> &mut CurrentTarget {
    let mut targets = found.targets.values_mut();
    targets
        .find(|target| target.tid == tid)
        .unwrap_or_else(|| panic!("no target {tid}"))
}

/// Does an operation, and refuses what tgtd refuses.
fn perform(found: &mut Found, operation: &Operation, desired: &Desired) {
    match operation.clone() {
        Operation::NewTarget { tid, iqn } => {
            assert!(tid > 0 && found.targets.values().all(|target| target.tid != tid));
            assert!(!found.taken.contains(&tid));
            let target = CurrentTarget {
                tid,
                iqn: iqn.clone(),
                ..CurrentTarget::default()
            };
            assert!(found.targets.insert(iqn, target).is_none());
        }
        Operation::NewUnit {
            tid,
            lun,
            path,
            block_size,
            sync,
            ..
        } => {
            let unit = CurrentUnit {
                block_size,
                path,
                sync,
                ..CurrentUnit::default()
            };
            assert!(by_tid(found, tid).units.insert(lun, unit).is_none());
        }
        Operation::Describe {
            tid,
            lun,
            serial,
            company,
            read_only,
            ..
        } => {
            let unit = by_tid(found, tid).units.get_mut(&lun).expect("a unit");
            unit.identity = desired.units[&serial].identity.clone();
            (unit.serial, unit.company, unit.read_only) = (serial, company, read_only);
        }
        Operation::DeleteUnit { tid, lun } => {
            assert!(by_tid(found, tid).units.remove(&lun).is_some())
        }
        Operation::NewAccount { user, .. } => {
            assert!(found.accounts.insert(user, Account::Same).is_none());
        }
        Operation::BindAccount {
            tid,
            user,
            outgoing,
        } => {
            assert!(found.accounts.contains_key(&user), "no account {user}");
            let target = found.targets.values_mut().find(|t| t.tid == tid).unwrap();
            let bound = if outgoing {
                &mut target.outgoing
            } else {
                &mut target.incoming
            };
            assert!(
                !outgoing || bound.is_empty(),
                "a target proves itself with one account"
            );
            assert!(bound.insert(user));
        }
        Operation::UnbindAccount {
            tid,
            user,
            outgoing,
        } => {
            let target = by_tid(found, tid);
            let bound = if outgoing {
                &mut target.outgoing
            } else {
                &mut target.incoming
            };
            assert!(bound.remove(&user));
            let open = !outgoing && bound.is_empty() && !target.acl.is_empty();
            let meant = operation;
            // Only a target that is to have no CHAP at all may be open while it has no account.
            assert!(
                !open || OPEN.with(|open| open.get()),
                "{meant:?} opens the target"
            );
        }
        Operation::DeleteAccount { user } => assert!(found.accounts.remove(&user).is_some()),
        Operation::NewPortal { portal } => assert!(found.portals.insert(portal)),
        Operation::DeletePortal { portal } => assert!(found.portals.remove(&portal)),
        Operation::Admit { tid, who } => assert!(by_tid(found, tid).acl.insert(who)),
        Operation::Dismiss { tid, who } => assert!(by_tid(found, tid).acl.remove(&who)),
        Operation::Disconnect { tid, session, .. } => {
            by_tid(found, tid)
                .sessions
                .retain(|there| there.id != session);
        }
        Operation::DeleteTarget { tid } => {
            let target = by_tid(found, tid);
            assert!(target.sessions.is_empty() && target.units.is_empty() && target.acl.is_empty());
            found.targets.retain(|_, target| target.tid != tid);
        }
    }
}

thread_local! {
    /// Whether the file that is applied has targets without CHAP.
    static OPEN: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

fn apply(desired: &Desired, found: &mut Found, ours: &Ours) -> Vec<Operation> {
    OPEN.with(|open| open.set(desired.targets.values().any(|target| target.chap.is_none())));
    let operations = tgt::start(desired, found, ours);
    let expected = tgt::after(&found.targets, &operations, desired);
    for operation in &operations {
        perform(found, operation, desired);
    }
    assert_eq!(
        found.targets, expected,
        "what is written down is not what is there"
    );
    let again = tgt::start(desired, found, &Ours::of(desired));
    assert_eq!(again, [], "a second start has something to do");
    operations
}

/// A file: targets with or without CHAP, hosts, block sizes, a portal.
pub(super) fn text(volumes: &[Volume], knobs: [u8; 6]) -> String {
    let [targets, chap, hosts, cache, portal, skip] = knobs;
    let mut text = format!("[defaults]\nwrite_cache = {}\n", cache == 0);
    if portal > 0 {
        text +=
            "[[portal_group]]\nname = \"p\"\nportals = [\"192.0.2.1:3261\", \"[fd00::1]:3262\"]\n";
    }
    for target in 0..targets {
        text += &format!("[[target]]\nname = \"t{target}\"\n");
        match chap {
            1 => text += "chap = { user = \"u\", secret = \"file:/s\" }\n",
            2 => {
                text += &format!(
                    "chap = {{ user = \"u{target}\", secret = \"file:/s{target}\", mutual_user = \"m\", mutual_secret = \"file:/m\" }}\n"
                )
            }
            _ => {}
        }
    }
    if hosts > 0 {
        text += &format!(
            "[[host_group]]\nname = \"h\"\nmembers = [\"iqn.h{hosts}\", \"iqn.h\"]\n[[view]]\nname = \"v\"\nhost_group = \"h\"\n"
        );
    }
    for (i, volume) in volumes
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != usize::from(skip))
    {
        text += &format!(
            "[[unit]]\nvolume = \"{}\"\nread_only = {}\n",
            volume.name,
            i == 5
        );
    }
    text
}

pub(super) fn knobs() -> impl Strategy<Value = [u8; 6]> {
    (0..3_u8, 0..3_u8, 0..3_u8, 0..2_u8, 0..2_u8, 0..8_u8).prop_map(Into::into)
}

fn empty_daemon() -> Found {
    let portals = ["0.0.0.0:3260", "[::]:3260"].map(|portal| portal.parse().unwrap());
    Found {
        targets: BTreeMap::new(),
        taken: BTreeSet::from([7]),
        others_accounts: BTreeSet::from(["theirs".to_owned()]),
        portals: portals.into(),
        accounts: BTreeMap::from([("theirs".to_owned(), Account::Same)]),
        others_portals: BTreeSet::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_file_after_any_other(steps in prop::collection::vec(knobs(), 1..6), older in any::<bool>()) {
        let volumes: Vec<Volume> = (0..8).map(|i| volume(&format!("v{i}"), &format!("id{i}"))).collect();
        let fresh = empty_daemon();
        let mut found = fresh.clone();
        let mut state = State::default();
        let mut ours = Ours::default();
        for step in steps {
            let made = resolved(&text(&volumes, step), &volumes, &state).unwrap();
            state = made.state.clone();
            if older {
                let mine = ours.accounts.iter();
                found.accounts.extend(mine.map(|user| (user.clone(), Account::Older)));
            }
            let before = found.clone();
            let operations = apply(&made.desired, &mut found, &ours);
            let portals = operations.iter().filter_map(|operation| match operation {
                Operation::NewPortal { portal } => Some(*portal),
                _ => None,
            });
            let portals = ours.portals.iter().copied().chain(portals).collect();
            ours = Ours { portals, ..Ours::of(&made.desired) };
            // What is the same before and after was not touched in between.
            let names = tgt::names(&before, &operations);
            for operation in &operations {
                let (tid, lun) = match operation {
                    Operation::DeleteUnit { tid, lun } | Operation::NewUnit { tid, lun, .. } => (*tid, *lun),
                    _ => continue,
                };
                let unit = |found: &Found| found.targets.get(&names[&tid]).and_then(|t| t.units.get(&lun).cloned());
                prop_assert_ne!(unit(&before), unit(&found), "{:?}", operation);
            }
        }
        for operation in tgt::stop(&found, &ours) {
            perform(&mut found, &operation, &Desired::default());
        }
        prop_assert_eq!(found, fresh, "a stop leaves something, or takes too much");
    }
}

#[test]
fn a_volume_that_was_replaced_under_its_path_is_opened_anew() {
    let first = resolved("", &[volume("a", "1"), volume("b", "2")], &State::default()).unwrap();
    let mut found = empty_daemon();
    apply(&first.desired, &mut found, &Ours::default());
    let second = resolved("", &[volume("a", "9"), volume("b", "2")], &first.state).unwrap();
    let operations = apply(&second.desired, &mut found, &Ours::of(&first.desired));
    let touched: Vec<u16> = operations
        .iter()
        .filter_map(|operation| match operation {
            Operation::DeleteUnit { lun, .. } => Some(*lun),
            _ => None,
        })
        .collect();
    assert_eq!(touched, [1]);
}

const TANK: &str = "iqn.2026-01.lab:tank";

fn host_group(members: &str) -> String {
    format!(
        "[[host_group]]\nname = \"h\"\nmembers = [{members}]\n[[view]]\nname = \"v\"\nhost_group = \"h\"\n"
    )
}

fn chap(user: &str) -> String {
    format!("[[target]]\nname = \"tank\"\nchap = {{ user = \"{user}\", secret = \"file:/s\" }}\n")
}

/// Whether two sessions of the target survive the step from one file to another, whoever they say they are.
fn survive(from: &str, to: &str, older: bool) -> bool {
    let first = resolved(from, &[volume("a", "1")], &State::default()).unwrap();
    let mut found = empty_daemon();
    apply(&first.desired, &mut found, &Ours::default());
    let session = |id| Session {
        id,
        connections: vec![0],
    };
    found.targets.get_mut(TANK).unwrap().sessions = vec![session(1), session(2)];
    if older {
        let accounts = found.accounts.values_mut();
        accounts.for_each(|account| *account = Account::Older);
    }
    let second = resolved(to, &[volume("a", "1")], &first.state).unwrap();
    let ours = Ours::of(&first.desired);
    OPEN.with(|open| open.set(true));
    for operation in tgt::start(&second.desired, &found.clone(), &ours) {
        perform(&mut found, &operation, &second.desired);
    }
    let left = found.targets[TANK].sessions.len();
    assert!(left == 0 || left == 2, "a session was asked who it is");
    left == 2
}

#[test]
fn sessions_that_may_lack_a_right_are_cut_whoever_they_say_they_are() {
    let (good, both) = (
        host_group("\"iqn.good\""),
        host_group("\"iqn.good\", \"iqn.bad\""),
    );
    assert!(!survive("", &good, false) && !survive(&both, &good, false));
    assert!(survive(&good, &both, false) && survive(&both, "", false) && survive("", "", false));
    // A proof is asked for from now on, by another account, with another secret; or no longer.
    assert!(!survive("", &chap("joe"), false) && !survive(&chap("joe"), &chap("jim"), false));
    assert!(!survive(&chap("joe"), &chap("joe"), true));
    assert!(survive(&chap("joe"), &chap("joe"), false) && survive(&chap("joe"), "", false));
}
