//! What a start ends the sessions of clients for, and what not.

use std::collections::BTreeMap;

use hawser_cluster::exports::State;
use hawser_cluster::exports::lio::reservations::Reservations;
use hawser_cluster::exports::lio::{Operation, Tree, entries, notable, plan};
use hawser_model::cluster_file::SecretRef;

use super::{Kernel, POOL, desired, none, raw, volume, wanted};

const ENABLE: &str = "iscsi/iqn.2026-01.lab:tank/tpgt_1/enable";

fn chap(secret: &str) -> String {
    format!("[[target]]\nname = \"tank\"\nchap = {{ user = \"u\", secret = \"file:/{secret}\" }}\n")
}

fn hosts(members: &str) -> String {
    format!(
        "[[host_group]]\nname = \"g\"\nmembers = [{members}]\n[[view]]\nname = \"v\"\nhost_group = \"g\"\n"
    )
}

/// What the second file does to a kernel that has the first.
fn change(before: &str, after: &str) -> (Kernel, Vec<Operation>) {
    let volumes = [volume("a", "1")];
    let operations = |text: &str, kernel: &Kernel| {
        let (desired, _) = desired(text, &volumes, &State::default());
        plan(&wanted(&desired), &kernel.found(), &none())
    };
    let mut kernel = Kernel::default();
    kernel.apply(&operations(before, &kernel));
    let change = operations(after, &kernel);
    // Killed anywhere, the next start ends it and a stop leaves nothing.
    for done in 0..=change.len() {
        let mut killed = kernel.clone();
        killed.apply(&change[..done]);
        let mut stopped = killed.clone();
        stopped.apply(&plan(&[], &stopped.found(), &none()));
        assert_eq!(stopped.found(), Tree::new());
        killed.apply(&operations(after, &killed));
        assert_eq!(killed.value(ENABLE), Some("1"));
        assert_eq!(operations(after, &killed), []);
    }
    (kernel, change)
}

/// Whether all sessions are ended before a client could keep one that it got by less.
fn ends(operations: &[Operation]) -> bool {
    let said = raw(operations);
    let off = said.find(&format!("0 > {ENABLE}\n"));
    let on = said.find(&format!("1 > {ENABLE}\n"));
    let secret = said.find("the secret in");
    match (off, secret, on) {
        (None, _, None) => false,
        (Some(off), Some(secret), Some(on)) => off < secret && secret < on,
        _ => panic!("{said}"),
    }
}

#[test]
fn chap_that_is_turned_on_and_another_secret_end_the_sessions() {
    let hosts = hosts("\"iqn.a\", \"iqn.b\"");
    for hosts in ["", &hosts] {
        let with = |chap: &str| format!("{chap}{hosts}");
        let open = with("[[target]]\nname = \"tank\"\n");
        let (one, other) = (with(&chap("s")), with(&chap("t")));
        let (_, on) = change(&open, &one);
        assert!(ends(&on), "{}", raw(&on));
        let (_, new) = change(&one, &other);
        assert!(ends(&new), "{}", raw(&new));
        assert_eq!(
            notable(&new, &BTreeMap::new()),
            ["CHAP of iqn.2026-01.lab:tank changes: its clients log in again"]
        );
        // Who has proved more than is asked for may stay.
        let (_, off) = change(&one, &open);
        assert!(!ends(&off), "{}", raw(&off));
    }
}

#[test]
fn a_secret_that_changes_where_it_is_kept_ends_the_sessions() {
    let (desired, _) = desired(&chap("s"), &[volume("a", "1")], &State::default());
    let mut kernel = Kernel::default();
    kernel.apply(&plan(&wanted(&desired), &Tree::new(), &none()));
    let secret = SecretRef::File("/s".into());
    let digests = BTreeMap::from([(secret, [7; 32])]);
    let other = entries(POOL, &desired, &digests, &Reservations::default());
    let said = raw(&plan(&other, &kernel.found(), &none()));
    let password = ENABLE.replace("enable", "auth/password");
    assert_eq!(
        said,
        format!("0 > {ENABLE}\n(the secret in file:/s) > {password}\n1 > {ENABLE}\n")
    );
}

#[test]
fn a_host_that_comes_ends_nobodys_session() {
    let (one, two) = (hosts("\"iqn.a\""), hosts("\"iqn.a\", \"iqn.b\""));
    let (_, more) = change(&(chap("s") + &one), &(chap("s") + &two));
    assert!(!ends(&more), "{}", raw(&more));
}

#[test]
fn a_client_that_the_kernel_knows_may_not_write_when_everybody_may_only_read() {
    let unit = |read_only| format!("[[unit]]\nvolume = \"a\"\nread_only = {read_only}\n");
    let group = ENABLE.trim_end_matches("/enable");
    for (before, after) in [(false, true), (true, false)] {
        let (mut kernel, operations) = change(&unit(before), &unit(after));
        // The kernel forgets whom it knows with the group.
        let [forgets, knows] = [
            Operation::Rmdir(group.into()),
            Operation::Mkdir(group.into()),
        ];
        let at = |what| operations.iter().position(|it| *it == what);
        assert!(at(forgets).unwrap() < at(knows).unwrap());
        kernel.apply(&operations);
        let protects = kernel.value(&format!("{group}/attrib/demo_mode_write_protect"));
        assert_eq!(protects, Some(if after { "1" } else { "0" }));
    }
    // For certain hosts it is a matter of each unit, and can be changed at any time.
    let hosts = hosts("\"iqn.a\"");
    let (_, operations) = change(&(unit(false) + &hosts), &(unit(true) + &hosts));
    assert!(!raw(&operations).contains("dir "), "{}", raw(&operations));
}
