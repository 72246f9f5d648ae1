//! What the exports of a pool need of the host they run on.

mod cib;
mod directories;
mod lock;
mod mounts;
mod parameters;
mod saved;
mod secret;
mod volumes;
mod write;

pub use cib::{CibError, parameters as parameters_from_cib};
pub use directories::{DirectoriesError, find as find_directories};
pub use lock::{Lock, LockError};
pub use mounts::{Mount, mounted};
pub use parameters::Parameters;
pub use saved::{Mark, Saved, SavedError};
pub use secret::{SecretError, read as read_secret};
pub use volumes::{VolumesError, find as find_volumes};
pub use write::{WriteError, whole as write_whole};
