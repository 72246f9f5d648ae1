//! What simulated heads are asked for their past, and what is told of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_agent::questions::Pulse;
use hawser_cluster::corosync::generate;
use hawser_cluster::host::KeptLogs;
use hawser_cluster::host::drill::LogTexts;
use hawser_cluster::host::questions::{KeepLogs, ReadCib, ReadFile, ReadKeptLogs, ReadLogEnds};
use hawser_cluster::host::{Content, OwnedFile};
use hawser_cluster::numbering::Numbering;
use hawser_cluster::plan::COROSYNC_CONF;
use hawser_host::sim::{Simulated, Wire};
use hawser_host::{Host, Hosts};
use hawser_model::cluster_file::parse_complete;
use hawser_model::drill::DrillCase;
use hawser_model::names::HostName;
use hawser_model::output::incident::IncidentsReport;
use hawser_watch::history::{history, own_history};
use hawser_watch::live::newest;
use hawser_watch::recorder::Recorder;

use crate::watched::file;

/// Lines of an incident that is too large to be kept.
const LARGE: usize = 1000;

/// A head with the logs that a drill has recorded, and so many bytes of older ones before them.
struct Head {
    texts: [String; 2],
    kept: Arc<Mutex<Vec<KeptLogs>>>,
    conf: Option<String>,
}

hawser_host::answers! {
    Head;
    ReadLogEnds: |ask, head| {
        let mut logs = LogTexts::default();
        for (index, text) in head.texts.iter().enumerate() {
            logs.lengths[index] = text.len() as u64;
            logs.texts[index] = text[text.len().saturating_sub(ask.bytes as usize)..].to_owned();
        }
        logs
    };
    ReadCib: |_, _| None;
    ReadFile: |ask, head| match ask.path.as_str() {
        COROSYNC_CONF => head.conf.clone().map(|text| OwnedFile {
            mode: 0o644,
            content: Content(text.into_bytes()),
        }),
        other => return Err(format!("{other} is asked for").into()),
    };
    KeepLogs: |ask, head| {
        if ask.logs.pacemaker.len() > LARGE {
            return Err("larger than an incident may be".into());
        }
        if !ask.pools.is_empty() {
            return Err(format!("it is on the pool below {}", ask.pools[0]).into());
        }
        let mut kept = head.kept.lock().unwrap();
        kept.retain(|there| there.id != ask.logs.id);
        kept.push(ask.logs);
    };
    ReadKeptLogs: |_, head| head.kept.lock().unwrap().clone();
}

fn heads(case: &DrillCase, wire: &Wire, older: usize) -> Hosts {
    let heads = case.logs.iter().map(|(name, logs)| {
        let texts = [&logs.corosync, &logs.pacemaker].map(|lines| {
            "of another time, which tells nothing here\n".repeat(older / 40) + &lines.join("\n")
        });
        let head = Simulated::new(
            name.clone(),
            Head {
                texts,
                kept: Arc::default(),
                conf: None,
            },
            QUESTIONS,
            wire,
        );
        (name.clone(), Box::new(head) as Box<dyn Host>)
    });
    heads.collect()
}

#[test]
fn the_heads_logs_tell_of_a_power_cut_that_nobody_watched() {
    let case: DrillCase = hawser_cases::read("drill/power-cut");
    for older in [0, 7 << 20] {
        let report = history(
            &mut heads(&case, &Wire::default(), older),
            &BTreeMap::new(),
            None,
            case.recorded,
        );
        let [incident] = report.incidents.as_slice() else {
            panic!("{report:#?}");
        };
        assert_eq!(incident.fenced, [HostName::from("head1")]);
        let [away] = incident.services.as_slice() else {
            panic!("{incident:#?}");
        };
        assert_eq!(
            (away.service.as_str(), away.outage_s, away.unattributed_s),
            ("vmpool01", 5.548, 0.0)
        );
        let tail = report
            .gaps
            .iter()
            .filter(|gap| gap.contains("only the last 4 MiB"));
        assert_eq!(
            tail.count(),
            if older == 0 { 0 } else { 4 },
            "{:?}",
            report.gaps
        );
    }
}

#[test]
fn a_head_that_is_away_is_a_gap_and_the_other_tells_what_it_saw() {
    let case: DrillCase = hawser_cases::read("drill/power-cut");
    let wire = Wire::default();
    wire.lose("head1".into());
    let unreached = BTreeMap::from([("head3".into(), "no route to host".to_owned())]);
    let report = history(&mut heads(&case, &wire, 0), &unreached, None, case.recorded);
    assert_eq!(report.incidents.len(), 1);
    for told in ["head1: ", "head3: no route to host"] {
        assert!(
            report.gaps.iter().any(|gap| gap.starts_with(told)),
            "{:?}",
            report.gaps
        );
    }
}

