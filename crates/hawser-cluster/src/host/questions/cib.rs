//! The CIB.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::{StoredCib, pacemaker, stored_cib};

/// The live CIB; nothing when Pacemaker does not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadCib;

impl Ask for ReadCib {
    type Answer = Option<String>;
    const NAME: &'static str = "read the CIB";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ReadCib {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Option<String>, Declined> {
        Ok(pacemaker::cib())
    }
}

/// Makes the difference between two CIBs to the live one. Answers whether that was still the first, and is now the second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatchCib {
    /// The CIB as it was read.
    pub was: String,
    /// As it is to be.
    pub new: String,
}

impl Ask for PatchCib {
    type Answer = bool;
    const NAME: &'static str = "change the CIB";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for PatchCib {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<bool, Declined> {
        Ok(pacemaker::patch(&self.was, &self.new)?)
    }
}

/// Writes a first CIB for a node that never had one and whose Pacemaker does not run. It is no error if it has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedCib {
    /// The CIB.
    pub cib: String,
}

impl Ask for SeedCib {
    type Answer = ();
    const NAME: &'static str = "write a first CIB";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for SeedCib {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(pacemaker::seed(&self.cib)?)
    }
}

/// Moves the CIB that this node keeps, which is another cluster's, out of Pacemaker's way. Pacemaker must not run. It is no
/// error if there is none any more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetAsideCib {
    /// What was seen of it.
    pub cib: StoredCib,
}

impl Ask for SetAsideCib {
    type Answer = ();
    const NAME: &'static str = "set an old CIB aside";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for SetAsideCib {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(stored_cib::set_aside(&self.cib)?)
    }
}
