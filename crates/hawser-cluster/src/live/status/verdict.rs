//! The one line that comes first: is it served, is it redundant, and if not, why.

use std::collections::BTreeMap;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::cluster::{
    ClusterStatus, NodeCondition, NodeStatus, PoolStatus, ServiceState,
};

use super::findings::Findings;
use super::signs::{Said, Sign};
use super::{Judged, device_now, heads, pools};
use crate::host::HeadView;
use crate::live::truth::{Stand, Startup, Truth};
use crate::live::views::StatusFacts;
use crate::simulate::{Picture, Story, StoryStep};

/// How the cluster stands, and the reason when it is not redundant. `gone`: what else keeps clients from a pool that Pacemaker
/// believes to run.
pub(super) fn state(
    nodes: &[NodeStatus],
    pools: &[PoolStatus],
    gone: &BTreeMap<String, String>,
    story: &Story,
    facts: &StatusFacts,
    truth: &Truth,
    found: &Findings,
) -> (ServiceState, Option<String>) {
    // A lost head that answers may go on serving, which it was asked itself.
    let dead = |head: &HostName| {
        let mut lost = nodes
            .iter()
            .filter(|node| node.state == NodeCondition::Unclean);
        lost.any(|node| node.name == *head) && !facts.views.contains_key(head)
    };
    let down: Vec<(&PoolStatus, String)> = pools
        .iter()
        .filter_map(|pool| Some((pool, not_served(pool, &dead, gone)?)))
        .collect();
    if !down.is_empty() {
        let lost = nodes
            .iter()
            .any(|node| node.state == NodeCondition::Unclean);
        let comes = |pool: &PoolStatus| starting_on(pool, story);
        let starts =
            truth.all_start() || (!lost && down.iter().all(|(pool, _)| comes(pool).is_some()));
        let texts = down.into_iter().map(|(pool, text)| match comes(pool) {
            // What a dead head had waits until it is off.
            Some(node) if !pool.active_on.as_ref().is_some_and(dead) => {
                format!("{text}, and is being started on {node}")
            }
            _ => text,
        });
        let text = texts.collect::<Vec<_>>().join("; ");
        let state = match starts {
            true => ServiceState::Starting,
            false => ServiceState::Down,
        };
        return (state, Some(text));
    }
    match found.first_cost() {
        None => (ServiceState::Redundant, None),
        Some(reason) => (ServiceState::NotRedundant, Some(reason.to_owned())),
    }
}

/// What of a pool its clients miss.
fn not_served(
    pool: &PoolStatus,
    dead: &dyn Fn(&HostName) -> bool,
    gone: &BTreeMap<String, String>,
) -> Option<String> {
    let name = &pool.name;
    let Some(node) = &pool.active_on else {
        return Some(format!("{name} runs nowhere"));
    };
    if dead(node) {
        return Some(format!(
            "{name} was on {node}, which is lost, and is not taken over yet"
        ));
    }
    if pool.exports.iter().any(|it| !it.up) {
        return Some(format!("{name} is on {node} and is not offered"));
    }
    let none = !pool.addresses.is_empty() && pool.addresses.iter().all(|it| !it.up);
    if none {
        return Some(format!("{name} is on {node} and has no address"));
    }
    gone.get(name).cloned()
}

/// Where Pacemaker is about to start a pool or a part of it.
fn starting_on<'a>(pool: &PoolStatus, story: &'a Story) -> Option<&'a str> {
    story.steps.iter().find_map(|step| match step {
        StoryStep::Storage {
            pool: of,
            start: true,
            node,
            ..
        }
        | StoryStep::Exports {
            pool: of,
            start: true,
            node,
        }
        | StoryStep::Addresses {
            pool: of,
            start: true,
            node,
            ..
        } if *of == pool.name => Some(node.as_str()),
        _ => None,
    })
}

