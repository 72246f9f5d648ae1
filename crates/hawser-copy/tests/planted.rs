//! What a user may plant in a folder that root copies into, and a source that is written to meanwhile.
//! Copies between heads run as root; what only root can plant is skipped for anybody else.

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::{FileExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use hawser_copy::{CopyKey, ReceiveSpec, Receiver, Running, SendSpec, send};
use hawser_model::copy::{CopyEnd, CopyOptions, CopySink, CopySource, SourceState};
use hawser_model::units::Nanos;
use hawser_tool::Tool;
use nix::unistd::geteuid;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const BLOCK: usize = 4 << 20;
const USER: u32 = 1000;

/// Whether this is root; else a line says that the test is skipped.
fn is_root(test: &str) -> bool {
    let root = geteuid().is_root();
    if !root {
        // Past the harness, which shows nothing of a test that passes.
        let line = format!("\nskipped: {test}: needs root\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    root
}

fn options() -> CopyOptions {
    CopyOptions {
        patience: Nanos::from_millis(3_000),
        ..CopyOptions::default()
    }
}

fn receiver(to: &Path, options: CopyOptions) -> Result<Receiver, String> {
    let sink = CopySink::Path {
        path: to.display().to_string(),
        name: "name".to_owned(),
        replace: true,
    };
    Receiver::open(ReceiveSpec {
        sink,
        at: HERE,
        key: CopyKey::new([7; 32]),
        options,
    })
    .map_err(|e| e.to_string())
}

fn sender(from: &Path, port: u16, options: CopyOptions) -> Result<Running, String> {
    send(SendSpec {
        source: CopySource::Path(from.display().to_string()),
        from: HERE,
        to: HERE,
        port,
        aligned: false,
        key: CopyKey::new([7; 32]),
        options,
    })
    .map_err(|e| e.to_string())
}

/// Copies; `meanwhile` is done when both ends have looked at their files.
fn copy(
    from: &Path,
    to: &Path,
    options: CopyOptions,
    meanwhile: impl FnOnce(),
) -> Result<(CopyEnd, CopyEnd), String> {
    let receiver = receiver(to, options)?;
    let sending = sender(from, receiver.port(), options)?;
    meanwhile();
    let receiving = receiver.start().map_err(|e| e.to_string())?;
    Ok((sending.finish(), receiving.finish()))
}

/// Copies over a path that carries none of the data before `meanwhile` is done.
fn copy_and(
    from: &Path,
    to: &Path,
    options: CopyOptions,
    meanwhile: impl FnOnce(&Running),
) -> (CopyEnd, CopyEnd) {
    let receiver = receiver(to, options).unwrap();
    let (port, path) = (receiver.port(), TcpListener::bind((HERE, 0)).unwrap());
    let receiving = receiver.start().unwrap();
    let sending = sender(from, path.local_addr().unwrap().port(), options).unwrap();
    let (near, _) = path.accept().unwrap();
    let far = TcpStream::connect((HERE, port)).unwrap();
    let gate = Mutex::new(());
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut data = vec![0; 65_536];
            while let Ok(count @ 1..) = (&near).read(&mut data) {
                let _open = gate.lock().unwrap();
                if (&far).write_all(&data[..count]).is_err() {
                    break;
                }
            }
            let _ = far.shutdown(Shutdown::Both);
        });
        // It is let in; and then, once it has offered the source, told what is there already.
        let mut byte = [0];
        (&far).read_exact(&mut byte).unwrap();
        (&near).write_all(&byte).unwrap();
        (&far).read_exact(&mut byte).unwrap();
        let closed = gate.lock().unwrap();
        (&near).write_all(&byte).unwrap();
        scope.spawn(|| {
            let _ = std::io::copy(&mut &far, &mut &near);
            let _ = near.shutdown(Shutdown::Both);
        });
        meanwhile(&sending);
        drop(closed);
        (sending.finish(), receiving.finish())
    })
}

/// The receiver's error.
fn refused(from: &Path, to: &Path) -> String {
    match copy(from, to, options(), || {}) {
        Err(error) => error,
        Ok((_, receiver)) => receiver.failure.expect("it is refused").error,
    }
}

/// A user's folder `up`, a file `victim` of whoever copies, and what is copied.
struct Place {
    _folder: tempfile::TempDir,
    root: PathBuf,
    up: PathBuf,
    victim: PathBuf,
    from: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    let place = Place {
        _folder: folder,
        up: root.join("up"),
        victim: root.join("victim"),
        from: root.join("from"),
        root,
    };
    fs::create_dir(&place.up).unwrap();
    if geteuid().is_root() {
        chown(&place.up, Some(USER), None).unwrap();
    }
    fs::write(&place.victim, "root's own").unwrap();
    fs::set_permissions(&place.victim, Permissions::from_mode(0o600)).unwrap();
    fs::write(&place.from, vec![7; 3_000_000]).unwrap();
    fs::set_permissions(&place.from, Permissions::from_mode(0o644)).unwrap();
    place
}

