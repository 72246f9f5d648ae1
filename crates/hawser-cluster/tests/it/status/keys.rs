//! What is encrypted in a pool needs its key on whichever head takes the pool over.

use std::time::Duration;

use super::*;
use crate::scheduler::Scheduler;
use hawser_cluster::host::questions::CompareKeys;
use hawser_cluster::host::view::Limits;
use hawser_cluster::host::{Encrypted, KeyFile, ViewQuestion};
use hawser_cluster::live::observe;
use hawser_host::sim::{Simulated, Wire};
use hawser_host::{Host, Hosts};
use hawser_model::cluster_file::{At, ClusterFile};

/// A head, and the keys that it has by their paths.
struct Head {
    view: HeadView,
    keys: BTreeMap<String, u8>,
}

hawser_host::answers! {
    Head;
    ViewQuestion: |_, head| head.view.clone();
    CompareKeys: |ask, head| {
        assert_ne!(ask.salt, [0; 32]);
        let said = |file: &String| match head.keys.get(file) {
            Some(key) => KeyFile::There([*key; 32]),
            None => KeyFile::Unfit("is not there".into()),
        };
        ask.files.iter().map(|file| (file.clone(), said(file))).collect()
    };
}

const FILE: &str = "/etc/zfs/keys/secret";

/// vmpool01 is on head1, and vmpool01/secret in it is encrypted by what is found there. What each head has at [`FILE`].
fn degraded(location: &str, options: &str, keys: [Option<u8>; 2]) -> Vec<String> {
    let golden = Golden::named("lab");
    let mut facts = healthy(&golden);
    let views = facts.views.get_mut("head1").unwrap();
    let Some(PoolView::Here { encrypted, .. }) = views.pools.get_mut("vmpool01") else {
        panic!("it is on head1");
    };
    *encrypted = Told::Said(vec![Encrypted {
        dataset: "vmpool01/secret".into(),
        key: location.into(),
    }]);
    let wire = Wire::default();
    let head = |((name, view), key): ((HostName, HeadView), Option<u8>)| {
        let keys = key.map(|key| (FILE.to_owned(), key)).into_iter().collect();
        let head = Simulated::new(name.clone(), Head { view, keys }, QUESTIONS, &wire);
        (name, Box::new(head) as Box<dyn Host>)
    };
    let mut heads: Hosts = facts.views.into_iter().zip(keys).map(head).collect();
    let file = with_import_options(golden.file, options);
    let seen = observe(
        &file,
        &mut heads,
        BTreeMap::new(),
        Limits::PROMPT,
        Duration::ZERO,
    );
    status(&file, &seen, &Scheduler).unwrap().degraded
}

/// The file with options of the import, as if its pools were on ZFS.
fn with_import_options(mut file: ClusterFile, options: &str) -> ClusterFile {
    for pool in &mut file.pools {
        pool.import_options = Some(At::new(options.to_owned(), 0..0));
    }
    file
}

#[test]
fn a_key_that_all_heads_have_and_load_costs_nothing() {
    let same = degraded(&format!("file://{FILE}"), "-d /dev -l", [Some(1), Some(1)]);
    assert_eq!(same, Vec::<String>::new());
    // Who serves it is not asked about here.
    let elsewhere = degraded("https://keys/secret", "-l", [None, None]);
    assert_eq!(elsewhere, Vec::<String>::new());
}

#[test]
fn a_key_that_no_import_loads_is_told() {
    assert_eq!(
        degraded(&format!("file://{FILE}"), "-d /dev", [Some(1), Some(1)]),
        [
            "vmpool01/secret stays locked when another head takes vmpool01 over: `zpool import` loads no key without -l, \
             which the pool's `import_options` do not have"
        ]
    );
    assert_eq!(
        degraded("prompt", "-l", [None, None]),
        [
            "vmpool01/secret stays locked when another head takes vmpool01 over: its key is typed in, so that no head can \
             load it by itself: `zfs set keylocation=file:///…`"
        ]
    );
}

#[test]
fn a_head_without_the_key_or_with_another_one_is_named() {
    let found = |keys| degraded(&format!("file://{FILE}"), "-l", keys);
    let locked = "vmpool01/secret would stay locked on";
    let key = format!("its key {FILE}");
    assert_eq!(
        found([Some(1), None]),
        [format!("{locked} head2: {key} is not there")]
    );
    assert_eq!(
        found([Some(1), Some(2)]),
        [format!("{locked} head2: {key} is not the same as on head1")]
    );
    // Somebody has loaded it by hand.
    assert_eq!(
        found([None, Some(1)]),
        [format!("{locked} head1: {key} is not there")]
    );
}
