//! ZFS's modules for the kernel of machines: built once of Debian's backports, kept beside the images, found by their recipe's
//! checksum.

use std::fs;
use std::path::{Path, PathBuf};

use super::image::{FOLDER, Waiting};
use super::make::{self, Work};
use super::recipe::{SUITE, checksum};
use super::sources::Beside;
use super::{kernel, room};
use crate::error::LabError;

/// The first version whose modules know user-mode Linux (`ARCH=um`) is 2.2; the release itself has 2.1.11.
pub(super) const VERSION: &str = "2.3.2-2~bpo12+2";

/// What compiles them.
const TOOLS: &str = "gcc libc6-dev make bc bison flex libelf-dev libssl-dev xz-utils kmod";
/// Run beside the root that has those and the kernel's sources.
const BUILD: &str = include_str!("image/zfs-modules");
/// What it makes.
const FILES: [&str; 2] = ["spl.ko", "zfs.ko"];
/// The name that all of them begin with.
pub(super) const PREFIX: &str = "zfs-";

/// The modules as they would be built now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Modules {
    /// Their folder's name.
    pub name: String,
    /// The package that has the kernel's sources, and its version.
    source: String,
}

impl Modules {
    /// For this kernel, of sources of that version of Debian's.
    pub fn of(kernel: &str, sources: &str) -> Self {
        let mut numbers = kernel.split('.');
        let (major, minor) = (numbers.next(), numbers.next());
        let series = format!("{}.{}", major.unwrap_or(""), minor.unwrap_or(""));
        let source = format!("linux-source-{series}={sources}");
        let sum = checksum([SUITE, VERSION, TOOLS, BUILD, kernel, &source]);
        let upstream = VERSION.split('-').next().unwrap_or(VERSION);
        Self {
            name: format!("{PREFIX}{upstream}-{sum}"),
            source,
        }
    }

    /// For the kernel that this host has.
    ///
    /// # Errors
    /// It is not installed, or does not say of what it was built.
    pub fn here() -> Result<Self, LabError> {
        Ok(Self::of(&kernel::version()?, &kernel::sources()?))
    }

    /// The last of the files that are made.
    pub fn file_in(folder: &Path) -> PathBuf {
        folder.join(FILES[1])
    }

    /// Where they are, built if they have to be. Who calls holds the images' lock.
    ///
    /// # Errors
    /// What is missing; what a step says.
    pub fn ensure(&self, waiting: &Waiting<'_>) -> Result<PathBuf, LabError> {
        let place = Path::new(FOLDER).join(&self.name);
        if Self::file_in(&place).exists() {
            return Ok(place);
        }
        room::disk(Path::new(FOLDER), room::MODULES, "sources of a kernel")?;
        (waiting.told)(&format!(
            "building ZFS {VERSION} for the kernel of machines, once: five minutes, on a busy host more"
        ));
        make::into(&place, |work| self.make(work, waiting))?;
        Ok(place)
    }

    fn make(&self, work: &Work, waiting: &Waiting<'_>) -> Result<(), LabError> {
        let build = work.script("zfs-modules", BUILD)?;
        let tools = TOOLS.split(' ').chain([self.source.as_str()]);
        let hook = format!(
            "{} \"$1\" \"$(command -v {})\" '{VERSION}' {}",
            build.display(),
            kernel::PROGRAM,
            work.done.display()
        );
        work.unpack(
            &tools.collect::<Vec<_>>(),
            &hook,
            Beside::Backports,
            waiting,
        )
    }

    /// Copies them to where the kernel of this root finds them.
    pub fn install(&self, into: &Path) -> Result<(), LabError> {
        let (from, into) = (Path::new(FOLDER).join(&self.name), into.join("extra"));
        fs::create_dir_all(&into).map_err(|e| LabError::io("create the folder", &into, e))?;
        for file in FILES {
            let to = into.join(file);
            fs::copy(from.join(file), &to).map_err(|e| LabError::io("write", &to, e))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_those_of_one_kernel_and_its_sources() {
        let one = Modules::of("6.1.176", "6.1.176-1");
        assert_eq!(one.source, "linux-source-6.1=6.1.176-1");
        assert!(one.name.starts_with("zfs-2.3.2-"), "{}", one.name);
        assert_eq!(one, Modules::of("6.1.176", "6.1.176-1"));
        assert_ne!(one.name, Modules::of("6.1.177", "6.1.176-1").name);
        assert_ne!(one.name, Modules::of("6.1.176", "6.1.176-2").name);
    }
}
