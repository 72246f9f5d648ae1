//! Reading the host's Corosync.

use std::collections::BTreeMap;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_kernel::{corosync_facts, corosync_stats};
use hawser_model::host::CorosyncFacts;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Reads the host's Corosync, if one runs.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadCorosync;

impl Ask for ReadCorosync {
    type Answer = Option<CorosyncFacts>;
    const NAME: &'static str = "corosync";
    const SIZE: Size = Size::Large;
}

impl Answers<Node> for ReadCorosync {
    fn answer(self, _: &mut Node, _: &Stop) -> Result<Option<CorosyncFacts>, Declined> {
        Ok(corosync_facts())
    }
}

/// Reads the statistics of Corosync's links and timing (`corosync-cmapctl -m stats`, which is started for it).
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadHeartbeats;

impl Ask for ReadHeartbeats {
    type Answer = BTreeMap<String, String>;
    const NAME: &'static str = "corosync's statistics";
    const SIZE: Size = Size::Recorded;
}

impl Answers<Node> for ReadHeartbeats {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<BTreeMap<String, String>, Declined> {
        let stats = corosync_stats()?;
        node.lost_pings.links(&stats);
        Ok(stats)
    }
}
