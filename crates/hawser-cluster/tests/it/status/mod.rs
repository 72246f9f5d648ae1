//! What is said of a cluster at a bad moment, from what its heads would have answered then.

mod another_cluster;
mod disagree;
mod fencing;
mod keys;
mod one_view;
mod ready;
mod recorded;
mod silent;
mod watchers;

use std::collections::{BTreeMap, BTreeSet};

use crate::golden::{Golden, compare, folder};
use crate::plan::running;
use crate::scheduler::Scheduler;
use hawser_cluster::cib::fencing::targets;
use hawser_cluster::host::HeadView;
use hawser_cluster::host::view::{Fencer, PoolView, Quorum, Room, Told};
use hawser_cluster::live::{StatusFacts, status};
use hawser_cluster::simulate::{Event, Simulator};
use hawser_cluster::xml::Element;
use hawser_model::names::HostName;
use hawser_model::output::cluster::ClusterStatus;

/// A history in which nobody was ever fenced.
const NOBODY: &str = "<pacemaker-result/>";

/// The live CIB of the cluster that Debian's packages start when they are installed.
pub const EXAMPLE: &str = r#"<cib crm_feature_set="3.16.2" validate-with="pacemaker-3.9" epoch="5" num_updates="6"
    admin_epoch="0" have-quorum="1" dc-uuid="1"><configuration><crm_config>
    <cluster_property_set id="cib-bootstrap-options">
    <nvpair id="cib-bootstrap-options-cluster-infrastructure" name="cluster-infrastructure" value="corosync"/>
    <nvpair id="cib-bootstrap-options-cluster-name" name="cluster-name" value="debian"/></cluster_property_set></crm_config>
    <nodes><node id="1" uname="node1"/></nodes><resources/><constraints/></configuration><status>
    <node_state id="1" uname="node1" in_ccm="true" crmd="online" join="member" expected="member"/></status></cib>"#;

/// The live CIB of a cluster in which all is well and head2 decides.
fn well(golden: &Golden) -> Element {
    let mut cib = running(golden);
    cib.set("have-quorum", "1");
    cib.set("dc-uuid", "2");
    cib
}

/// The same text as what a DC would say.
fn decided(cib: &str) -> String {
    let mut cib = Element::parse(cib, "the CIB").unwrap();
    cib.set("dc-uuid", "2");
    as_pacemaker_2_plants_failures(&mut cib);
    cib.to_text()
}

/// For `crm_simulate` of Pacemaker 3 the failure of a start that it is told to plant is fatal at once.
fn as_pacemaker_2_plants_failures(element: &mut Element) {
    let name = element.get("name").unwrap_or_default();
    if name.starts_with("fail-count-") && element.get("value") == Some("INFINITY") {
        element.set("value", "1");
    }
    for child in &mut element.children {
        as_pacemaker_2_plants_failures(child);
    }
}

/// A cluster in which events happened, as Pacemaker leaves it.
fn after(cib: &Element, events: &[Event]) -> String {
    let after = Scheduler.simulate(&cib.to_text(), events).unwrap();
    decided(&after.cib_after)
}

/// The membership that a node is in.
fn quorum(local: u32, members: &[u32]) -> Option<Told<Quorum>> {
    Some(Told::Said(Quorum {
        quorate: true,
        ring: format!("{}.9", members[0]),
        local,
        members: members.iter().copied().collect(),
    }))
}

/// What a head says of a cluster in which all is well.
fn view(golden: &Golden, local: u32, cib: &str) -> HeadView {
    let members: Vec<u32> = (1..).take(golden.file.nodes.len()).collect();
    let mut links = BTreeMap::new();
    for other in members.iter().filter(|other| **other != local) {
        for link in ["0", "1"] {
            let key = format!("stats.knet.node{other}.link{link}.connected");
            links.insert(key, "1".to_owned());
        }
    }
    let mut can: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (device, victims) in targets(&golden.file) {
        for victim in victims
            .into_iter()
            .filter(|victim| *victim != name(local).to_string())
        {
            can.entry(victim).or_default().insert(device.clone());
        }
    }
    let active = |pool: &str| match (pool, local) {
        ("vmpool01", 1) | ("vmpool02", 2) => PoolView::Here {
            file: Told::Said(None),
            offered: Told::Said(Some(Vec::new())),
            room: Told::Said(Some(Room::default())),
            disks: Told::Said(None),
            ports: BTreeSet::new(),
            encrypted: Told::Said(Vec::new()),
        },
        _ => PoolView::Away(Told::Said(None)),
    };
    let pools = golden.file.pools.iter().map(|pool| pool.name.to_string());
    HeadView {
        up_s: Some(86_400),
        corosync: true,
        pacemaker: true,
        quorum: quorum(local, &members),
        controller: Some(Told::Said("S_NOT_DC".into())),
        cib: Some(Told::Said(cib.to_owned())),
        fencer: Some(Told::Said(Fencer {
            history: NOBODY.into(),
            can,
        })),
        links: vec![links],
        services: [("tgtd".to_owned(), Told::Said(None))].into(),
        pools: pools.map(|pool| (pool.clone(), active(&pool))).collect(),
        ..HeadView::default()
    }
}

fn name(number: u32) -> HostName {
    HostName::from(format!("head{number}").as_str())
}

/// Both heads say the same.
fn both(golden: &Golden, cib: &str) -> StatusFacts {
    StatusFacts {
        views: [1, 2]
            .map(|head| (name(head), view(golden, head, cib)))
            .into(),
        ..StatusFacts::default()
    }
}

fn healthy(golden: &Golden) -> StatusFacts {
    both(golden, &well(golden).to_text())
}

/// Both pools are on head2.
fn on_head2(facts: StatusFacts) -> StatusFacts {
    let facts = but(facts, 1, |view| {
        let away = view.pools["vmpool02"].clone();
        view.pools.insert("vmpool01".into(), away);
    });
    but(facts, 2, |view| {
        let here = view.pools["vmpool02"].clone();
        view.pools.insert("vmpool01".into(), here);
    })
}

/// The facts with something else said by one head.
fn but(mut facts: StatusFacts, head: u32, change: impl FnOnce(&mut HeadView)) -> StatusFacts {
    change(facts.views.get_mut(&name(head)).expect("the head"));
    facts
}

/// The fencer of a head with another history.
fn with_history(facts: StatusFacts, head: u32, text: &str) -> StatusFacts {
    but(facts, head, |view| {
        if let Some(Told::Said(fencer)) = &mut view.fencer {
            fencer.history = text.to_owned();
        }
    })
}

/// The same text with something replaced that must be there.
#[track_caller]
fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "no {from}");
    text.replace(from, to)
}

#[track_caller]
fn golden_status(golden: &Golden, name: &str, facts: &StatusFacts) -> ClusterStatus {
    let mut now = status(&golden.file, facts, &Scheduler).unwrap();
    // crm_simulate stamps what it plays with the time of day.
    if let Some(takeover) = &mut now.last_takeover {
        takeover.at = 0;
    }
    let text = serde_json::to_string_pretty(&now).unwrap() + "\n";
    compare(&folder("status").join(format!("{name}.json")), &text);
    // Nothing is called redundant that has a reason not to be, nor the other way round.
    assert_eq!(
        now.redundant,
        now.reason.is_none(),
        "{name}: {:?}",
        now.reason
    );
    now
}

/// What is degraded, in one text.
#[track_caller]
fn said(now: &ClusterStatus) -> String {
    now.degraded.join("\n")
}
