//! Hooks that a head could not run.

use std::collections::BTreeSet;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::visible::one_line;

use super::Problem;
use super::facts::NodeFacts;

/// The programs that a node must have.
pub(crate) fn programs(file: &ClusterFile, node: &HostName) -> BTreeSet<String> {
    let hooks = file.pools_on(node).flat_map(|pool| pool.hooks.all());
    hooks.map(|(_, hook)| hook.program.to_string()).collect()
}

pub(super) fn problems<'a>(
    file: &'a ClusterFile,
    node: &'a HostName,
    there: &'a NodeFacts,
) -> impl Iterator<Item = Problem> + 'a {
    file.pools_on(node).flat_map(move |pool| {
        pool.hooks.all().filter_map(move |(moment, hook)| {
            let why = there.unfit_programs.get(hook.program.as_str())?;
            Some(Problem::Hook {
                node: node.clone(),
                moment: moment.name(),
                pool: pool.name.to_string(),
                program: one_line(&hook.program).into_owned(),
                why: one_line(why).into_owned(),
            })
        })
    })
}
