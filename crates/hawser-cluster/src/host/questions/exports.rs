//! What a pool offers its clients, as `hawser exports` asks for it.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_model::output::exports::ExportsReport;
use serde::{Deserialize, Serialize};

use super::Machine;
use crate::exports::asked::{self, Changed, ExportsRefused, PoolGiven};

/// How long a change of the same pool that is under way may be waited for, and to spare.
const WAITS: Duration = Duration::from_secs(75);

/// The CIB gives a start and a stop 120 s.
const CHANGE: Duration = Duration::from_secs(120 + 75);

/// The host makes the target offer what the pool says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartExports(pub PoolGiven);

impl Ask for StartExports {
    type Answer = Changed;
    const NAME: &'static str = "start exports";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = CHANGE;
}

impl Answers<Machine> for StartExports {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Changed, Declined> {
        Ok(asked::start(&self.0, &mut |_| ()))
    }
}

/// The host takes everything of the pool away from the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StopExports(pub PoolGiven);

impl Ask for StopExports {
    type Answer = Changed;
    const NAME: &'static str = "stop exports";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = CHANGE;
}

impl Answers<Machine> for StopExports {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Changed, Declined> {
        Ok(asked::stop(&self.0, &mut |_| ()))
    }
}

/// What the host offers of the pool, compared with what the pool says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportExports(pub PoolGiven);

impl Ask for ReportExports {
    type Answer = Result<ExportsReport, ExportsRefused>;
    const NAME: &'static str = "report exports";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = WAITS;
}

impl Answers<Machine> for ReportExports {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Self::Answer, Declined> {
        Ok(asked::report(&self.0))
    }
}
