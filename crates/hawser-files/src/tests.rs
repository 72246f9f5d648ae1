//! What others may plant in a folder, and what becomes of it.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use nix::sys::stat::Mode;
use nix::unistd::{Uid, geteuid, mkfifo, setfsuid};

use super::*;

/// Whose the files are that these tests make.
fn own() -> u32 {
    geteuid().as_raw()
}

fn small() -> Expected {
    Expected {
        owner: own(),
        limit: 16,
        private: false,
    }
}

fn name() -> &'static OsStr {
    OsStr::new("f")
}

/// A folder, and the path of `f` in it.
fn place() -> (tempfile::TempDir, Folder) {
    let folder = tempfile::tempdir().unwrap();
    let open = Folder::open(folder.path()).unwrap();
    (folder, open)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// What reading and reopening `f` say when it was planted.
fn refused(plant: impl FnOnce(&Path)) -> (String, String) {
    let (folder, open) = place();
    plant(&folder.path().join("f"));
    let read = open.read(name(), small()).unwrap_err().to_string();
    let own = open.own(name()).unwrap_err().to_string();
    (read, own)
}

#[test]
fn links_fifos_devices_and_folders_are_refused_at_once() {
    let (victim, _) = place();
    let victim = victim.path().join("victim");
    fs::write(&victim, "secret").unwrap();
    type Plant<'a> = (&'a str, &'a dyn Fn(&Path));
    let plants: [Plant<'_>; 5] = [
        ("symbolic link", &|path| symlink(&victim, path).unwrap()),
        ("symbolic link", &|path| symlink("/dev/zero", path).unwrap()),
        ("FIFO", &|path| mkfifo(path, Mode::S_IRWXU).unwrap()),
        ("folder", &|path| fs::create_dir(path).unwrap()),
        ("socket", &|path| {
            drop(std::os::unix::net::UnixListener::bind(path).unwrap());
        }),
    ];
    for (word, plant) in plants {
        let (read, own) = refused(plant);
        for said in [read, own] {
            let expected = format!("/f is a {word}; it must be a regular file");
            assert!(said.ends_with(&expected), "{said}");
        }
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "secret");
}

#[test]
fn a_foreign_owner_and_others_who_can_write_are_refused() {
    let (folder, open) = place();
    fs::write(folder.path().join("f"), "x").unwrap();
    let allowed = own() + 1;
    let theirs = Expected {
        owner: allowed,
        ..small()
    };
    for said in [
        open.read(name(), theirs).unwrap_err().to_string(),
        open.own_of(name(), allowed).unwrap_err().to_string(),
    ] {
        let words = format!(
            "belongs to user {}; it must belong to user {allowed}",
            own()
        );
        assert!(said.ends_with(&words), "{said}");
    }
    for mode in [0o620, 0o602, 0o666] {
        let (read, own) = refused(|path| {
            fs::write(path, "x").unwrap();
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        });
        for said in [read, own] {
            assert!(said.contains(&format!("has mode {mode:04o}")), "{said}");
        }
    }
}

#[test]
fn a_private_file_that_others_can_read_is_refused() {
    let (folder, open) = place();
    let path = folder.path().join("f");
    let private = Expected {
        private: true,
        ..small()
    };
    fs::write(&path, "x").unwrap();
    for (mode, well) in [(0o600, true), (0o640, false), (0o604, false)] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        assert_eq!(open.read(name(), private).is_ok(), well, "{mode:o}");
        assert!(open.read(name(), small()).is_ok());
    }
}

#[test]
fn a_file_is_read_up_to_its_limit_and_a_hard_link_is_not_reused() {
    let (folder, open) = place();
    let path = folder.path().join("f");
    assert!(open.read(name(), small()).unwrap().is_none());
    assert!(open.own(name()).unwrap().is_none());
    fs::write(&path, [b'a'; 16]).unwrap();
    assert_eq!(open.read(name(), small()).unwrap().unwrap().len(), 16);
    assert!(open.own(name()).unwrap().is_some());
    fs::hard_link(&path, folder.path().join("g")).unwrap();
    let own = open.own(name()).unwrap_err().to_string();
    assert!(
        own.ends_with("/f has 2 names (hard links); it must have one"),
        "{own}"
    );
    fs::write(&path, [b'a'; 17]).unwrap();
    let large = open.read(name(), small()).unwrap_err().to_string();
    assert!(
        large.ends_with("has more than 16 bytes, which is the limit for such a file"),
        "{large}"
    );
    fs::write(&path, [b'a', 0xff]).unwrap();
    let text = open.read_text(name(), small()).unwrap_err().to_string();
    assert!(text.ends_with("byte 1 is wrong"), "{text}");
}