/// Each head keeps what its own log says; when the logs are gone, both together still tell the whole.
#[test]
fn what_a_watch_has_kept_tells_the_same_when_the_logs_were_rotated_away() {
    let case: DrillCase = hawser_cases::read("drill/power-cut");
    let wire = Wire::default();
    let whole = history(
        &mut heads(&case, &wire, 0),
        &BTreeMap::new(),
        None,
        case.recorded,
    );
    let mut rotated = Hosts::new();
    for (name, logs) in &case.logs {
        let kept = Arc::<Mutex<Vec<KeptLogs>>>::default();
        let head = |texts| {
            let kept = kept.clone();
            Simulated::new(
                name.clone(),
                Head {
                    texts,
                    kept,
                    conf: None,
                },
                QUESTIONS,
                &wire,
            )
        };
        let texts = [&logs.corosync, &logs.pacemaker].map(|lines| lines.join("\n"));
        let mut recorder = Recorder::default();
        for _ in 0..2 {
            recorder
                .keep(&mut head(texts.clone()), Duration::ZERO, case.recorded)
                .unwrap();
        }
        rotated.insert(name.clone(), Box::new(head([String::new(), String::new()])));
    }
    let told = history(&mut rotated, &BTreeMap::new(), None, case.recorded);
    let account = |report: &IncidentsReport| {
        let mut incidents = report.incidents.clone();
        incidents.iter_mut().for_each(|one| one.lines.clear());
        incidents
    };
    assert_eq!(account(&told), account(&whole));
    // What head1 logged when it booted was about no incident of its own, and went with its log.
    let lines = |report: &IncidentsReport| report.incidents[0].lines.clone();
    let mut all = lines(&whole);
    all.retain(|line| line.host == "head2".into());
    assert_eq!(lines(&told), all);
    assert!(!told.incidents.is_empty());
}

#[test]
fn a_cut_link_is_told_by_the_file_s_names_and_kept_as_what_it_is() {
    let file = file();
    let logs = [
        (
            "head1",
            include_str!("../../../../cases/link/link-cut/head1/corosync.log"),
        ),
        (
            "head2",
            include_str!("../../../../cases/link/link-cut/head2/corosync.log"),
        ),
    ];
    let (wire, now) = (Wire::default(), 1_795_808_700);
    let kept = Arc::<Mutex<Vec<KeptLogs>>>::default();
    let conf = generate(&file, &Numbering::of(&file, None));
    let head = |name: &str, log: &str| {
        let conf = Some(conf.clone());
        let texts = [log.to_owned(), String::new()];
        let kept = kept.clone();
        Simulated::new(name.into(), Head { texts, kept, conf }, QUESTIONS, &wire)
    };
    let heads = logs.map(|(name, log)| (name.into(), Box::new(head(name, log)) as Box<dyn Host>));
    let report = history(
        &mut heads.into_iter().collect(),
        &BTreeMap::new(),
        Some(&file),
        now,
    );
    let shown = newest(&report).newest;
    let [line] = shown.as_slice() else {
        panic!("{report:#?}");
    };
    let said = (line.away.as_str(), line.trigger.as_str());
    let away = "no service was away, a link down for 13.428 s";
    assert_eq!(said, (away, "link ring1 between head1 and head2 was down"));
    // What one head alone keeps names nobody, and says what may go first.
    let mut recorder = Recorder::default();
    let mut own = head("head2", logs[1].1);
    recorder.keep(&mut own, Duration::ZERO, now).unwrap();
    let kept = kept.lock().unwrap();
    let [one] = kept.as_slice() else {
        panic!("{kept:#?}");
    };
    assert_eq!(
        (one.id.as_str(), one.links_alone),
        ("20261127-193356", true)
    );
    assert_eq!(
        one.corosync.len(),
        2,
        "what tells of links, and nothing else"
    );
}

/// The head's file has the heartbeat links in another order than the running cluster has numbered them.
#[test]
fn a_link_has_the_name_that_the_running_cluster_s_number_means() {
    let text = include_str!("../../../../examples/lab/hawser.toml");
    let ordered = parse_complete(text, "hawser.toml").unwrap();
    let conf = generate(&ordered, &Numbering::of(&ordered, None));
    let swap = |text: &str| {
        let names = text.replace("ring0", "ring#").replace("ring1", "ring0");
        names.replace("ring#", "ring1")
    };
    // What was ring1, and has Corosync's number 1, stands first now.
    let file = swap(text)
        .replace("10.72.0.", "10.72.#.")
        .replace("10.72.1.", "10.72.0.")
        .replace("10.72.#.", "10.72.1.");
    let file = parse_complete(&file, "hawser.toml").unwrap();
    assert_eq!(Numbering::of(&file, None).links["ring1"], 0);
    let log = include_str!("../../../../cases/link/link-cut/head2/corosync.log");
    let triggers = |conf: Option<&str>| {
        let texts = [log.to_owned(), String::new()];
        let head = || Head {
            texts: texts.clone(),
            kept: Arc::default(),
            conf: conf.map(str::to_owned),
        };
        let wire = Wire::default();
        let mut own = Simulated::new("head2".into(), head(), QUESTIONS, &wire);
        let host: Box<dyn Host> =
            Box::new(Simulated::new("head2".into(), head(), QUESTIONS, &wire));
        let mut heads: Hosts = [("head2".into(), host)].into_iter().collect();
        let now = 1_795_808_700;
        let reports = [
            history(&mut heads, &BTreeMap::new(), Some(&file), now),
            own_history(&mut own, None, &file, now).unwrap(),
        ];
        reports.map(|report| report.incidents[0].trigger.clone())
    };
    let named = "link ring1 between head1 and head2 was down";
    assert_eq!(triggers(Some(&conf)), [named; 2]);
    // Without it, or with one that cannot be read, a number is no name.
    let bare = "link 1 between head2 and node 1 was down";
    for unknown in [None, Some("totem {"), Some("nodelist {\n}\n")] {
        assert_eq!(triggers(unknown), [bare; 2], "{unknown:?}");
    }
}

