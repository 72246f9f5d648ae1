//! The files with the secrets by which the nodes of a cluster know each other.

use std::fs;
use std::os::unix::fs::MetadataExt;

use hawser_model::host::SecretFacts;

/// Corosync's key (corosync-keygen(8)), and the one of Pacemaker's remote nodes (`DEFAULT_REMOTE_KEY_LOCATION`).
const FILES: [&str; 2] = ["/etc/corosync/authkey", "/etc/pacemaker/authkey"];

/// Those that are there.
pub(super) fn read() -> Vec<SecretFacts> {
    FILES.into_iter().filter_map(of).collect()
}

fn of(file: &str) -> Option<SecretFacts> {
    let found = fs::metadata(file).ok()?;
    Some(SecretFacts {
        file: file.to_owned(),
        modified: u64::try_from(found.mtime()).ok()?,
        mode: found.mode() & 0o7777,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn age_and_mode_of_a_file_are_read_and_nothing_of_what_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("authkey");
        fs::write(&path, "secret").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let found = of(path.to_str().unwrap()).unwrap();
        assert_eq!(found.mode, 0o640);
        assert!(found.modified > 1_700_000_000, "{found:?}");
        assert_eq!(of("/no/such/authkey"), None);
    }
}
