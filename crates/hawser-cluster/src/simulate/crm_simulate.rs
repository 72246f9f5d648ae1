//! The `crm_simulate` of this machine. It reads and writes files of its own and asks no cluster.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

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
        let mut child = Command::new("crm_simulate")
            .args(["--simulate", "--xml-pipe", "--output-as=xml"])
            .arg("--save-graph")
            .arg(&graph)
            .arg("--save-output")
            .arg(&after)
            .args(arguments(events))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        // It reads all of its input before it writes anything, so this cannot block both.
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(cib.as_bytes()).map_err(failed)?;
        }
        let output = child.wait_with_output().map_err(failed)?;
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
