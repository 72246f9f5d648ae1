//! tgtd, the target in user space: what it has, read from its own listing, and the operations that
//! make it what is desired.

mod daemon;
mod operations;
mod plan;
mod show;
mod wire;

pub use daemon::{Daemon, DaemonError, SOCKET};
pub use operations::{Operation, Secret};
pub use plan::{Account, Found, Ours, names, start, stop};
pub use show::{CurrentTarget, CurrentUnit, Session, ShowError, accounts, parse, portals};
