//! A program of a head is killed, or stops where it is (`SIGSTOP`) and looks alive to everybody who only
//! asks whether it runs.

use std::time::Duration;

use hawser_cluster::host::drill::HostFault;
use hawser_model::names::HostName;
use nix::sys::signal::Signal;

use super::Fault;
use crate::error::DrillError;
use crate::processes::{Process, named};
use crate::stage::Stage;

pub use hawser_cluster::host::drill::{How, Program as Which};

/// A killed process may take so long to be gone.
const ENDS: Duration = Duration::from_secs(5);

/// See the module.
pub struct Program {
    /// The head.
    pub head: HostName,
    /// The program.
    pub program: Which,
    /// What becomes of it.
    pub how: How,
}

impl Program {
    fn all(&self, stage: &Stage<'_>) -> Result<Vec<Process>, DrillError> {
        named(stage, self.head.as_str(), self.program.name())
    }

    /// The same as a real head makes it on itself.
    fn there(&self) -> HostFault {
        HostFault::Program {
            program: self.program,
            how: self.how,
        }
    }
}

impl Fault for Program {
    fn name(&self) -> &'static str {
        match self.how {
            How::Killed => "kill",
            How::Stopped => "stop",
        }
    }

    fn hosts(&self) -> Vec<HostName> {
        vec![self.head.clone()]
    }

    fn object(&self) -> Option<String> {
        Some(self.program.name().to_owned())
    }

    fn make(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        if stage.real().is_some() {
            return stage.make_there(&self.head, self.there());
        }
        let all = self.all(stage)?;
        if all.is_empty() {
            return Err(DrillError::CouldNot(format!(
                "{} does not run on {}",
                self.program.name(),
                self.head
            )));
        }
        for process in &all {
            process.signal(match self.how {
                How::Killed => Signal::SIGKILL,
                How::Stopped => Signal::SIGSTOP,
            })?;
        }
        if self.how == How::Stopped {
            return Ok(());
        }
        // Somebody may start it anew at once; those that were hit must be gone.
        let gone = stage.wait(ENDS, || {
            let left = self.all(stage)?;
            Ok(!left.iter().any(|it| all.iter().any(|old| old.is(it))))
        })?;
        match gone {
            true => Ok(()),
            false => Err(DrillError::CouldNot(format!(
                "{} was killed on {} and is still there",
                self.program.name(),
                self.head
            ))),
        }
    }

    fn evidence(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        let (head, program) = (&self.head, self.program.name());
        if stage.real().is_some() {
            return stage.shown_there(head, self.there());
        }
        if !stage.is_on(head)? {
            return Ok(Some(format!("{head} lost its power by it")));
        }
        let all = self.all(stage)?;
        let (there, words) = match self.how {
            // It was made only when those that ran were gone.
            How::Killed => (true, format!("{program} was killed on {head}")),
            How::Stopped => (
                !all.is_empty() && all.iter().all(|process| process.of.state == 'T'),
                format!("{program} stands still on {head}"),
            ),
        };
        Ok(there.then_some(words))
    }

    fn heal(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        if stage.real().is_some() {
            return stage.mend_there(&self.head, self.there());
        }
        if !stage.is_on(&self.head)? {
            return Ok(());
        }
        let all = self.all(stage)?;
        if self.how == How::Stopped && !all.is_empty() {
            return all
                .iter()
                .try_for_each(|process| process.signal(Signal::SIGCONT));
        }
        // It was killed, or ended because it hung. What systemd would have done by itself on a real head.
        let service = match self.program {
            Which::Tgtd => "target",
            _ => "start",
        };
        let line = format!("/run/hawser/lab/hawser lab node-service {service}");
        stage.shell(self.head.as_str(), &line).map(drop)
    }
}
