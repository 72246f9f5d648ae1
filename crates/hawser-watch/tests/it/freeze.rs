//! What a head keeps of what was read around its own incidents.

use std::sync::{Arc, Mutex};

use crate::told::told;
use hawser_account::incident::moment;
use hawser_agent::questions::ReadReadings;
use hawser_cluster::host::questions::{KeepLogs, ListKeptLogs, ReadKeptLog};
use hawser_cluster::host::{KeptLogs, KeptName};
use hawser_host::sim::{Simulated, Wire};
use hawser_model::drill::Moment;
use hawser_model::readings::KeptReadings;
use hawser_watch::freeze::Freezer;

/// A head with one incident, and a ring that ends at some time.
#[derive(Clone)]
struct Head {
    kept: Arc<Mutex<KeptLogs>>,
    newest: Arc<Mutex<Option<Moment>>>,
    asked: Arc<Mutex<Vec<(Moment, Moment)>>>,
}

hawser_host::answers! {
    Head;
    ListKeptLogs: |_, head| vec![KeptName { id: head.kept.lock().unwrap().id.clone(), bytes: 1, written_ns: 1 }];
    ReadKeptLog: |_, head| Some(head.kept.lock().unwrap().clone());
    ReadReadings: |ask, head| {
        head.asked.lock().unwrap().push((ask.from, ask.to));
        KeptReadings { newest: *head.newest.lock().unwrap(), ..KeptReadings::default() }
    };
    KeepLogs: |ask, head| {
        let logs = ask.logs;
        assert!(logs.corosync.is_empty() && logs.pacemaker.is_empty(), "lines are the recorder's");
        head.kept.lock().unwrap().readings = logs.readings;
    };
}

#[test]
fn what_was_read_around_an_incident_is_kept_with_it_when_two_minutes_have_passed() {
    let report = told();
    let incident = &report.incidents[0];
    let began = moment(&incident.began).unwrap();
    let head = Head {
        kept: Arc::new(Mutex::new(KeptLogs {
            id: incident.id.clone(),
            ..KeptLogs::default()
        })),
        newest: Arc::new(Mutex::new(None)),
        asked: Arc::default(),
    };
    let freeze = |freezer: &mut Freezer| {
        let mut host = Simulated::new("head1".into(), head.clone(), QUESTIONS, &Wire::default());
        freezer.freeze(&mut host, &report).unwrap();
        head.kept.lock().unwrap().readings.is_some()
    };
    let mut freezer = Freezer::default();
    let ended = began.shifted((incident.lasted_s * 1e6) as i64);
    *head.newest.lock().unwrap() = Some(ended.shifted(119_000_000));
    assert!(!freeze(&mut freezer), "more is to come");
    *head.newest.lock().unwrap() = Some(ended.shifted(121_000_000));
    assert!(freeze(&mut freezer));
    let asked = head.asked.lock().unwrap().clone();
    assert_eq!(
        asked[1],
        (began.shifted(-60_000_000), ended.shifted(120_000_000))
    );
    // It is read once; and not again by a watch that was started again.
    assert!(freeze(&mut freezer) && freeze(&mut Freezer::default()));
    assert_eq!(head.asked.lock().unwrap().len(), 2);
}

#[test]
fn where_no_watch_keeps_readings_nothing_is_kept_and_it_is_not_asked_again() {
    let report = told();
    let head = Head {
        kept: Arc::new(Mutex::new(KeptLogs {
            id: report.incidents[0].id.clone(),
            ..KeptLogs::default()
        })),
        newest: Arc::default(),
        asked: Arc::default(),
    };
    let mut host = Simulated::new("head1".into(), head.clone(), QUESTIONS, &Wire::default());
    let mut freezer = Freezer::default();
    for _ in 0..2 {
        freezer.freeze(&mut host, &report).unwrap();
    }
    assert!(head.kept.lock().unwrap().readings.is_none());
    assert_eq!(head.asked.lock().unwrap().len(), 1);
}
