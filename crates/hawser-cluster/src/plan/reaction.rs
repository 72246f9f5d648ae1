//! What Pacemaker does about the steps of a plan.

use std::collections::BTreeSet;

use hawser_model::names::HostName;

use super::PlanError;
use super::diff::ObjectChange;
use super::effects::Stage;
use super::merge::merge;
use crate::simulate::{
    Directory, Event, Executed, Part, Report, Simulator, Story, lost, services, step_in_words,
};
use crate::xml::Element;

/// What Pacemaker does.
#[derive(Debug, Default)]
pub(super) struct Reaction {
    /// One story for each step, the first of heads that join.
    pub stories: Vec<Story>,
    /// Resources of pools that run now and are stopped by a change of the CIB.
    pub interrupted: BTreeSet<String>,
    /// The same by heads that join: their pools go back to them.
    pub fetched: BTreeSet<String>,
    /// What the resources are, before and after.
    pub directory: Directory,
    /// What Pacemaker does at this moment, before anything of the plan, in words.
    pub under_way: Vec<String>,
    /// Pools that are served now and served nowhere afterwards.
    pub taken: Vec<String>,
}

impl Reaction {
    /// Asks, one step after the other, each on the cluster that the one before left. The heads that are started join first.
    pub fn ask(
        simulator: &dyn Simulator,
        live: &Element,
        started: &[&HostName],
        stages: &[(Stage, Vec<ObjectChange>)],
    ) -> Result<Self, PlanError> {
        let answer = simulator.simulate(&live.to_text(), &[])?;
        // What Pacemaker is about to do anyway is not the plan's doing.
        let now = answer.read()?;
        let anyway = stops(&now);
        let directory = Directory::of(live);
        let under_way = Story::of(&now, &directory).steps;
        let mut reaction = Self {
            under_way: under_way.iter().map(step_in_words).collect(),
            directory,
            ..Self::default()
        };
        let served = services(&now.before, &reaction.directory);
        let anyway_served = services(&now.after, &reaction.directory);
        let mut then = anyway_served.clone();
        let mut cib = live.clone();
        if !started.is_empty() {
            let up = started.iter().map(|node| Event::NodeUp(node.to_string()));
            let (report, after) = step(simulator, &cib, &up.collect::<Vec<_>>())?;
            reaction.fetched = stops(&report);
            reaction
                .stories
                .push(Story::of(&report, &reaction.directory));
            then = services(&report.after, &reaction.directory);
            cib = after;
        }
        for (_, changes) in stages {
            let before = reaction.directory.clone();
            cib = merge(&cib, changes);
            reaction.directory.update(Directory::of(&cib));
            let (report, after) = step(simulator, &cib, &[])?;
            reaction.interrupted.extend(stops(&report));
            reaction
                .stories
                .push(Story::between(&report, &before, &reaction.directory));
            then = services(&report.after, &reaction.directory);
            cib = after;
        }
        reaction.taken = lost(&served, &then)
            .filter(|pool| anyway_served.get(*pool).is_some_and(|it| it.served))
            .map(|pool| {
                let why = then.get(pool).and_then(|it| it.not_reached.as_ref());
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                format!("{pool} is served now and would be served nowhere{why}")
            })
            .collect();
        let resources = &reaction.directory.resources;
        // None of these has clients; what stops with a hook is there itself.
        let fence = |id: &String| {
            let resource = resources.get(id);
            resource.is_some_and(|r| matches!(r.part, Part::Fence | Part::Watch | Part::Hook(_)))
        };
        for stopped in [&mut reaction.interrupted, &mut reaction.fetched] {
            stopped.retain(|id| !anyway.contains(id) && !fence(id));
        }
        Ok(reaction)
    }
}

/// What Pacemaker does about it, and the CIB after that.
fn step(
    simulator: &dyn Simulator,
    cib: &Element,
    events: &[Event],
) -> Result<(Report, Element), PlanError> {
    let answer = simulator.simulate(&cib.to_text(), events)?;
    let after = Element::parse(&answer.cib_after, "the CIB after a step")?;
    Ok((answer.read()?, after))
}

fn stops(report: &Report) -> BTreeSet<String> {
    let stopped = report
        .executed
        .iter()
        .filter_map(|executed| match executed {
            Executed::Resource {
                resource,
                operation,
                ..
            } if operation == "stop" => Some(resource.clone()),
            _ => None,
        });
    stopped.collect()
}