#[test]
fn a_link_is_replaced_and_not_followed() {
    let (folder, open) = place();
    let victim = folder.path().join("victim");
    fs::write(&victim, "secret").unwrap();
    symlink(&victim, folder.path().join("f")).unwrap();
    open.replace(name(), b"new", 0o640).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "secret");
    let about = fs::symlink_metadata(folder.path().join("f")).unwrap();
    assert!(about.is_file());
    assert_eq!(about.permissions().mode() & 0o7777, 0o640);
    assert_eq!(names(folder.path()).len(), 2, "no temporary file is left");
}

#[test]
fn what_is_there_stays_when_its_place_must_be_free() {
    let (folder, open) = place();
    fs::write(folder.path().join("f"), "old").unwrap();
    let fresh = open.fresh().unwrap();
    assert!(matches!(
        fresh.place(name(), Existing::Refused),
        Err(FileError::Exists { .. })
    ));
    assert!(matches!(open.create(name()), Err(FileError::Exists { .. })));
    assert_eq!(fs::read_to_string(folder.path().join("f")).unwrap(), "old");
    assert_eq!(names(folder.path()), ["f"]);
    open.fresh()
        .unwrap()
        .place(OsStr::new("g"), Existing::Refused)
        .unwrap();
    assert_eq!(names(folder.path()).len(), 2);
}

#[test]
fn a_new_file_that_somebody_exchanges_is_noticed_and_not_put_in_place() {
    let (folder, open) = place();
    let fresh = open.fresh().unwrap();
    fresh.file().write_all(b"ours").unwrap();
    let temporary = folder.path().join(&names(folder.path())[0]);
    // Another file of the same name, by rename.
    let theirs = folder.path().join("theirs");
    fs::write(&theirs, "theirs").unwrap();
    fs::rename(&theirs, &temporary).unwrap();
    let error = fresh.place(name(), Existing::Replaced).unwrap_err();
    assert!(matches!(error, FileError::Exchanged { .. }), "{error}");
    assert!(!folder.path().join("f").exists());
}

#[test]
fn the_folder_stays_the_one_that_was_opened() {
    let (folder, _) = place();
    let (real, moved) = (folder.path().join("real"), folder.path().join("moved"));
    fs::create_dir(&real).unwrap();
    let open = Folder::open(&real).unwrap();
    fs::rename(&real, &moved).unwrap();
    symlink("/etc", &real).unwrap();
    open.replace(name(), b"x", 0o600).unwrap();
    assert!(moved.join("f").exists() && !Path::new("/etc/f").exists());
}

#[test]
fn the_way_below_a_folder_has_no_links_and_does_not_lead_up() {
    let (folder, open) = place();
    fs::create_dir_all(folder.path().join("a/b")).unwrap();
    symlink("/etc", folder.path().join("a/etc")).unwrap();
    fs::write(folder.path().join("a/file"), "").unwrap();
    let below = open.below(Path::new("./a/b")).unwrap();
    assert_eq!(below.path(), folder.path().join("a/b"));
    let said = |way: &str| open.below(Path::new(way)).unwrap_err().to_string();
    assert!(said("a/etc").ends_with("/a/etc is a symbolic link; it must be a folder"));
    assert!(said("a/file").ends_with("/a/file is a regular file; it must be a folder"));
    assert!(said("a/../..").contains("does not end in the name"));
    for way in ["..", ".", "a/b", "", "/etc/passwd"] {
        let error = open.read(OsStr::new(way), small()).unwrap_err();
        assert!(matches!(error, FileError::Name { .. }), "{way}: {error}");
    }
}

