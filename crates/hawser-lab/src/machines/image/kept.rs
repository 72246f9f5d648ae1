//! The images that there are, and what is known of them.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Boots, IMAGE, folder, lock, with_kernel};
use crate::error::LabError;
use crate::lab::need_root;
use crate::machines::kernel::{self, Kernel};
use crate::machines::make;
use crate::machines::recipe::Recipe;
use crate::machines::release::Release;
use crate::machines::zfs::{self, Modules};
use crate::name::LabName;
use crate::paths::Root;
use crate::state::State;

/// What is kept under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// An image.
    Debian,
    /// An image with ZFS.
    DebianWithZfs,
    /// An image for QEMU, with its kernel.
    DebianForQemu,
    /// ZFS's modules, which go into an image with ZFS.
    ZfsModules,
    /// The kernel of all machines of user-mode Linux.
    Kernel,
}

impl Held {
    fn of(name: &str) -> Self {
        match name {
            _ if name.starts_with(zfs::PREFIX) => Self::ZfsModules,
            _ if name.starts_with(kernel::PREFIX) => Self::Kernel,
            _ if begins(name, Recipe::with_zfs) => Self::DebianWithZfs,
            _ if begins(name, Recipe::for_qemu) => Self::DebianForQemu,
            _ => Self::Debian,
        }
    }
}

fn release_of(name: &str) -> Option<Release> {
    let mut all = Release::ALL.into_iter();
    all.find(|release| name.starts_with(&format!("{}-", release.suite())))
}

fn begins(name: &str, with: fn(Release) -> String) -> bool {
    let mut all = Release::ALL.into_iter().map(with);
    all.any(|begin| name.starts_with(&begin))
}

/// An image, or the recipe of one that is yet to be built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageStatus {
    /// Its name: Debian's release and the checksum of the recipe.
    pub name: String,
    /// What it is.
    pub of: Held,
    /// The release of Debian that it has; absent of ZFS's modules and of a kernel.
    pub release: Option<Release>,
    /// Whether machines of its release that are made now have it.
    pub current: bool,
    /// Whether it has been built.
    pub built: bool,
    /// What it takes on the disk, in bytes; absent if it has not been built.
    pub bytes: Option<u64>,
    /// When it was built, seconds since 1970 UTC; absent if it has not been.
    pub since: Option<u64>,
    /// The labs whose machines have it.
    pub labs: Vec<LabName>,
}

/// All images, and those that machines have that are made now. Which these are depends on the version of user-mode Linux: without
/// one only its own name and the images for QEMU are known.
///
/// # Errors
/// Not root; the kernel does not run; a folder cannot be read.
pub fn list() -> Result<Vec<ImageStatus>, LabError> {
    need_root()?;
    let mut current = vec![kernel::name()];
    current.extend(Release::ALL.map(|it| Recipe::qemu(it).name));
    if let Some(kernel) = Kernel::found()? {
        for release in Release::ALL {
            for zfs in [false, true] {
                let recipe = with_kernel(release, zfs, &kernel);
                current.extend(recipe.zfs.map(|modules| modules.name));
                current.push(recipe.name);
            }
        }
    }
    let mut names = names()?;
    names.extend(current.clone());
    names.sort();
    names.dedup();
    let labs: Vec<_> = users(&Root::from_environment())?
        .into_iter()
        .flatten()
        .collect();
    Ok(names
        .into_iter()
        .map(|name| status(name, &current, &labs))
        .collect())
}

/// Removes the image of that name; false when there is none.
///
/// # Errors
/// Not root; a lab's machines have it; something is being built, for long; it cannot be removed.
pub fn remove(name: &str) -> Result<bool, LabError> {
    need_root()?;
    let _held = lock()?;
    if !names()?.iter().any(|it| it == name) {
        return Ok(false);
    }
    let labs: Result<Vec<_>, LabError> = users(&Root::from_environment())?.into_iter().collect();
    let labs = labs.map_err(|e| {
        LabError::Machines(format!(
            "{e}: whether the machines of that lab have {name} is not known"
        ))
    })?;
    let theirs: Vec<&str> = users_of(name, &labs).map(LabName::as_str).collect();
    if !theirs.is_empty() {
        return Err(LabError::Machines(format!(
            "{name} is that of the machines of {}; take them down first",
            theirs.join(", ")
        )));
    }
    make::discard(&folder().join(name))?;
    Ok(true)
}

/// What is in a folder of this name; none if nothing is whole there.
fn found(name: &str) -> Option<fs::Metadata> {
    let folder = folder().join(name);
    let files = [
        folder.join(IMAGE),
        Modules::file_in(&folder),
        kernel::program_in(&folder),
    ];
    files.iter().find_map(|file| fs::metadata(file).ok())
}

fn names() -> Result<Vec<String>, LabError> {
    let entries = match fs::read_dir(folder()) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(LabError::io("read the folder", folder(), e)),
    };
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names
        .filter(|name| !name.starts_with('.') && found(name).is_some())
        .collect())
}

/// A lab, and what its machines boot from; why that is not known.
type User = Result<(LabName, Vec<Boots>), LabError>;

fn users(root: &Root) -> Result<Vec<User>, LabError> {
    let labs = root.labs()?.into_iter();
    let known = labs.filter_map(|name| {
        let state = State::load(&root.lab(&name)).transpose()?;
        Some(state.map(|state| (name, state.boots.into_values().collect())))
    });
    Ok(known.collect())
}

fn users_of<'a>(
    name: &str,
    labs: &'a [(LabName, Vec<Boots>)],
) -> impl Iterator<Item = &'a LabName> {
    let folder = folder().join(name);
    let lies_there = move |path: &Path| path.starts_with(&folder);
    let has = move |boots: &Boots| lies_there(&boots.kernel) || lies_there(&boots.image);
    labs.iter()
        .filter(move |(_, boots)| boots.iter().any(&has))
        .map(|(lab, _)| lab)
}

/// What a folder and all in it take on the disk. What cannot be read takes nothing.
fn bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes(&entry.path()),
        // Sectors of 512 bytes, whatever the file system has (stat(2)).
        Ok(found) => found.blocks() * 512,
        Err(_) => 0,
    });
    sizes.sum()
}

fn status(name: String, current: &[String], labs: &[(LabName, Vec<Boots>)]) -> ImageStatus {
    let found = found(&name);
    let since = found.as_ref().and_then(|it| it.modified().ok());
    ImageStatus {
        of: Held::of(&name),
        release: release_of(&name),
        current: current.contains(&name),
        built: found.is_some(),
        bytes: found.map(|_| bytes(&folder().join(&name))),
        since: since
            .and_then(|at| at.duration_since(UNIX_EPOCH).ok())
            .map(|it| it.as_secs()),
        labs: users_of(&name, labs).cloned().collect(),
        name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_whose_state_cannot_be_read_may_have_any_image() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        assert!(users(&root).unwrap().is_empty());
        // One that is being built has no state yet.
        let lab = root.lab(&LabName::new("one").unwrap());
        fs::create_dir(lab.path()).unwrap();
        assert!(users(&root).unwrap().is_empty());
        fs::write(lab.state(), "{").unwrap();
        let users = users(&root).unwrap();
        assert!(matches!(&users[..], [Err(LabError::State { .. })]));
    }
}
