//! What the watches of two heads show, as one.

use std::collections::BTreeMap;
use std::sync::Arc;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::finding::{Place, Severity};
use hawser_model::names::HostName;
use hawser_model::output::cluster::{ClusterStatus, NodeCondition};
use hawser_model::output::watch::{Alarm, HeadReading};
use hawser_watch::join::{Other, joined, seen};
use hawser_watch::shown::{Shown, ShownHead};

/// Two heads on these links.
fn of_links(links: &str) -> ClusterFile {
    let text = format!(
        r#"
[cluster]
name = "c"

[[node]]
name = "head1"

[[node]]
name = "head2"
{links}"#
    );
    hawser_model::cluster_file::parse(&text, "hawser.toml").unwrap()
}

fn file() -> ClusterFile {
    of_links("[[link]]\nname = \"ring0\"\n")
}

fn alarm(code: &str, place: Place, since: u64) -> Alarm {
    Alarm {
        code: code.to_owned(),
        severity: Severity::Warning,
        place,
        parts: Vec::new(),
        since: Some(since),
        times: 1,
        text: format!("{code}, seen"),
        fix: None,
    }
}

fn on(host: &str, peer: Option<&str>) -> Place {
    Place {
        link: Some("ring0".into()),
        peer: peer.map(Into::into),
        ..Place::on(&host.into())
    }
}

fn status() -> ClusterStatus {
    let text = r#"{"cluster": "c", "state": "redundant", "quorate": true, "redundant": true, "degraded": [],
                   "notes": [], "nodes": [], "pools": [], "if_lost": {}}"#;
    serde_json::from_str(text).unwrap()
}

/// What the watch of a head shows, with these troubles.
fn shows(head: &str, corosync: bool, troubles: Vec<Alarm>) -> Shown {
    let mut shown = Shown {
        troubles: troubles.clone(),
        tells: true,
        status: Some(status()),
        members: [(HostName::from(head), NodeCondition::Online)].into(),
        ..Shown::default()
    };
    shown.reading.read_at = 1_000;
    shown.reading.alarms = troubles;
    shown.reading.heads.push(HeadReading {
        name: head.into(),
        unreached: None,
        seen_at: None,
        links: Vec::new(),
        quorate: Some(true),
        pools: Vec::new(),
        exports: Vec::new(),
        alarms: Vec::new(),
    });
    let own = ShownHead {
        corosync,
        ..ShownHead::default()
    };
    shown.heads.insert(head.into(), own);
    shown
}

fn other(shown: Shown, why: Option<&str>) -> BTreeMap<HostName, Other> {
    let name = shown.reading.heads[0].name.clone();
    let shown = Some(Arc::new(shown));
    let why = why.map(str::to_owned);
    [(name, Other { shown, why })].into()
}

#[test]
fn a_trouble_that_both_see_is_one_and_a_port_takes_the_link_of_the_other_end_with_it() {
    let away = |since| alarm("head-away", Place::on(&"head3".into()), since);
    let mine = shows(
        "head2",
        true,
        vec![
            away(20),
            alarm("heartbeat-link-down", on("head2", Some("head1")), 11),
        ],
    );
    let theirs = shows(
        "head1",
        true,
        vec![away(10), alarm("link-down", on("head1", None), 12)],
    );
    let all = joined(&file(), &mine, &other(theirs, None));
    let told: Vec<_> = all
        .reading
        .alarms
        .iter()
        .map(|it| (it.code.as_str(), it.since))
        .collect();
    assert_eq!(told, [("head-away", Some(10)), ("link-down", Some(11))]);
    assert!(all.whole && all.heads.len() == 2);
    let heads: Vec<_> = all
        .reading
        .heads
        .iter()
        .map(|head| head.name.as_str())
        .collect();
    assert_eq!(heads, ["head1", "head2"]);
}

#[test]
fn a_head_whose_watch_does_not_answer_is_named_with_the_reason_and_its_old_alarms_are_not_shown() {
    let theirs = shows(
        "head2",
        true,
        vec![alarm("link-down", on("head2", None), 12)],
    );
    let all = joined(
        &file(),
        &shows("head1", true, Vec::new()),
        &other(theirs, Some("connection refused")),
    );
    let head2 = &all.reading.heads[1];
    assert_eq!(
        head2.unreached.as_deref(),
        Some("its watch does not answer (connection refused)")
    );
    assert_eq!((head2.seen_at, head2.quorate), (Some(1_000), None));
    assert!(all.reading.alarms.is_empty() && !all.heads.contains_key(&HostName::from("head2")));
}

