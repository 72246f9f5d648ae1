//! The exports of a pool as a file, which `exportfs -r` reads.
//!
//! `exportfs -r` takes from the table whatever stands in no file. `nfs-server.service` calls it when it starts or is
//! reloaded, and ZFS whenever it imports or exports any pool (`nfs_commit_shares` in lib/libshare/os/linux/nfs.c of
//! OpenZFS): the exports of another pool of the head were gone until a monitor saw it, and its clients were told "permission
//! denied". The file itself is in `/run`: the link to it that is left after a power cut leads nowhere, and no boot exports
//! the directory of a pool.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use hawser_files::FileError;
use hawser_model::octal::escaped;

use crate::exports::desired::DesiredDirectory;

/// Where the files are, and what else is noted of the server until the next boot.
pub(super) const FILES: &str = "/run/hawser/nfs";

/// Where `exportfs` looks, what it reads there (exportfs(8)), and how our names begin.
const LINKS: &str = "/etc/exports.d";
const END: &str = ".exports";
const OURS: &str = "hawser-";

/// The file of a pool.
pub struct Kept {
    file: PathBuf,
    link: PathBuf,
}

impl Kept {
    /// That of this pool on this host.
    pub fn of(pool: &str) -> Self {
        Self::below(Path::new(LINKS), Path::new(FILES), pool)
    }

    fn below(links: &Path, files: &Path, pool: &str) -> Self {
        Self {
            file: files.join(format!("{pool}{END}")),
            link: links.join(format!("{OURS}{pool}{END}")),
        }
    }

    /// Whether that is what it says.
    pub fn says(&self, text: &str) -> bool {
        self.is_ours() && fs::read(&self.file).is_ok_and(|bytes| bytes == text.as_bytes())
    }

    /// Whether any of it is there.
    pub fn is_there(&self) -> bool {
        self.is_ours() || self.file.exists()
    }

    /// Has it say that.
    ///
    /// # Errors
    /// It cannot be written, or something else has its name.
    pub fn write(&self, text: &str) -> Result<(), FileError> {
        self.sweep()?;
        let (files, links) = (folder(&self.file), folder(&self.link));
        fs::create_dir_all(files).map_err(FileError::io("create", files))?;
        if !links.exists() {
            // As its package makes it, whatever the umask of Pacemaker.
            let mode = fs::Permissions::from_mode(0o755);
            fs::create_dir(links)
                .and_then(|()| fs::set_permissions(links, mode))
                .map_err(FileError::io("create", links))?;
        }
        hawser_files::replace(&self.file, text.as_bytes(), 0o600)?;
        match symlink(&self.file, &self.link) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists && self.is_ours() => Ok(()),
            done => done.map_err(FileError::io("make a link", &self.link)),
        }
    }

    /// Takes it away, and links of pools that an earlier boot has left.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self) -> Result<(), FileError> {
        if self.is_ours() {
            hawser_files::remove(&self.link)?;
        }
        hawser_files::remove(&self.file)?;
        self.sweep()
    }

    fn is_ours(&self) -> bool {
        fs::read_link(&self.link).is_ok_and(|file| file == self.file)
    }

    /// `exportfs` complains of a link that leads nowhere, and goes on.
    fn sweep(&self) -> Result<(), FileError> {
        let Ok(entries) = fs::read_dir(folder(&self.link)) else {
            return Ok(());
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            if leads_into(folder(&self.file), &path) && !path.exists() {
                hawser_files::remove(&path)?;
            }
        }
        Ok(())
    }
}

/// Whether `exportfs` is led by this to a file of a pool that is active now.
pub fn is_kept(path: &Path) -> bool {
    leads_into(Path::new(FILES), path)
}

fn leads_into(files: &Path, link: &Path) -> bool {
    fs::read_link(link).is_ok_and(|file| folder(&file) == files)
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// The lines of exports(5) that make these exports: one for each client, since options are a client's.
pub fn lines(wanted: &BTreeMap<String, DesiredDirectory>) -> String {
    let mut lines = String::from("# Written by hawser, and removed when the pool is stopped.\n");
    for (path, directory) in wanted {
        // A quote or a hash sign would be read as more than a letter, and these may stand in a name.
        let path = escaped(path).replace('"', "\\042").replace('#', "\\043");
        for (client, options) in &directory.clients {
            lines += &format!("{path} {client}({options})\n");
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exports::nfs::NfsOptions;

    fn kept(root: &Path, pool: &str) -> Kept {
        Kept::below(&root.join("exports.d"), &root.join("run/nfs"), pool)
    }

    #[test]
    fn a_file_is_there_while_its_pool_is_and_leads_nowhere_after_a_boot() -> std::io::Result<()> {
        let root = tempfile::tempdir()?;
        let one = kept(root.path(), "tank");
        one.write("a\n").unwrap();
        one.write("b\n").unwrap();
        assert!(one.says("b\n") && !one.says("a\n"));
        assert_eq!(fs::read_to_string(&one.link)?, "b\n");

        fs::remove_dir_all(root.path().join("run"))?;
        assert!(fs::symlink_metadata(&one.link)?.is_symlink() && !one.link.exists());
        assert!(!one.says("b\n") && one.is_there());
        // The next pool that comes or goes takes it away.
        let other = kept(root.path(), "vms");
        other.write("c\n").unwrap();
        assert!(fs::symlink_metadata(&one.link).is_err());
        assert!(!one.is_there());
        other.remove().unwrap();
        assert!(!other.is_there());
        other.remove().unwrap();
        assert_eq!(fs::read_dir(root.path().join("exports.d"))?.count(), 0);
        Ok(())
    }

    #[test]
    fn what_somebody_else_wrote_under_that_name_stays() -> std::io::Result<()> {
        let root = tempfile::tempdir()?;
        let one = kept(root.path(), "tank");
        fs::create_dir_all(root.path().join("exports.d"))?;
        fs::write(&one.link, "/srv *(ro)\n")?;
        let error = one.write("a\n").unwrap_err().to_string();
        assert!(error.contains("hawser-tank.exports"), "{error}");
        one.remove().unwrap();
        assert_eq!(fs::read_to_string(&one.link)?, "/srv *(ro)\n");
        Ok(())
    }

    #[test]
    fn a_name_is_one_word_of_a_line() {
        let options = NfsOptions::default().with_fsid("7");
        let clients = [("fd00:1::/64".to_owned(), options.clone())];
        let directory = DesiredDirectory {
            fsid: "7".into(),
            clients: clients.into(),
        };
        let wanted = [("/tank/a \"b\" #1\\2".to_owned(), directory)];
        let text = lines(&wanted.into());
        let line = text.lines().nth(1).unwrap();
        let (path, rest) = line.split_once(' ').unwrap();
        assert_eq!(path, "/tank/a\\040\\042b\\042\\040\\0431\\1342");
        assert_eq!(rest, format!("fd00:1::/64({options})"));
    }
}
