//! What a person wants to know at three in the morning: is it redundant now, what is degraded, and
//! what would happen if a node died this second.
//!
//! Pure: judged from what every head said. Nothing is redundant that has a reason not to be, and nothing is called
//! not redundant without one.

mod fencing;
mod findings;
mod heads;
mod machines;
mod next;
mod pools;
mod ready;
pub(crate) mod signs;
mod verdict;
mod watchers;

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::cluster::{
    ClusterStatus, NodeCondition, NodeStatus, QuorumDeviceStatus, ServiceState,
};

use super::links::Links;
use super::takeover::{self, Shots};
use super::truth::{Stand, Truth, has_quorum};
use super::views::StatusFacts;
use super::{LiveError, device};
use crate::host::view::Told;
use crate::plan::{Key, drift};
use crate::simulate::{Directory, Picture, Scenario, Simulator, Story, step_in_words, what_if};
use crate::xml::Element;
use findings::Findings;
use next::Cannot;
pub use signs::{Mark, Said, Sign};

/// Judges. Asks the simulator once for each node.
///
/// # Errors
/// What Pacemaker said cannot be read; the simulator.
pub fn status(
    file: &ClusterFile,
    facts: &StatusFacts,
    simulator: &dyn Simulator,
) -> Result<ClusterStatus, LiveError> {
    Ok(judgement(file, facts, simulator)?.status)
}

/// A status, and what it says by names that stay.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The status.
    pub status: ClusterStatus,
    /// All that is degraded or worth knowing, in its order.
    pub said: Vec<Said>,
}

/// The same as [`status`], with the names of what it says.
///
/// # Errors
/// As [`status`].
pub fn judgement(
    file: &ClusterFile,
    facts: &StatusFacts,
    simulator: &dyn Simulator,
) -> Result<Judged, LiveError> {
    let truth = Truth::of_cluster(file, &facts.views);
    let Some(text) = truth.cib(&facts.views) else {
        return Ok(verdict::nothing_runs(file, facts, &truth));
    };
    let cib = Element::parse(text, "the live CIB")?;
    let report = simulator.simulate(text, &[])?.read()?;
    let now = &report.before;
    let history = history(facts, &truth);
    let now_s = truth.from.as_ref().and_then(|from| clock_s(facts, from));
    let shots = Shots::of(history.as_ref(), now_s);
    let nodes = heads::nodes(file, now, &truth, &shots);
    let online = |node: &HostName| {
        let state = nodes.iter().find(|status| status.name == *node);
        state.is_some_and(|status| status.state == NodeCondition::Online)
    };

    let device = device_now(file, facts, &truth);
    let members = nodes.iter().filter(|node| member(node)).count();
    let left = members.saturating_sub(1);
    let enough = device::quorum(
        file,
        left,
        device.as_ref().is_some_and(|device| device.votes),
    );
    let directory = Directory::of(&cib);
    let holds = pools::by_head(&directory, now);
    let cannot = Cannot::of(file, &cib, &nodes, now, facts);
    let mut if_lost = BTreeMap::new();
    let mut not_survived = Vec::new();
    let mut survives = true;
    for node in &nodes {
        let lines = match online(&node.name) {
            _ if member(node) && left > 0 && !enough => vec![OUTVOTED.to_owned()],
            false if node.state == NodeCondition::Unclean => vec!["it is lost already".to_owned()],
            false if !holds.contains_key(&node.name) => vec!["it runs nothing now".to_owned()],
            _ => {
                let name = &node.name;
                let prediction = what_if(simulator, &cib, &Scenario::Dies(name.to_string()))?;
                let chapters = prediction.chapters.iter();
                let stories: Vec<&Story> = chapters.filter_map(|c| c.story.as_ref()).collect();
                survives &= cannot.survived(name, &stories);
                let gone = not_whole(&stories);
                let gone = gone.into_iter().map(|text| {
                    let text = format!("if {name} died now, {text}");
                    (Sign::NextLoss.on(name), text)
                });
                not_survived.extend(gone);
                cannot.told(name, &stories)
            }
        };
        if_lost.insert(node.name.clone(), lines);
    }
    if left > 0 && !enough {
        let text = format!("if one of {members} nodes died now, {OUTVOTED}");
        not_survived.push((Sign::NextLoss.everywhere(), text));
    }

    let mut found = Findings::default();
    let doubled = pools::doubled(file, now);
    for (mark, text) in &doubled {
        found.costs(mark.clone(), text.clone());
    }
    ready::twice(file, facts, now, &mut found);
    heads::split(&truth, &mut found);
    fencing::attempts(&nodes, &shots, &mut found);
    heads::views(file, facts, &truth, &mut found);
    survives &= not_survived.is_empty();
    heads::wrong(&nodes, &holds, survives, facts, &truth, &shots, &mut found);
    let from = truth.from.as_ref();
    let quorum = from.and_then(|from| facts.views[from].quorum.as_ref()?.said());
    // A Corosync that does not answer says nothing of quorum.
    if quorum.is_some_and(|it| !it.quorate || !has_quorum(text)) {
        found.costs(Sign::NoQuorum.everywhere(), NO_QUORUM);
    }
    if property(&cib, "maintenance-mode") == Some("true") {
        found.costs(Sign::Maintenance.everywhere(), MAINTENANCE);
    }
    fencing::fencers(file, &cib, &nodes, facts, &mut found);
    for (mark, text) in fencing::blind(file, now, facts) {
        found.costs(mark, text);
    }
    let mut pools: Vec<_> = match &file.pools[..] {
        [] => pools::of_cluster(&directory, now),
        pools => pools
            .iter()
            .map(|pool| pools::pool_now(pool, now))
            .collect(),
    };
    let story = Story::of(&report, &directory);
    for pool in &file.pools {
        pools::wrong(pool, now, &cib, &mut found);
    }
    under_way(&story, &mut found);
    pools::kept_failures(file, &nodes, &cib, &mut found);
    pools::orders(&cib, now_s, &mut found);
    if property(&cib, "maintenance-mode") != Some("true") {
        for (mark, text) in file
            .pools
            .iter()
            .flat_map(|pool| pools::unmanaged(pool, now))
        {
            found.costs(mark, text);
        }
    }
    let mut gone = ready::judge(file, facts, &nodes, &mut pools, &mut found);
    for pool in &pools {
        let on = pool.active_on.as_ref().map(HostName::as_str);
        let lost = on.and_then(|on| Some((on, directory.sans_lost(&pool.name, on)?)));
        if let Some((on, sans)) = lost {
            let text = format!(
                "{} is on {on}, which has no carrier on any SAN over which it is reached ({sans})",
                pool.name
            );
            gone.entry(pool.name.clone()).or_insert(text);
        }
    }
    let links = Links::of(file, &facts.views, &online);
    links.told(&mut |mark, text| found.costs(mark, text));
    for (node, text) in device::silent(file, &votes(facts, &truth)) {
        let mark = Sign::DeviceSilent.on(&node);
        match enough {
            true => found.wrong(mark, text),
            false => found.costs(mark, text),
        }
    }
    machines::judge(file, facts, &mut found);
    let watched = watchers::judge(file, facts, &nodes, &report, &cib, &mut found);
    drifted(file, facts, &cib, &watched, &mut found);

    if let Some(left) = &facts.left {
        found.costs(Sign::DrillLeft.everywhere(), left.clone());
    }
    for (mark, text) in not_survived {
        found.costs(mark, text);
    }
    let (state, reason) = match doubled.is_empty() {
        true => verdict::state(&nodes, &pools, &gone, &story, facts, &truth, &found),
        false => {
            let texts: Vec<&str> = doubled.iter().map(|(_, text)| text.as_str()).collect();
            (ServiceState::NotRedundant, Some(texts.join("; ")))
        }
    };
    let status = ClusterStatus {
        cluster: file.cluster.name.to_string(),
        state,
        reason,
        quorate: truth.quorate,
        redundant: state == ServiceState::Redundant,
        view_of: truth.from.clone(),
        degraded: found.degraded(),
        notes: found.notes(),
        quorum_device: device,
        nodes,
        pools,
        if_lost,
        last_takeover: takeover::last(&cib, history.as_ref()),
    };
    let said = found.said();
    Ok(Judged { status, said })
}

