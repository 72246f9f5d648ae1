//! The directories of a pool that are offered by NFS.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use hawser_files::{FileError, Folder};

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
    #[error(transparent)]
    File(#[from] FileError),
}

/// All that the file names, each once.
pub fn find(
    parameters: &Parameters,
    file: &ExportsFile,
) -> Result<Vec<Directory>, DirectoriesError> {
    let mut directories: Vec<Directory> = Vec::new();
    if file.nfs.is_empty() {
        return Ok(directories);
    }
    let root = &parameters.root;
    let pool = Folder::open(root)?;
    let real = fs::canonicalize(root).map_err(FileError::io("realpath", root))?;
    for entry in &file.nfs {
        let name = entry.directory.to_string();
        if directories.iter().any(|known| known.name == name) {
            continue;
        }
        let absent = || ExportsError::NoDirectory {
            pool: parameters.pool.clone(),
            directory: name.clone(),
        };
        let below = pool.below(Path::new(&name)).map_err(|error| match &error {
            FileError::Kind { found, .. } if *found == "symbolic link" => {
                ExportsError::Link(name.clone()).into()
            }
            FileError::Kind { .. } => DirectoriesError::from(absent()),
            FileError::Io { source, .. } if source.kind() == ErrorKind::NotFound => absent().into(),
            _ => error.into(),
        })?;
        let about = below.metadata()?;
        let path = match name.as_str() {
            "." => real.clone(),
            name => real.join(name),
        };
        directories.push(Directory {
            identity: file_identity(&about, &name),
            // mountd looks for what a client asks for by its real name.
            path: path.display().to_string(),
            name,
        });
    }
    Ok(directories)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use hawser_model::cluster_file::Backend;

    use super::*;
    use crate::exports::file::parse;

    #[test]
    fn a_directory_is_below_the_pool_and_no_name_on_the_way_is_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(root.join("home/a")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        symlink("home", root.join("link")).unwrap();
        let parameters = Parameters {
            pool: "tank".into(),
            root: root.clone(),
            authority: String::new(),
            portals: Vec::new(),
            backend: Backend::Tgt,
            volume_group: None,
        };
        let look = |name: &str| {
            let text =
                format!("[[nfs]]\ndirectory = \"{name}\"\nclients = [\"*\"]\noptions = \"ro\"\n");
            let file = parse(&text, "exports.toml").unwrap();
            find(&parameters, &file).map_err(|error| error.to_string())
        };
        let below = look("home/a").unwrap().remove(0);
        assert_eq!(below.path, root.join("home/a").display().to_string());
        assert_eq!(look(".").unwrap()[0].path, root.display().to_string());
        for (name, why) in [
            ("link/a", ExportsError::Link("link/a".into())),
            ("link", ExportsError::Link("link".into())),
            (
                "file",
                ExportsError::NoDirectory {
                    pool: "tank".into(),
                    directory: "file".into(),
                },
            ),
            (
                "gone",
                ExportsError::NoDirectory {
                    pool: "tank".into(),
                    directory: "gone".into(),
                },
            ),
        ] {
            assert_eq!(look(name).unwrap_err(), why.to_string());
        }
    }
}
