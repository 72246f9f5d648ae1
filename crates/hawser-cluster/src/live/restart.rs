//! Whether the cluster engine of one node may be started again: only while the others serve everything and keep quorum
//! without it. The cluster is asked each time; what is not known is a no.

use std::time::Duration;

use hawser_host::{Hosts, clock};
use hawser_model::names::HostName;

use super::truth::{Stand, Truth};
use super::views::{StatusFacts, views};
use super::{LiveError, OnHead, ask, head};
use crate::corosync::Conf;
use crate::host::questions::{AskDeviceVote, ReadFile, RestartEngine};
use crate::plan::COROSYNC_CONF;
use crate::simulate::{Directory, Part, Picture, Simulator};
use crate::xml::Element;

/// From one question whether all are members again to the next.
const ASKS: Duration = Duration::from_secs(1);

/// A node that is lost for 20 s by its own `dc-deadtime` and joins again takes less than half of this on a slow machine.
const JOINS: Duration = Duration::from_secs(120);

/// Why the engine of `node` must not be started again now; nothing if it may.
///
/// # Errors
/// The cluster cannot be asked.
pub fn cannot_restart(heads: &mut Hosts, node: &HostName) -> Result<Option<String>, LiveError> {
    let facts = views(heads);
    if let Some(why) = not_whole(&facts) {
        return Ok(Some(why));
    }
    let truth = Truth::of(&facts.views);
    let (Some(from), Some(text)) = (truth.from.clone(), truth.cib(&facts.views)) else {
        return Ok(Some("no host tells what the cluster runs".to_owned()));
    };
    let cib = Element::parse(text, "the live CIB")?;
    let report = OnHead::new(head(heads, &from)?.as_mut()).simulate(text, &[])?;
    let report = report.read()?;
    if !report.executed.is_empty() {
        return Ok(Some("Pacemaker is at work".to_owned()));
    }
    if let Some(why) = in_use(node, &report.before, &Directory::of(&cib)) {
        return Ok(Some(why));
    }
    let Some(other) = heads.keys().find(|name| *name != node).cloned() else {
        return Ok(Some(format!("no host beside {node} was reached")));
    };
    let path = COROSYNC_CONF.to_owned();
    let file = ask(heads, &other, &ReadFile { path })?;
    let Some(file) = file else {
        return Ok(Some(format!("{other} has no {COROSYNC_CONF}")));
    };
    let conf = match Conf::parse(&String::from_utf8_lossy(&file.content.0)) {
        Ok(conf) => conf,
        Err(e) => return Ok(Some(format!("{other}: {e}"))),
    };
    let device_votes = match device(&conf) {
        None => 0,
        Some(votes) => match ask(heads, &other, &AskDeviceVote)? {
            None => votes,
            Some(_) => 0,
        },
    };
    Ok(no_quorum_without(&conf, device_votes))
}

/// Has the node start its engine again, and waits until every host sees all members and nothing is left to do.
///
/// # Errors
/// The engine does not start, or not all are members again in time.
pub fn restart_engine(heads: &mut Hosts, node: &HostName) -> Result<Duration, LiveError> {
    let clock = clock(heads);
    let begun = clock.now();
    ask(heads, node, &RestartEngine)?;
    let mut why = None;
    let back = clock.wait(JOINS, ASKS, || -> Result<bool, LiveError> {
        let facts = views(heads);
        why = not_whole(&facts);
        let truth = Truth::of(&facts.views);
        let (None, Some(from), Some(text)) = (&why, &truth.from, truth.cib(&facts.views)) else {
            return Ok(false);
        };
        let report = OnHead::new(head(heads, from)?.as_mut()).simulate(text, &[])?;
        let report = report.read()?;
        why = not_ready(&report.before);
        if why.is_none() && !report.executed.is_empty() {
            why = Some("Pacemaker is at work".to_owned());
        }
        Ok(why.is_none())
    })?;
    match back {
        true => Ok(clock.since(begun)),
        false => Err(LiveError::Failed(format!(
            "the engine of {node} was started again, and {} s later the cluster is not whole: {}",
            JOINS.as_secs(),
            why.unwrap_or_default()
        ))),
    }
}

