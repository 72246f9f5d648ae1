//! What an image is made of. Its name holds the checksum of all of that, so another recipe is another image.

use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest, Sha256};

/// Debian's release in a machine.
pub(super) const SUITE: &str = "bookworm";

const PACKAGES: &str = include_str!("image/packages");
/// Run on the unpacked packages.
pub(super) const SETUP: &str = include_str!("image/setup");
/// Run in the machine at each boot.
pub(super) const BOOT: &str = include_str!("image/boot");

/// Bytes of the checksum that stand in the name.
const DIGITS: usize = 6;

/// An image as it would be built now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    /// Its folder's name.
    pub name: String,
    /// The packages.
    pub packages: Vec<&'static str>,
}

impl Recipe {
    /// For a kernel whose modules are called so: they lie in the image.
    pub fn of(kernel: &str) -> Self {
        let mut sum = Sha256::new();
        for part in [SUITE, PACKAGES, SETUP, BOOT, kernel] {
            sum.update((part.len() as u64).to_le_bytes());
            sum.update(part.as_bytes());
        }
        let mut name = format!("{SUITE}-");
        for byte in sum.finalize().iter().take(DIGITS) {
            // Writing to a string does not fail.
            let _written = write!(name, "{byte:02x}");
        }
        let lines = PACKAGES.lines().map(str::trim);
        let packages = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self {
            name,
            packages: packages.collect(),
        }
    }

    /// The arguments of mmdebstrap(1) for a root in this folder.
    pub fn mmdebstrap(
        &self,
        root: &Path,
        setup: &Path,
        sources: &Path,
        options: &[String],
    ) -> Vec<String> {
        let mut words: Vec<String> = ["--variant=minbase", "--mode=root", "--format=directory"]
            .map(str::to_owned)
            .into();
        words.push(format!("--include={}", self.packages.join(",")));
        words.push(format!("--customize-hook={}", setup.display()));
        words.extend(options.iter().map(|option| format!("--aptopt={option}")));
        words.push(SUITE.to_owned());
        words.push(root.display().to_string());
        words.push(sources.display().to_string());
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_kernel_is_another_image_and_the_same_is_the_same() {
        let one = Recipe::of("6.1.176");
        assert_eq!(one, Recipe::of("6.1.176"));
        assert_ne!(one.name, Recipe::of("6.1.177").name);
        assert_eq!(one.name.len(), "bookworm-".len() + 2 * DIGITS);
        assert!(one.packages.contains(&"openssh-server"));
        assert!(one.packages.iter().all(|it| !it.contains([' ', '#'])));
    }
}
