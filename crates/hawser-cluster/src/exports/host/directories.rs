//! The directories of a pool that are offered by NFS.

use std::fs;
use std::io::ErrorKind;

use super::parameters::Parameters;
use super::volumes::file_identity;
use crate::exports::file::ExportsFile;
use crate::exports::nfs::Directory;
use crate::exports::resolve::ExportsError;

/// A directory that cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum DirectoriesError {
    /// It is not what the file says.
    #[error(transparent)]
    Exports(#[from] ExportsError),
    /// It cannot be looked at.
    #[error("stat {path}: {source}")]
    Io {
        /// The path.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

/// All that the file names, each once.
pub fn find(
    parameters: &Parameters,
    file: &ExportsFile,
) -> Result<Vec<Directory>, DirectoriesError> {
    let mut directories: Vec<Directory> = Vec::new();
    for entry in &file.nfs {
        let name = entry.directory.to_string();
        if directories.iter().any(|known| known.name == name) {
            continue;
        }
        let root = &parameters.root;
        let path = if name == "." {
            root.clone()
        } else {
            root.join(&name)
        };
        let absent = || ExportsError::NoDirectory {
            pool: parameters.pool.clone(),
            directory: name.clone(),
        };
        let failed = |source: std::io::Error| match source.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => absent().into(),
            _ => DirectoriesError::Io {
                path: path.display().to_string(),
                source,
            },
        };
        let about = fs::metadata(&path).map_err(failed)?;
        if !about.is_dir() {
            return Err(absent().into());
        }
        let real = fs::canonicalize(&path).map_err(failed)?;
        let real_root = fs::canonicalize(root).map_err(failed)?;
        let below = if name == "." {
            real_root
        } else {
            real_root.join(&name)
        };
        if real != below {
            return Err(ExportsError::Link(name).into());
        }
        directories.push(Directory {
            identity: file_identity(&about, &name),
            // mountd looks for what a client asks for by its real name.
            path: real.display().to_string(),
            name,
        });
    }
    Ok(directories)
}
