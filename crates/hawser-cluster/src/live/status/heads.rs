//! The heads: which of them is believed, how the others differ, and what each is.

use std::collections::BTreeMap;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::cluster::{NodeCondition, NodeStatus};

use super::findings::Findings;
use super::signs::Sign;
use crate::live::takeover::Shots;
use crate::live::truth::{Stand, Startup, Truth, members};
use crate::live::views::StatusFacts;
use crate::numbering::Numbering;
use crate::simulate::{NodeState, Picture};

/// The nodes as the believed head sees them. One that boots is not lost, and one that joins is not in standby, which
/// is what Pacemaker calls it.
pub(super) fn nodes(
    file: &ClusterFile,
    now: &Picture,
    truth: &Truth,
    shots: &Shots,
) -> Vec<NodeStatus> {
    let names = file.nodes.iter().map(|node| node.name.get());
    let of = |name: &HostName| {
        let state = now.nodes.get(name.as_str());
        let starts = truth.starts(name).is_some();
        let state = match state {
            Some(NodeState { unclean: true, .. }) if starts && !shots.last_missed(name) => {
                NodeCondition::Starting
            }
            Some(NodeState { unclean: true, .. }) => NodeCondition::Unclean,
            Some(NodeState { online: false, .. }) | None if starts => NodeCondition::Starting,
            Some(NodeState { online: false, .. }) | None => NodeCondition::Offline,
            Some(NodeState {
                maintenance: true, ..
            }) => NodeCondition::Maintenance,
            Some(NodeState { pending: true, .. }) => NodeCondition::Starting,
            Some(NodeState { standby: true, .. }) => NodeCondition::Standby,
            Some(_) => NodeCondition::Online,
        };
        NodeStatus {
            name: name.clone(),
            state,
        }
    };
    names.map(of).collect()
}

/// Heads that do not see each other and both hold themselves for the cluster.
pub(super) fn split(truth: &Truth, found: &mut Findings) {
    if let Some(from) = &truth.from {
        for other in &truth.split {
            let text = format!(
                "{from} and {other} both hold themselves for the cluster and do not see each other: both may write to \
                 the same pools. Cut the power of one of them now; what follows is {from}'s view"
            );
            let pair = [from.clone(), other.clone()];
            found.costs(Sign::HeadsSplit.between(&pair, None), text);
        }
    }
}

/// Where the views of the heads differ, and whose is taken.
pub(super) fn views(file: &ClusterFile, facts: &StatusFacts, truth: &Truth, found: &mut Findings) {
    for (name, stand) in &truth.stands {
        match stand {
            Stand::Frozen(why) => {
                let text = format!(
                    "Corosync on {name} runs and does not answer ({why}): it hangs, and what {name} says of the \
                     cluster is not believed"
                );
                found.costs(Sign::CorosyncHangs.on(name), text);
            }
            Stand::Mute(why) => {
                let text = format!(
                    "Pacemaker on {name} runs and does not give its view of the cluster ({why})"
                );
                found.costs(Sign::PacemakerMute.on(name), text);
            }
            Stand::Minority if truth.quorate => {
                let view = &facts.views[name];
                let numbering = Numbering::said(file, view.nodes.as_ref());
                let seen = members(view);
                let seen = numbering.nodes.iter().filter(|(_, id)| seen.contains(id));
                let seen: Vec<&str> = seen.map(|(node, _)| node.as_str()).collect();
                let text = format!(
                    "{name} has no quorum and sees only {}: it is cut off, and its view is not the cluster's",
                    seen.join(", ")
                );
                found.costs(Sign::HeadCutOff.on(name), text);
            }
            Stand::Member
            | Stand::Minority
            | Stand::Starting(_)
            | Stand::Down(_)
            | Stand::Another(_) => {}
        }
    }
    for (name, seconds) in &truth.hung {
        let text = format!(
            "Pacemaker's controller on {name} does not answer within {seconds} s: until it does, nothing is started or \
             stopped there and no failure is acted upon (`crmadmin -S {name}` asks it)"
        );
        found.costs(Sign::ControllerHangs.on(name), text);
    }
}

