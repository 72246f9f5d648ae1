//! Ways to start an agent on a node and to speak with it.

mod command;
mod executable;
mod explain;
mod ssh;

use hawser_model::names::HostName;

use crate::client::Link;
use crate::error::Failure;

pub use command::Command;
pub use executable::Executable;
pub use ssh::Ssh;

/// A way to a node.
pub trait Transport: Send + Sync {
    /// The node, as the cluster file calls it.
    fn host(&self) -> &HostName;

    /// How many times longer than elsewhere whatever is asked there may take.
    fn slowness(&self) -> u32 {
        1
    }

    /// Starts an agent there and waits until it has announced itself.
    ///
    /// # Errors
    /// Why it did not.
    fn start(&self) -> Result<Link, Failure>;
}
