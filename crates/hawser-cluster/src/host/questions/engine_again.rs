//! Corosync and Pacemaker with another configuration.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use super::engine::STOP;
use super::{Machine, USUAL};
use crate::host::{OwnedFile, engine, files, reload};
use crate::plan::COROSYNC_CONF;

/// Stops Corosync and Pacemaker and starts them again, as one order: whatever ends meanwhile, this agent included, they are started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RestartEngine;

impl Ask for RestartEngine {
    type Answer = ();
    const NAME: &'static str = "restart the cluster";
    const PATIENCE: Duration = STOP;
}

impl Answers<Machine> for RestartEngine {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(engine::restart()?)
    }
}

/// This head has another `corosync.conf`, and the cluster's Corosync reads it: in one order, so that nobody can end in between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReloadCorosync {
    /// The file.
    pub file: OwnedFile,
}

impl Ask for ReloadCorosync {
    type Answer = ();
    const NAME: &'static str = "reload Corosync";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ReloadCorosync {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        files::write(COROSYNC_CONF, &self.file)?;
        Ok(reload::reload()?)
    }
}