/// Which host is not a member of one cluster with quorum.
fn not_whole(facts: &StatusFacts) -> Option<String> {
    if let Some((host, why)) = facts.unreached.iter().next() {
        return Some(format!("{host} does not say what it sees: {why}"));
    }
    let truth = Truth::of(&facts.views);
    let mut stands = truth.stands.iter();
    if let Some((host, stand)) = stands.find(|(_, stand)| **stand != Stand::Member) {
        return Some(match stand {
            Stand::Minority => format!("{host} has no quorum"),
            Stand::Starting(_) => format!("{host} is joining"),
            Stand::Frozen(why) => format!("Corosync on {host} does not answer ({why})"),
            Stand::Mute(why) => format!("Pacemaker on {host} does not answer ({why})"),
            Stand::Down(what) => format!("{what} does not run on {host}"),
            Stand::Another(cluster) => format!("{host} runs another cluster, {cluster}"),
            Stand::Member => return None,
        });
    }
    if let Some(host) = truth.split.first() {
        return Some(format!(
            "{host} does not see the same members as the others"
        ));
    }
    let mut hung = truth.hung.iter();
    hung.next().map(|(host, seconds)| {
        format!("Pacemaker's controller on {host} said nothing for {seconds} s")
    })
}

/// Which node could take nothing over.
fn not_ready(now: &Picture) -> Option<String> {
    let mut nodes = now.nodes.iter();
    nodes.find_map(|(node, state)| {
        let what = match state {
            _ if state.unclean => "is lost and not known to be off",
            _ if !state.online => "is not a member",
            _ if state.pending => "is joining",
            _ if state.maintenance => "is in maintenance",
            _ if state.standby => "is in standby",
            _ => return None,
        };
        Some(format!("{node} {what}"))
    })
}

/// What the node serves, or why nobody could serve it in its place.
fn in_use(node: &HostName, now: &Picture, directory: &Directory) -> Option<String> {
    if let Some(why) = not_ready(now) {
        return Some(format!("{why}: redundancy is gone already"));
    }
    if !now.nodes.contains_key(node.as_str()) {
        return Some(format!("the cluster has no node {node}"));
    }
    // A copy that runs elsewhere too is nobody's only one.
    let mut only_here = now
        .resources
        .iter()
        .filter(|(_, nodes)| nodes.len() == 1 && nodes.iter().all(|at| at == node.as_str()));
    // Nor does anybody miss a fence device for that time, or who watches a port of that very node.
    let spared = |id: &str| {
        let part = directory.resources.get(id).map(|resource| &resource.part);
        matches!(part, Some(Part::Fence | Part::Watch))
    };
    let (resource, _) = only_here.find(|(id, _)| !spared(id))?;
    Some(format!(
        "{resource} runs on {node}, and a restart stops it: first move it (`hawser move POOL NODE`), or put {node} in standby \
         and let it back"
    ))
}

/// The votes of the quorum device, if the file has one (corosync-qdevice(8): one unless it says).
fn device(conf: &Conf) -> Option<u64> {
    let quorum = conf.sections("quorum").last()?;
    let device = quorum.sections("device").last()?;
    let votes = device.value("votes").and_then(|votes| votes.parse().ok());
    Some(votes.unwrap_or(1))
}

