//! What a lab has when a storage cluster is to be built on it: a BMC for each head, shelves that all
//! heads see, services that start with a node, an arbiter, and a machine that the cluster is administered from.

pub(crate) mod arbiter;
pub mod bmc;
pub mod clock;
pub(crate) mod disk;
pub(crate) mod make_pools;
mod networks;
mod pools;
pub(crate) mod secrets;
pub mod services;
pub(crate) mod shelf;
mod shutdown;
mod spec;
mod watch;

pub use disk::UnitSpec;
pub use pools::PoolSpec;
pub use spec::{BMC_LINK, BmcSpec, ClusterSpec, ShelfSpec};
