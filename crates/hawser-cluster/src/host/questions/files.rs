//! The files that Hawser writes on a node. There is no question that reads or writes any other.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::{OwnedFile, files, told_of};

/// One of the files that Hawser writes. Answers nothing when there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadFile {
    /// Its path.
    pub path: String,
}

impl Ask for ReadFile {
    type Answer = Option<OwnedFile>;
    const NAME: &'static str = "read a file";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ReadFile {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Option<OwnedFile>, Declined> {
        Ok(files::read(&self.path)?)
    }
}

/// Writes one of the files that are Hawser's, whole or not at all, owned by root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriteFile {
    /// Its path.
    pub path: String,
    /// The file.
    pub file: OwnedFile,
}

impl Ask for WriteFile {
    type Answer = ();
    const NAME: &'static str = "write a file";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for WriteFile {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        files::write(&self.path, &self.file)?;
        Ok(told_of(&self.path)?)
    }
}

/// Removes one of the files that Hawser writes. It is no error if there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemoveFile {
    /// Its path.
    pub path: String,
}

impl Ask for RemoveFile {
    type Answer = ();
    const NAME: &'static str = "remove a file";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for RemoveFile {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        files::remove(&self.path)?;
        Ok(told_of(&self.path)?)
    }
}
