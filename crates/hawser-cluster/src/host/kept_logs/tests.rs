//! Incidents that are kept in a folder, and which of them go.

use super::*;

fn kept_in(folder: &Path) -> Result<Vec<KeptLogs>, FileError> {
    let mut all = Vec::new();
    each_in(
        folder,
        |_: &Folder, _: &OsString| true,
        |kept| {
            all.push(kept);
            true
        },
    )?;
    Ok(all)
}

fn incident(id: &str) -> KeptLogs {
    KeptLogs {
        id: id.to_owned(),
        corosync: vec!["a".to_owned()],
        ..KeptLogs::default()
    }
}

#[test]
fn the_newest_of_each_head_are_kept_and_read_first() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("below/incidents");
    assert_eq!(kept_in(&folder).unwrap(), []);
    assert_eq!(list_in(&folder).unwrap(), []);
    let others = KeptLogs {
        head: Some("head2.example".into()),
        ..incident("20261121-111412")
    };
    keep_in(&folder, others.clone(), &[]).unwrap();
    for n in 0..KEPT + 3 {
        keep_in(&folder, incident(&format!("20261122-{n:06}")), &[]).unwrap();
    }
    let kept = kept_in(&folder).unwrap();
    assert_eq!(kept.len(), KEPT + 1);
    assert_eq!(kept[0].id, format!("20261122-{:06}", KEPT + 2));
    assert_eq!(kept[KEPT], others);
    let listed = list_in(&folder).unwrap();
    assert_eq!((listed.len(), &listed[0].id), (KEPT, &kept[0].id));
    assert_eq!(one_in(&folder, &kept[0].id).unwrap(), Some(kept[0].clone()));
    assert_eq!(one_in(&folder, "20261121-111412").unwrap(), None);
}

fn of_links(id: &str) -> KeptLogs {
    KeptLogs {
        links_alone: true,
        ..incident(id)
    }
}

#[test]
fn links_alone_push_out_no_head() {
    let dir = tempfile::tempdir().unwrap();
    let keep = |logs| keep_in(dir.path(), logs, &[]).unwrap();
    let ids = |links_alone: bool| -> Vec<String> {
        let kept = kept_in(dir.path()).unwrap().into_iter();
        let kept = kept.filter(|one| one.links_alone == links_alone);
        kept.map(|one| one.id).collect()
    };
    // The oldest of all is a head's, and then a link flaps for weeks; of another head so much is kept too.
    keep(incident("20261101-000000"));
    let others = KeptLogs {
        head: Some("head2".into()),
        ..of_links("20261101-000000")
    };
    keep(others.clone());
    for n in 0..KEPT + 20 {
        keep(of_links(&format!("20261122-{n:06}")));
    }
    assert_eq!(ids(false), ["20261101-000000"]);
    assert_eq!(ids(true).len(), KEPT);
    assert_eq!(ids(true)[0], format!("20261122-{:06}", KEPT + 19));
    let listed = list_in(dir.path()).unwrap();
    assert_eq!((listed.len(), &listed[KEPT - 1].id), (KEPT, &ids(false)[0]));
    // Where heads fill it, not even the newest link finds room; then the oldest head goes.
    for n in 1..KEPT {
        keep(incident(&format!("20261123-{n:06}")));
    }
    keep(of_links("20261124-000000"));
    assert_eq!(ids(true), [others.id]);
    assert_eq!(ids(false)[KEPT - 1], "20261101-000000");
    keep(incident("20261125-000000"));
    assert_eq!(ids(false)[KEPT - 1], "20261123-000001");
}

#[test]
fn an_incident_that_takes_a_head_with_it_is_kept_once_and_as_that() {
    let dir = tempfile::tempdir().unwrap();
    let readings = KeptReadings {
        damaged: 3,
        ..KeptReadings::default()
    };
    let with = |logs: KeptLogs| KeptLogs {
        readings: Some(readings.clone()),
        ..logs
    };
    let (link, head) = (of_links("20261122-111412"), incident("20261122-111412"));
    keep_in(dir.path(), with(link.clone()), &[]).unwrap();
    let kept = || one_in(dir.path(), "20261122-111412").unwrap();
    assert_eq!(kept(), Some(with(link.clone())));
    // What was read around it stays.
    keep_in(dir.path(), head.clone(), &[]).unwrap();
    assert_eq!(kept_in(dir.path()).unwrap(), [with(head.clone())]);
    // What says less later replaces nothing.
    keep_in(dir.path(), link, &[]).unwrap();
    assert_eq!(kept_in(dir.path()).unwrap(), [with(head)]);
    // Nor is a file believed whose name says another thing.
    let (file, other) = ("20261122-111412.json", "20261122-111413-links.json");
    let text = std::fs::read_to_string(dir.path().join(file)).unwrap();
    std::fs::write(dir.path().join(other), text.replace("111412", "111413")).unwrap();
    assert_eq!(kept_in(dir.path()).unwrap().len(), 1);
}

#[test]
fn nothing_is_kept_on_a_pool() {
    let dir = tempfile::tempdir().unwrap();
    let pool = dir.path().join("vmpool01");
    std::fs::create_dir(&pool).unwrap();
    let pools = [pool.to_str().unwrap().to_owned()];
    let kept = incident("20261122-111412");
    let refused = keep_in(&pool.join("incidents"), kept.clone(), &pools).unwrap_err();
    let said = refused.to_string();
    assert!(said.contains("incidents is on the pool below"), "{said}");
    keep_in(&dir.path().join("incidents"), kept, &pools).unwrap();
}