const NO_QUORUM: &str = "there is no quorum: pools that run are stopped, and none is taken over";

const MAINTENANCE: &str = "the cluster is in maintenance mode: nothing is watched or taken over; `maintenance = false` \
                           in the cluster file and `hawser apply` end it";

/// What becomes of pools when too few are left.
const OUTVOTED: &str =
    "those that are left have no quorum: what they run stops, and nothing is taken over";

/// The fencer's history as the believed head has it; else as any other member has it.
fn history(facts: &StatusFacts, truth: &Truth) -> Option<Element> {
    let of = |head: &HostName| {
        let fencer = facts.views.get(head)?.fencer.as_ref()?.said()?;
        Element::parse(&fencer.history, "the fencing history").ok()
    };
    let members = truth
        .stands
        .iter()
        .filter(|(_, stand)| **stand == Stand::Member);
    let mut heads = truth.from.iter().chain(members.map(|(name, _)| name));
    heads.find_map(of)
}

fn clock_s(facts: &StatusFacts, head: &HostName) -> Option<u64> {
    Some(facts.views.get(head)?.clock?.answered_us / 1_000_000)
}

/// What Pacemaker would do at once, since it is doing it.
fn under_way(story: &Story, found: &mut Findings) {
    if !story.steps.is_empty() {
        let steps: Vec<String> = story.steps.iter().map(step_in_words).collect();
        let text = format!("Pacemaker is at work: {}", steps.join("; "));
        found.costs(Sign::Busy.everywhere(), text);
    }
}

