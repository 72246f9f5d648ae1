//! tgtd, the target in user space: what a pool has in it by its own knowledge, and the operations that
//! make it what is desired.

mod access;
mod current;
mod daemon;
mod operations;
mod plan;
mod probe;
mod show;
mod wire;

pub use current::{CurrentTarget, CurrentUnit, Session, Targets, after, during};
pub use daemon::{Daemon, DaemonError, Instance, SOCKET};
pub use operations::Operation;
pub use plan::{Account, Found, Ours, names, needed, numbers, start, stop, whole};
pub use probe::answers;
pub use show::{ShowError, visible};
