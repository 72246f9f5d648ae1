//! A program of a head is killed, or stops where it is (`SIGSTOP`) and looks alive to everybody who only
//! asks whether it runs.

use hawser_model::names::HostName;
use nix::sys::signal::Signal;

use super::Fault;
use crate::error::DrillError;
use crate::processes::{Process, named};
use crate::stage::Stage;

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// `SIGKILL`.
    Killed,
    /// `SIGSTOP`.
    Stopped,
}

/// See the module.
pub struct Program {
    /// The head.
    pub head: HostName,
    /// The program: `corosync`.
    pub program: &'static str,
    /// What becomes of it.
    pub how: How,
}

impl Program {
    fn all(&self, stage: &Stage<'_>) -> Result<Vec<Process>, DrillError> {
        named(stage, self.head.as_str(), self.program)
    }

    fn is_on(&self, stage: &Stage<'_>) -> Result<bool, DrillError> {
        Ok(stage.lab()?.running().contains(&self.head))
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
        Some(self.program.to_owned())
    }

    fn make(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        let all = self.all(stage)?;
        if all.is_empty() {
            return Err(DrillError::CouldNot(format!(
                "{} does not run on {}",
                self.program, self.head
            )));
        }
        for process in all {
            process.signal(match self.how {
                How::Killed => Signal::SIGKILL,
                How::Stopped => Signal::SIGSTOP,
            })?;
        }
        Ok(())
    }

    fn evidence(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        let Self { head, program, how } = self;
        if !self.is_on(stage)? {
            return Ok(Some(format!("{head} lost its power by it")));
        }
        let all = self.all(stage)?;
        let (there, words) = match how {
            // Somebody may have started it anew already.
            How::Killed => (true, format!("{program} was killed on {head}")),
            How::Stopped => (
                !all.is_empty() && all.iter().all(|process| process.state == 'T'),
                format!("{program} stands still on {head}"),
            ),
        };
        Ok(there.then_some(words))
    }

    fn heal(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        if !self.is_on(stage)? {
            return Ok(());
        }
        match self.how {
            How::Stopped => {
                for process in self.all(stage)? {
                    process.signal(Signal::SIGCONT)?;
                }
            }
            // What systemd would have done by itself on a real head.
            How::Killed => {
                let line = match self.program {
                    "tgtd" => {
                        "pidof tgtd >/dev/null || setsid tgtd -f >>/var/log/tgtd.log 2>&1 </dev/null &"
                    }
                    _ => "/run/hawser/lab/hawser lab node-service start",
                };
                stage.shell(self.head.as_str(), line)?;
            }
        }
        Ok(())
    }
}
