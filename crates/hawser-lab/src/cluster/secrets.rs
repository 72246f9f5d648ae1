//! The machine that a lab's cluster is administered from: a folder that stands for its root, with
//! the cluster file and the passwords.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::spec::ClusterSpec;
use crate::error::LabError;
use crate::paths::LabDir;
use crate::state::random_token;

/// Writes the cluster file and a new password for each BMC.
pub(crate) fn make(dir: &LabDir, cluster: &ClusterSpec) -> Result<(), LabError> {
    let root = dir.admin();
    private(&root, "hawser.toml", &cluster.file)?;
    for bmc in &cluster.bmcs {
        // IPMI 2.0 takes at most 20 bytes.
        let password = &random_token()?[..16];
        let path = bmc.password.strip_prefix("/").unwrap_or(&bmc.password);
        private(&root, path, &format!("{password}\n"))?;
    }
    Ok(())
}

/// The password of a BMC.
pub(crate) fn password(dir: &LabDir, path: &Path) -> Result<String, LabError> {
    let path = dir.admin().join(path.strip_prefix("/").unwrap_or(path));
    let text = fs::read_to_string(&path).map_err(|e| LabError::io("read", &path, e))?;
    Ok(text.trim_end().to_owned())
}

/// Writes a file that only root can read, below a folder that only root can enter.
pub(super) fn private(root: &Path, name: impl AsRef<Path>, text: &str) -> Result<(), LabError> {
    let path: PathBuf = root.join(name);
    let folder = path.parent().unwrap_or(root);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|e| LabError::io("create the folder", folder, e))?;
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|e| LabError::io("write", &path, e))
}
