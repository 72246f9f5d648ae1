//! Clients of NFS 3 that hold locks.
//!
//! They are no clients of a server: each lock is asked of the kernel's lock manager, which has `rpc.statd` write down who holds
//! any (the Network Status Monitor, X/Open XNFS). A client reclaims when it is told that the host has started again, by that name
//! or address by which it knows it. So `sm-notify` is given a list of its own: who is told, under which addresses.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hawser_files::{Expected, FileError, Folder};
use hawser_tool::{Tool, processes};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::super::server::NfsError;

/// Where `rpc.statd` keeps a file for each client that holds locks: on Debian, and on Fedora.
const MONITORED: [&str; 2] = ["/var/lib/nfs/sm", "/var/lib/nfs/statd/sm"];

/// Who is told when the server has started.
const TOLD: &str = "/run/hawser/nfs/notify";

/// How long `sm-notify` may take until it works in the background.
const LIMIT: Duration = Duration::from_secs(10);

/// For how many minutes it tells a client that does not answer again.
const MINUTES: &str = "5";

/// Who holds locks on this host, whatever they are of. Who is known by a name alone is left out: a takeover waits for no name
/// server.
pub fn holders() -> BTreeSet<IpAddr> {
    let folders = MONITORED
        .into_iter()
        .filter_map(|path| Folder::open(Path::new(path)).ok());
    folders.flat_map(|folder| holders_in(&folder)).collect()
}

fn holders_in(folder: &Folder) -> BTreeSet<IpAddr> {
    let (Ok(about), Ok(names)) = (folder.metadata(), folder.names()) else {
        return BTreeSet::new();
    };
    let expected = Expected {
        owner: about.uid(),
        limit: 4096,
        private: false,
    };
    let read = |name| folder.read_text(name, expected).ok().flatten();
    let texts = names.iter().filter_map(|name| read(name.as_os_str()));
    let clients = texts.flat_map(|text| text.lines().filter_map(client).collect::<Vec<_>>());
    clients.collect()
}

/// The client that a line is of: the sixth of seven fields (support/nsm/file.c of nfs-utils).
fn client(line: &str) -> Option<IpAddr> {
    line.split(' ').nth(5)?.parse().ok()
}

/// Who may reclaim locks of a pool: who holds any and has come to the pool, and, as long as they `may_come` back, all who did
/// before.
pub fn of_pool(
    holders: BTreeSet<IpAddr>,
    connected: &BTreeSet<IpAddr>,
    before: &BTreeSet<IpAddr>,
    may_come: bool,
) -> BTreeSet<IpAddr> {
    // A client that is idle holds its locks without a connection.
    let has_come = |it: &IpAddr| connected.contains(it) || before.contains(it);
    let mut all: BTreeSet<IpAddr> = holders.into_iter().filter(has_come).collect();
    all.extend(before.iter().filter(|_| may_come));
    all
}

/// Writes down that these clients are to be told, by these addresses of the server, before its start makes that true.
///
/// # Errors
/// It cannot be written.
pub fn note(clients: &BTreeSet<IpAddr>, servers: &BTreeSet<IpAddr>) -> Result<(), FileError> {
    end_earlier();
    note_in(Path::new(TOLD), clients, servers)
}

fn note_in(
    folder: &Path,
    clients: &BTreeSet<IpAddr>,
    servers: &BTreeSet<IpAddr>,
) -> Result<(), FileError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(FileError::io("remove", folder)(error));
        }
        _ => {}
    }
    // Where `sm-notify` takes its list from, and where it keeps who has not answered yet.
    let (list, waiting) = (folder.join("sm"), folder.join("sm.bak"));
    for path in [&list, &waiting] {
        fs::create_dir_all(path).map_err(FileError::io("create", path))?;
    }
    hawser_files::replace(&folder.join("state"), &state(), 0o600)?;
    let mut of_statd = Vec::new();
    for client in clients {
        let servers = servers.iter();
        let same = servers.filter(|it| it.is_ipv4() == client.is_ipv4());
        let text: String = same.map(|server| line(*client, *server)).collect();
        if text.is_empty() {
            continue;
        }
        let path = list.join(client.to_string());
        hawser_files::replace(&path, text.as_bytes(), 0o600)?;
        of_statd.push(path);
    }
    // `sm-notify` hears answers as the user who has its list, and strikes out there who has answered. The folders are given last:
    // nothing in them is his before.
    of_statd.extend([list, waiting]);
    let mut statd = MONITORED
        .into_iter()
        .filter_map(|path| fs::metadata(path).ok());
    if let Some(statd) = statd.next() {
        let give = |path: &PathBuf| {
            chown(path, Some(statd.uid()), Some(statd.gid())).map_err(FileError::io("chown", path))
        };
        of_statd.iter().try_for_each(give)?;
    }
    Ok(())
}

