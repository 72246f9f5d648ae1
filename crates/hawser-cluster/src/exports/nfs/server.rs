//! The NFS server of this host.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_files::FileError;
use hawser_model::mountinfo;
use hawser_tool::{Tool, ToolError, processes};

use super::client::bracketed;
use super::flush;
use super::plan::Operation;
use super::table::{Found, table};
use crate::exports::host::{file_systems_below, is_mounted, on_top};

/// Where the kernel's server is talked to.
pub const NFSD: &str = "/proc/fs/nfsd";

/// How long `exportfs` may take: half of what Pacemaker gives a monitor operation.
const LIMIT: Duration = Duration::from_secs(10);

/// It cannot be had, or refuses.
#[derive(Debug, thiserror::Error)]
pub enum NfsError {
    /// Something that it takes is not there.
    #[error("this host cannot export by NFS: {0}")]
    Missing(String),
    /// All of it is there and does not run.
    #[error("this host does not export by NFS: {0}")]
    Down(&'static str),
    /// `exportfs` says no.
    #[error("{command}: {said}")]
    Refused {
        /// The command line.
        command: String,
        /// What it says.
        said: String,
    },
    /// What is no longer exported stays in a table of the kernel.
    #[error(
        "the kernel empties its table {table} only in {seconds} s: its exports were changed too often in the seconds before"
    )]
    Ahead {
        /// The table, a folder of /proc/net/rpc.
        table: String,
        /// How long it is until then.
        seconds: i64,
    },
    /// The list of clients that the kernel has kept cannot be read.
    #[error("{}: {error}", .path.display())]
    Tracking {
        /// The database.
        path: PathBuf,
        /// What is wrong with it.
        error: rusqlite::Error,
    },
    /// A call fails.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Whether clients would be answered: `exportfs`, a kernel whose server runs, and the `rpc.mountd` that
/// it asks who may do what.
pub fn ready() -> Result<(), NfsError> {
    exportfs(&["-s"])?.ok_or_else(not_installed)?;
    let Ok(threads) = threads() else {
        let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
        let modprobe = || Tool::new("modprobe").args(["--dry-run", "nfsd"]).text();
        let has = known.lines().any(|line| line.ends_with("\tnfsd")) || modprobe().is_ok();
        return match has {
            true => Err(NfsError::Down(
                "its NFS server does not run (systemctl enable --now nfs-server)",
            )),
            false => Err(NfsError::Missing(
                "its kernel has no NFS server (CONFIG_NFSD)".into(),
            )),
        };
    };
    if threads == 0 {
        return Err(NfsError::Down(
            "its NFS server has no threads (systemctl restart nfs-server)",
        ));
    }
    let runs = |name| !processes::named(name).is_empty();
    if !["rpc.mountd", "nfsv4.exportd"].into_iter().any(runs) {
        return Err(NfsError::Down(
            "rpc.mountd does not run (systemctl restart nfs-server)",
        ));
    }
    Ok(())
}

/// How many threads the server has; 0: it does not run.
///
/// # Errors
/// The kernel does not say.
pub fn threads() -> Result<u32, NfsError> {
    let path = format!("{NFSD}/threads");
    let text = fs::read_to_string(&path).map_err(FileError::io("read", &path))?;
    Ok(text.trim().parse().unwrap_or(0))
}

/// Whether the server of NFS 4 says that its grace period is not over. It says so too before it is started.
pub fn says_grace() -> bool {
    let ended = fs::read_to_string(format!("{NFSD}/v4_end_grace"));
    ended.is_ok_and(|ended| ended.trim() == "N")
}

/// Whether the server runs and is in its grace period: nothing is opened or locked but what clients reclaim. This waits for nobody who
/// starts or stops the server, which [`threads`] does (`nfsd_mutex`).
pub fn is_in_grace() -> bool {
    says_grace()
        && fs::read_to_string("/proc/net/rpc/nfsd").is_ok_and(|text| counted_threads(&text) > 0)
}

/// The threads of the server by its statistics (`nfsd_show` in fs/nfsd/stats.c): `th 8 0 …`.
fn counted_threads(statistics: &str) -> u32 {
    let mut lines = statistics.lines();
    let counted = lines.find_map(|line| line.strip_prefix("th "));
    let first = counted.and_then(|rest| rest.split(' ').next());
    first.and_then(|it| it.parse().ok()).unwrap_or(0)
}

fn not_installed() -> NfsError {
    NfsError::Missing("exportfs is not installed (package nfs-kernel-server)".into())
}

/// What is exported now; nothing where `exportfs` is not installed.
pub fn look() -> Result<Found, NfsError> {
    let Some(text) = exportfs(&["-s"])? else {
        return Ok(Found::new());
    };
    table(&text).map_err(|line| NfsError::Refused {
        command: "exportfs -s".into(),
        said: format!("\"{line}\", which is not understood"),
    })
}