#[test]
fn the_cluster_is_as_a_head_sees_it_whose_corosync_runs() {
    let mine = shows("head1", false, Vec::new());
    let theirs = shows("head2", true, Vec::new());
    let all = joined(&file(), &mine, &other(theirs.clone(), None));
    assert_eq!(all.members, theirs.members);
    let alone = joined(&file(), &mine, &other(theirs, Some("gone")));
    assert_eq!(alone.members, mine.members);
}

#[test]
fn the_second_head_knows_what_the_first_one_tells_and_the_first_waits_for_nobody() {
    let down = alarm("heartbeat-link-down", on("head2", Some("head1")), 11);
    let second = shows("head2", true, vec![down.clone()]);
    let first = shows(
        "head1",
        true,
        vec![alarm("link-down", on("head1", None), 12)],
    );
    let told = seen(
        &file(),
        &"head2".into(),
        &second,
        &other(first.clone(), None),
    );
    let link_down = first.troubles[0].key();
    assert!(told.earlier.unwrap().contains_key(&link_down));
    assert!(told.absorbed.contains(&down.key()));
    let none = seen(
        &file(),
        &"head1".into(),
        &first,
        &other(second.clone(), None),
    );
    assert!(none.earlier.is_none());
    let dead = seen(
        &file(),
        &"head2".into(),
        &second,
        &other(first.clone(), Some("gone")),
    );
    assert!(dead.earlier.is_none());
    let mute = Shown {
        tells: false,
        ..first
    };
    let mute = seen(&file(), &"head2".into(), &second, &other(mute, None));
    assert!(
        mute.earlier.is_none(),
        "who tells nobody is waited for by nobody"
    );
}

#[test]
fn a_group_that_only_both_heads_together_make_is_told_part_by_part() {
    let on_sw1 = |link: &str| format!("[[link]]\nname = \"{link}\"\nswitch = \"sw1\"\n");
    let file = of_links(&(on_sw1("ring0") + &on_sw1("ring1")));
    let port = |link: &str, head: &str| Place {
        link: Some(link.into()),
        ..Place::on(&head.into())
    };
    let ring1 = alarm("link-down", port("ring1", "head2"), 11);
    let first = shows(
        "head1",
        true,
        vec![alarm("link-down", port("ring0", "head1"), 12)],
    );
    let second = shows("head2", true, vec![ring1.clone()]);
    let others = other(first, None);
    let all = joined(&file, &second, &others);
    assert_eq!(all.reading.alarms[0].code, "links-of-one-switch-down");
    let told = seen(&file, &"head2".into(), &second, &others);
    assert!(told.absorbed.is_empty() && !told.earlier.unwrap().contains_key(&ring1.key()));
}

#[test]
fn a_link_of_this_head_that_the_first_ones_group_does_not_have_is_told_here() {
    let on_sw1 = |link: &str| format!("[[link]]\nname = \"{link}\"\nswitch = \"sw1\"\n");
    let file = of_links(&(on_sw1("ring0") + &on_sw1("ring1")));
    let place = |link: &str, head: &str, peer: Option<&str>| Place {
        link: Some(link.into()),
        peer: peer.map(Into::into),
        ..Place::on(&head.into())
    };
    let ports = ["ring0", "ring1"].map(|link| alarm("link-down", place(link, "head1", None), 12));
    let mut first = shows("head1", true, ports.to_vec());
    first.reading.alarms = hawser_watch::group::grouped(ports.to_vec(), &file.topology());
    let port = alarm("link-down", place("ring0", "head2", None), 20);
    let heartbeat = place("ring1", "head2", Some("head1"));
    let heartbeat = alarm("heartbeat-link-down", heartbeat, 14);
    let second = shows("head2", true, vec![port.clone(), heartbeat.clone()]);
    let told = seen(&file, &"head2".into(), &second, &other(first, None));
    assert!(told.absorbed.contains(&heartbeat.key()));
    assert!(!told.absorbed.contains(&port.key()));
}