impl Place {
    fn victim_is_untouched(&self) {
        assert_eq!(fs::read_to_string(&self.victim).unwrap(), "root's own");
        let mode = fs::metadata(&self.victim).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
    }
}

/// What is said of it, and how it is planted.
type Plant<'a> = (&'a str, &'a dyn Fn(&Place, &Path));

fn planted_is_refused(plants: &[Plant<'_>]) {
    for what in ["part", "state"] {
        for (words, plant) in plants {
            let place = place();
            let planted = place.up.join(format!(".a.hawser-{what}"));
            plant(&place, &planted);
            let error = refused(&place.from, &place.up.join("a"));
            let expected = format!("/up/.a.hawser-{what} {words}");
            assert!(error.contains(&expected), "{expected}: {error}");
            assert!(!place.up.join("a").exists());
            place.victim_is_untouched();
        }
    }
}

#[test]
fn a_planted_part_or_state_is_refused_by_its_name() {
    planted_is_refused(&[
        ("is a symbolic link", &|place, at| {
            symlink(&place.victim, at).unwrap()
        }),
        ("is a symbolic link", &|_, at| {
            symlink("/dev/loop0", at).unwrap()
        }),
        ("has 2 names (hard links)", &|place, at| {
            fs::hard_link(&place.victim, at).unwrap()
        }),
        ("has mode 0666", &|_, at| {
            fs::write(at, "").unwrap();
            fs::set_permissions(at, Permissions::from_mode(0o666)).unwrap();
        }),
    ]);
}

#[test]
fn a_part_or_state_of_another_user_is_refused() {
    if is_root("a_part_or_state_of_another_user_is_refused") {
        planted_is_refused(&[("belongs to user 1000", &|_, at| {
            fs::write(at, "").unwrap();
            chown(at, Some(USER), None).unwrap();
        })]);
    }
}

#[test]
fn a_link_as_the_destination_is_refused_unless_it_leads_to_a_folder() {
    let place = place();
    let to = place.up.join("a");
    symlink(&place.victim, &to).unwrap();
    let error = refused(&place.from, &to);
    assert!(
        error.ends_with("/up/a is a symbolic link: name the file itself"),
        "{error}"
    );
    // Also under the source's own name in a folder.
    symlink(&place.victim, place.up.join("name")).unwrap();
    let error = refused(&place.from, &place.up);
    assert!(
        error.ends_with("/up/name is a symbolic link: name the file itself"),
        "{error}"
    );
    place.victim_is_untouched();

    // To a folder, and on the way to one.
    let (target, link) = linked(&place);
    for to in [link.clone(), link.join("name")] {
        let (sender, receiver) = copy(&place.from, &to, options(), || {}).unwrap();
        assert_eq!((sender.failure, receiver.failure), (None, None));
        fs::remove_file(target.join("name")).unwrap();
    }
}

/// A folder, and a link to it in the user's.
fn linked(place: &Place) -> (PathBuf, PathBuf) {
    let (target, link) = (place.root.join("target"), place.up.join("link"));
    fs::create_dir(&target).unwrap();
    symlink(&target, &link).unwrap();
    (target, link)
}

#[test]
fn a_link_of_another_user_on_the_way_is_refused() {
    if !is_root("a_link_of_another_user_on_the_way_is_refused") {
        return;
    }
    let place = place();
    let (target, link) = linked(&place);
    lchown(&link, Some(USER), None).unwrap();
    for to in [link.clone(), link.join("name")] {
        let error = refused(&place.from, &to);
        assert!(
            error.contains("/up/link is a symbolic link of user 1000"),
            "{error}"
        );
    }
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
}

#[test]
fn a_device_that_lies_in_a_folder_under_the_sources_name_is_not_written() {
    if !is_root("a_device_that_lies_in_a_folder_under_the_sources_name_is_not_written") {
        return;
    }
    let place = place();
    let name = place.up.join("name").display().to_string();
    let made = Tool::new("mknod").args([&name, "b", "7", "250"]).output();
    assert!(made.unwrap().status.success());
    let error = refused(&place.from, &place.up);
    assert!(error.contains("/up/name is a block device; "), "{error}");
}

#[test]
fn the_folder_stays_the_one_that_was_looked_at() {
    let place = place();
    let (to, moved) = (place.up.join("in/a"), place.up.join("moved"));
    fs::create_dir(place.up.join("in")).unwrap();
    let exchange = || {
        fs::rename(place.up.join("in"), &moved).unwrap();
        symlink(&place.root, place.up.join("in")).unwrap();
    };
    let (sender, receiver) = copy(&place.from, &to, options(), exchange).unwrap();
    assert_eq!((sender.failure, receiver.failure), (None, None));
    assert!(moved.join("a").exists() && !place.root.join("a").exists());
    let mode = fs::metadata(moved.join("a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o644, "the source's");
}

#[test]
fn a_source_that_is_changed_meanwhile_is_not_put_in_place_and_live_accepts_it() {
    let place = place();
    let (from, to) = (place.from.clone(), place.root.join("to"));
    fs::write(&from, vec![7; 3 * BLOCK]).unwrap();
    let overwrite = || {
        let file = File::options().write(true).open(&from).unwrap();
        file.write_all_at(b"other", 5).unwrap();
    };
    let grow = || {
        let file = File::options().append(true).open(&from).unwrap();
        file.write_all_at(b"more", 0).unwrap();
    };
    let exchange = || {
        fs::write(place.root.join("new"), "x").unwrap();
        fs::rename(place.root.join("new"), &from).unwrap();
    };
    let length = 3 * BLOCK;
    let grown = format!("{length} bytes, then {}", length + 4);
    let changes: [(&dyn Fn(), &str); 2] = [(&overwrite, "its data was written"), (&grow, &grown)];
    for (change, how) in changes {
        let (sender, receiver) = copy_and(&from, &to, options(), |_| change());
        let failure = sender.failure.unwrap();
        let words = format!("{} was changed while it was copied ({how})", from.display());
        assert!(
            failure.error.starts_with(&words) && !failure.connection,
            "{}",
            failure.error
        );
        assert_eq!(sender.source, SourceState::Changed);
        assert!(
            receiver.failure.unwrap().connection,
            "the sender knows better"
        );
        assert!(receiver.checksum.is_none() && !to.exists());
        assert!(
            place.root.join(".to.hawser-part").exists(),
            "the next run is quick"
        );
    }
    // What is left over is taken as far as it is the source's still.
    let (sender, receiver) = copy(&from, &to, options(), || {}).unwrap();
    assert_eq!((sender.failure, receiver.failure), (None, None));
    assert_eq!(sender.source, SourceState::Unchanged);
    assert!(receiver.kept.0 >= 2 * BLOCK as u64, "{:?}", receiver.kept);
    assert!(fs::read(&to).unwrap() == fs::read(&from).unwrap());

    for change in [&overwrite as &dyn Fn(), &exchange] {
        let live = CopyOptions {
            live: true,
            ..options()
        };
        let (sender, receiver) = copy_and(&from, &to, live, |_| change());
        assert_eq!((sender.failure, receiver.failure), (None, None));
        assert_eq!(sender.source, SourceState::Changed);
    }
}

#[test]
fn a_page_that_waits_in_the_socket_is_the_sources_still() {
    let place = place();
    let (from, to) = (place.from.clone(), place.root.join("to"));
    let length = 256 << 10;
    fs::write(&from, vec![7; length]).unwrap();
    let kernel = CopyOptions {
        checksum: false,
        ..options()
    };
    let (sender, _) = copy_and(&from, &to, kernel, |sending| {
        // All of it is the kernel's, and none of it has left.
        while sending.now().bytes.0 < length as u64 {
            thread::sleep(Duration::from_millis(1));
        }
        // Time for a sender that does not wait to judge its source.
        thread::sleep(Duration::from_millis(100));
        let file = File::options().write(true).open(&from).unwrap();
        file.write_all_at(b"other", length as u64 - 5).unwrap();
    });
    assert_eq!(sender.source, SourceState::Changed);
    assert!(sender.failure.is_some() && !to.exists());
}

#[test]
fn a_file_whose_size_is_not_what_it_holds_is_refused() {
    let to = place();
    for (from, size) in [
        ("/proc/self/status", 0),
        ("/sys/kernel/mm/transparent_hugepage/enabled", 4096),
    ] {
        let to = to.root.join("to");
        let Ok((sender, _)) = copy(Path::new(from), &to, options(), || {}) else {
            continue;
        };
        let failure = sender.failure.unwrap().error;
        let words = format!("{from} does not hold the {size} bytes that its size says");
        assert!(failure.starts_with(&words), "{failure}");
        assert!(!to.exists());
    }
}
