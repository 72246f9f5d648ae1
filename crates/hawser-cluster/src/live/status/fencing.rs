//! Whether every head could be switched off by those that would be left, as their fencers themselves say, and what
//! became of the last attempts.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::cluster::{NodeCondition, NodeStatus};

use super::findings::Findings;
use super::property;
use super::signs::{Mark, Sign};
use crate::cib::fencing::{acts_by_reservation, levels_of, targets};
use crate::host::view::Told;
use crate::live::fence_questions::answers;
use crate::live::takeover::Shots;
use crate::live::views::StatusFacts;
use crate::simulate::Picture;
use crate::xml::Element;

/// A head that was shot so often within an hour flaps.
const FLAPS: usize = 3;

/// Attempts that failed or last.
pub(super) fn attempts(nodes: &[NodeStatus], shots: &Shots, found: &mut Findings) {
    let lost = |name: &str| {
        let mut nodes = nodes.iter().filter(|node| node.name.as_str() == name);
        nodes.any(|node| node.state == NodeCondition::Unclean)
    };
    for (target, text) in shots.pending() {
        let mark = Sign::BeingFenced.on(&target.into());
        found.costs(mark, format!("{target} is being fenced: {text}"));
    }
    for (target, text) in shots.missed() {
        let mark = Sign::FencingFailed.on(&target.as_str().into());
        match lost(&target) {
            true => found.costs(mark, text),
            false => {
                let remedy = format!("`stonith_admin --cleanup --history={target}` forgets it");
                found.wrong(mark, format!("{text}; {remedy}"));
            }
        }
    }
    for (target, times) in shots.in_the_last_hour() {
        if times >= FLAPS {
            let text = format!(
                "{target} was fenced {times} times within an hour: look for what brings it down before it takes pools \
                 again"
            );
            found.note(Sign::FencedOften.on(&target.as_str().into()), text);
        }
    }
}

/// Whether each member could be switched off if it were lost.
pub(super) fn fencers(
    file: &ClusterFile,
    cib: &Element,
    nodes: &[NodeStatus],
    facts: &StatusFacts,
    found: &mut Findings,
) {
    if property(cib, "stonith-enabled") == Some("false") {
        let wanted = file
            .fencing
            .as_ref()
            .is_some_and(|fencing| fencing.none.is_some());
        let remedy = match wanted {
            true => "",
            false => "; `hawser apply` switches it on",
        };
        let text = format!(
            "fencing is switched off: a head that hangs goes on writing to pools that another head takes over{remedy}"
        );
        found.costs(Sign::FencingOff.everywhere(), text);
        return;
    }
    let devices = targets(file);
    let members: Vec<&HostName> = nodes
        .iter()
        .filter(|node| node.state == NodeCondition::Online)
        .map(|node| &node.name)
        .collect();
    for member in &members {
        let silent = facts
            .views
            .get(*member)
            .and_then(|view| view.fencer.as_ref());
        if let Some(why) = silent.and_then(Told::why_not) {
            let text = format!(
                "the fencer on {member} does not answer ({why}): whom it could switch off is not known"
            );
            found.costs(Sign::FencerSilent.on(member), text);
        }
    }
    for victim in &members {
        let mut asked = Vec::new();
        let mut can: BTreeSet<&str> = BTreeSet::new();
        for survivor in members.iter().filter(|other| *other != victim) {
            let fencer = facts
                .views
                .get(*survivor)
                .and_then(|view| view.fencer.as_ref());
            if let Some(fencer) = fencer.and_then(Told::said) {
                asked.push(survivor.as_str());
                let of = fencer.can.get(victim.as_str());
                can.extend(of.into_iter().flatten().map(String::as_str));
            }
        }
        if asked.is_empty() {
            // A head that looks at itself alone asks no other.
            if members.len() > 1 && facts.alone.is_none() {
                let text = format!(
                    "no other head's fencer could be asked whether {victim} could be switched off"
                );
                found.costs(Sign::CannotBeFenced.on(victim), text);
            }
            continue;
        }
        if let Some(halves) = alone(file, cib, victim, &can) {
            let text = format!(
                "{victim} might not be switched off: {} must all succeed for that, and the cluster has no fencing level \
                 that says so, so one of them would do for the fencer; `hawser apply` makes the level",
                halves.join(" and ")
            );
            found.costs(Sign::CannotBeFenced.on(victim), text);
        } else if !suffices(file, cib, victim, &can) {
            let meant = devices
                .iter()
                .filter(|(_, victims)| victims.contains(victim.as_str()));
            let meant: Vec<&str> = meant.map(|(device, _)| device.as_str()).collect();
            let text = format!(
                "{victim} could not be switched off: the fencer on {} would use {} for it, and the file means {}. A \
                 list of its hosts, a constraint or a level keeps it from being used; `hawser plan` names what \
                 differs from the file, `stonith_admin --list {victim}` asks the fencer",
                asked.join(" and "),
                match can.is_empty() {
                    true => "no device".to_owned(),
                    false => format!("only {}", can.into_iter().collect::<Vec<_>>().join(", ")),
                },
                match meant.is_empty() {
                    true => "none".to_owned(),
                    false => meant.join(", "),
                }
            );
            found.costs(Sign::CannotBeFenced.on(victim), text);
        }
    }
}

