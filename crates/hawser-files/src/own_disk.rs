//! What a head keeps for itself, on its own disk: a pool's disks are another head's a minute later.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::{FileError, Folder};

impl Folder {
    /// Opens a folder of the head's own, and makes it if it is not there, for nobody else to enter. Nothing is made below one of
    /// these folders of pools, also not where a link leads there.
    ///
    /// # Errors
    /// It is below a pool's, or cannot be made or opened.
    pub fn on_own_disk(path: &Path, pools: &[String]) -> Result<Self, FileError> {
        not_below(path, pools)?;
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(path);
        made.map_err(FileError::io("create", path))?;
        // What was no link before it was made may be one now.
        not_below(path, pools)?;
        Self::open(path)
    }
}

fn not_below(path: &Path, pools: &[String]) -> Result<(), FileError> {
    let real = real(path)?;
    // The pool may be named by a link as well; one that is not there has nothing below it yet.
    let below = |pool: &&String| {
        let root = fs::canonicalize(pool);
        real.starts_with(pool) || root.is_ok_and(|root| real.starts_with(root))
    };
    match pools.iter().find(below) {
        Some(pool) => Err(FileError::OnPool {
            path: real,
            pool: pool.clone(),
        }),
        None => Ok(()),
    }
}

/// Where it is without links, or would be.
fn real(path: &Path) -> Result<PathBuf, FileError> {
    let mut there = path;
    loop {
        match (fs::canonicalize(there), there.parent()) {
            (Ok(real), _) => {
                let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
                return Ok(real.join(rest));
            }
            (Err(e), Some(parent)) if e.kind() == std::io::ErrorKind::NotFound => there = parent,
            (Err(e), _) => return Err(FileError::io("resolve", path)(e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn nothing_is_made_below_a_pool_whatever_leads_there() {
        let dir = tempfile::tempdir().unwrap();
        let pool = dir.path().join("pool");
        fs::create_dir(&pool).unwrap();
        let link = dir.path().join("lib");
        symlink(&pool, &link).unwrap();
        let named = |path: &Path| vec![path.to_str().unwrap().to_owned()];
        for (path, pools) in [
            (pool.join("hawser/kept"), named(&pool)),
            (link.join("hawser/kept"), named(&pool)),
            (pool.join("hawser/kept"), named(&link)),
        ] {
            let refused = Folder::on_own_disk(&path, &pools).unwrap_err();
            let said = refused.to_string();
            assert!(
                said.contains("pool/hawser/kept is on the pool below"),
                "{said}"
            );
        }
        assert_eq!(fs::read_dir(&pool).unwrap().count(), 0);
        let own = dir.path().join("hawser/kept");
        for _ in 0..2 {
            Folder::on_own_disk(&own, &named(&pool)).unwrap();
        }
        let mode = fs::metadata(&own).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
