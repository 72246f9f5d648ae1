//! What the logs of a lab tell whose links were cut (`cases/link`). What is expected lies in `cases/incident/`;
//! `UPDATE_CASES=1 cargo test -p hawser-account --test it incident_links::` writes that again, for a person to read the difference.

use crate::support::logs::{lab, logs};
use crate::support::saved::hold_incident;
use hawser_account::incident::{LogFile, LogKind, Names, incidents, lines};
use hawser_model::output::incident::IncidentsReport;

const LINKS: [&str; 8] = [
    "link-cut",
    "link-flaps",
    "links-all",
    "link-one-way",
    "link-then-other",
    "link-middle",
    "link-clean-stop",
    "link-head-lost",
];

/// When the logs of `cases/link` were recorded.
const LINKS_RECORDED: u64 = 1_795_808_700;

/// The logs of a lab whose links were cut.
fn link_files(name: &str) -> Vec<LogFile> {
    logs(&format!("link/{name}"))
}

fn of_links(name: &str) -> IncidentsReport {
    incidents(&link_files(name), &[], &lab(), LINKS_RECORDED)
}

#[test]
fn the_logs_of_each_cut_link_tell_what_is_expected() {
    for name in LINKS {
        hold_incident(name, &of_links(name));
    }
}

#[test]
fn a_link_that_was_down_is_an_incident_without_an_outage() {
    let one = |name: &str| {
        let report = of_links(name);
        let [incident] = report.incidents.as_slice() else {
            panic!("{name}: {report:#?}");
        };
        incident.clone()
    };
    // By Corosync's own lines: head2 says it down at 19:33:56.402, head1 up at 19:34:09.830.
    let cut = one("link-cut");
    assert_eq!(cut.trigger, "link ring1 between head1 and head2 was down");
    assert_eq!((cut.id.as_str(), cut.outage_s), ("20261127-193356", None));
    let [link] = cut.links.as_slice() else {
        panic!("{cut:#?}");
    };
    assert_eq!((link.times, link.down_s), (1, Some(13.428)));
    assert_eq!(link.said_by, ["head1".into(), "head2".into()]);
    let flaps = one("link-flaps");
    assert_eq!(
        flaps.trigger,
        "link ring1 between head1 and head2 was down 4 times"
    );
    assert_eq!(flaps.lasted_s, 25.412);
    // Less than a token: nobody was lost.
    let all = one("links-all");
    let last_left = "links ring0 and ring1 between head1 and head2 were down; for a time there was no link between head1 and head2";
    assert_eq!(all.trigger, last_left);
    assert!(
        all.links
            .iter()
            .all(|link| link.times == 2 && link.last_left)
    );
    let middle = one("link-middle");
    assert_eq!(
        (middle.links[0].since_known, middle.links[0].down_s),
        (false, None)
    );
    assert_eq!(
        middle.away(),
        "no service was away, a link down for a time whose beginning is not in these logs"
    );
}

#[test]
fn a_head_that_stops_has_its_links_with_it() {
    let [stop] = &of_links("link-clean-stop").incidents[..] else {
        panic!("{:#?}", of_links("link-clean-stop"));
    };
    assert_eq!(stop.links, []);
    assert!(stop.outage_s.is_some());
    // Both heads lost all links, and each other: one incident, which says so.
    let [lost] = &of_links("link-head-lost").incidents[..] else {
        panic!("{:#?}", of_links("link-head-lost"));
    };
    assert_eq!((lost.outage_s, lost.links.len()), (Some(0.0), 2));
}

#[test]
fn a_number_that_nobody_explains_is_told_as_one() {
    let report = incidents(
        &link_files("link-cut"),
        &[],
        &Names::default(),
        LINKS_RECORDED,
    );
    let triggers: Vec<&str> = report
        .incidents
        .iter()
        .map(|one| one.trigger.as_str())
        .collect();
    let said = "link 1 between head1 and node 2, link 1 between head2 and node 1 were down";
    assert_eq!(triggers, [said]);
    // A name that a log gives to the head that wrote it is none of the other end.
    let mut names = lab();
    names.nodes.insert(2, "head1".into());
    let report = incidents(&link_files("link-middle"), &[], &names, LINKS_RECORDED);
    assert!(
        report.incidents[0].trigger.contains("head1 and head2"),
        "{report:#?}"
    );
    names.nodes.insert(1, "head2".into());
    let report = incidents(&link_files("link-middle"), &[], &names, LINKS_RECORDED);
    assert!(
        report.incidents[0].trigger.contains("head2 and node 1"),
        "{report:#?}"
    );
}