/// The number of this start, in this host's order of bytes: a client that has heard it before takes no notice.
fn state() -> [u8; 4] {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    // An odd one says that the host is up.
    let seconds = i32::try_from(since.as_secs() & 0x7fff_fffe).unwrap_or_default();
    (seconds | 1).to_ne_bytes()
}

/// As `rpc.statd` writes it for the kernel (`nsm_create_monitor_record`): whom to call back, a cookie, client and server.
fn line(client: IpAddr, server: IpAddr) -> String {
    const LOOPBACK: u32 = 0x0100_007f;
    const NLM: u32 = 100_021;
    const VERSION: u32 = 3;
    const NLMPROC_NSM_NOTIFY: u32 = 16;
    format!(
        "{LOOPBACK:08x} {NLM:08x} {VERSION:08x} {NLMPROC_NSM_NOTIFY:08x} {:032x} {client} {server}\n",
        0
    )
}

/// Has them be told in the background, each until it answers.
///
/// # Errors
/// `sm-notify` is not there or refuses.
pub fn tell() -> Result<(), NfsError> {
    let list = Path::new(TOLD).join("sm");
    // Without anybody in it, it would end the grace period.
    if fs::read_dir(list).is_ok_and(|mut clients| clients.next().is_some()) {
        let arguments = ["-f", "-m", MINUTES, "-P", TOLD];
        let ran = Tool::new("sm-notify").args(arguments).limit(LIMIT).text();
        ran.map_err(|error| NfsError::Refused {
            command: format!("sm-notify {}", arguments.join(" ")),
            said: error.reason(),
        })?;
    }
    Ok(())
}

/// Ends what tells clients of an earlier start: who hears of both takes them for two, and would reclaim again when the grace period
/// is over.
fn end_earlier() {
    for teller in processes::own("sm-notify") {
        let words = teller.command_line();
        if words
            .split(|byte| *byte == 0)
            .any(|word| word == TOLD.as_bytes())
        {
            // It may have ended by itself.
            let _gone = kill(Pid::from_raw(teller.pid), Signal::SIGTERM);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(texts: &[&str]) -> BTreeSet<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn what_is_to_be_told_is_read_as_what_statd_writes() {
        let folder = tempfile::tempdir().unwrap();
        let told = folder.path().join("notify");
        let clients = all(&["10.72.2.50", "fd00:72::50"]);
        let servers = all(&["10.72.2.207", "10.72.3.207", "fd00:72::207"]);
        note_in(&told, &all(&["10.72.2.51"]), &servers).unwrap();
        note_in(&told, &clients, &servers).unwrap();
        let only_ipv4 = all(&["10.72.2.207"]);
        let none = folder.path().join("none");
        note_in(&none, &all(&["fd00:72::50"]), &only_ipv4).unwrap();
        assert_eq!(fs::read_dir(none.join("sm")).unwrap().count(), 0);
        let list = Folder::open(&told.join("sm")).unwrap();
        assert_eq!(holders_in(&list), clients);
        let text = fs::read_to_string(told.join("sm/10.72.2.50")).unwrap();
        let cookie = "0".repeat(32);
        let begin = format!("0100007f 000186b5 00000003 00000010 {cookie} 10.72.2.50");
        assert_eq!(text, format!("{begin} 10.72.2.207\n{begin} 10.72.3.207\n"));
        let state = fs::read(told.join("state")).unwrap();
        assert_eq!(i32::from_ne_bytes(state.try_into().unwrap()) % 2, 1);
    }

    #[test]
    fn nobody_is_known_by_a_name_nor_by_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let line = |name: &str| {
            line([10, 72, 2, 50].into(), [10, 72, 2, 207].into()).replace("10.72.2.50", name)
        };
        write("named", &line("client1.example.org"));
        write("10.72.2.50", &line("10.72.2.50"));
        write("short", "0100007f 000186b5\n");
        write("bytes", "\u{0}\n");
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
        let folder = Folder::open(folder.path()).unwrap();
        assert_eq!(holders_in(&folder), all(&["10.72.2.50"]));
    }

    #[test]
    fn a_pool_has_those_who_came_to_it_and_still_hold_something() {
        let (here, idle, gone, others) = ("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4");
        let holders = || all(&[here, idle, others]);
        let (connected, before) = (all(&[here]), all(&[idle, gone]));
        let of_pool = |may_come| of_pool(holders(), &connected, &before, may_come);
        assert_eq!(of_pool(false), all(&[here, idle]));
        assert_eq!(of_pool(true), all(&[here, idle, gone]));
    }

    proptest! {
        #[test]
        fn nothing_that_is_said_is_a_panic(text in "\\PC*") {
            let _ = client(&text);
        }
    }
}
