//! What an image is made of. Its name holds the checksum of all of that, so another recipe is another image.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::release::Release;
use super::zfs::{self, Modules};

const PACKAGES: &str = include_str!("image/packages");
/// Run on the unpacked packages.
pub(super) const SETUP: &str = include_str!("image/setup");
/// Run in the machine at each boot.
pub(super) const BOOT: &str = include_str!("image/boot");

/// Run after that one where machines have ZFS.
pub(super) const SETUP_ZFS: &str = include_str!("image/setup-zfs");
/// Run after that one where QEMU is to boot the image.
pub(super) const SETUP_QEMU: &str = include_str!("image/setup-qemu");
/// The kernel for that, of the release itself, with the drivers of real cards.
const LINUX: &str = "linux-image-amd64";

/// ZFS's programs, of the modules' version.
const ZFS: &str = "zfsutils-linux";

/// Bytes of a checksum that stand in a name.
const DIGITS: usize = 6;

/// An image as it would be built now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    /// Its folder's name.
    pub name: String,
    /// The release of Debian.
    pub release: Release,
    /// The packages.
    pub packages: Vec<String>,
    /// The modules of ZFS in it.
    pub zfs: Option<Modules>,
}

impl Recipe {
    /// For user-mode Linux of this version and these modules beside, which lie in the image with the kernel's own.
    pub fn uml(release: Release, kernel: &str, zfs: Option<Modules>) -> Self {
        let suite = release.suite();
        let mut packages = packages(release);
        let agents = release.fence_agents().join(" ");
        let parts = [suite, PACKAGES, &agents, SETUP, BOOT, kernel];
        let name = match &zfs {
            None => format!("{suite}-{}", checksum(parts)),
            Some(modules) => {
                packages.push(format!("{ZFS}={}", release.zfs()));
                let more = [SETUP_ZFS, ZFS, &modules.name];
                let all = parts.into_iter().chain(more);
                format!("{}{}", Self::with_zfs(release), checksum(all))
            }
        };
        Self {
            name,
            release,
            packages,
            zfs,
        }
    }

    /// For QEMU, with the release's own kernel.
    pub fn qemu(release: Release) -> Self {
        let agents = release.fence_agents().join(" ");
        let parts = [PACKAGES, &agents, SETUP, BOOT, SETUP_QEMU, LINUX];
        let mut packages = packages(release);
        packages.push(LINUX.to_owned());
        Self {
            name: format!("{}{}", Self::for_qemu(release), checksum(parts)),
            release,
            packages,
            zfs: None,
        }
    }

    /// What the names of a release's images for QEMU begin with.
    pub fn for_qemu(release: Release) -> String {
        format!("{}-qemu-", release.suite())
    }

    /// What the names of a release's images with ZFS begin with.
    pub fn with_zfs(release: Release) -> String {
        format!("{}-{}", release.suite(), zfs::PREFIX)
    }
}

/// What all machines of a release have.
fn packages(release: Release) -> Vec<String> {
    let all = PACKAGES.lines().map(str::trim);
    all.filter(|line| !line.is_empty() && !line.starts_with('#'))
        .chain(release.fence_agents().iter().copied())
        .map(str::to_owned)
        .collect()
}

/// The checksum of these texts, as it stands in a name.
pub(super) fn checksum<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut sum = Sha256::new();
    for part in parts {
        sum.update((part.len() as u64).to_le_bytes());
        sum.update(part.as_bytes());
    }
    let mut name = String::new();
    for byte in sum.finalize().iter().take(DIGITS) {
        // Writing to a string does not fail.
        let _written = write!(name, "{byte:02x}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::kernel::Kernel;

    #[test]
    fn another_kernel_or_release_is_another_image_and_the_same_is_the_same() {
        let of = |release, kernel| Recipe::uml(release, kernel, None);
        let one = of(Release::Bookworm, "6.12.113");
        assert_eq!(one, of(Release::Bookworm, "6.12.113"));
        assert_ne!(one.name, of(Release::Bookworm, "6.12.114").name);
        assert_eq!(one.name.len(), "bookworm-".len() + 2 * DIGITS);
        let other = of(Release::Trixie, "6.12.113").name;
        assert!(other.starts_with("trixie-"), "{other}");
        assert!(one.packages.iter().any(|it| it == "openssh-server"));
        assert!(one.packages.iter().all(|it| !it.contains([' ', '#'])));
    }

    #[test]
    fn an_image_for_qemu_has_the_kernel_of_its_release_and_is_another() {
        for release in Release::ALL {
            let qemu = Recipe::qemu(release);
            let begin = format!("{}-qemu-", release.suite());
            assert!(qemu.name.starts_with(&begin), "{}", qemu.name);
            assert_eq!(qemu.packages.last().unwrap(), "linux-image-amd64");
        }
    }

    #[test]
    fn an_image_with_zfs_has_programs_of_the_version_of_its_modules_and_is_another() {
        for release in Release::ALL {
            let plain = Recipe::uml(release, "6.12.113", None);
            let of = |sources| {
                let kernel = Kernel::made_up("6.12.113", sources);
                let modules = Modules::of(release, &kernel);
                Recipe::uml(release, &kernel.version, Some(modules))
            };
            let zfs = of("6.12.113-1");
            let begin = format!("{}-zfs-", release.suite());
            assert!(zfs.name.starts_with(&begin), "{}", zfs.name);
            assert_ne!(zfs.name, of("6.12.113-2").name);
            let more: Vec<_> = zfs.packages[plain.packages.len()..].iter().collect();
            assert_eq!(more, [&format!("zfsutils-linux={}", release.zfs())]);
        }
    }
}