/// Why the others would have no quorum without one node, of those that have the most votes (votequorum(5)).
fn no_quorum_without(conf: &Conf, device_votes: u64) -> Option<String> {
    let quorum = conf.sections("quorum").last().cloned().unwrap_or_default();
    let nodes = conf
        .sections("nodelist")
        .flat_map(|list| list.sections("node"));
    let number = |conf: &Conf, key: &str| conf.value(key).and_then(|n| n.parse::<u64>().ok());
    let votes: Vec<u64> = nodes
        .map(|node| number(node, "quorum_votes").unwrap_or(1))
        .collect();
    if votes.len() < 2 {
        return Some("the cluster has one node".to_owned());
    }
    if votes.len() == 2 && quorum.value("two_node") == Some("1") {
        return None;
    }
    let all: u64 = votes.iter().sum();
    let with_device = all + device(conf).unwrap_or(0);
    let expected = number(&quorum, "expected_votes").map_or(with_device, |n| n.max(with_device));
    let left = all - votes.iter().max().copied().unwrap_or(0) + device_votes;
    let needed = expected / 2 + 1;
    (left < needed).then(|| {
        format!("the others would have {left} of {expected} votes, and quorum takes {needed}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::NodeState;

    fn picture(resources: &[(&str, &[&str])]) -> Picture {
        let up = NodeState {
            online: true,
            ..NodeState::default()
        };
        let resources = resources.iter().map(|(id, nodes)| {
            let nodes = nodes.iter().map(|node| (*node).to_owned());
            ((*id).to_owned(), nodes.collect())
        });
        Picture {
            nodes: ["head1", "head2"].map(|node| (node.to_owned(), up)).into(),
            resources: resources.collect(),
            ..Picture::default()
        }
    }

    fn why(now: &Picture) -> Option<String> {
        let cib = r#"<cib><configuration><resources>
            <primitive id="fence-head1" class="stonith" type="fence_ipmilan"/>
            <primitive id="watch-head2-san01" class="ocf" provider="heartbeat" type="ethmonitor"/>
            <primitive id="pool1-fs" class="ocf" provider="heartbeat" type="Filesystem"/>
        </resources></configuration></cib>"#;
        let cib = Element::parse(cib, "a CIB").unwrap();
        in_use(&"head2".into(), now, &Directory::of(&cib))
    }

    #[test]
    fn a_node_that_serves_nothing_alone_may_restart() {
        let now = picture(&[
            ("pool1-fs", &["head1"]),
            ("fence-head1", &["head2"]),
            ("watch-head2-san01", &["head2"]),
            ("somebodys-clone", &["head1", "head2"]),
        ]);
        assert_eq!(why(&now), None);
        let serving = picture(&[("pool1-fs", &["head2"])]);
        assert!(why(&serving).unwrap().starts_with("pool1-fs runs on head2"));
        assert!(why(&picture(&[("unknown", &["head2"])])).is_some());
    }

    #[test]
    fn where_nobody_could_take_over_none_may_restart() {
        for change in [
            (|state: &mut NodeState| state.standby = true) as fn(&mut NodeState),
            |state| state.online = false,
            |state| state.unclean = true,
            |state| state.maintenance = true,
            |state| state.pending = true,
        ] {
            let mut now = picture(&[("pool1-fs", &["head1"])]);
            change(now.nodes.get_mut("head1").unwrap());
            assert!(why(&now).unwrap().contains("redundancy is gone already"));
        }
        assert!(in_use(&"head3".into(), &picture(&[]), &Directory::default()).is_some());
    }

    #[test]
    fn the_others_must_have_quorum() {
        let conf = |quorum: &str, votes: &[&str]| {
            let nodes = votes
                .iter()
                .map(|votes| format!("  node {{\n    {votes}\n  }}\n"));
            let nodes: String = nodes.collect();
            Conf::parse(&format!(
                "quorum {{\n{quorum}\n}}\nnodelist {{\n{nodes}}}\n"
            ))
            .unwrap()
        };
        let one = "quorum_votes: 1";
        assert_eq!(no_quorum_without(&conf("two_node: 1", &[one; 2]), 0), None);
        let two = no_quorum_without(&conf("", &[one; 2]), 0);
        assert_eq!(
            two.as_deref(),
            Some("the others would have 1 of 2 votes, and quorum takes 2")
        );
        assert_eq!(no_quorum_without(&conf("", &[one; 3]), 0), None);
        let uneven = conf("", &["quorum_votes: 3", one, one]);
        assert!(no_quorum_without(&uneven, 0).is_some());
        let device = conf("device {\nvotes: 1\n}", &[one; 2]);
        assert_eq!(no_quorum_without(&device, 1), None);
        assert!(no_quorum_without(&device, 0).is_some(), "it does not vote");
        assert!(no_quorum_without(&conf("expected_votes: 5", &[one; 3]), 0).is_some());
        assert!(no_quorum_without(&conf("two_node: 1", &[one]), 0).is_some());
    }
}
