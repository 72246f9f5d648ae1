//! Looking at the tree and changing it. The root is a parameter: the kernel's is
//! `/sys/kernel/config/target`, a test's is any folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use hawser_model::cluster_file::SecretRef;
use hawser_tool::Deadline;
use sha2::{Digest as _, Sha256};

use super::entries::{COMPANY_ID, GROUP, OFFLOADS, number, size};
use super::plan::{Entry, Operation, Tree};
use crate::exports::desired::is_iscsi_name;

/// Where the kernel has it.
pub(super) const ROOT: &str = "/sys/kernel/config/target";

/// The tree below a root.
#[derive(Clone, Debug)]
pub struct Configfs {
    root: PathBuf,
}

/// What the kernel refuses.
#[derive(Debug, thiserror::Error)]
#[error("{call} {path}: {source}")]
pub struct ConfigfsError {
    /// The call, with what was written if it is no secret.
    pub call: String,
    /// Where.
    pub path: String,
    /// Why. The kernel tells more in its log.
    pub source: io::Error,
}

/// How long clients' last commands may take when a unit is taken away.
const LAST_COMMANDS: Duration = Duration::from_secs(30);

/// The size of a file, as what is said of a unit of fileio ends (`fd_show_configfs_dev_params`): the file's name, which comes
/// before, may hold anything.
fn bytes(info: &str) -> Option<u64> {
    let (_, rest) = info.rsplit_once("  Size: ")?;
    rest.split(' ').next()?.parse().ok()
}

impl Default for Configfs {
    fn default() -> Self {
        Self::at(ROOT)
    }
}

impl Configfs {
    /// The tree below this root.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The names of all iSCSI targets, whoever made them.
    pub fn targets(&self) -> Result<BTreeSet<String>, ConfigfsError> {
        let folders = self.folders("iscsi")?.into_iter();
        Ok(folders.filter(|name| is_iscsi_name(name)).collect())
    }

    /// The targets that offer units and nothing but a pool's own.
    pub fn targets_of(&self, pool: &str) -> Result<BTreeSet<String>, ConfigfsError> {
        let number = number(pool);
        let own = ["fileio", "iblock"].map(|plugin| format!("core/{plugin}_{number}/"));
        let mut targets = BTreeSet::new();
        for iqn in self.targets()? {
            let mut tree = Tree::new();
            for lun in self.folders(&format!("iscsi/{iqn}/{GROUP}/lun"))? {
                self.links(&mut tree, &format!("iscsi/{iqn}/{GROUP}/lun/{lun}"))?;
            }
            let leads_here = |entry: &Entry| match entry {
                Entry::Link(to) => own.iter().any(|own| to.starts_with(own)),
                _ => false,
            };
            if !tree.is_empty() && tree.values().all(leads_here) {
                targets.insert(iqn);
            }
        }
        Ok(targets)
    }

    /// What is there of a pool: its backstores, and these targets.
    pub fn look(&self, pool: &str, targets: &BTreeSet<String>) -> Result<Tree, ConfigfsError> {
        let mut tree = Tree::new();
        let number = number(pool);
        for plugin in ["fileio", "iblock"] {
            let parent = format!("core/{plugin}_{number}");
            if !self.root.join(&parent).is_dir() {
                continue;
            }
            tree.insert(parent.clone(), Entry::Folder);
            for name in self.folders(&parent)? {
                let folder = format!("{parent}/{name}");
                tree.insert(folder.clone(), Entry::Folder);
                let cache = (plugin == "fileio").then_some("attrib/emulate_write_cache");
                let names = [
                    "udev_path",
                    "enable",
                    "attrib/block_size",
                    "wwn/vpd_unit_serial",
                    COMPANY_ID,
                ];
                let offloads = OFFLOADS.into_iter().map(|(name, _)| name);
                for name in names.into_iter().chain(offloads).chain(cache) {
                    self.value(&mut tree, &format!("{folder}/{name}"))?;
                }
                if plugin == "fileio" {
                    let info = self.read(&format!("{folder}/info"))?;
                    if let Some(bytes) = info.as_deref().and_then(bytes) {
                        tree.insert(format!("{folder}/control"), Entry::Value(size(bytes)));
                    }
                }
            }
        }
        for iqn in targets {
            let target = format!("iscsi/{iqn}");
            if self.root.join(&target).is_dir() {
                tree.insert(target.clone(), Entry::Folder);
                self.group(&mut tree, &format!("{target}/{GROUP}"))?;
            }
        }
        Ok(tree)
    }

