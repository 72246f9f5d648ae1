//! What the exports of a pool need of the host they run on.

mod cib;
mod directories;
mod list;
mod lock;
mod mounts;
mod open;
mod parameters;
mod saved;
mod secret;
pub mod storage;
mod storage_id;
mod volumes;
mod zfs;

pub use cib::{CibError, parameters as parameters_from_cib, pools as pools_in_cib};
pub use directories::{DirectoriesError, find as find_directories};
pub use list::ListError;
pub use lock::{Change, LOOK_AGAIN, Lock, Look};
pub use mounts::{Mount, file_systems_below, is_mounted, is_read_only, mounted, on_top};
pub use open::{
    Above, Backstore, Facts, Open, Process, SERVERS, closure, look as look_at_open, open_by,
    process,
};
pub use parameters::Parameters;
pub use saved::{Copies, FOLDER, KEPT, Made, Mark, Saved, SavedError, write_kept};
pub use secret::{SecretError, read as read_secret};
pub use storage_id::{StorageId, StorageIds, at as storage_ids_at, of_pool as storage_ids_of_pool};
pub use volumes::{VolumesError, find as find_volumes};
