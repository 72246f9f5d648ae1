//! The kernel that machines have: Debian's package user-mode-linux.

use std::path::{Path, PathBuf};

use hawser_tool::Tool;

use crate::error::LabError;

/// The kernel, a program like others.
pub(super) const PROGRAM: &str = "linux.uml";
const PACKAGE: &str = "user-mode-linux";
const MODULES: &str = "/usr/lib/uml/modules";

/// Its version, which its modules' folder is called by.
///
/// # Errors
/// It is not installed; it does not say its version.
pub(super) fn version() -> Result<String, LabError> {
    super::need_programs(&[PROGRAM])?;
    let said = Tool::new(PROGRAM).args(["--version"]).text()?;
    let version = said.lines().next().unwrap_or_default().trim();
    let is_version = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
    if version.is_empty() || !version.chars().all(is_version) {
        return Err(LabError::Machines(format!(
            "{PROGRAM} --version says \"{version}\""
        )));
    }
    Ok(version.to_owned())
}

/// Where the modules of that version are.
///
/// # Errors
/// They are not there.
pub(super) fn modules(version: &str) -> Result<PathBuf, LabError> {
    let folder = Path::new(MODULES).join(version);
    match folder.is_dir() {
        true => Ok(folder),
        false => Err(LabError::Machines(format!(
            "there are no modules for kernel {version} at {}",
            folder.display()
        ))),
    }
}

/// The version of the sources that the package was built of, as Debian calls it.
///
/// # Errors
/// The package does not say that.
pub(super) fn sources() -> Result<String, LabError> {
    let words = ["-W", "-f", "${Built-Using}", PACKAGE];
    let said = Tool::new("dpkg-query").args(words).text()?;
    built_of(&said).ok_or_else(|| {
        LabError::Machines(format!(
            "{PACKAGE} does not say of which sources of Linux it was built (Built-Using: \"{}\")",
            said.trim()
        ))
    })
}

/// The version of `linux` in a field of deb-control(5) such as `linux (= 6.1.176-1)`.
fn built_of(field: &str) -> Option<String> {
    let mut parts = field.split(',');
    let version =
        parts.find_map(|part| part.trim().strip_prefix("linux (= ")?.strip_suffix(')'))?;
    let is_version = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '~');
    (!version.is_empty() && version.chars().all(is_version)).then(|| version.to_owned())
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
}
