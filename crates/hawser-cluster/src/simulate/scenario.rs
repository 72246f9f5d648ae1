//! What if? The questions a person has about a cluster, each as events for the simulator.

use std::cmp::Ordering;

use super::directory::{Directory, Part};
use super::graph::{Action, Graph};
use super::prediction::{Chapter, Prediction};
use super::story::{Story, StoryStep};
use super::{Answer, Event, SimulateError, Simulator};
use crate::cib::edit;
use crate::timing::DUEL;
use crate::xml::Element;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// All nodes come up for the first time.
    FirstStart,
    /// A node dies.
    Dies(String),
    /// A node dies and cannot be fenced.
    DiesUnfenced(String),
    /// Two nodes lose sight of each other over every link, both alive.
    LinksLost(String, String),
    /// A node, one of three or more, loses sight of all others over every link, all alive.
    CutOff(String),
    /// Every node, of three or more, loses sight of every other, all alive.
    AllLinksLost,
    /// All nodes but this one, of three or more, die.
    AllOthersDie(String),
    /// A node is put in standby.
    Standby(String),
    /// A node is put in standby, and its pool cannot be stopped.
    StuckPool {
        /// The node.
        node: String,
        /// The pool.
        pool: String,
    },
    /// A node that died is back.
    Returns(String),
    /// Nodes lose the carrier of their own ports to these SANs, and have it again later.
    PortsLost {
        /// The nodes.
        nodes: Vec<String>,
        /// The SANs.
        sans: Vec<String>,
    },
}

/// A cluster that can be asked about.
struct Cluster<'a> {
    simulator: &'a dyn Simulator,
    directory: Directory,
}

/// Asks. `cib` is a live CIB, or one with an empty status, whose nodes are then started first.
pub fn what_if(
    simulator: &dyn Simulator,
    cib: &Element,
    scenario: &Scenario,
) -> Result<Prediction, SimulateError> {
    let cluster = Cluster {
        simulator,
        directory: Directory::of(cib),
    };
    let fresh = cib
        .first("status")
        .is_none_or(|status| status.children.is_empty());
    if *scenario == Scenario::FirstStart {
        let chapter = cluster.first_start(cib)?.0;
        return Ok(Prediction {
            chapters: vec![chapter],
        });
    }
    let cib = match fresh {
        true => Element::parse(&cluster.first_start(cib)?.1.cib_after, "the CIB")?,
        false => cib.clone(),
    };
    let chapters = match scenario {
        Scenario::FirstStart => Vec::new(),
        Scenario::Dies(node) => vec![cluster.dies(&cib, node)?.0],
        Scenario::DiesUnfenced(node) => vec![cluster.unfenced(&cib, node)?],
        Scenario::LinksLost(a, b) => cluster.links_lost(&cib, a, b)?,
        Scenario::CutOff(node) => cluster.cut_off(&cib, node)?,
        Scenario::AllLinksLost => cluster.all_links_lost(&cib)?,
        Scenario::AllOthersDie(node) => {
            let heading = format!("All but {node} no longer answer.");
            vec![cluster.alone(&cib, node, heading)?]
        }
        Scenario::Standby(node) => {
            let heading = format!("{node} is put in standby.");
            let cib = edit::with_standby(&cib, node, true).to_text();
            vec![cluster.ask(&cib, &[], heading)?.0]
        }
        Scenario::StuckPool { node, pool } => cluster.stuck(&cib, node, pool)?,
        Scenario::Returns(node) => {
            let died = cluster.dies(&cib, node)?;
            let heading = format!("{node} is back.");
            let back = [Event::NodeUp(node.clone())];
            vec![cluster.ask(&died.1.cib_after, &back, heading)?.0]
        }
        Scenario::PortsLost { nodes, sans } => cluster.ports_lost(&cib, nodes, sans)?,
    };
    Ok(Prediction { chapters })
}

