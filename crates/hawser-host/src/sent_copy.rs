//! The copy of a program that a coordinator sent to a host: `hawser-<sha256>` in a folder `hawser` (`transport/start.sh`).

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Hexadecimal digits of a SHA-256.
const DIGEST: usize = 64;

/// The file that this program runs from, if that was sent here.
pub fn own() -> Option<PathBuf> {
    let own = fs::read_link("/proc/self/exe").ok()?;
    is_sent(&own).then_some(own)
}

fn is_sent(path: &Path) -> bool {
    let folder = path.parent();
    folder.is_some_and(|folder| folder.ends_with("hawser")) && path.file_name().is_some_and(is_name)
}

/// Whether a file name is one that the start script gives: also `hawser-<sha256>.<pid>`, while it is being copied.
pub fn is_name(name: &OsStr) -> bool {
    let Some(rest) = name.to_str().and_then(|n| n.strip_prefix("hawser-")) else {
        return false;
    };
    let (digest, pid) = rest.split_once('.').unwrap_or((rest, "0"));
    digest.len() == DIGEST
        && digest.bytes().all(|b| b.is_ascii_hexdigit())
        && pid.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_installed_is_no_copy() {
        let digest = "ab".repeat(DIGEST / 2);
        assert!(is_sent(Path::new(&format!("/run/hawser/hawser-{digest}"))));
        assert!(!is_sent(Path::new("/usr/local/sbin/hawser-client")));
        assert!(!is_sent(Path::new(&format!("/root/hawser-{digest}"))));
        assert!(!is_sent(Path::new("/run/hawser/hawser-client")));
    }
}