    /// Who is logged in to a target.
    pub fn sessions(&self, iqn: &str) -> Result<Vec<String>, ConfigfsError> {
        let group = format!("iscsi/{iqn}/{GROUP}");
        let mut all: Vec<String> = self
            .read(&format!("{group}/dynamic_sessions"))?
            .unwrap_or_default()
            .split(['\n', '\0'])
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        for host in self.folders(&format!("{group}/acls"))? {
            let info = self.read(&format!("{group}/acls/{host}/info"))?;
            let info = info.unwrap_or_default();
            if info.starts_with("InitiatorName: ") {
                all.push(host);
            }
        }
        Ok(all)
    }

    /// Where the kernel writes what must outlast it; `None`: it does not say.
    pub fn database(&self) -> Result<Option<String>, ConfigfsError> {
        self.read("dbroot")
    }

    /// What is registered and reserved of what is in this folder, as the kernel tells it; `None`: nothing ever was.
    pub fn registered(&self, store: &str) -> Result<Option<String>, ConfigfsError> {
        let count = self.read(&format!("{store}/pr/res_pr_generation"))?;
        let count = count.filter(|it| !it.trim().is_empty() && it.trim() != "0x00000000");
        let Some(mut told) = count else {
            return Ok(None);
        };
        // Who reserves, releases or unregisters is not counted (`core_scsi3_pro_reserve` and others).
        for name in ["res_holder", "res_pr_type", "res_pr_registered_i_pts"] {
            told += &self
                .read(&format!("{store}/pr/{name}"))?
                .unwrap_or_default();
        }
        Ok(Some(told))
    }

    fn group(&self, tree: &mut Tree, group: &str) -> Result<(), ConfigfsError> {
        if !self.root.join(group).is_dir() {
            return Ok(());
        }
        tree.insert(group.to_owned(), Entry::Folder);
        let attributes = [
            "generate_node_acls",
            "demo_mode_discovery",
            "demo_mode_write_protect",
            "authentication",
        ];
        for name in attributes {
            self.value(tree, &format!("{group}/attrib/{name}"))?;
        }
        self.value(tree, &format!("{group}/enable"))?;
        self.auth(tree, &format!("{group}/auth"))?;
        for lun in self.folders(&format!("{group}/lun"))? {
            let folder = format!("{group}/lun/{lun}");
            tree.insert(folder.clone(), Entry::Folder);
            self.links(tree, &folder)?;
        }
        for portal in self.folders(&format!("{group}/np"))? {
            tree.insert(format!("{group}/np/{portal}"), Entry::Folder);
        }
        for host in self.folders(&format!("{group}/acls"))? {
            let acl = format!("{group}/acls/{host}");
            tree.insert(acl.clone(), Entry::Folder);
            self.auth(tree, &format!("{acl}/auth"))?;
            let mapped = self.folders(&acl)?.into_iter();
            for lun in mapped.filter(|name| name.starts_with("lun_")) {
                let folder = format!("{acl}/{lun}");
                tree.insert(folder.clone(), Entry::Folder);
                self.links(tree, &folder)?;
                self.value(tree, &format!("{folder}/write_protect"))?;
            }
        }
        Ok(())
    }

    fn auth(&self, tree: &mut Tree, auth: &str) -> Result<(), ConfigfsError> {
        for suffix in ["", "_mutual"] {
            self.value(tree, &format!("{auth}/userid{suffix}"))?;
            let path = format!("{auth}/password{suffix}");
            if let Some(text) = self.read(&path)? {
                let entry = match plain(&text) {
                    "" => Entry::Value(String::new()),
                    secret => Entry::Secret(Sha256::digest(secret).into()),
                };
                tree.insert(path, entry);
            }
        }
        Ok(())
    }

    fn links(&self, tree: &mut Tree, folder: &str) -> Result<(), ConfigfsError> {
        let whole = self.root.join(folder);
        for (name, kind) in self.entries(folder)? {
            if kind.is_symlink() {
                let path = format!("{folder}/{name}");
                let to = fs::read_link(whole.join(&name))
                    .map_err(|source| self.failed("read the link".into(), &path, source))?;
                // The kernel shows a link relative to its own folder.
                let to = flat(&whole.join(to));
                let to = to.strip_prefix(flat(&self.root)).unwrap_or(&to);
                tree.insert(path, Entry::Link(to.display().to_string()));
            }
        }
        Ok(())
    }

