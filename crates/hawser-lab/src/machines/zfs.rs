//! ZFS's modules for the kernel of machines: built once of Debian's backports, kept beside the images, found by their recipe's
//! checksum.

use std::fs;
use std::path::{Path, PathBuf};

use super::image::{self, Waiting};
use super::kernel::{self, Kernel};
use super::make::{self, Work};
use super::recipe::checksum;
use super::release::Release;
use super::room;
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
    /// The package that has the kernel's sources, and its version.
    source: String,
}

impl Modules {
    /// For machines of this release on this kernel.
    pub fn of(release: Release, kernel: &Kernel) -> Self {
        let source = format!("linux-source-{}={}", kernel.series(), kernel.sources);
        let (suite, version) = (kernel::RELEASE.suite(), release.zfs());
        let sum = checksum([suite, version, TOOLS, BUILD, &kernel.version, &source]);
        let upstream = version.split('-').next().unwrap_or(version);
        Self {
            name: format!("{PREFIX}{upstream}-{sum}"),
            release,
            source,
        }
    }

    /// The last of the files that are made.
    pub fn file_in(folder: &Path) -> PathBuf {
        folder.join(FILES[1])
    }

    /// Builds them for that kernel if they have to be. Who calls holds the images' lock.
    ///
    /// # Errors
    /// What is missing; what a step says.
    pub fn ensure(&self, kernel: &Kernel, waiting: &Waiting<'_>) -> Result<(), LabError> {
        let place = image::folder().join(&self.name);
        if Self::file_in(&place).exists() {
            return Ok(());
        }
        room::disk(image::folder(), room::MODULES, "sources of a kernel")?;
        (waiting.told)(&format!(
            "building ZFS {} for the kernel of machines, once: five minutes, on a busy host more",
            self.release.zfs()
        ));
        make::into(&place, |work| self.make(kernel, work, waiting))
    }

    fn make(&self, kernel: &Kernel, work: &Work, waiting: &Waiting<'_>) -> Result<(), LabError> {
        let build = work.script("zfs-modules", BUILD)?;
        let zfs = work.sources("zfs.list", &make::sources(self.release).zfs(self.release))?;
        let tools = TOOLS.split(' ').chain([self.source.as_str()]);
        let hook = format!(
            "{} \"$1\" {} '{}' {} {}",
            build.display(),
            kernel.program().display(),
            self.release.zfs(),
            zfs.display(),
            work.done.display()
        );
        work.unpack(
            kernel::RELEASE,
            &tools.collect::<Vec<_>>(),
            &hook,
            false,
            waiting,
        )
    }

    /// Copies them to where the kernel of this root finds them.
    pub fn install(&self, into: &Path) -> Result<(), LabError> {
        let (from, into) = (image::folder().join(&self.name), into.join("extra"));
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
        let of = |release, kernel, sources| Modules::of(release, &Kernel::made_up(kernel, sources));
        let one = of(Release::Bookworm, "6.12.113", "6.12.113-1");
        assert_eq!(one.source, "linux-source-6.12=6.12.113-1");
        assert!(one.name.starts_with("zfs-2.3.2-"), "{}", one.name);
        assert_eq!(one, of(Release::Bookworm, "6.12.113", "6.12.113-1"));
        for other in [
            of(Release::Trixie, "6.12.113", "6.12.113-1"),
            of(Release::Bookworm, "6.12.114", "6.12.113-1"),
            of(Release::Bookworm, "6.12.113", "6.12.113-2"),
        ] {
            assert_ne!(one.name, other.name);
        }
    }
}
