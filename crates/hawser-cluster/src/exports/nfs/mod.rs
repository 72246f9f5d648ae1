//! The kernel's NFS server as a back end: what is exported is a table that `exportfs` keeps (its `etab`)
//! and that `rpc.mountd` answers the kernel's questions from.
//!
//! [`resolve`](resolve()) turns file, directories and remembered numbers into what is wanted, [`plan`] compares that
//! with the table, [`server`] does what comes out.

mod client;
mod flush;
mod kept;
mod options;
mod plan;
pub mod reclaim;
mod resolve;
mod serve;
pub mod server;
mod table;

pub use client::Client;
pub use kept::is_kept;
pub use options::NfsOptions;
pub use plan::{Operation, plan};
pub use resolve::{Directory, also_disks, resolve};
pub(super) use serve::Nfs;
pub use table::{Found, Pair, table};
