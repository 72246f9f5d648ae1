//! What a client of the storage has of it. No question changes that.

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_kernel::storage_client;
use hawser_model::client::ClientFacts;
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Reads the iSCSI sessions, multipath devices and NFS mounts of a machine, and how long each waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadClient;

impl Ask for ReadClient {
    type Answer = ClientFacts;
    const NAME: &'static str = "read what a client has";
    const SIZE: Size = Size::Recorded;
}

impl Answers<Node> for ReadClient {
    fn answer(self, _: &mut Node, _: &Stop) -> Result<ClientFacts, Declined> {
        Ok(storage_client())
    }
}