#[test]
fn what_a_killed_run_left_is_swept_and_nothing_else() {
    let (folder, open) = place();
    let old = SystemTime::now() - Duration::from_secs(3600);
    let plant = |name: &str, mode| {
        let path = folder.path().join(name);
        let file = File::create(&path).unwrap();
        file.set_modified(old).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    };
    plant(".00.hawser-new", 0o600);
    // Not ours alone.
    plant(".01.hawser-new", 0o666);
    plant("mine.hawser-new", 0o600);
    File::create(folder.path().join(".02.hawser-new")).unwrap();
    open.replace(name(), b"x", 0o600).unwrap();
    let mut left = names(folder.path());
    left.sort();
    assert_eq!(
        left,
        [".01.hawser-new", ".02.hawser-new", "f", "mine.hawser-new"]
    );
}

#[test]
fn a_file_that_a_person_named_is_a_regular_file_or_a_pipe_and_bounded() {
    let (folder, _) = place();
    let path = folder.path().join("case");
    fs::write(&path, "0123456789").unwrap();
    symlink(&path, folder.path().join("link")).unwrap();
    assert_eq!(
        read_named(&folder.path().join("link"), 10).unwrap(),
        b"0123456789"
    );
    assert!(matches!(read_named(&path, 9), Err(FileError::Size { .. })));
    let zero = read_named(Path::new("/dev/zero"), 10)
        .unwrap_err()
        .to_string();
    assert_eq!(
        zero,
        "/dev/zero is a character device; it must be a regular file or a pipe"
    );
    let fifo = folder.path().join("fifo");
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| fs::write(&fifo, [b'x'; 11]));
        assert!(matches!(read_named(&fifo, 10), Err(FileError::Size { .. })));
    });
}

#[test]
fn a_link_on_the_way_is_followed_if_it_is_roots_and_not_if_it_is_a_users() {
    let (folder, _) = place();
    let root = fs::canonicalize(folder.path()).unwrap();
    fs::create_dir_all(root.join("real/below")).unwrap();
    symlink("real", root.join("link")).unwrap();
    symlink(root.join("link/below"), root.join("absolute")).unwrap();
    symlink("round", root.join("round")).unwrap();
    let inode = |folder: &Folder| {
        use std::os::unix::fs::MetadataExt;
        folder.metadata().unwrap().ino()
    };
    let below = inode(&Folder::open(&root.join("real/below")).unwrap());
    for way in [
        "real/below",
        "link/below",
        "absolute",
        "link/../real/./below",
    ] {
        assert_eq!(
            inode(&Folder::walk(&root.join(way)).unwrap()),
            below,
            "{way}"
        );
    }
    assert!(Folder::walk(Path::new(".")).is_ok() && Folder::walk(Path::new("/")).is_ok());
    let said = |way: &str| Folder::walk(&root.join(way)).unwrap_err().to_string();
    assert!(
        said("round").contains("Too many levels"),
        "{}",
        said("round")
    );
    assert!(said("gone/below").contains("No such file"));
    let others = [own() + 1; 2];
    for (way, link) in [
        ("link", "link"),
        ("link/below", "link"),
        ("absolute", "absolute"),
    ] {
        let said = Folder::walk_trusting(&root.join(way), others).unwrap_err();
        let words = format!("/{link} is a symbolic link of user {}", own());
        assert!(said.to_string().contains(&words), "{way}: {said}");
    }
}

#[test]
fn a_folder_on_the_way_may_be_one_that_is_entered_and_not_listed() {
    let (folder, _) = place();
    let closed = folder.path().join("closed");
    let own = closed.join("own");
    fs::create_dir_all(&own).unwrap();
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    mode(folder.path(), 0o711);
    mode(&closed, 0o311);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            if geteuid().is_root() {
                // Root lists everything. Of this thread alone.
                chown(&own, Some(1000), None).unwrap();
                setfsuid(Uid::from_raw(1000));
            }
            assert!(fs::read_dir(&closed).is_err(), "it is not listed");
            let open = Folder::walk(&own).unwrap();
            open.replace(name(), b"x", 0o600).unwrap();
        });
    });
    mode(&closed, 0o700);
    assert!(own.join("f").exists());
}