/// What `plan` would change in the CIB, but for what was said with its remedy already.
fn drifted(
    file: &ClusterFile,
    facts: &StatusFacts,
    cib: &Element,
    watchers: &BTreeSet<String>,
    found: &mut Findings,
) {
    if !file.is_complete() {
        return found.note(
            Sign::NotCompared.everywhere(),
            "the cluster file does not describe the whole cluster (no fencing): the live configuration is not \
             compared with it",
        );
    }
    let said = |key: &Key| match key {
        Key::Property(name) => {
            (name == "stonith-enabled" && property(cib, name) == Some("false"))
                || (name == "maintenance-mode" && property(cib, name) == Some("true"))
        }
        Key::Constraint(id) => {
            let of_watcher = |watcher: &String| id.contains(&format!("{watcher}-on-"));
            id.starts_with("cli-") || watchers.iter().any(of_watcher)
        }
        Key::Resource(id) => watchers.contains(id),
        _ => false,
    };
    for drift in drift(file, &watchers::ports(file, facts), cib)
        .into_iter()
        .filter(|drift| !said(&drift.key))
    {
        let text = format!(
            "{} is not what the file says: {}; `hawser apply` puts it right",
            drift.key, drift.text
        );
        let mark = Sign::Drifted.of(&drift.key.to_string());
        match drift.guards {
            true => found.costs(mark, text),
            false => found.wrong(mark, text),
        }
    }
}

/// Whether a node has its vote in the cluster, whatever runs there.
fn member(node: &NodeStatus) -> bool {
    matches!(
        node.state,
        NodeCondition::Online | NodeCondition::Standby | NodeCondition::Maintenance
    )
}

/// Why the quorum device has no vote, by node; absent where it votes.
fn votes(facts: &StatusFacts, truth: &Truth) -> BTreeMap<HostName, Option<String>> {
    let another = |head: &HostName| matches!(truth.stands.get(head), Some(Stand::Another(_)));
    let views = facts.views.iter();
    let asked = views.filter(|(head, view)| view.corosync && !another(head));
    let asked = asked.filter_map(|(name, view)| Some((name, view.quorum_device.as_ref()?)));
    asked
        .map(|(name, told)| {
            let why = match told {
                Told::Said(why) => why.clone(),
                other => other.why_not().map(|why| why.to_string()),
            };
            (name.clone(), why)
        })
        .collect()
}

/// The quorum device, if the file has one. One that was asked nowhere is not known to vote.
fn device_now(
    file: &ClusterFile,
    facts: &StatusFacts,
    truth: &Truth,
) -> Option<QuorumDeviceStatus> {
    let device = file.quorum.device.as_ref()?;
    let votes = votes(facts, truth);
    Some(QuorumDeviceStatus {
        host: device.host.to_string(),
        votes: !votes.is_empty() && votes.values().all(Option::is_none),
    })
}

/// A property of the live cluster.
fn property<'a>(cib: &'a Element, name: &str) -> Option<&'a str> {
    let pairs = cib.at(&["configuration", "crm_config"]).map(Element::walk);
    let mut pairs = pairs.into_iter().flatten();
    pairs
        .find(|pair| pair.get("name") == Some(name))
        .and_then(|pair| pair.get("value"))
}

fn runs(now: &Picture, resource: &str) -> bool {
    now.resources
        .get(resource)
        .is_some_and(|nodes| !nodes.is_empty())
}

/// What is to run and does not, each with the words of whatever failed: for somebody who has just
/// changed a cluster. Nothing in a cluster in maintenance, where nobody starts anything.
///
/// # Errors
/// What Pacemaker said cannot be read; the simulator.
pub(super) fn not_running(
    file: &ClusterFile,
    cib: &str,
    simulator: &dyn Simulator,
) -> Result<Vec<String>, LiveError> {
    let now = simulator.simulate(cib, &[])?.read()?.before;
    let cib = Element::parse(cib, "the live CIB")?;
    if property(&cib, "maintenance-mode") == Some("true") {
        return Ok(Vec::new());
    }
    let mut missing = Vec::new();
    if cib.get("have-quorum") != Some("1") {
        missing.push("there is no quorum, so nothing is started".to_owned());
    }
    let words = |found: Vec<(Mark, String)>| found.into_iter().map(|(_, text)| text);
    missing.extend(words(fencing::blind(file, &now, &StatusFacts::default())));
    for pool in &file.pools {
        missing.extend(words(pools::idle_parts(pool, &now)));
        missing.extend(words(pools::why_idle(pool, &now, &cib)));
    }
    Ok(missing)
}

/// Which pools would not be whole after what the stories tell.
fn not_whole(stories: &[&Story]) -> Vec<String> {
    let places = stories.last().into_iter().flat_map(|story| &story.pools);
    let gone = places.filter_map(|(pool, place)| {
        place.before.as_ref()?;
        match &place.after {
            None => Some(format!("{pool} would run nowhere")),
            Some(_) if place.missing.is_empty() => None,
            Some(after) => {
                let missing: Vec<&str> = place.missing.iter().map(String::as_str).collect();
                Some(format!(
                    "{pool} would be on {after} without {}",
                    missing.join(", ")
                ))
            }
        }
    });
    gone.collect()
}