/// What is wrong with the nodes. One that is away costs nothing where the others survive the loss of another.
pub(super) fn wrong(
    nodes: &[NodeStatus],
    holds: &BTreeMap<HostName, Vec<&str>>,
    survives: bool,
    facts: &StatusFacts,
    truth: &Truth,
    shots: &Shots,
    found: &mut Findings,
) {
    for node in nodes {
        let name = &node.name;
        let away = !matches!(node.state, NodeCondition::Unclean | NodeCondition::Online);
        let mut say = |mark, text| match away && survives {
            true => found.wrong(mark, text),
            false => found.costs(mark, text),
        };
        if let Some(Stand::Another(cluster)) = truth.stands.get(name) {
            say(Sign::HeadElsewhere.on(name), elsewhere(name, cluster));
        }
        let text = match node.state {
            NodeCondition::Unclean => lost(name, facts, truth, shots),
            NodeCondition::Online => match facts.unreached.get(name) {
                Some(why) => format!(
                    "{name} is a member but was not reached, so whether it could take over is not known: {why}"
                ),
                None => continue,
            },
            NodeCondition::Starting => match truth.starts(name) {
                Some(Startup::Boots) => {
                    format!(
                        "{name} is starting: the machine is up, its cluster services do not run yet"
                    )
                }
                Some(Startup::Joins) => {
                    format!("{name} is starting: its Pacemaker has not joined yet")
                }
                Some(Startup::Elects) | None => {
                    format!("{name} is starting: it is joining the cluster")
                }
            },
            NodeCondition::Standby => {
                let what = match holds.get(name) {
                    None => ": nothing runs there".to_owned(),
                    Some(pools) => format!(", and still has {}", pools.join(", ")),
                };
                format!("{name} is in standby{what}; `hawser online {name}` lets it back")
            }
            NodeCondition::Maintenance => format!(
                "{name} is in maintenance: nothing is watched there; `crm_attribute --node {name} --name maintenance \
                 --delete` ends it"
            ),
            NodeCondition::Offline => match (truth.stands.get(name), facts.unreached.get(name)) {
                (Some(Stand::Another(_)), _) => continue,
                (Some(Stand::Down(what)), _) => format!(
                    "{name} is not a member of the cluster: {what} does not run there; `hawser apply` starts it"
                ),
                (_, Some(why)) => {
                    format!("{name} is not a member of the cluster, and was not reached: {why}")
                }
                _ => format!("{name} is not a member of the cluster"),
            },
            // Of a cluster that a head sees, each node is something.
            NodeCondition::Unknown => continue,
        };
        let mark = match node.state {
            NodeCondition::Unclean => Sign::HeadLost,
            NodeCondition::Online | NodeCondition::Unknown => Sign::HeadNotReached,
            NodeCondition::Starting => Sign::HeadStarting,
            NodeCondition::Standby => Sign::HeadStandby,
            NodeCondition::Maintenance => Sign::HeadMaintenance,
            NodeCondition::Offline => Sign::HeadAway,
        }
        .on(name);
        say(mark, text);
    }
}

/// A head that runs another cluster, and what makes it one of this.
pub(super) fn elsewhere(head: &HostName, cluster: &str) -> String {
    format!(
        "{head} runs another cluster, {cluster} by its CIB, which names no other node of the file: if nobody needs that, \
         `systemctl stop pacemaker corosync` there ends it, and `hawser apply` makes {head} a node of this one"
    )
}

/// A node that is gone and not known to be off. To confirm it as off is the last resort, and only for a node that was
/// shot at in vain by a cluster that may: who confirms a node that lives destroys its pools.
fn lost(name: &HostName, facts: &StatusFacts, truth: &Truth, shots: &Shots) -> String {
    let Some(from) = truth.from.as_ref().filter(|_| truth.quorate) else {
        return format!(
            "{name} is lost to heads that have no quorum, so who is right is not known: nothing is taken over"
        );
    };
    if !truth.split.is_empty() {
        return format!("{from} holds {name} for lost");
    }
    if !shots.last_missed(name) {
        return format!(
            "{name} is lost and not yet known to be off: it is to be switched off, and nothing of it is taken over \
             before"
        );
    }
    match facts.views.contains_key(name) {
        true => format!(
            "{name} is lost and could not be switched off, and it answers Hawser, so it has power: nothing of it is \
             taken over. Cut its power by hand, at its BMC or at the plug"
        ),
        false => format!(
            "{name} is lost and could not be switched off: nothing of it is taken over. Cut its power by hand and see \
             that it is off, at its BMC or at the plug; only then run `stonith_admin --confirm={name}` on {from}. \
             Run while {name} has power, that destroys its pools"
        ),
    }
}