impl Cluster<'_> {
    fn ask(
        &self,
        cib: &str,
        events: &[Event],
        heading: String,
    ) -> Result<(Chapter, Answer), SimulateError> {
        let answer = self.simulator.simulate(cib, events)?;
        let report = answer.read()?;
        let story = Some(Story::of(&report, &self.directory));
        let chapter = Chapter {
            heading,
            story,
            remarks: Vec::new(),
        };
        Ok((chapter, answer))
    }

    fn first_start(&self, cib: &Element) -> Result<(Chapter, Answer), SimulateError> {
        let mut events = vec![Event::Quorum(true)];
        events.extend(names(cib).map(|name| Event::NodeUp(name.to_owned())));
        self.ask(&cib.to_text(), &events, "All nodes are up.".into())
    }

    fn dies(&self, cib: &Element, node: &str) -> Result<(Chapter, Answer), SimulateError> {
        let events = [Event::NodeFail(node.to_owned())];
        let heading = format!("{node} no longer answers.");
        let (mut chapter, answer) = self.ask(&cib.to_text(), &events, heading)?;
        let first = chapter.story.as_ref();
        if !first.is_some_and(|it| it.loses_a_pool_of(node)) {
            return Ok((chapter, answer));
        }
        // A head in maintenance is left alone until it is known to be off. Then Pacemaker decides again.
        let (later, answer) = self.ask(&answer.cib_after, &[], String::new())?;
        chapter.story = chapter
            .story
            .zip(later.story)
            .map(|(it, later)| it.then(later));
        Ok((chapter, answer))
    }

    fn unfenced(&self, cib: &Element, node: &str) -> Result<Chapter, SimulateError> {
        let (_, answer) = self.dies(cib, node)?;
        let graph = Graph::parse(&answer.graph)?;
        let fencing = |action: &Action| action.operation == "stonith";
        let started = |actions: Vec<&Action>| -> Vec<String> {
            let starts = actions
                .into_iter()
                .filter(|action| action.real && action.operation == "start");
            starts
                .map(|action| action.key.trim_end_matches("_start_0").to_owned())
                .collect()
        };
        let all = started(graph.actions().collect());
        let done = started(graph.done_when(fencing));
        let is_fence = |id: &&String| {
            let resource = self.directory.resources.get(*id);
            resource.is_some_and(|resource| matches!(resource.part, Part::Fence | Part::Watch))
        };
        let held: Vec<&str> = all
            .iter()
            .filter(|id| !done.contains(id) && !is_fence(id))
            .map(String::as_str)
            .collect();
        let taken: Vec<&str> = done
            .iter()
            .filter(|id| !is_fence(id))
            .map(String::as_str)
            .collect();
        let mut remarks = Vec::new();
        remarks.push(match taken[..] {
            [] => "Nothing is taken over.".to_owned(),
            _ => format!(
                "Started although {node} may be alive: {}.",
                taken.join(", ")
            ),
        });
        if !held.is_empty() {
            remarks.push(format!(
                "These wait until {node} is known to be off (the fencer keeps trying; a person who \
                 has seen that it is off says `stonith_admin --confirm={node}`): {}.",
                held.join(", ")
            ));
        }
        let heading = format!("{node} no longer answers and cannot be fenced.");
        Ok(Chapter {
            heading,
            story: None,
            remarks,
        })
    }

    fn links_lost(&self, cib: &Element, a: &str, b: &str) -> Result<Vec<Chapter>, SimulateError> {
        let view = |me: &str, other: &str| {
            let events = [Event::NodeFail(other.to_owned())];
            let heading = format!("{me} is alive and sees {other} no longer. It would do this:");
            Ok::<_, SimulateError>(self.ask(&cib.to_text(), &events, heading)?.0)
        };
        let mut chapters = vec![view(a, b)?, view(b, a)?];
        let remark = match twice(&chapters, a, b) {
            None => self.duel(a, b),
            Some(pools) => format!(
                "Neither is shot. Active on both at once, and destroyed: {}.",
                pools.join(", ")
            ),
        };
        if let Some(last) = chapters.last_mut() {
            last.remarks.push(remark);
        }
        Ok(chapters)
    }

    /// Its one vote is no quorum, so it shoots nobody; the others have it, and shoot.
    fn cut_off(&self, cib: &Element, node: &str) -> Result<Vec<Chapter>, SimulateError> {
        let heading =
            format!("{node} is alive, sees no other and has no quorum. It would do this:");
        let alone = self.alone(cib, node, heading)?;
        let heading = format!("The others are alive and see {node} no longer. They would do this:");
        let gone = [Event::NodeFail(node.to_owned())];
        let others = self.ask(&cib.to_text(), &gone, heading)?.0;
        Ok(vec![alone, others])
    }

    /// What the last one that is seen would do.
    fn alone(&self, cib: &Element, node: &str, heading: String) -> Result<Chapter, SimulateError> {
        let others = names(cib).filter(|name| *name != node);
        let mut events: Vec<Event> = others
            .map(|name| Event::NodeFail(name.to_owned()))
            .collect();
        events.push(Event::Quorum(false));
        Ok(self.ask(&cib.to_text(), &events, heading)?.0)
    }

    /// Nobody has quorum.
    fn all_links_lost(&self, cib: &Element) -> Result<Vec<Chapter>, SimulateError> {
        let view = |node: &str| {
            let heading = format!("{node} is alive and sees no other. It would do this:");
            self.alone(cib, node, heading)
        };
        names(cib).map(view).collect()
    }

    /// Who is faster when both shoot.
    fn duel(&self, a: &str, b: &str) -> String {
        let held_back = |node: &str| {
            let delay = self.directory.delays.get(node);
            delay.and_then(|delay| millis(delay)).unwrap_or(0)
        };
        let (shot_at_a, shot_at_b) = (held_back(a), held_back(b));
        let (winner, loser) = match shot_at_a.cmp(&shot_at_b) {
            Ordering::Equal => {
                return "Both shoot at the same moment: the faster one survives, or neither."
                    .to_owned();
            }
            Ordering::Greater => (a, b),
            Ordering::Less => (b, a),
        };
        let lead = shot_at_a.abs_diff(shot_at_b);
        let seconds = lead as f64 / 1000.0;
        if lead < DUEL.as_millis() {
            return format!(
                "The shot at {winner} is held back {seconds} s longer. That is too little: Pacemaker's controller may sleep \
                 a second before it shoots, and both are off."
            );
        }
        format!(
            "The shot at {winner} is held back {seconds} s longer, so {winner} fires first, {loser} is \
             off before it fires, and only what {winner} would do happens."
        )
    }

    fn ports_lost(
        &self,
        cib: &Element,
        nodes: &[String],
        sans: &[String],
    ) -> Result<Vec<Chapter>, SimulateError> {
        // All ports are seen to be well first: who has never looked says nothing.
        let all: Vec<String> = names(cib).map(str::to_owned).collect();
        let well = edit::with_ports(cib, &all, sans, true);
        let (nodes_, sans_) = (nodes.join(" and "), sans.join(" and "));
        let heading = format!("{nodes_} without a carrier on {sans_}.");
        let lost = edit::with_ports(&well, nodes, sans, false).to_text();
        let (first, answer) = self.ask(&lost, &[], heading)?;
        let after = Element::parse(&answer.cib_after, "the CIB")?;
        let back = edit::with_ports(&after, nodes, sans, true).to_text();
        let heading = format!("{sans_} of {nodes_} again with a carrier.");
        Ok(vec![first, self.ask(&back, &[], heading)?.0])
    }

    fn stuck(&self, cib: &Element, node: &str, pool: &str) -> Result<Vec<Chapter>, SimulateError> {
        let standby = edit::with_standby(cib, node, true).to_text();
        let fails = Event::OpFails {
            resource: pool.to_owned(),
            operation: "stop".into(),
            node: node.to_owned(),
        };
        let heading = format!("{node} is put in standby, and {pool} cannot be stopped there.");
        let (mut first, answer) = self.ask(&standby, &[fails], heading)?;
        // The transition ends at the failed action; where things then are is no result.
        if let Some(story) = &mut first.story {
            story.pools.clear();
            story.nodes.clear();
        }
        first
            .remarks
            .push(format!("Here the stop of {pool} fails."));
        let heading = "Pacemaker decides again.".to_owned();
        let second = self.ask(&answer.cib_after, &[], heading)?.0;
        Ok(vec![first, second])
    }
}

