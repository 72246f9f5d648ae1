//! The host, as the service has it. Tests have one of their own.

use std::io;
use std::path::Path;

use hawser_tool::Deadline;

use crate::exports::Portal;
use crate::exports::host::{Copies, Facts, StorageIds, look_at_open, storage};
use crate::exports::lio::Configfs;
use crate::exports::tgt::{self, Daemon};

/// Who has these volumes, or something below this root, open.
type Look = dyn Fn(&StorageIds, &Path) -> io::Result<Facts>;

/// Whether the storage below a volume answers.
type Read = dyn Fn(&Path, Deadline) -> io::Result<()>;

/// The host.
pub struct Here {
    /// Where the copies of what was started are.
    pub folder: Copies,
    /// tgtd.
    pub daemon: Daemon,
    /// The kernel's target.
    pub configfs: Configfs,
    /// Who has what open.
    pub look: Box<Look>,
    /// Whether a portal answers a login.
    pub login: Box<dyn Fn(Portal, Deadline) -> io::Result<()>>,
    /// Reads from a volume.
    pub read: Box<Read>,
    /// Ends the tgtd that this was.
    pub end: Box<dyn Fn(tgt::Instance) -> io::Result<()>>,
}

impl Default for Here {
    fn default() -> Self {
        Self {
            folder: Copies::default(),
            daemon: Daemon::default(),
            configfs: Configfs::default(),
            look: Box::new(look_at_open),
            login: Box::new(tgt::answers),
            read: Box::new(storage::answers),
            end: Box::new(tgt::Instance::end),
        }
    }
}
