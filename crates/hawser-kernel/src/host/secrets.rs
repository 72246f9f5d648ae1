//! The files with the secrets of a cluster: by which its nodes know each other, and by which they fence.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hawser_model::host::{SECRET_DIRECTORY, SecretFacts};

/// Corosync's key (corosync-keygen(8)), and the one of Pacemaker's remote nodes (`DEFAULT_REMOTE_KEY_LOCATION`).
const FILES: [&str; 2] = ["/etc/corosync/authkey", "/etc/pacemaker/authkey"];

/// No cluster has more devices.
const MOST: usize = 64;

/// Those that are there.
pub(super) fn read() -> Vec<SecretFacts> {
    let keys = FILES.into_iter().filter_map(of);
    keys.chain(folder(SECRET_DIRECTORY)).collect()
}

fn folder(path: &str) -> Vec<SecretFacts> {
    let files = fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .take(MOST);
    let mut files: Vec<_> = files.filter_map(|file| of(file.path().to_str()?)).collect();
    files.sort_by(|a, b| a.file.cmp(&b.file));
    files
}

fn of(file: &str) -> Option<SecretFacts> {
    let found = fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
    Some(SecretFacts {
        file: file.to_owned(),
        modified: u64::try_from(found.mtime()).ok()?,
        mode: found.mode() & 0o7777,
        reached_by_all: Path::new(file).ancestors().skip(1).all(lets_others_pass),
    })
}

fn lets_others_pass(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|found| found.mode() & 0o001 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn age_and_mode_of_a_file_are_read_and_nothing_of_what_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let path = folder.path().join("authkey");
        fs::write(&path, "secret").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let found = of(path.to_str().unwrap()).unwrap();
        assert_eq!((found.mode, found.reached_by_all), (0o640, false));
        assert!(lets_others_pass(Path::new("/")) && !lets_others_pass(folder.path()));
        assert!(found.modified > 1_700_000_000, "{found:?}");
        assert_eq!(of("/no/such/authkey"), None);
        let place = folder.path().to_str().unwrap();
        assert_eq!(super::folder(place), [found]);
    }
}