#[test]
fn what_is_kept_of_links_tells_the_same_and_says_what_it_is() {
    for name in LINKS {
        let kept = |head: &str| {
            let mut own = link_files(name);
            own.retain(|file| file.folder == head);
            lines(&own, &[], LINKS_RECORDED)
        };
        let files = ["head1", "head2"].into_iter().flat_map(|head| {
            kept(head).into_iter().flat_map(move |kept| {
                let logs = [
                    (LogKind::Corosync, kept.corosync),
                    (LogKind::Pacemaker, kept.pacemaker),
                ];
                logs.map(|(kind, lines)| LogFile {
                    kind,
                    folder: head.to_owned(),
                    text: lines.join("\n"),
                })
            })
        });
        let files: Vec<LogFile> = files.collect();
        let told = incidents(&files, &[], &lab(), LINKS_RECORDED);
        let links = |report: &IncidentsReport| {
            let all = report.incidents.iter();
            all.map(|one| (one.id.clone(), one.trigger.clone(), one.links.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(links(&told), links(&of_links(name)), "{name}");
        let [mut all, other] = ["head1", "head2"].map(kept);
        all.extend(other);
        let alone: Vec<bool> = all.iter().map(|one| one.links_alone).collect();
        assert!(!alone.is_empty(), "{name}");
        let expected = !["link-clean-stop", "link-head-lost"].contains(&name);
        assert!(
            alone.iter().all(|alone| *alone == expected),
            "{name}: {alone:?}"
        );
    }
}

/// A token that came back is not the beginning of what happens hours later.
#[test]
fn a_loss_begins_with_its_own_silence() {
    let mut files = link_files("link-then-other");
    files.extend(link_files("link-clean-stop"));
    let report = incidents(&files, &[], &lab(), LINKS_RECORDED);
    let ids: Vec<&str> = report.incidents.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["20261127-193652", "20261127-193722"]);
}

#[test]
fn a_link_that_flaps_for_days_is_kept_by_its_beginning_and_end() {
    let flap = |n: u64| {
        let (day, hour, minute) = (20 + n / 1440, n / 60 % 24, n % 60);
        let line = |second: u32, what: &str| {
            format!(
                "Nov {day} {hour:02}:{minute:02}:{second:02}.000 [17] head1 corosync info    [KNET  ] {what}\n"
            )
        };
        line(1, "link: host: 2 link: 1 is down") + &line(9, "rx: host: 2 link: 1 is up")
    };
    let file = LogFile {
        kind: LogKind::Corosync,
        folder: "head1".to_owned(),
        text: (0..4000).map(flap).collect(),
    };
    let kept = lines(std::slice::from_ref(&file), &[], LINKS_RECORDED);
    let [kept] = kept.as_slice() else {
        panic!("{} incidents", kept.len());
    };
    assert_eq!(kept.corosync.len(), 2001);
    assert_eq!(
        kept.corosync[1000],
        "# 6000 lines about links are left out here"
    );
    assert!(
        kept.corosync[0].starts_with("Nov 20 00:00:01"),
        "{}",
        kept.corosync[0]
    );
    assert!(
        kept.corosync[2000].starts_with("Nov 22 18:39:09"),
        "{}",
        kept.corosync[2000]
    );
    let report = incidents(std::slice::from_ref(&file), &[], &lab(), LINKS_RECORDED);
    assert_eq!(report.incidents[0].links[0].times, 4000);
    // That something is missing is said where it is, and not while the log still has it.
    let kept = LogFile {
        text: kept.corosync.join("\n"),
        ..file.clone()
    };
    let gap = "head1: between 2026-11-20 08:19:09.000 and 2026-11-22 10:20:01.000 lines about links were not kept, 6000 or \
               more: how often and how long they were down then is not known";
    let gaps = |files: &[LogFile]| {
        let gaps = incidents(files, &[], &lab(), LINKS_RECORDED).gaps;
        gaps.into_iter()
            .filter(|gap| gap.contains("were not kept"))
            .collect::<Vec<_>>()
    };
    assert_eq!(gaps(std::slice::from_ref(&kept)), [gap]);
    assert_eq!(gaps(&[kept.clone(), kept.clone()]), [gap]);
    assert_eq!(gaps(&[kept, file]), [""; 0]);
}

/// One line more than the pairs have, and the cut goes through two of them.
#[test]
fn what_is_left_out_of_a_link_that_flaps_is_no_time_in_which_it_was_down() {
    let line = |second: u64, what: &str| {
        let (day, hour, minute) = (20 + second / 86_400, second / 3600 % 24, second / 60 % 60);
        let second = second % 60;
        format!(
            "Nov {day} {hour:02}:{minute:02}:{second:02}.000 [17] head1 corosync info    [KNET  ] {what}\n"
        )
    };
    let flaps = |n: u64| {
        line(60 * n + 1, "link: host: 2 link: 1 is down")
            + &line(60 * n + 9, "rx: host: 2 link: 1 is up")
    };
    let told = |text: String| {
        let file = LogFile {
            kind: LogKind::Corosync,
            folder: "head1".to_owned(),
            text,
        };
        let kept = lines(std::slice::from_ref(&file), &[], LINKS_RECORDED);
        assert_eq!(kept.len(), 1);
        let kept = LogFile {
            text: kept[0].corosync.join("\n"),
            ..file
        };
        let report = incidents(&[kept], &[], &lab(), LINKS_RECORDED);
        let links = report.incidents.iter().flat_map(|one| &one.links);
        links
            .map(|link| (link.link.clone(), link.times, link.down_s))
            .collect::<Vec<_>>()
    };
    let down = line(0, "link: host: 2 link: 0 is down");
    let up = line(60 * 4000, "rx: host: 2 link: 0 is up");
    let all: String = (0..4000).map(flaps).collect();
    // 499 whole pairs before the cut, and 499 after it, of 8 s each.
    let ring1 = |times: u64| ("ring1".to_owned(), times, Some(times as f64 * 8.0));
    // The other link was down all that time, and nothing that was left out says anything else.
    let long = ("ring0".to_owned(), 1, Some(240_000.0));
    assert_eq!(told(format!("{down}{all}{up}")), [long, ring1(998)]);
    let mut apart = told(format!("{down}{all}"));
    apart.retain(|(link, ..)| link == "ring1");
    // After the cut are 500 whole ones.
    assert_eq!(apart, [ring1(499), ring1(500)]);
}

#[test]
fn a_length_is_the_least_where_the_end_of_a_time_in_between_is_not_known() {
    let line = |second: u32, what: &str| {
        format!("Nov 20 10:00:{second:02}.000 [17] head1 corosync info    [KNET  ] {what}\n")
    };
    let (down, up) = ("link: host: 2 link: 1 is down", "rx: host: 2 link: 1 is up");
    let told = |lines: &[(u32, &str)]| {
        let file = LogFile {
            kind: LogKind::Corosync,
            folder: "head1".to_owned(),
            text: lines
                .iter()
                .map(|(second, what)| line(*second, what))
                .collect(),
        };
        let report = incidents(&[file], &[], &lab(), LINKS_RECORDED);
        let [incident] = report.incidents.as_slice() else {
            panic!("{report:#?}");
        };
        incident.links[0].how_long()
    };
    let whole = [(1, down), (4, up), (10, down), (12, up)];
    assert_eq!(told(&whole), "2 times, for 5.000 s together");
    // Nobody saw it come up before it went down again.
    let lost = [(1, down), (4, up), (6, down), (10, down), (12, up)];
    assert_eq!(told(&lost), "3 times, for at least 5.000 s together");
}