/// A cluster of which no head has a view.
pub(super) fn nothing_runs(file: &ClusterFile, facts: &StatusFacts, truth: &Truth) -> Judged {
    let nodes: Vec<NodeStatus> = file
        .nodes
        .iter()
        .map(|node| NodeStatus {
            name: node.name.get().clone(),
            state: match truth.stands.get(node.name.get()) {
                Some(Stand::Starting(_)) => NodeCondition::Starting,
                Some(Stand::Down(_)) => NodeCondition::Offline,
                _ => NodeCondition::Unknown,
            },
        })
        .collect();
    let starts = truth.all_start();
    // Of a cluster of which no head answered nothing is known, not even that nothing runs.
    let asked = !facts.views.is_empty();
    let mut names = file.nodes.iter().map(|node| node.name.get());
    let all_answered = asked && names.all(|name| facts.views.contains_key(name));
    // Nor of one whose engine runs and does not answer.
    let hides = !starts && facts.views.values().any(HeadView::hides_the_cluster);
    let another = |stand: &Stand| matches!(stand, Stand::Another(_));
    let elsewhere = truth.stands.values().any(another);
    let reason = match (asked, starts) {
        (false, _) => "no head answered".to_owned(),
        (true, true) => "no head has joined a cluster yet".to_owned(),
        (true, _) if hides => "no head that was reached says how the cluster stands".to_owned(),
        (true, false) if elsewhere => {
            format!("{} runs on no node that was reached", file.cluster.name)
        }
        (true, false) => "Pacemaker runs on no node that was reached".to_owned(),
    };
    let mut degraded = Vec::new();
    if asked && !hides {
        degraded.push((Sign::NothingRuns.everywhere(), reason.clone()));
    }
    for (head, stand) in &truth.stands {
        let (sign, text) = match stand {
            Stand::Starting(Startup::Boots) => (
                Sign::HeadStarting,
                format!(
                    "{head} is starting: the machine is up, its cluster services do not run yet"
                ),
            ),
            Stand::Starting(_) => (
                Sign::HeadStarting,
                format!("{head} is starting: it is joining the cluster"),
            ),
            Stand::Down(what) => (
                Sign::HeadAway,
                format!("{what} does not run on {head}; `hawser apply` starts it"),
            ),
            Stand::Frozen(why) => (
                Sign::CorosyncHangs,
                format!("Corosync on {head} runs and does not answer ({why}): it hangs"),
            ),
            Stand::Mute(why) => (
                Sign::PacemakerMute,
                format!("Pacemaker on {head} does not answer ({why})"),
            ),
            Stand::Another(cluster) => (Sign::HeadElsewhere, heads::elsewhere(head, cluster)),
            Stand::Member | Stand::Minority => continue,
        };
        degraded.push((sign.on(head), text));
    }
    let unreached = facts.unreached.iter();
    degraded.extend(
        unreached.map(|(node, why)| (Sign::HeadNotReached.on(node), format!("{node}: {why}"))),
    );
    let pools = file.pools.iter();
    let said = degraded.iter().map(|(mark, text)| Said {
        mark: mark.clone(),
        severity: mark.sign.severity(),
        text: text.clone(),
    });
    let said = said.collect();
    let status = ClusterStatus {
        cluster: file.cluster.name.to_string(),
        state: match starts {
            true => ServiceState::Starting,
            // Who did not answer may serve.
            false if hides || !all_answered => ServiceState::Unknown,
            false => ServiceState::Down,
        },
        reason: Some(reason),
        quorate: false,
        redundant: false,
        view_of: None,
        degraded: degraded.into_iter().map(|(_, text)| text).collect(),
        notes: Vec::new(),
        quorum_device: device_now(file, facts, truth),
        nodes,
        pools: pools
            .map(|pool| pools::pool_now(pool, &Picture::default()))
            .collect(),
        if_lost: BTreeMap::new(),
        last_takeover: None,
    };
    Judged { status, said }
}
