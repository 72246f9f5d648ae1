//! What a drill asks of a cluster beside its status.

use hawser_cluster::host::questions::{ForgetFailures, ReadCib};

use crate::context::DrillContext;
use crate::error::DrillError;
use crate::fencing::{self, History};

/// The live CIB.
pub(crate) fn cib(context: &DrillContext<'_>) -> Result<String, DrillError> {
    let head = &context.active;
    let cib = context.hosts.ask(head, &ReadCib)?;
    cib.ok_or_else(|| DrillError::CouldNot(format!("Pacemaker does not run on {head}")))
}

/// What Pacemaker remembers of failures is forgotten, as an operator would do it. Answers what its fencers remembered
/// before: whatever nobody could read is not forgotten.
pub(crate) fn clean_up(context: &DrillContext<'_>) -> Option<History> {
    let history = fencing::read(context).ok()?;
    let mut heads = context.heads.iter();
    // One head is enough, and one that does not run its cluster yet cannot.
    let _one_can = heads.any(|head| context.hosts.ask(head, &ForgetFailures).is_ok());
    Some(history)
}
