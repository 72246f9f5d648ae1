//! tgtd, the target in user space: what a pool has in it by its own knowledge, and the operations that
//! make it what is desired.

mod access;
mod accounts;
mod current;
mod daemon;
mod instance;
mod known;
mod operations;
mod plan;
mod probe;
mod serve;
mod show;
mod wire;

pub use current::{CurrentTarget, CurrentUnit, Session, Targets, after, during};
pub use daemon::{Daemon, DaemonError, SOCKET};
pub use instance::Instance;
pub use operations::{Operation, VENDOR};
pub use plan::{Account, Found, Ours, names, needed, numbers, start, stop, whole};
pub use probe::answers;
pub(super) use serve::Tgtd;
pub use show::ShowError;
