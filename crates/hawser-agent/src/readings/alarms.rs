//! The alarms of the watch, in one file beside the ring: whoever holds the ring has them.

use std::ffi::OsStr;
use std::io::{Error, ErrorKind};

use hawser_files::{Expected, FileError, Folder};
use hawser_model::kept_alarms::{FoundAlarms, KeptAlarms};

const NAME: &str = "alarms.json";

/// Bytes of it.
const LARGEST: u64 = 4 << 20;

/// A code is no longer.
const CODE: usize = 64;

/// What is kept there. What is no file of ours is said, and says nothing.
pub(super) fn read(folder: &Folder) -> FoundAlarms {
    let path = folder.path().join(NAME);
    let expected = Expected::own(LARGEST);
    let found = match folder.read(OsStr::new(NAME), expected) {
        Ok(None) => Ok(KeptAlarms::default()),
        Ok(Some(bytes)) => parsed(&bytes).map_err(|why| format!("{}: {why}", path.display())),
        Err(e) => Err(e.to_string()),
    };
    match found {
        Ok(alarms) => FoundAlarms {
            alarms,
            problem: None,
        },
        Err(why) => FoundAlarms {
            alarms: KeptAlarms::default(),
            problem: Some(why),
        },
    }
}

/// Keeps them instead of what was kept; they are on the disk when this returns.
///
/// # Errors
/// They are too many, or the disk does not take them: what was kept is there still.
pub(super) fn keep(folder: &Folder, alarms: &KeptAlarms) -> Result<(), FileError> {
    let refused = |why: &str| {
        let path = folder.path().join(NAME);
        FileError::io("keep", path)(Error::new(ErrorKind::InvalidInput, why))
    };
    let bytes = serde_json::to_vec(alarms).map_err(|e| refused(&e.to_string()))?;
    if bytes.len() as u64 > LARGEST {
        return Err(refused("larger than 4 MiB"));
    }
    folder.replace(OsStr::new(NAME), &bytes, 0o600)
}

fn parsed(bytes: &[u8]) -> Result<KeptAlarms, String> {
    let alarms: KeptAlarms = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
    for (field, all) in [
        ("standing", &alarms.standing),
        ("told", &alarms.told),
        ("left", &alarms.left),
    ] {
        let most = KeptAlarms::MOST;
        if all.len() > most {
            let found = all.len();
            return Err(format!("{field} has {found} alarms; {most} are allowed"));
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_code = |code: &str| (1..=CODE).contains(&code.len()) && code.chars().all(plain);
        if let Some(alarm) = all.iter().find(|alarm| !is_code(&alarm.code)) {
            return Err(format!(
                "{field} has the code {:?}; letters a to z, digits and - are allowed, {CODE} at most",
                alarm.code.chars().take(CODE).collect::<String>()
            ));
        }
    }
    Ok(alarms)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use hawser_model::finding::{Place, Severity};
    use hawser_model::output::watch::Alarm;

    use super::*;

    fn alarm(code: &str) -> Alarm {
        Alarm {
            code: code.to_owned(),
            severity: Severity::Error,
            place: Place::on(&"head1".into()),
            parts: Vec::new(),
            since: Some(30),
            times: 2,
            text: "ring1 of head1 is up but has no carrier".into(),
            fix: None,
        }
    }

    fn alarms() -> KeptAlarms {
        KeptAlarms {
            standing: vec![alarm("link-down")],
            told: vec![alarm("links-of-one-switch-down")],
            left: vec![alarm("links-of-one-switch-down")],
            untold: true,
        }
    }

    #[test]
    fn what_is_kept_is_found_again_by_nobody_but_the_owner() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        assert_eq!(read(&folder), FoundAlarms::default());
        keep(&folder, &alarms()).unwrap();
        keep(&folder, &alarms()).unwrap();
        let found = FoundAlarms {
            alarms: alarms(),
            problem: None,
        };
        assert_eq!(read(&folder), found);
        let mode = fs::metadata(dir.path().join(NAME)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }

    #[test]
    fn what_is_no_file_of_ours_says_nothing_and_why() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        let path = dir.path().join(NAME);
        let write = |text: &str| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        };
        let why = || {
            let found = read(&folder);
            assert_eq!(found.alarms, KeptAlarms::default());
            found.problem.unwrap()
        };
        let whole = serde_json::to_string(&alarms()).unwrap();
        for end in 0..whole.len() {
            write(&whole[..end]);
            assert!(why().contains("alarms.json: "), "{end}");
        }
        write(&whole.replace("link-down", "link\\u001b[2Jdown"));
        assert!(why().contains("standing has the code"), "{}", why());
        let many = KeptAlarms {
            standing: vec![alarm("link-down"); KeptAlarms::MOST + 1],
            ..KeptAlarms::default()
        };
        write(&serde_json::to_string(&many).unwrap());
        assert!(why().contains("1001 alarms; 1000 are allowed"), "{}", why());
        write(&whole);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(why().contains("must not be able to read it"), "{}", why());
        fs::remove_file(&path).unwrap();
        symlink("/etc/passwd", &path).unwrap();
        assert!(why().contains("symbolic link"), "{}", why());
    }

    #[test]
    fn what_does_not_fit_leaves_what_was_kept() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        keep(&folder, &alarms()).unwrap();
        let mut large = alarms();
        large.standing[0].text = "x".repeat(LARGEST as usize);
        let refused = keep(&folder, &large).unwrap_err().to_string();
        assert!(refused.contains("larger than 4 MiB"), "{refused}");
        assert_eq!(read(&folder).alarms, alarms());
    }
}
