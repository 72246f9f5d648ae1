//! Whether a head could have pools that it does not have.

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Stop};
use serde::{Deserialize, Serialize};

use super::Machine;
use crate::host::view::{self, Limits, PoolQuestion, PoolView};

/// How a head sees these pools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookAtPools {
    /// The pools.
    pub pools: Vec<PoolQuestion>,
    /// How long it may take.
    pub limits: Limits,
}

impl Ask for LookAtPools {
    type Answer = BTreeMap<String, PoolView>;
    const NAME: &'static str = "look at its pools";

    fn patience(&self) -> Duration {
        // A look that is given up is an answer too: it comes at the end of its time.
        Duration::from_secs(u64::from(self.limits.view()) + 5)
    }
}

/// It answers whatever hangs.
impl Answers<Machine> for LookAtPools {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<BTreeMap<String, PoolView>, Declined> {
        Ok(view::look_at(&self.pools, self.limits))
    }
}
