//! The kernel that machines have: Debian's package user-mode-linux.

use std::path::{Path, PathBuf};

use hawser_tool::Tool;

use crate::error::LabError;

/// The kernel, a program like others.
pub(super) const PROGRAM: &str = "linux.uml";
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
