//! The `crm_simulate` of this machine. It reads and writes files of its own and asks no cluster.

use std::path::Path;

use hawser_tool::Tool;

use super::{Answer, Event, SimulateError, Simulator, arguments};

/// Runs `crm_simulate` from `PATH`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CrmSimulate;

impl Simulator for CrmSimulate {
    fn simulate(&self, cib: &str, events: &[Event]) -> Result<Answer, SimulateError> {
        let command = format!("crm_simulate --simulate {}", arguments(events).join(" "));
        let failed = |source| SimulateError::Run {
            command: command.clone(),
            source,
        };
        let folder = tempfile::tempdir().map_err(failed)?;
        let (graph, after) = (folder.path().join("graph"), folder.path().join("after"));
        let output = Tool::new("crm_simulate")
            .args(["--simulate", "--xml-pipe", "--output-as=xml"])
            .args(["--save-graph".as_ref(), graph.as_os_str()])
            .args(["--save-output".as_ref(), after.as_os_str()])
            .args(arguments(events))
            .input(cib)
            .output()
            .map_err(|e| SimulateError::Tool {
                command: command.clone(),
                source: e,
            })?;
        if !output.status.success() {
            let said = [output.stderr, output.stdout].concat();
            let said = String::from_utf8_lossy(&said).trim().to_owned();
            return Err(SimulateError::Refused { command, said });
        }
        let read = |path: &Path| std::fs::read_to_string(path).map_err(failed);
        Ok(Answer {
            report: String::from_utf8_lossy(&output.stdout).into_owned(),
            graph: read(&graph)?,
            cib_after: read(&after)?,
        })
    }
}
