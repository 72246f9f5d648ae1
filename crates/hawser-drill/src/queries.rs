//! What a drill asks of a cluster beside its status.

use hawser_cluster::host::questions::{ForgetFailures, ReadCib};

use crate::error::DrillError;
use crate::stage::Stage;

/// The live CIB.
pub(crate) fn cib(stage: &Stage<'_>) -> Result<String, DrillError> {
    let head = &stage.active;
    let cib = stage.hosts.ask(head, &ReadCib)?;
    cib.ok_or_else(|| DrillError::CouldNot(format!("Pacemaker does not run on {head}")))
}

/// What Pacemaker remembers of failures is forgotten, as an operator would do it.
pub(crate) fn clean_up(stage: &Stage<'_>) {
    let mut heads = stage.heads.iter();
    // One head is enough, and one that does not run its cluster yet cannot.
    let _one_can = heads.any(|head| stage.hosts.ask(head, &ForgetFailures).is_ok());
}
