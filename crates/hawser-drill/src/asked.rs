//! What is asked of the cluster for the record of a drill.

use hawser_cluster::host::questions::ReadCorosyncMap;
use hawser_cluster::xml::Element;
use hawser_model::drill::ClusterFacts;
use hawser_model::output::cluster::ClusterStatus;

use crate::context::DrillContext;
use crate::error::DrillError;
use crate::facts::facts;
use crate::network::links;
use crate::queries::cib;

/// What the cluster is, before anything is done to it.
pub(crate) fn cluster_facts(
    context: &DrillContext<'_>,
    before: &ClusterStatus,
) -> Result<ClusterFacts, DrillError> {
    let cib = cib(context)?;
    let cib =
        Element::parse(&cib, "the live CIB").map_err(|e| DrillError::CouldNot(e.to_string()))?;
    let timing = ReadCorosyncMap { statistics: false };
    let cmap = context.hosts.ask(&context.active, &timing)?;
    let lab = context.site.on_this_machine();
    let mut facts = facts(context.file, lab, before, &cib, &cmap);
    let statistics = ReadCorosyncMap { statistics: true };
    // Without them nothing is said of the token, and all else can be.
    let stats = context
        .heads
        .iter()
        .filter_map(|head| context.hosts.ask(head, &statistics).ok());
    facts.links = links(context.file, &cmap, &stats.collect::<String>());
    Ok(facts)
}
