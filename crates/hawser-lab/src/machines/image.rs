//! Images of machines: built once of Debian's packages, kept in a folder of the host, found by their recipe's checksum.

mod kept;

pub use kept::{Held, ImageStatus, list, remove};

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_tool::Tool;
use serde::{Deserialize, Serialize};

use super::Kind;
use super::kernel::Kernel;
use super::make::{self, Work};
use super::recipe::{BOOT, Recipe, SETUP, SETUP_QEMU, SETUP_ZFS};
use super::release::Release;
use super::room;
use super::zfs::Modules;
use crate::error::LabError;
use crate::lab::need_root;
use crate::lock::Lock;

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

/// What somebody who waits for an image is told, and whether they still wait.
pub struct Waiting<'a> {
    /// Told what takes long.
    pub told: &'a dyn Fn(&str),
    /// Asked meanwhile: whether the user wants to stop.
    pub interrupted: &'a dyn Fn() -> bool,
}

/// Builds the image of this content that machines have that are made now, unless it is there. True if it was built.
///
/// # Errors
/// Not root; what is missing on this host; what a step says.
pub fn build(of: Content, waiting: &Waiting<'_>) -> Result<bool, LabError> {
    need_root()?;
    ensure(of, waiting).map(|(_, built)| built)
}

/// Who has it makes or removes something here.
fn lock() -> Result<Lock, LabError> {
    Lock::take_within(folder().join("lock"), "the images of machines", COPIES)
}

/// What machines of this kind boot from that are made now, built if it has to be. True if it was built.
pub(crate) fn ensure(of: Content, waiting: &Waiting<'_>) -> Result<(Boots, bool), LabError> {
    // QEMU boots the kernel in the image.
    let known = match of.kind {
        Kind::Qemu => Some(None),
        Kind::Uml | Kind::Namespace => Kernel::found()?.map(Some),
    };
    if let Some(kernel) = known {
        let kernel = kernel.as_ref();
        let boots = boots(&recipe(of, kernel), kernel);
        if boots.image.exists() {
            return Ok((boots, false));
        }
    }
    super::need(super::MAKES_IMAGES, super::MAKES_IMAGES_SETUP)?;
    let _held = lock()?;
    let kernel = match of.kind {
        Kind::Qemu => None,
        Kind::Uml | Kind::Namespace => Some(Kernel::ensure(waiting)?),
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