#[test]
fn a_name_leads_nowhere_else_and_a_damaged_file_hides_no_other() {
    let dir = tempfile::tempdir().unwrap();
    for id in ["", "../x", "a", "1/2"] {
        keep_in(dir.path(), incident(id), &[]).unwrap_err();
        one_in(dir.path(), id).unwrap_err();
    }
    for head in ["", "../x", "a/b", "a\nb"] {
        let of = KeptLogs {
            head: Some(head.into()),
            ..incident("20261122-111412")
        };
        keep_in(dir.path(), of, &[]).unwrap_err();
    }
    keep_in(dir.path(), incident("20261122-111412"), &[]).unwrap();
    std::fs::write(dir.path().join("20261122-111413.json"), "{").unwrap();
    // One that says that it is another's.
    let other = dir.path().join("20261122-111414.json");
    std::fs::copy(dir.path().join("20261122-111412.json"), other).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("9.json")).unwrap();
    assert_eq!(kept_in(dir.path()).unwrap(), [incident("20261122-111412")]);
}

#[test]
fn readings_stay_when_lines_are_kept_again_and_are_left_out_where_they_are_too_much() {
    let dir = tempfile::tempdir().unwrap();
    let with = |readings: KeptReadings| KeptLogs {
        readings: Some(readings),
        ..incident("20261122-111412")
    };
    let some = KeptReadings {
        damaged: 3,
        ..KeptReadings::default()
    };
    keep_in(dir.path(), with(some.clone()), &[]).unwrap();
    keep_in(dir.path(), incident("20261122-111412"), &[]).unwrap();
    assert_eq!(kept_in(dir.path()).unwrap(), [with(some)]);
    // Readings that are brought alone belong to the lines that have been kept meanwhile.
    let longer = KeptLogs {
        corosync: vec!["a".to_owned(), "b".to_owned()],
        ..incident("20261122-111412")
    };
    keep_in(dir.path(), longer.clone(), &[]).unwrap();
    let alone = |id: &str| KeptLogs {
        id: id.to_owned(),
        readings: Some(KeptReadings::default()),
        ..KeptLogs::default()
    };
    keep_in(dir.path(), alone("20261122-111412"), &[]).unwrap();
    let both = KeptLogs {
        readings: Some(KeptReadings::default()),
        ..longer
    };
    assert_eq!(kept_in(dir.path()).unwrap(), [both]);
    keep_in(dir.path(), alone("20261122-111413"), &[]).unwrap_err();
    let many = KeptReadings {
        gaps: vec![Default::default(); KeptLogs::LARGEST as usize / 4],
        ..KeptReadings::default()
    };
    keep_in(dir.path(), with(many), &[]).unwrap();
    assert_eq!(kept_in(dir.path()).unwrap(), [incident("20261122-111412")]);
}

#[test]
fn of_heads_that_left_long_ago_nothing_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let of = |head: usize, id: &str| KeptLogs {
        head: Some(format!("head{head}").as_str().into()),
        ..incident(id)
    };
    keep_in(dir.path(), incident("20261101-000000"), &[]).unwrap();
    for head in 0..=HEADS {
        for day in [1, 2] {
            let id = format!("202611{:02}-{day:06}", head + 2);
            keep_in(dir.path(), of(head, &id), &[]).unwrap();
        }
    }
    let heads = || -> BTreeSet<Option<HostName>> {
        let kept = kept_in(dir.path()).unwrap().into_iter();
        kept.map(|one| one.head).collect()
    };
    let own_and = |heads: std::ops::RangeInclusive<usize>| {
        let others = heads.map(|head| of(head, "").head);
        others.chain([None]).collect::<BTreeSet<_>>()
    };
    assert_eq!(heads(), own_and(1..=HEADS));
    assert_eq!(kept_in(dir.path()).unwrap().len(), 2 * HEADS + 1);
    // Of the head itself all stays, old as it is, and of one that is back it is kept again.
    keep_in(dir.path(), of(0, "20261201-000000"), &[]).unwrap();
    assert!(heads().contains(&None) && heads().contains(&Some("head0".into())));
    assert!(!heads().contains(&Some("head1".into())));
}

#[test]
fn only_files_that_may_have_a_time_are_read_for_it() {
    let dir = tempfile::tempdir().unwrap();
    // 2026-11-22 11:14:12, and a reading of ten seconds later.
    let began = 1_795_346_052;
    let readings = KeptReadings {
        readings: vec![hawser_model::readings::Reading {
            at: Moment((began + 10) * 1_000_000),
            ..Default::default()
        }],
        ..KeptReadings::default()
    };
    let names = ["20261122-111412", "20261127-000000", "20261101-000000"];
    for name in names {
        let logs = KeptLogs {
            readings: Some(readings.clone()),
            ..incident(name)
        };
        keep_in(dir.path(), logs, &[]).unwrap();
    }
    // The last one was written before the time that is asked for.
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(began - 20 * 86_400);
    let file = std::fs::File::options();
    let file = file
        .clone()
        .write(true)
        .open(dir.path().join("20261101-000000.json"));
    file.unwrap().set_modified(old).unwrap();
    let (from, to) = (
        Moment((began - 60) * 1_000_000),
        Moment((began + 120) * 1_000_000),
    );
    let folder = Folder::open(dir.path()).unwrap();
    let may = |name: &str| may_have(&folder, &format!("{name}.json").into(), from, to);
    assert_eq!(names.map(may), [true, false, false]);
    assert_eq!(readings_in(dir.path(), from, to).unwrap().len(), 1);
    // A head far to the east has another day.
    assert!(may("20261123-235959"));
    assert_eq!(readings_in(dir.path(), to, Moment(u64::MAX)).unwrap(), []);
}