/// Whether these devices can switch a node off: all of one of its levels; where the cluster has none, each by itself, since
/// the fencer is then content with any of them.
fn suffices(file: &ClusterFile, cib: &Element, victim: &HostName, can: &BTreeSet<&str>) -> bool {
    let levels = levels(cib, victim);
    match levels.is_empty() {
        true => !can.is_empty() && alone(file, cib, victim, can).is_none(),
        false => levels
            .values()
            .any(|devices| devices.iter().all(|device| can.contains(device))),
    }
}

/// Devices of the file that must succeed together, of which the fencer would use one alone: the cluster has no level for the
/// node.
fn alone(
    file: &ClusterFile,
    cib: &Element,
    victim: &HostName,
    can: &BTreeSet<&str>,
) -> Option<Vec<String>> {
    let mut meant = levels_of(file, victim.as_str()).into_iter();
    let used = |device: &String| can.contains(device.as_str());
    let halves = meant.find(|level| level.len() > 1 && level.iter().any(used))?;
    levels(cib, victim).is_empty().then_some(halves)
}

/// Members that none of the others could switch off, as far as that is known: their fencers would use no device for it, or
/// only such as do not run or do not answer. Where there is no other, nobody would have to.
pub(super) fn unfenceable(
    file: &ClusterFile,
    cib: &Element,
    nodes: &[NodeStatus],
    now: &Picture,
    facts: &StatusFacts,
) -> BTreeSet<HostName> {
    let members = || {
        nodes
            .iter()
            .filter(|node| node.state == NodeCondition::Online)
    };
    if property(cib, "stonith-enabled") == Some("false") {
        return BTreeSet::new();
    }
    let blind: BTreeSet<String> = blind(file, now, facts)
        .into_iter()
        .filter_map(|(Mark { sign, place }, _)| {
            // Each head shuts others out by its own key: below.
            let is_own = |device: &String| {
                sign == Sign::FenceDeviceFails && acts_by_reservation(file, device)
            };
            place.object.filter(|device| !is_own(device))
        })
        .collect();
    let devices = targets(file);
    let cannot = members().filter(|victim| {
        let others = members().filter(|other| other.name != victim.name);
        let asked: Vec<_> = others
            .filter_map(|other| {
                let view = facts.views.get(&other.name)?;
                Some((view.fencer.as_ref()?.said()?, &view.fence_status))
            })
            .collect();
        let victim = &victim.name;
        // Where no fencer could be asked, what the file means is all that is known.
        let mut can: BTreeSet<&str> = match asked.is_empty() {
            true => {
                let meant = devices
                    .iter()
                    .filter(|(_, of)| of.contains(victim.as_str()));
                meant.map(|(device, _)| device.as_str()).collect()
            }
            false => {
                let of = asked.iter().map(|(fencer, status)| {
                    let can = fencer.can.get(victim.as_str()).into_iter().flatten();
                    can.filter(|device| !matches!(status.get(*device), Some(Some(_))))
                });
                of.flatten().map(String::as_str).collect()
            }
        };
        let others = members().count() > 1;
        let known = others && (!asked.is_empty() || !can.is_empty());
        can.retain(|device| !blind.contains(*device));
        known && !suffices(file, cib, victim, &can)
    });
    cannot.map(|node| node.name.clone()).collect()
}

