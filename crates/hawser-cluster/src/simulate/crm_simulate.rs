//! The `crm_simulate` of this machine. It reads and writes files of its own and asks no cluster.

use std::ffi::OsStr;
use std::path::Path;

use hawser_tool::Tool;

use super::{Answer, Event, SimulateError, Simulator};

/// Runs `crm_simulate` from `PATH`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CrmSimulate;

/// Two runs: one that makes the events happen, one in which Pacemaker reacts. In one run the report of Pacemaker 3.0.0
/// (Debian 13) ends with the events, and has nothing of what is done about them.
impl Simulator for CrmSimulate {
    fn simulate(&self, cib: &str, events: &[Event]) -> Result<Answer, SimulateError> {
        let (fails, happen): (Vec<_>, Vec<_>) = events.iter().partition(|it| it.is_failure());
        let folder = tempfile::tempdir().map_err(|source| SimulateError::Run {
            command: "crm_simulate".to_owned(),
            source,
        })?;
        let in_folder = |name: &str| folder.path().join(name);
        let (given, graph, after) = (in_folder("given"), in_folder("graph"), in_folder("after"));

        // It works on a copy: on this one, or on one among Pacemaker's own files, which a watch must not write to.
        let tool = || {
            let tool = Tool::new("crm_simulate").args(["--output-as=xml"]);
            tool.args([OsStr::new("--save-output"), after.as_os_str()])
        };
        let (before, simulate) = if happen.is_empty() {
            (None, tool().args(["--xml-pipe"]).input(cib))
        } else {
            let save = [OsStr::new("--save-input"), given.as_os_str()];
            let before = tool().args(["--xml-pipe"]).args(save).input(cib);
            let file = [OsStr::new("--xml-file"), given.as_os_str()];
            (Some(report(before, &happen)?), tool().args(file))
        };
        let simulate = simulate
            .args(["--simulate"])
            .args([OsStr::new("--save-graph"), graph.as_os_str()]);
        let report = report(simulate, &fails)?;
        let read = |path: &Path| {
            std::fs::read_to_string(path).map_err(|source| SimulateError::Run {
                command: "crm_simulate --simulate".to_owned(),
                source,
            })
        };
        Ok(Answer {
            before,
            report,
            graph: read(&graph)?,
            cib_after: read(&after)?,
        })
    }
}

/// What it prints when it is told of these events.
fn report(tool: Tool, events: &[&Event]) -> Result<String, SimulateError> {
    let arguments: Vec<String> = events.iter().map(|event| event.argument()).collect();
    let command = format!("crm_simulate {}", arguments.join(" "));
    let output = tool.args(arguments).output();
    let output = output.map_err(|source| SimulateError::Tool {
        command: command.clone(),
        source,
    })?;
    if !output.status.success() {
        let said = [output.stderr, output.stdout].concat();
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        return Err(SimulateError::Refused { command, said });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn nothing_is_written_among_the_files_of_pacemaker() {
        let cib = include_str!("../../goldens/lab/cib.xml");
        // A file that is made and removed again shows in the folder's time.
        let changed = || fs::metadata("/var/lib/pacemaker/cib").and_then(|it| it.modified());
        let before = changed().expect("its package makes the folder");
        for events in [vec![], vec![Event::NodeFail("head1".to_owned())]] {
            let answer = CrmSimulate.simulate(cib, &events).unwrap();
            assert_eq!(answer.before.is_some(), !events.is_empty());
            answer.read().unwrap();
        }
        assert_eq!(changed().unwrap(), before);
    }
}