    fn value(&self, tree: &mut Tree, path: &str) -> Result<(), ConfigfsError> {
        if let Some(text) = self.read(path)? {
            tree.insert(path.to_owned(), Entry::Value(plain(&text).to_owned()));
        }
        Ok(())
    }

    /// `None`: this kernel has no such file.
    fn read(&self, path: &str) -> Result<Option<String>, ConfigfsError> {
        match fs::read(self.root.join(path)) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.failed("read".into(), path, source)),
        }
    }

    /// The folders in a folder; none in one that is not there.
    fn folders(&self, path: &str) -> Result<Vec<String>, ConfigfsError> {
        let entries = self.entries(path)?.into_iter();
        let mut names: Vec<String> = entries
            .filter(|(_, kind)| kind.is_dir())
            .map(|(name, _)| name)
            .collect();
        names.sort();
        Ok(names)
    }

    fn entries(&self, path: &str) -> Result<Vec<(String, fs::FileType)>, ConfigfsError> {
        let failed = |source| self.failed("list".into(), path, source);
        let entries = match fs::read_dir(self.root.join(path)) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        entries
            .map(|entry| {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                Ok((name, entry.file_type()?))
            })
            .collect::<io::Result<_>>()
            .map_err(failed)
    }

    /// Does one operation. A unit that clients' last commands still use is waited for.
    pub fn perform(
        &self,
        operation: &Operation,
        secrets: &BTreeMap<SecretRef, String>,
    ) -> Result<(), ConfigfsError> {
        let waits = matches!(operation, Operation::Rmdir(_));
        let busy = |error: &ConfigfsError| waits && error.source.kind() == ErrorKind::ResourceBusy;
        let mut done = Ok(());
        Deadline::after(LAST_COMMANDS).holds(Duration::from_millis(20), || {
            done = self.once(operation, secrets);
            !done.as_ref().is_err_and(busy)
        });
        done
    }

    fn once(
        &self,
        operation: &Operation,
        secrets: &BTreeMap<SecretRef, String>,
    ) -> Result<(), ConfigfsError> {
        use Operation as O;
        let at = |path: &String| self.root.join(path);
        let (call, path, outcome) = match operation {
            O::Mkdir(path) => ("mkdir".to_owned(), path, fs::create_dir(at(path))),
            O::Rmdir(path) => ("rmdir".to_owned(), path, fs::remove_dir(at(path))),
            O::Unlink(path) => ("unlink".to_owned(), path, fs::remove_file(at(path))),
            O::Link { path, to } => (format!("link to {to}"), path, symlink(at(to), at(path))),
            O::Write { path, text } => (format!("write {text} to"), path, written(&at(path), text)),
            O::WriteSecret { path, secret } => {
                let text = secrets.get(secret).map_or("", String::as_str);
                (
                    "write a secret to".to_owned(),
                    path,
                    written(&at(path), text),
                )
            }
        };
        outcome.map_err(|source| self.failed(call, path, source))
    }

    fn failed(&self, call: String, path: &str, source: io::Error) -> ConfigfsError {
        let path = self.root.join(path).display().to_string();
        ConfigfsError { call, path, source }
    }
}

/// One write is one order to the kernel, and a line break would become part of a secret.
fn written(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    let written = file.write(text.as_bytes())?;
    match written == text.len() {
        true => Ok(()),
        false => Err(io::Error::new(
            ErrorKind::WriteZero,
            "the kernel took only a part",
        )),
    }
}

/// The value in what the kernel shows.
fn plain(text: &str) -> &str {
    let text = text.trim_end_matches(['\n', '\0']);
    let text = text
        .strip_prefix("T10 VPD Unit Serial Number: ")
        .unwrap_or(text);
    match text.starts_with("NULL") {
        true => "",
        false => text,
    }
}

/// Without `..` and `.`, which are the text's own business here: nothing in configfs is a link on the way.
fn flat(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(flat.pop()),
            Component::CurDir => {}
            part => flat.push(part),
        }
    }
    flat
}