#[test]
fn an_incident_that_is_too_large_keeps_no_other_from_being_kept() {
    let line = |hour: u32, n: usize| {
        let what = match n % 3 {
            0 => "Initiating stop operation a_stop_0 on head1",
            1 => "Initiating start operation a_start_0 on head1",
            _ => "Transition 1 action 2 (a_start_0 on head1) confirmed: ok",
        };
        let (minute, second) = (n / 60, n % 60);
        format!(
            "Nov 25 {hour:02}:{minute:02}:{second:02}.000 head1 pacemaker-controld [1] (x) notice: {what}"
        )
    };
    let large = (0..=LARGE + 1).map(|n| line(1, n));
    let small = (0..3).map(|n| line(3, n));
    let text = large.chain(small).collect::<Vec<_>>().join("\n");
    let kept = Arc::<Mutex<Vec<KeptLogs>>>::default();
    let head = Head {
        texts: [String::new(), text],
        kept: kept.clone(),
        conf: None,
    };
    let mut head = Simulated::new("head1".into(), head, QUESTIONS, &Wire::default());
    let mut recorder = Recorder::default();
    let seconds = Duration::from_secs;
    let mut keep = |second| {
        let kept = recorder.keep(&mut head, seconds(second), 1_795_640_000);
        kept.unwrap_err();
        recorder.said()
    };
    // What is in the way is said once, and tried again.
    let said = keep(40);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("what happened is not kept: "),
        "{said:?}"
    );
    assert!(
        said[0].contains("larger than an incident may be"),
        "{said:?}"
    );
    assert_eq!(keep(50), [""; 0]);
    let quiet = Pulse::default();
    let tried: Vec<u64> = (51..1300)
        .filter(|second| recorder.pulse(seconds(*second), &quiet))
        .collect();
    assert_eq!(tried[..2], [86, 650]);
    let ids: Vec<String> = kept
        .lock()
        .unwrap()
        .iter()
        .map(|one| one.id.clone())
        .collect();
    assert_eq!(ids, ["20261125-030000"]);
}

#[test]
fn an_incident_is_kept_below_no_folder_of_a_pool() {
    let case: DrillCase = hawser_cases::read("drill/power-cut");
    let logs = &case.logs["head2"];
    let head = Head {
        texts: [&logs.corosync, &logs.pacemaker].map(|lines| lines.join("\n")),
        kept: Arc::default(),
        conf: None,
    };
    let kept = Arc::clone(&head.kept);
    let mut head = Simulated::new("head2".into(), head, QUESTIONS, &Wire::default());
    let mut recorder = Recorder::new(vec!["/vmpool01".to_owned()]);
    let refused = recorder.keep(&mut head, Duration::ZERO, case.recorded);
    refused.unwrap_err();
    let said = recorder.said();
    assert!(
        said[0].contains("it is on the pool below /vmpool01"),
        "{said:?}"
    );
    assert!(kept.lock().unwrap().is_empty());
}

#[test]
fn the_logs_are_read_when_it_is_quiet_again_or_never_becomes_so() {
    let seconds = Duration::from_secs;
    let pulse = |log| Pulse {
        corosync_log: Some(log),
        ..Pulse::default()
    };
    let mut recorder = Recorder::default();
    let read: Vec<u64> = (0..200)
        .filter(|second| {
            let log = if (100..110).contains(second) {
                second - 99
            } else if *second < 100 {
                0
            } else {
                10
            };
            recorder.pulse(seconds(*second), &pulse(log))
        })
        .collect();
    // What happened before the watch began; what happened from 100 to 110.
    assert_eq!(read, [35, 144]);
    let restless: Vec<u64> = (200..1500)
        .filter(|second| recorder.pulse(seconds(*second), &pulse(*second)))
        .collect();
    assert_eq!(restless, [800, 1401]);
}