/// What of it is served. What waits for its mount and is not mounted stands in the table alone: after a boot that is what `sharenfs`
/// exported before, of a pool that another head has now.
pub fn served() -> Result<Found, NfsError> {
    let mut found = look()?;
    if let Ok(mounts) = fs::read(mountinfo::OWN) {
        let mounts = String::from_utf8_lossy(&mounts);
        found.retain(|(directory, _), options| {
            !options.waits_for_its_mount() || is_mounted(&mounts, directory)
        });
    }
    Ok(found)
}

/// What ZFS has it export by itself (`sharenfs`); nothing where that cannot be read.
pub fn shared_by_zfs() -> BTreeSet<String> {
    let table = look().unwrap_or_default().into_iter();
    let shared = table.filter(|(_, options)| options.waits_for_its_mount());
    shared.map(|((directory, _), _)| directory).collect()
}

/// Whether the server has a client of NFS 4.
pub fn has_clients() -> bool {
    let clients = fs::read_dir(Path::new(NFSD).join("clients"));
    clients.is_ok_and(|mut clients| clients.next().is_some())
}

/// Does one thing.
pub fn perform(operation: &Operation) -> Result<(), NfsError> {
    let pair = |directory: &str, client: &str| format!("{}:{directory}", bracketed(client));
    let call = |arguments: &[String]| {
        let all: Vec<&str> = arguments.iter().map(String::as_str).collect();
        exportfs(&all)?.map(drop).ok_or_else(not_installed)
    };
    match operation {
        Operation::Export {
            directory,
            clients,
            options,
            ..
        } => {
            // Without what /etc/exports says of the same directory.
            let mut arguments = vec!["-i".to_owned(), "-o".to_owned(), options.to_string()];
            arguments.extend(clients.iter().map(|client| pair(directory, client)));
            call(&arguments)
        }
        Operation::Unexport(pairs) => {
            let mut arguments = vec!["-u".to_owned()];
            arguments.extend(
                pairs
                    .iter()
                    .map(|(directory, client)| pair(directory, client)),
            );
            flush::emptied(|| call(&arguments))
        }
    }
}

/// Runs it. `None`: it is not installed.
fn exportfs(arguments: &[&str]) -> Result<Option<String>, NfsError> {
    // It looks up the names of clients: a name server that is silent must not hold a head's stop for longer.
    match Tool::new("exportfs").args(arguments).limit(LIMIT).text() {
        Err(ToolError::Missing { .. }) => Ok(None),
        text => text.map(Some).map_err(|error| NfsError::Refused {
            command: format!("exportfs {}", arguments.join(" ")),
            said: error.reason(),
        }),
    }
}

/// Makes the server let go of those file systems of a pool of which nothing is exported any more, so that they can be unmounted: also
/// of such as were never exported by name, since a `crossmnt` directory had those below it exported as well, and of what left
/// `exports.toml` some time ago. It expires the clients of NFS 4 that hold something there; they come back by themselves. Then it drops locks of NFS 3.
/// A pool that is mounted no longer holds nothing.
///
/// Linux 6.9 and later would also revoke what NFS 4 has there, and keep the clients. But what is revoked still points to the
/// files' inodes. When such a client's lease ends, the kernel looks at them (`nfs4_lockowner_has_blockers` in
/// fs/nfsd/nfs4state.c), and panics if they have been unmounted (seen with 6.12.113). So there are none left to revoke.
pub fn release(root: &Path) -> Result<(), NfsError> {
    // One that does not run holds nothing; Linux 6.9 and later do not even answer then (`write_unlock_fs` in fs/nfsd/nfsctl.c).
    if threads().unwrap_or(0) == 0 {
        return Ok(());
    }
    let mounts = fs::read(mountinfo::OWN).map_err(FileError::io("read", mountinfo::OWN))?;
    let real = fs::canonicalize(root);
    let root = real.as_deref().unwrap_or(root);
    let held = held(&String::from_utf8_lossy(&mounts), root, &served()?);
    let devices = held.keys().map(|(major, minor)| superblock(*major, *minor));
    let devices = devices.collect();
    let clients = fs::read_dir(format!("{NFSD}/clients"));
    let mut done = Ok(());
    for client in clients.into_iter().flatten().flatten() {
        let path = client.path();
        let states = fs::read_to_string(path.join("states"));
        if states.is_ok_and(|states| holds(&states, &devices)) {
            done = done.and(expire(&path.join("ctl")));
        }
    }
    let unlock = format!("{NFSD}/unlock_filesystem");
    for directory in held.values() {
        done =
            done.and(fs::write(&unlock, line(directory)).map_err(FileError::io("write", &unlock)));
    }
    Ok(done?)
}

/// The file systems of which the server may hold something that nobody is served any more: where, by the major and minor number of
/// each. `mounts`: proc_pid_mountinfo(5).
fn held(mounts: &str, root: &Path, served: &Found) -> BTreeMap<(u64, u64), String> {
    let mut all = file_systems_below(mounts, root);
    for ((directory, _), options) in served {
        let directory = Path::new(directory);
        if let Some(on) = on_top(mounts, directory) {
            all.remove(&on.device);
        }
        if options.crosses_mounts() {
            all.retain(|_, place| !Path::new(place).starts_with(directory));
        }
    }
    all
}