/// The nodes of a CIB.
fn names(cib: &Element) -> impl Iterator<Item = &str> {
    let nodes = cib.at(&["configuration", "nodes"]).into_iter();
    nodes
        .flat_map(|nodes| nodes.all("node"))
        .filter_map(|node| node.get("uname"))
}

/// The pools that each of two nodes runs in its own view, when neither view shoots the other.
fn twice(views: &[Chapter], a: &str, b: &str) -> Option<Vec<String>> {
    let [
        Chapter {
            story: Some(of_a), ..
        },
        Chapter {
            story: Some(of_b), ..
        },
    ] = views
    else {
        return None;
    };
    let shoots = |story: &Story| {
        story
            .steps
            .iter()
            .any(|step| matches!(step, StoryStep::Fence { .. }))
    };
    if shoots(of_a) || shoots(of_b) {
        return None;
    }
    let runs = |story: &Story, pool: &str, node: &str| {
        story
            .pools
            .get(pool)
            .and_then(|place| place.after.as_deref())
            == Some(node)
    };
    let pools = of_a
        .pools
        .keys()
        .filter(|pool| runs(of_a, pool, a) && runs(of_b, pool, b));
    Some(pools.cloned().collect())
}

/// Milliseconds of a time as Pacemaker writes it: a bare number is seconds.
pub(crate) fn millis(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let factor = match text[end..].trim() {
        "ms" | "msec" => 1,
        "" | "s" | "sec" => 1_000,
        "m" | "min" => 60_000,
        "h" | "hr" => 3_600_000,
        _ => return None,
    };
    number.checked_mul(factor)
}
