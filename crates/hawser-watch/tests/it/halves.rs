//! What a head takes of the incidents that another one has kept.

use std::sync::{Arc, Mutex};

use hawser_cluster::host::questions::{KeepLogs, ListKeptLogs, ReadKeptLog};
use hawser_cluster::host::{KeptLogs, KeptName};
use hawser_host::sim::{Simulated, Wire};
use hawser_model::names::HostName;
use hawser_watch::peers::others::TakenLogs;

/// Two heads: what one has kept, and what is kept here.
#[derive(Clone, Default)]
struct Kept {
    listed: Arc<Mutex<Vec<KeptName>>>,
    here: Arc<Mutex<Vec<KeptLogs>>>,
}

hawser_host::answers! {
    Kept;
    ListKeptLogs: |_, head| head.listed.lock().unwrap().clone();
    // It names itself as it likes.
    ReadKeptLog: |_, _| Some(KeptLogs { id: "../x".into(), head: Some("head1".into()), ..KeptLogs::default() });
    KeepLogs: |ask, head| head.here.lock().unwrap().push(ask.logs);
}

#[test]
fn what_another_head_has_kept_is_taken_once_and_again_when_it_has_changed() {
    let kept = Kept::default();
    let name = |id: &str, bytes| KeptName {
        id: id.into(),
        bytes,
        written_ns: 0,
    };
    let simulated =
        |name: &str| Simulated::new(name.into(), kept.clone(), QUESTIONS, &Wire::default());
    let (mut other, mut own) = (simulated("head2"), simulated("head1"));
    let mut known = TakenLogs::default();
    let mut take = || {
        known
            .take(&"head2".into(), &mut other, &mut own, &[])
            .unwrap()
    };
    assert_eq!(take(), 0);
    *kept.listed.lock().unwrap() = vec![name("20261127-020000", 9), name("20261127-010000", 9)];
    assert_eq!((take(), take()), (2, 0));
    kept.listed.lock().unwrap()[0].bytes = 10;
    assert_eq!((take(), take()), (1, 0));
    let here = kept.here.lock().unwrap();
    let told: Vec<_> = here
        .iter()
        .map(|it| (it.id.as_str(), it.head.clone().unwrap()))
        .collect();
    let head2 = HostName::from("head2");
    assert_eq!(
        told,
        [
            ("20261127-010000", head2.clone()),
            ("20261127-020000", head2.clone()),
            ("20261127-020000", head2)
        ]
    );
}
