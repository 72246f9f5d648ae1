//! Somebody changed a BMC's password and told nobody: what this head knows is not it any more.

use std::fs;
use std::path::PathBuf;

use crate::cib::secrets::SECRET_DIRECTORY;
use crate::host::NodeError;

/// The file of the password that Pacemaker gives to a fence device, and where the right one is kept meanwhile.
fn files(device: &str) -> Result<(PathBuf, PathBuf), NodeError> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if device.starts_with('.') || device.is_empty() || !device.chars().all(is_name) {
        return Err(NodeError::NotOurs(format!("{SECRET_DIRECTORY}/{device}")));
    }
    let file = PathBuf::from(SECRET_DIRECTORY).join(device);
    let kept = PathBuf::from(SECRET_DIRECTORY).join(format!("{device}.drill"));
    Ok((file, kept))
}

pub(super) fn make(device: &str) -> Result<(), NodeError> {
    let (file, kept) = files(device)?;
    if !kept.exists() {
        // With its mode, and before anything is changed.
        fs::copy(&file, &kept).map_err(NodeError::file("copy", &file))?;
    }
    fs::write(&file, "changed\n").map_err(NodeError::file("write", &file))
}

pub(super) fn shown(device: &str) -> Result<Option<String>, NodeError> {
    let (_, kept) = files(device)?;
    Ok(kept
        .exists()
        .then(|| format!("the password of {device} is not the right one")))
}

/// Puts the right one back, if it was taken away.
pub(super) fn mend(device: &str) -> Result<(), NodeError> {
    let (file, kept) = files(device)?;
    match kept.exists() {
        true => fs::rename(&kept, &file).map_err(NodeError::file("rename", &kept)),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_password_of_a_device_is_touched() {
        for name in ["", "..", "../../shadow", "a/b", ".x", "fence-a\n"] {
            assert!(
                matches!(files(name), Err(NodeError::NotOurs(_))),
                "{name:?}"
            );
        }
        let (file, _) = files("fence-head1").unwrap();
        assert!(file.ends_with("fence-head1"));
    }
}
