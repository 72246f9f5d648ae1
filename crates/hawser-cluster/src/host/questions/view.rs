//! What a head sees of its cluster, and whether it could take over.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};

use super::Machine;
use crate::host::{HeadView, ViewQuestion, view};

impl Ask for ViewQuestion {
    type Answer = HeadView;
    const NAME: &'static str = "say what it sees of the cluster";
    const SIZE: Size = Size::Large;

    fn patience(&self) -> Duration {
        Duration::from_secs(u64::from(self.limits.view()))
    }
}

/// It answers whatever hangs.
impl Answers<Machine> for ViewQuestion {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<HeadView, Declined> {
        Ok(view::take(&self))
    }
}
