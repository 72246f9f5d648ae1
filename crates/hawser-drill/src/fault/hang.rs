//! Every process of a head stands still: a kernel that answers pings and nothing else. Thawed, it goes
//! on where it was, believing that no time has passed; by then it must have lost its power.

use hawser_model::names::HostName;
use nix::sys::signal::Signal;

use super::Fault;
use crate::error::DrillError;
use crate::processes::of_node;
use crate::stage::Stage;

/// See the module.
pub struct Hang {
    /// The head.
    pub head: HostName,
}

impl Fault for Hang {
    fn name(&self) -> &'static str {
        "hang"
    }

    fn hosts(&self) -> Vec<HostName> {
        vec![self.head.clone()]
    }

    fn make(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        // One that forks while it is looked for leaves a child that runs: again, until there is none.
        for _ in 0..10 {
            let mut running = of_node(stage, self.head.as_str())?;
            running.retain(|process| !matches!(process.of.state, 'T' | 'Z'));
            if running.is_empty() {
                break;
            }
            for process in running {
                process.signal(Signal::SIGSTOP)?;
            }
        }
        Ok(())
    }

    fn evidence(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        let all = of_node(stage, self.head.as_str())?;
        // By the time somebody looks it may have been fenced already.
        if all.is_empty() {
            return Ok(Some(format!(
                "{} stood still until it lost its power",
                self.head
            )));
        }
        let still = all
            .iter()
            .all(|process| matches!(process.of.state, 'T' | 'Z'));
        Ok(still.then(|| format!("all {} processes of {} stand still", all.len(), self.head)))
    }

    fn heal(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        for process in of_node(stage, self.head.as_str())? {
            process.signal(Signal::SIGCONT)?;
        }
        Ok(())
    }
}
