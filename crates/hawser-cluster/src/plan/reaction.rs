//! What Pacemaker does about the steps of a plan.

use std::collections::BTreeSet;

use super::PlanError;
use super::diff::ObjectChange;
use super::effects::Stage;
use super::merge::merge;
use crate::simulate::{Directory, Executed, Part, Report, Simulator, Story};
use crate::xml::Element;

/// What Pacemaker does.
#[derive(Debug, Default)]
pub(super) struct Reaction {
    /// One story for each step.
    pub stories: Vec<Story>,
    /// Resources of pools that run now and are stopped for it.
    pub interrupted: BTreeSet<String>,
    /// What the resources are, before and after.
    pub directory: Directory,
}

impl Reaction {
    /// Asks, one step after the other, each on the cluster that the one before left.
    pub fn ask(
        simulator: &dyn Simulator,
        live: &Element,
        stages: &[(Stage, Vec<ObjectChange>)],
    ) -> Result<Self, PlanError> {
        let answer = simulator.simulate(&live.to_text(), &[])?;
        // What Pacemaker is about to do anyway is not the plan's doing.
        let anyway = stops(&Report::parse(&answer.report)?);
        let mut reaction = Self {
            directory: Directory::of(live),
            ..Self::default()
        };
        let mut cib = live.clone();
        for (_, changes) in stages {
            cib = merge(&cib, changes);
            reaction.directory.update(Directory::of(&cib));
            let answer = simulator.simulate(&cib.to_text(), &[])?;
            let report = Report::parse(&answer.report)?;
            reaction.interrupted.extend(stops(&report));
            reaction
                .stories
                .push(Story::of(&report, &reaction.directory));
            cib = Element::parse(&answer.cib_after, "the CIB after a step")?;
        }
        let resources = &reaction.directory.resources;
        let fence = |id: &String| {
            let resource = resources.get(id);
            resource.is_some_and(|r| matches!(r.part, Part::Fence | Part::Watch))
        };
        reaction
            .interrupted
            .retain(|id| !anyway.contains(id) && !fence(id));
        Ok(reaction)
    }
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
