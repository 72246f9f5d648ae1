//! ZFS's modules for the kernel of machines: built once of Debian's backports, kept beside the images, found by their recipe's
//! checksum.

use std::fs;
use std::path::{Path, PathBuf};

use super::image::{FOLDER, Waiting};
use super::make::{self, Work};
use super::recipe::checksum;
use super::release::Release;
use super::{kernel, room};
use crate::error::LabError;

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
    /// The release whose machines have them.
    release: Release,
    /// The release in which they are built: the kernel's.
    built_in: Release,
    /// The package that has the kernel's sources, and its version.
    source: String,
}

impl Modules {
    /// For machines of this release on this kernel, of sources of that version of Debian's; none if no release has the sources of
    /// such a kernel.
    pub fn of(release: Release, kernel: &str, sources: &str) -> Option<Self> {
        let mut numbers = kernel.split('.');
        let series = format!("{}.{}", numbers.next()?, numbers.next()?);
        let built_in = Release::of_kernel(&series)?;
        let source = format!("linux-source-{series}={sources}");
        let version = release.zfs();
        let sum = checksum([built_in.suite(), version, TOOLS, BUILD, kernel, &source]);
        let upstream = version.split('-').next()?;
        Some(Self {
            name: format!("{PREFIX}{upstream}-{sum}"),
            release,
            built_in,
            source,
        })
    }

    /// For machines of this release on the kernel that this host has.
    ///
    /// # Errors
    /// It is not installed, does not say of what it was built, or is of no release that is known.
    pub fn here(release: Release) -> Result<Self, LabError> {
        let kernel = kernel::version()?;
        Self::of(release, &kernel, &kernel::sources()?).ok_or_else(|| {
            LabError::Machines(format!(
                "there is no ZFS for kernel {kernel} of this host's user-mode-linux: Debian 12 has 6.1, Debian 13 has 6.12"
            ))
        })
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
            "building ZFS {} for the kernel of machines, once: five minutes, on a busy host more",
            self.release.zfs()
        ));
        make::into(&place, |work| self.make(work, waiting))?;
        Ok(place)
    }

    fn make(&self, work: &Work, waiting: &Waiting<'_>) -> Result<(), LabError> {
        let build = work.script("zfs-modules", BUILD)?;
        let zfs = work.sources("zfs.list", &make::sources(self.release).zfs(self.release))?;
        let tools = TOOLS.split(' ').chain([self.source.as_str()]);
        let hook = format!(
            "{} \"$1\" \"$(command -v {})\" '{}' {} {}",
            build.display(),
            kernel::PROGRAM,
            self.release.zfs(),
            zfs.display(),
            work.done.display()
        );
        work.unpack(
            self.built_in,
            &tools.collect::<Vec<_>>(),
            &hook,
            false,
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
    fn modules_are_those_of_one_kernel_its_sources_and_one_release() {
        let of = |release, kernel, sources| Modules::of(release, kernel, sources).unwrap();
        let one = of(Release::Bookworm, "6.1.176", "6.1.176-1");
        assert_eq!(one.source, "linux-source-6.1=6.1.176-1");
        assert!(one.name.starts_with("zfs-2.3.2-"), "{}", one.name);
        assert_eq!(one, of(Release::Bookworm, "6.1.176", "6.1.176-1"));
        assert_ne!(one.name, of(Release::Bookworm, "6.1.177", "6.1.176-1").name);
        assert_ne!(one.name, of(Release::Bookworm, "6.1.176", "6.1.176-2").name);
    }

    #[test]
    fn modules_are_built_in_the_release_of_the_kernel() {
        let modules = Modules::of(Release::Trixie, "6.1.176", "6.1.176-1").unwrap();
        assert_eq!(modules.built_in, Release::Bookworm);
        assert!(modules.name.starts_with("zfs-2.3.9-"), "{}", modules.name);
        let modules = Modules::of(Release::Bookworm, "6.12.5", "6.12.5-1~deb13u1").unwrap();
        assert_eq!(modules.built_in, Release::Trixie);
        assert_eq!(Modules::of(Release::Trixie, "6.8.0", "6.8.0-1"), None);
        assert_eq!(Modules::of(Release::Trixie, "6", "6.8.0-1"), None);
    }
}
