//! What was set offline, noted before it is: so that another process, which knows nothing of it, sets it running. It is gone
//! with the head's power, as is what it tells.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::host::NodeError;

const PLACE: &str = "/run/hawser/drill-disks.json";

/// What was set offline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The disk, as its pool calls it.
    pub device: String,
    /// The SCSI addresses of its paths that are hit: their names may be others', once they were gone.
    pub paths: Vec<String>,
}

impl Note {
    /// Writes it, if there is none: two drills do not mix.
    pub fn write(self) -> Result<Self, NodeError> {
        if let Some(there) = Self::read()? {
            return Err(NodeError::Tool {
                command: PLACE.into(),
                said: format!("{} is offline already", there.device),
            });
        }
        let folder = Path::new(PLACE).parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(NodeError::file("create", folder))?;
        let text = serde_json::to_string(&self).unwrap_or_default();
        hawser_files::replace(Path::new(PLACE), text.as_bytes(), 0o600)?;
        Ok(self)
    }

    /// Reads it; nothing if there is none.
    pub fn read() -> Result<Option<Self>, NodeError> {
        let text = match fs::read_to_string(PLACE) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.map_err(NodeError::file("read", PLACE))?,
        };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|e| NodeError::file("read", PLACE)(e.into()))
    }

    /// Removes it, also if there is none.
    pub fn remove() -> Result<(), NodeError> {
        match fs::remove_file(PLACE) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(NodeError::file("remove", PLACE)(e)),
            _ => Ok(()),
        }
    }
}
