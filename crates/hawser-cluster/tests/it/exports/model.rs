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
fn perform(found: &mut Found, operation: &Operation) {
    match operation.clone() {
        Operation::NewTarget { tid, iqn } => {
            assert!(tid > 0 && found.targets.values().all(|target| target.tid != tid));
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
            let flags = sync.then(|| "sync".to_owned()).into_iter().collect();
            let unit = CurrentUnit {
                block_size,
                path,
                flags,
                online: true,
                ..CurrentUnit::default()
            };
            assert!(by_tid(found, tid).units.insert(lun, unit).is_none());
        }
        Operation::Describe {
            tid,
            lun,
            serial,
            scsi_id,
            read_only,
            ..
        } => {
            let unit = by_tid(found, tid).units.get_mut(&lun).expect("a unit");
            (unit.serial, unit.scsi_id, unit.read_only) = (serial, scsi_id, read_only);
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
    for operation in &operations {
        perform(found, operation);
    }
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
    let foreign = CurrentTarget {
        tid: 7,
        iqn: "iqn.other:target".into(),
        incoming: BTreeSet::from(["theirs".to_owned()]),
        acl: BTreeSet::from(["ALL".to_owned()]),
        units: BTreeMap::from([(1, CurrentUnit::default())]),
        ..CurrentTarget::default()
    };
    Found {
        targets: BTreeMap::from([(foreign.iqn.clone(), foreign)]),
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
            prop_assert_eq!(&found.targets["iqn.other:target"], &fresh.targets["iqn.other:target"]);
        }
        for operation in tgt::stop(&found, &ours) {
            perform(&mut found, &operation);
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

#[test]
fn hosts_that_lose_their_right_are_logged_out_and_others_are_not() {
    let everybody = resolved("", &[volume("a", "1")], &State::default()).unwrap();
    let mut found = empty_daemon();
    apply(&everybody.desired, &mut found, &Ours::default());
    let target = found.targets.get_mut("iqn.2026-01.lab:tank").unwrap();
    let session = |id, initiator: &str| Session {
        id,
        initiator: initiator.into(),
        connections: vec![0],
    };
    target.sessions = vec![session(1, "iqn.good"), session(2, "iqn.bad")];
    let text = "[[host_group]]\nname = \"h\"\nmembers = [\"iqn.good\"]\n[[view]]\nname = \"v\"\nhost_group = \"h\"\n";
    let some = resolved(text, &[volume("a", "1")], &everybody.state).unwrap();
    apply(&some.desired, &mut found, &Ours::of(&everybody.desired));
    let left: Vec<u64> = found.targets["iqn.2026-01.lab:tank"]
        .sessions
        .iter()
        .map(|s| s.id)
        .collect();
    assert_eq!(left, [1]);
}
