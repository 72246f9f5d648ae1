//! A cable of a heartbeat link that is pulled and plugged in again, in a cluster that is watched.

use serde_json::Value;

use super::SOON;
use super::support::{Lab, eventually, json, run};
use super::times::between;

/// What the heads' logs and watches tell of links alone.
fn told(lab: &Lab) -> Vec<Value> {
    let list = run(&["incident", "list", "--lab", lab.name(), "--json"]);
    let list = json(&list, "incident-list");
    let all = list.as_array().expect("a list").iter();
    all.filter(|one| one.get("outage_s").is_none())
        .cloned()
        .collect()
}

/// When Corosync of a head said so of its second link to a node the last time.
#[track_caller]
fn said(lab: &Lab, head: &str, node: u8, state: &str) -> String {
    let what = format!("host: {node} link: 1 is {state}");
    let log = "/var/log/corosync/corosync.log";
    let line = lab.sh(head, &format!("grep -F '{what}' {log} | tail -n 1"));
    let time = line.split_whitespace().nth(2);
    time.unwrap_or_else(|| panic!("{head} has not said {what}"))
        .to_owned()
}

/// `head2/ring1` is cut: both other heads lose that link to it.
#[track_caller]
pub fn a_cut_link_is_told_and_kept(lab: &Lab) {
    assert_eq!(told(lab), [Value::Null; 0]);
    lab.ok(&["cut", "head2/ring1"]);
    let down = |incident: &Value| incident["links"].as_array().map_or(0, Vec::len) == 2;
    assert!(
        eventually(SOON, || told(lab).iter().any(down)),
        "{:?}",
        told(lab)
    );
    lab.ok(&["heal", "head2/ring1"]);
    let up = |incident: &Value| {
        let mut links = incident["links"].as_array().expect("links").iter();
        links.len() == 2
            && links.all(|link| link["until"] == "up" && link["said_by"][1].is_string())
    };
    assert!(
        eventually(SOON, || told(lab).iter().any(up)),
        "{:?}",
        told(lab)
    );
    let all = told(lab);
    let [incident] = all.as_slice() else {
        panic!("{all:#?}");
    };
    // A port that loses its carrier once is down once.
    for (node, other, own) in [(2, "head1", 1), (2, "head3", 3)] {
        let ends = |state| {
            [
                said(lab, other, node, state),
                said(lab, "head2", own, state),
            ]
        };
        let began = ends("down").into_iter().min().expect("two ends");
        let ended = ends("up").into_iter().max().expect("two ends");
        let mut links = incident["links"].as_array().expect("links").iter();
        let mut between_them: [&str; 2] = ["head2", other];
        between_them.sort_unstable();
        let link = links.find(|link| link["between"] == Value::from(between_them.as_slice()));
        let link = link.unwrap_or_else(|| panic!("{between_them:?}: {incident}"));
        assert_eq!(
            (&link["link"], &link["times"]),
            (&"ring1".into(), &1.into())
        );
        assert_eq!(link["last_left"], false, "ring0 was there");
        let seconds = link["down_s"].as_f64().expect("seconds");
        let logged = between(&began, &ended);
        assert!((seconds - logged).abs() < 1.0, "{seconds} of {logged}");
    }
    // Each head keeps it by the second in which its own log begins to tell of it.
    let folder = "/var/lib/hawser/incidents";
    let kept = || {
        lab.try_sh("head2", &format!("ls {folder}/*-links.json"))
            .code
            == Some(0)
    };
    assert!(
        eventually(SOON, kept),
        "{:?}",
        lab.try_sh("head2", &format!("ls {folder}")).stdout
    );
}
