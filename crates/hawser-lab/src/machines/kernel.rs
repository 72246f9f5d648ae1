//! The kernel that machines have: that of Debian 13's package user-mode-linux, whatever release the host and the machine
//! have. It is taken out of the package once, kept beside the images, and found by its recipe's checksum.

use std::fs;
use std::path::{Path, PathBuf};

use hawser_tool::Tool;

use super::image::{self, Waiting};
use super::make::{self, Work};
use super::recipe::checksum;
use super::release::Release;
use super::room;
use crate::error::LabError;

/// The release that has the package, and the sources of that kernel. A program starts on Linux 6.12 in half the time that it
/// takes on Debian 12's 6.1.
pub(super) const RELEASE: Release = Release::Trixie;
/// The package, and what is needed to take it to another host.
const PACKAGES: [&str; 2] = ["user-mode-linux", "patchelf"];
/// Run beside the root that has those.
const TAKE: &str = include_str!("image/kernel");

/// What the names of all of them begin with.
pub(super) const PREFIX: &str = "uml-";
/// The kernel in its folder, a program like others.
const PROGRAM: &str = "linux";
/// Beside it: its modules, in a folder that is called as its version.
const MODULES: &str = "modules";
/// Beside it: of what its package was built.
const BUILT_USING: &str = "built-using";

/// The kernel on this host.
pub(super) struct Kernel {
    folder: PathBuf,
    /// Its version, which its modules' folder is called by.
    pub version: String,
    /// The version of the sources that it was built of, as Debian calls it.
    pub sources: String,
}

/// The name of its folder.
pub(super) fn name() -> String {
    let parts = [RELEASE.suite(), PACKAGES[0], PACKAGES[1], TAKE];
    format!("{PREFIX}{}", checksum(parts))
}

/// Where it is, or would be.
fn place() -> PathBuf {
    image::folder().join(name())
}

/// The program in this folder of a kernel.
pub(super) fn program_in(folder: &Path) -> PathBuf {
    folder.join(PROGRAM)
}

impl Kernel {
    /// What there is of it; none if it has yet to be taken out of its package.
    ///
    /// # Errors
    /// It does not run, or what is known of it cannot be read.
    pub fn found() -> Result<Option<Self>, LabError> {
        let folder = place();
        match program_in(&folder).exists() {
            true => Self::of(folder).map(Some),
            false => Ok(None),
        }
    }

    fn of(folder: PathBuf) -> Result<Self, LabError> {
        let program = program_in(&folder);
        let said = Tool::new(&program).args(["--version"]).text()?;
        let version = said.lines().next().unwrap_or_default().trim().to_owned();
        let is_version = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
        if version.is_empty() || !version.chars().all(is_version) {
            return Err(LabError::Machines(format!(
                "{} --version says \"{version}\"",
                program.display()
            )));
        }
        let path = folder.join(BUILT_USING);
        let said = fs::read_to_string(&path).map_err(|e| LabError::io("read", &path, e))?;
        let sources = built_of(&said).ok_or_else(|| {
            LabError::Machines(format!(
                "{} does not name the sources of Linux: \"{}\"",
                path.display(),
                said.trim()
            ))
        })?;
        Ok(Self {
            folder,
            version,
            sources,
        })
    }

    /// The kernel, taken out of its package if it has to be. Who calls holds the images' lock.
    ///
    /// # Errors
    /// What is missing; what a step says.
    pub fn ensure(waiting: &Waiting<'_>) -> Result<Self, LabError> {
        if let Some(found) = Self::found()? {
            return Ok(found);
        }
        room::disk(image::folder(), room::KERNEL, "a kernel's packages")?;
        (waiting.told)("fetching the kernel of machines, once: a minute");
        let place = place();
        make::into(&place, |work| take(&place, work, waiting))?;
        Self::of(place)
    }

    /// The program that machines run.
    pub fn program(&self) -> PathBuf {
        program_in(&self.folder)
    }

    /// The series of its version: `6.12`.
    pub fn series(&self) -> String {
        let numbers: Vec<&str> = self.version.split('.').take(2).collect();
        numbers.join(".")
    }

    /// The folder of its modules.
    pub fn modules(&self) -> PathBuf {
        self.folder.join(MODULES).join(&self.version)
    }
}

fn take(place: &Path, work: &Work, waiting: &Waiting<'_>) -> Result<(), LabError> {
    let take = work.script("kernel", TAKE)?;
    let hook = format!(
        "{} \"$1\" {} {}",
        take.display(),
        work.done.display(),
        place.display()
    );
    work.unpack(RELEASE, &PACKAGES, &hook, false, waiting)
}

/// The version of `linux` in a field of deb-control(5) such as `linux (= 6.12.113-1)`.
fn built_of(field: &str) -> Option<String> {
    let mut parts = field.split(',');
    let version =
        parts.find_map(|part| part.trim().strip_prefix("linux (= ")?.strip_suffix(')'))?;
    let is_version = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '~');
    (!version.is_empty() && version.chars().all(is_version)).then(|| version.to_owned())
}

#[cfg(test)]
impl Kernel {
    /// One of this version, of these sources.
    pub fn made_up(version: &str, sources: &str) -> Self {
        let (folder, version, sources) = (PathBuf::new(), version.to_owned(), sources.to_owned());
        Self {
            folder,
            version,
            sources,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_of_a_kernel_are_those_that_its_package_names() {
        let of = |field| built_of(field);
        assert_eq!(of("linux (= 6.1.176-1)").as_deref(), Some("6.1.176-1"));
        let two = "gcc-12 (= 12.2.0-14), linux (= 6.12.5-1~deb13u1)";
        assert_eq!(of(two).as_deref(), Some("6.12.5-1~deb13u1"));
        for odd in [
            "",
            "linux",
            "linux (= )",
            "linux (= 6.1; reboot)",
            "linux-x (= 1)",
        ] {
            assert_eq!(of(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_series_is_the_first_two_numbers_of_a_version() {
        let of = |version| Kernel::made_up(version, "").series();
        assert_eq!(of("6.12.113"), "6.12");
        assert_eq!(of("7.2"), "7.2");
        assert_eq!(of("6"), "6");
    }
}
