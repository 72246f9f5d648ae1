//! Images of machines: built once of Debian's packages, kept in a folder of the host, found by their recipe's checksum.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use hawser_tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Kind;
use super::kernel::{self, Kernel};
use super::make::{self, Work};
use super::recipe::{BOOT, Recipe, SETUP, SETUP_QEMU, SETUP_ZFS};
use super::release::Release;
use super::room;
use super::zfs::{self, Modules};
use crate::error::LabError;
use crate::lab::need_root;
use crate::lock::Lock;
use crate::name::LabName;
use crate::paths::Root;
use crate::state::State;

const FOLDER: &str = "/var/cache/hawser/images";
/// The image in its folder.
const IMAGE: &str = "root.img";
/// Beside it: the kernel that QEMU boots, and what it boots from.
const VMLINUZ: &str = "vmlinuz";
const INITRD: &str = "initrd";
/// The size of a machine's disk; what is not written takes no room.
const SIZE: u64 = 4 << 30;
/// Copying half a gigabyte, on a busy host.
const COPIES: Duration = Duration::from_secs(600);

/// Where all of them lie.
pub(super) fn folder() -> &'static Path {
    Path::new(FOLDER)
}

/// What machines boot from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Boots {
    /// The kernel: a program, or what QEMU loads.
    pub kernel: PathBuf,
    /// The disk that theirs are copies of, with that kernel's modules.
    pub image: PathBuf,
    /// What QEMU loads beside the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initrd: Option<PathBuf>,
}

/// What an image is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// What boots it.
    pub kind: Kind,
    /// The release of Debian.
    pub release: Release,
    /// Whether it has ZFS, which QEMU's has not.
    pub zfs: bool,
}

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

/// What somebody who waits for an image is told, and whether they still wait.
pub struct Waiting<'a> {
    /// Told what takes long.
    pub told: &'a dyn Fn(&str),
    /// Asked meanwhile: whether the user wants to stop.
    pub interrupted: &'a dyn Fn() -> bool,
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
    let labs = users()?;
    Ok(names
        .into_iter()
        .map(|name| status(name, &current, &labs))
        .collect())
}

