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
    /// For a kernel whose modules are called so, and these beside: all of them lie in the image.
    pub fn of(release: Release, kernel: &str, zfs: Option<Modules>) -> Self {
        let suite = release.suite();
        let mut packages: Vec<String> = PACKAGES
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .chain(release.fence_agents().iter().copied())
            .map(str::to_owned)
            .collect();
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

    /// What the names of a release's images with ZFS begin with.
    pub fn with_zfs(release: Release) -> String {
        format!("{}-{}", release.suite(), zfs::PREFIX)
    }
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
        let of = |release, kernel| Recipe::of(release, kernel, None);
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
    fn an_image_with_zfs_has_programs_of_the_version_of_its_modules_and_is_another() {
        for release in Release::ALL {
            let plain = Recipe::of(release, "6.12.113", None);
            let of = |sources| {
                let kernel = Kernel::made_up("6.12.113", sources);
                let modules = Modules::of(release, &kernel);
                Recipe::of(release, &kernel.version, Some(modules))
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
