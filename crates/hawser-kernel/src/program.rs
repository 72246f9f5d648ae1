//! Running another program for its answer, never for longer than it is worth.

use std::time::Duration;

use hawser_tool::Tool;

use crate::KernelError;

/// What `program` prints, if it ends with success within `limit`; it is killed otherwise.
///
/// Standard input is empty: an agent's own carries its protocol.
pub(crate) fn run(
    program: &'static str,
    arguments: &[&str],
    limit: Duration,
) -> Result<String, KernelError> {
    let fail = |what: String| KernelError::Program { program, what };
    let output = Tool::new(program).args(arguments).limit(limit).output();
    let output = output.map_err(|e| fail(e.reason()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(fail(output.status.to_string())),
    }
}