/// Ends a client of NFS 4 with all that it holds. One that has gone meanwhile holds nothing (`client_ctl_write` in
/// fs/nfsd/nfs4state.c).
fn expire(control: &Path) -> Result<(), FileError> {
    match fs::write(control, "expire\n") {
        Err(gone) if gone.raw_os_error() == Some(nix::libc::ENXIO) => Ok(()),
        Err(gone) if gone.kind() == std::io::ErrorKind::NotFound => Ok(()),
        written => written.map_err(FileError::io("write", control)),
    }
}

/// A path as the kernel reads it: a line, its blanks and backslashes as three octal digits.
fn line(path: &str) -> String {
    let one = |c: char| match c {
        ' ' | '\t' | '\\' => format!("\\{:03o}", u32::from(c)),
        c => c.to_string(),
    };
    path.chars().map(one).chain(["\n".to_owned()]).collect()
}

/// A device as the states of a client have it: major and minor number in two digits or more.
pub(super) fn superblock(major: u64, minor: u64) -> String {
    format!("{major:02x}:{minor:02x}")
}

/// Whether something among these states is of one of these file systems. What a client chose, an owner or the name of a
/// file, comes behind that.
pub fn holds(states: &str, devices: &BTreeSet<String>) -> bool {
    let device = |line: &str| {
        let (_, rest) = line.split_once("superblock: \"")?;
        let (file, _) = rest.split_once('"')?;
        let (device, _) = file.rsplit_once(':')?;
        Some(devices.contains(device))
    };
    states.lines().filter_map(device).any(|is| is)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::options::NfsOptions;
    use super::*;

    #[test]
    fn a_server_without_threads_is_in_no_grace_period() {
        let statistics = "rc 0 0 0\nfh 0 0 0 0 0\nth 8 0 0.000 0.000\nra 32 0\n";
        assert_eq!(counted_threads(statistics), 8);
        assert_eq!(counted_threads(&statistics.replace("th 8", "th 0")), 0);
        assert_eq!(counted_threads(""), 0);
    }

    #[test]
    fn paths_and_devices_as_the_kernel_has_them() {
        assert_eq!(line("/my pool"), "/my\\040pool\n");
        assert_eq!(superblock(7, 0), "07:00");
        assert_eq!(superblock(253, 16), "fd:10");
    }

    /// What others export of a pool goes on: their clients keep their locks.
    #[test]
    fn a_file_system_is_let_go_when_nobody_is_served_of_it() {
        let mounts = "40 22 0:32 / /tank rw - zfs tank rw\n\
                      41 40 0:33 / /tank/home rw - zfs tank/home rw\n\
                      42 41 0:34 / /tank/home/ann rw - zfs tank/home/ann rw\n\
                      43 40 0:35 / /tank/shared rw - zfs tank/shared rw\n\
                      44 43 0:36 / /tank/shared/bob rw - zfs tank/shared/bob rw\n\
                      45 22 0:37 / /else rw - zfs else rw\n";
        let held = |served: &[(&str, &str)]| {
            let one = |(path, options): &(&str, &str)| {
                let pair = ((*path).to_owned(), "*".to_owned());
                (pair, NfsOptions::shown(options))
            };
            let served = served.iter().map(one).collect();
            let held = held(mounts, Path::new("/tank"), &served);
            Vec::from_iter(held.into_values())
        };
        let (home, ann) = ("/tank/home", "/tank/home/ann");
        let (shared, bob) = ("/tank/shared", "/tank/shared/bob");
        assert_eq!(held(&[]), ["/tank", home, ann, shared, bob]);
        assert_eq!(held(&[("/tank/shared/a", "rw")]), ["/tank", home, ann, bob]);
        assert_eq!(held(&[(shared, "rw,crossmnt")]), ["/tank", home, ann]);
    }

    #[test]
    fn what_a_client_holds_is_of_a_file_system_whatever_it_calls_it() {
        let states = "- 0x01: { type: open, access: rw, deny: --, superblock: \"00:20:3\", filename: \"/lk\", owner: \"x\" }\n\
                      - 0x02: { type: open, superblock: \"00:30:5\", filename: \"/superblock: \\x2200:40:1\\x22\", owner: \"y\" }\n";
        let holds = |device: &str| holds(states, &BTreeSet::from([device.to_owned()]));
        assert!(holds("00:20") && holds("00:30"));
        assert!(!holds("00:40") && !holds("00:2") && !holds("00:20:3"));
    }

    proptest! {
        #[test]
        fn no_states_are_a_panic(text in "\\PC*") {
            let _ = holds(&format!("superblock: \"{text}"), &BTreeSet::new());
        }
    }
}