/// Builds the image of this content that machines have that are made now, unless it is there. True if it was built.
///
/// # Errors
/// Not root; what is missing on this host; what a step says.
pub fn build(of: Content, waiting: &Waiting<'_>) -> Result<bool, LabError> {
    need_root()?;
    ensure(of, waiting).map(|(_, built)| built)
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
    let labs = users()?;
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

/// Who has it makes or removes something here.
fn lock() -> Result<Lock, LabError> {
    Lock::take_within(folder().join("lock"), "the images of machines", COPIES)
}

/// What machines of this kind boot from that are made now, built if it has to be. True if it was built.
pub(crate) fn ensure(of: Content, waiting: &Waiting<'_>) -> Result<(Boots, bool), LabError> {
    let needs_kernel = of.kind != Kind::Qemu;
    let kernel = Kernel::found()?.filter(|_| needs_kernel);
    if kernel.is_some() || !needs_kernel {
        let kernel = kernel.as_ref();
        let boots = boots(&recipe(of, kernel), kernel);
        if boots.image.exists() {
            return Ok((boots, false));
        }
    }
    super::need(super::MAKES_IMAGES, super::MAKES_IMAGES_SETUP)?;
    let _held = lock()?;
    let kernel = match needs_kernel {
        true => Some(Kernel::ensure(waiting)?),
        false => None,
    };
    let kernel = kernel.as_ref();
    let recipe = recipe(of, kernel);
    let boots = boots(&recipe, kernel);
    // Somebody else may have built it while this one waited.
    if boots.image.exists() {
        return Ok((boots, false));
    }
    room::disk(folder(), room::IMAGE, "packages of an image")?;
    if let Some((zfs, kernel)) = recipe.zfs.as_ref().zip(kernel) {
        zfs.ensure(kernel, waiting)?;
    }
    (waiting.told)(&format!(
        "building image {}, once: two minutes or three",
        recipe.name
    ));
    make::into(&folder().join(&recipe.name), |work| {
        make_image(&recipe, kernel, work, waiting)
    })?;
    Ok((boots, true))
}

/// With user-mode Linux, if that is to boot it; without, for QEMU.
fn recipe(of: Content, kernel: Option<&Kernel>) -> Recipe {
    match kernel {
        Some(kernel) => with_kernel(of.release, of.zfs, kernel),
        None => Recipe::qemu(of.release),
    }
}

fn with_kernel(release: Release, zfs: bool, kernel: &Kernel) -> Recipe {
    let zfs = zfs.then(|| Modules::of(release, kernel));
    Recipe::uml(release, &kernel.version, zfs)
}

fn boots(recipe: &Recipe, kernel: Option<&Kernel>) -> Boots {
    let folder = folder().join(&recipe.name);
    let (image, own) = (folder.join(IMAGE), folder.join(VMLINUZ));
    match kernel {
        Some(kernel) => Boots {
            kernel: kernel.program(),
            image,
            initrd: None,
        },
        None => Boots {
            kernel: own,
            image,
            initrd: Some(folder.join(INITRD)),
        },
    }
}

fn make_image(
    recipe: &Recipe,
    kernel: Option<&Kernel>,
    work: &Work,
    waiting: &Waiting<'_>,
) -> Result<(), LabError> {
    let (root, packages) = (&work.root, recipe.packages.iter().map(String::as_str));
    let mut hook = format!("{} \"$1\"", work.script("setup", SETUP)?.display());
    if recipe.zfs.is_some() {
        let more = work.script("setup-zfs", SETUP_ZFS)?;
        hook += &format!(" && {} \"$1\"", more.display());
    }
    if kernel.is_none() {
        let more = work.script("setup-qemu", SETUP_QEMU)?;
        hook += &format!(" && {} \"$1\" {}", more.display(), work.done.display());
    }
    work.unpack(
        recipe.release,
        &packages.collect::<Vec<_>>(),
        &hook,
        recipe.zfs.is_some(),
        waiting,
    )?;
    hawser_files::replace(
        &root.join("usr/local/sbin/hawser-lab-boot"),
        BOOT.as_bytes(),
        0o755,
    )?;
    if let Some(kernel) = kernel {
        install_modules(recipe, kernel, root)?;
    }
    let image = work.done.join(IMAGE);
    File::create(&image)
        .and_then(|file| file.set_len(SIZE))
        .map_err(|e| LabError::io("create", &image, e))?;
    let words = ["-q", "-t", "ext4", "-d"].map(str::to_owned);
    run(
        "mke2fs",
        &[&words[..], &[text(root), text(&image)]].concat(),
    )
}

/// Puts a kernel's modules into the root of an image.
fn install_modules(recipe: &Recipe, kernel: &Kernel, root: &Path) -> Result<(), LabError> {
    let into = root.join("lib/modules");
    fs::create_dir_all(&into).map_err(|e| LabError::io("create the folder", &into, e))?;
    let words = ["-a".to_owned(), text(&kernel.modules()), text(&into)];
    run("cp", &words)?;
    if let Some(zfs) = &recipe.zfs {
        zfs.install(&into.join(&kernel.version))?;
    }
    run(
        "depmod",
        &["-b".to_owned(), text(root), kernel.version.clone()],
    )
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn run(program: &str, words: &[String]) -> Result<(), LabError> {
    Tool::new(program).args(words).limit(COPIES).text()?;
    Ok(())
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

/// The labs of machines, and what these boot from.
fn users() -> Result<Vec<(LabName, Boots)>, LabError> {
    let root = Root::from_environment();
    let labs = root.labs()?.into_iter();
    let of_machines = labs.filter_map(|name| {
        let state = State::load(&root.lab(&name)).ok().flatten()?;
        Some(state.boots.into_values().map(move |it| (name.clone(), it)))
    });
    Ok(of_machines.flatten().collect())
}

fn users_of<'a>(name: &str, labs: &'a [(LabName, Boots)]) -> impl Iterator<Item = &'a LabName> {
    let folder = folder().join(name);
    let lies_there = move |path: &Path| path.starts_with(&folder);
    labs.iter()
        .filter(move |(_, boots)| lies_there(&boots.kernel) || lies_there(&boots.image))
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

fn status(name: String, current: &[String], labs: &[(LabName, Boots)]) -> ImageStatus {
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