/// The levels of a node in the live topology, each with its devices.
fn levels<'a>(cib: &'a Element, node: &HostName) -> BTreeMap<&'a str, Vec<&'a str>> {
    let topology = cib.at(&["configuration", "fencing-topology"]);
    let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for level in topology.into_iter().flat_map(|topology| &topology.children) {
        if level.get("target") == Some(node.as_str()) {
            let devices = level.get("devices").unwrap_or_default();
            let devices = devices.split(',').map(str::trim).filter(|d| !d.is_empty());
            let of_level = all.entry(level.get("index").unwrap_or_default());
            of_level.or_default().extend(devices);
        }
    }
    all
}

/// The fence devices that do not run or do not answer.
pub(super) fn blind(file: &ClusterFile, now: &Picture, facts: &StatusFacts) -> Vec<(Mark, String)> {
    let mut blind = Vec::new();
    // Who was shut out and has not left is not registered, and is to stay so.
    let is_member = |head: &HostName| {
        let node = now.nodes.get(head.as_str());
        node.is_some_and(|node| node.online && !node.unclean && !node.pending)
    };
    let said = facts.views.iter().map(|(head, view)| {
        let counts = |device: &str| !acts_by_reservation(file, device) || is_member(head);
        let devices = view.fence_status.iter();
        (head, devices.filter(move |(device, _)| counts(device)))
    });
    let asked = answers(file, said);
    for (device, victims) in targets(file) {
        let ready = rests_in_standby(now, &victims) && would_be_used(facts, &device, &victims);
        let victims = victims.into_iter().collect::<Vec<_>>().join(", ");
        if !super::runs(now, &device) && !ready {
            let text =
                format!("fence device {device} does not run: {victims} could not be switched off");
            blind.push((Sign::FenceDeviceStopped.of(&device), text));
        } else if let Some(Some(said)) = asked.get(&device) {
            let text = match acts_by_reservation(file, &device) {
                false => format!(
                    "fence device {device} does not answer ({said}): {victims} could not be switched off"
                ),
                true => format!(
                    "fence device {device} would shut nobody out {said} (docs/cluster-file.md, \"By reservations of \
                     the disks\")"
                ),
            };
            blind.push((Sign::FenceDeviceFails.of(&device), text));
        }
    }
    blind
}

/// Whether a device that does not run is kept from it by standby alone: no member but its victims is out of standby.
fn rests_in_standby(now: &Picture, victims: &BTreeSet<String>) -> bool {
    let others = now.nodes.iter();
    let mut others = others.filter(|(name, node)| node.online && !victims.contains(*name));
    let none = others.clone().next().is_none();
    !none && others.all(|(_, node)| node.standby && !node.unclean)
}

/// Whether a fencer of another head would use the device. In standby it does: a fencer takes a device by the
/// constraints of its resource, which need not run (`stonith_admin --list`; shown with Pacemaker 2.1.5 by a power cut).
/// True where no head was asked.
fn would_be_used(facts: &StatusFacts, device: &str, victims: &BTreeSet<String>) -> bool {
    let mut views = facts.views.iter().peekable();
    views.peek().is_none()
        || views.any(|(head, view)| {
            let fencer = view.fencer.as_ref().and_then(Told::said);
            let uses = |victim: &String| {
                let can = fencer.and_then(|fencer| fencer.can.get(victim));
                can.is_some_and(|devices| devices.contains(device))
            };
            !victims.contains(head.as_str()) && victims.iter().all(uses)
        })
}
