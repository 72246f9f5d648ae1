//! Somebody changed the password of a head's BMC and told nobody: the others cannot switch it off, and
//! what runs on it must not be taken over.

use hawser_cluster::cib::secrets::SECRET_DIRECTORY;
use hawser_model::names::HostName;

use super::Fault;
use crate::error::DrillError;
use crate::stage::Stage;

/// See the module. What is changed is the password that the other heads know, which comes to the same.
pub struct WrongPassword {
    /// The head whose BMC it is.
    pub head: HostName,
}

impl WrongPassword {
    /// The file with the password of the head's BMC on the others, by the name of its fence device.
    fn file(&self) -> String {
        format!("{SECRET_DIRECTORY}/fence-{}", self.head)
    }

    fn on_others(&self, stage: &Stage<'_>, line: &str) -> Result<(), DrillError> {
        for head in stage.heads.iter().filter(|head| **head != self.head) {
            stage.shell(head.as_str(), line)?;
        }
        Ok(())
    }
}

impl Fault for WrongPassword {
    fn name(&self) -> &'static str {
        "wrong-password"
    }

    fn hosts(&self) -> Vec<HostName> {
        vec![self.head.clone()]
    }

    fn object(&self) -> Option<String> {
        Some("BMC".to_owned())
    }

    fn make(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        let file = self.file();
        // The right one is kept beside it, with its mode, before anything is changed.
        self.on_others(
            stage,
            &format!("[ -e {file}.drill ] || cp -p {file} {file}.drill; echo changed > {file}"),
        )
    }

    fn evidence(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        let now = stage.cluster.status().map_err(DrillError::CouldNot)?;
        let device = format!("fence-{}", self.head);
        let mut said = now.degraded.iter();
        let said = said.find(|line| line.contains(&device));
        Ok(said.cloned())
    }

    fn heal(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        let file = self.file();
        self.on_others(
            stage,
            &format!("[ ! -e {file}.drill ] || mv {file}.drill {file}"),
        )
    }
}
