//! Starting the kernel's NFS server again, so that clients may reclaim what they held.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process;
use std::thread;
use std::time::Duration;

use hawser_files::{Expected, FileError};
use hawser_tool::{Deadline, Tool, processes};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::sethostname;

use super::super::server::{NFSD, NfsError, threads};
use super::monitored;
use crate::exports::host::LOOK_AGAIN;

/// How long a client that says nothing keeps what it holds, in seconds. It says something each two thirds of that
/// (`nfs4_schedule_state_renewal`). `nfs.conf` is believed if it says otherwise (`lease-time`, `grace-time`).
const LEASE: u32 = 15;

/// How long clients may reclaim at most, in seconds: the kernel's own. It runs from the start of the server, which is before the
/// pool has its addresses: on a head under load a client was back up to 23 s after it, and with 15 s had lost its lock.
pub const GRACE: u32 = 90;

/// How long the server may take to stop, or to start: a quarter of what Pacemaker gives a start.
const LIMIT: Duration = Duration::from_secs(30);

/// How long new locks wait after a start, in seconds, for those of NFS 3: all of it, since nothing says that all of them have been
/// reclaimed. In steps of `nlm_timeout`, 10 s, and five of them where this is 0 (`get_lockd_grace_period` in fs/lockd/svc.c).
const LOCKS_GRACE: &str = "/proc/sys/fs/nfs/nlm_grace_period";

/// What says of the server that runs how it was started.
const STARTED: &str = "/run/hawser/nfs/scope";

/// Who starts it again right now.
const GAP: &str = "/run/hawser/nfs/restart";

/// Has `systemctl restart nfs-server` start it as [`start`] does, until the next boot.
const UNIT: &str = "/run/systemd/system/nfs-server.service.d/hawser.conf";

/// Whether clients may still reclaim, by the time that has passed since its start.
pub fn may_reclaim() -> bool {
    let threads = processes::own("nfsd").into_iter();
    let age = threads.filter_map(|thread| thread.age()).max();
    age.is_some_and(|age| age < Duration::from_secs(GRACE.into()))
}

/// Whether the server that runs was started under this scope.
pub fn has(scope: &str) -> bool {
    let now = note(scope);
    now.is_some() && noted() == now
}

/// What is noted of a server: its scope, and when its first thread began.
fn note(scope: &str) -> Option<String> {
    Some(format!("{scope} {}\n", began()?))
}

/// When the server that runs began, in clock ticks after the boot; `None`: none runs.
pub fn began() -> Option<u64> {
    let threads = processes::own("nfsd").into_iter();
    threads.map(|thread| thread.began).min()
}

fn noted() -> Option<String> {
    let bytes = hawser_files::read(Path::new(STARTED), Expected::OF_ROOT).ok()??;
    String::from_utf8(bytes).ok()
}

/// Stops and starts the server, with as many threads as it has; `between` is done while it is stopped. Its table of exports
/// stays. Clients of NFS 3 that are noted are told of it: what becomes of that is in what it returns.
///
/// # Errors
/// It does not stop or start. It is started as it was then, if that can be done.
pub fn again<T>(
    scope: &str,
    nfs3: bool,
    between: impl FnOnce() -> T,
) -> Result<(T, Result<(), NfsError>), NfsError> {
    let before = threads()?;
    let _gap = Gap::begin(before)?;
    let stopped = rpc_nfsd(0).and_then(|()| times(nfs3));
    // A server that went on has lost no lock, and a client that is told otherwise would.
    let has_stopped = threads().is_ok_and(|threads| threads == 0);
    let between = between();
    let started = stopped.and_then(|()| start_under(scope, before));
    if started.is_err() && threads().unwrap_or(0) == 0 {
        rpc_nfsd(before)?;
    }
    let told = match has_stopped {
        true => monitored::tell(),
        false => Ok(()),
    };
    started.map(|()| (between, told))
}

/// The kernel takes its times only while nothing is served.
fn times(nfs3: bool) -> Result<(), NfsError> {
    for (name, seconds) in [("nfsv4leasetime", LEASE), ("nfsv4gracetime", GRACE)] {
        let path = Path::new(NFSD).join(name);
        fs::write(&path, format!("{seconds}\n")).map_err(FileError::io("write", &path))?;
    }
    // Nobody else has said so.
    let ours = ["0".to_owned(), LEASE.to_string(), GRACE.to_string()];
    let now = fs::read_to_string(LOCKS_GRACE).unwrap_or_default();
    if ours.iter().any(|it| it == now.trim()) {
        let path = Path::new(LOCKS_GRACE);
        let seconds = if nfs3 { GRACE } else { LEASE };
        fs::write(path, format!("{seconds}\n")).map_err(FileError::io("write", path))?;
    }
    Ok(())
}

/// Whether a thread of the server has waited for a disk for a second, and does not come back: it would keep the server from stopping.
pub fn hangs() -> bool {
    let waiting = || {
        let threads = processes::own("nfsd").into_iter();
        let waiting = threads.filter(|thread| thread.state == 'D');
        let waiting = waiting.filter_map(|it| Some((it.pid, switches(&it.folder())?)));
        waiting.collect::<BTreeMap<i32, String>>()
    };
    let before = waiting();
    let moves = || {
        let now = waiting();
        before
            .iter()
            .all(|(pid, switches)| now.get(pid) != Some(switches))
    };
    !Deadline::after(Duration::from_secs(1)).holds(LOOK_AGAIN, moves)
}

/// How often it has given the processor up: a thread that works does so for each access (proc_pid_status(5)).
fn switches(process: &Path) -> Option<String> {
    let status = fs::read_to_string(process.join("status")).ok()?;
    let line = status
        .lines()
        .find(|it| it.starts_with("voluntary_ctxt_switches"));
    line.map(str::to_owned)
}

/// That the server is stopped and started again. Who looks at another pool meanwhile does not take that for a failure.
struct Gap;

impl Gap {
    /// Noted first: whenever this is killed, what is noted is what there was.
    fn begin(threads: u32) -> Result<Self, NfsError> {
        let folder = Path::new(GAP).parent().expect("it has a folder");
        fs::create_dir_all(folder).map_err(FileError::io("create", folder))?;
        let own = i32::try_from(process::id())
            .ok()
            .and_then(processes::Process::of);
        let own = own.map_or(0, |it| it.began);
        let server = began().unwrap_or(0);
        let text = format!("{} {own} {threads} {server}\n", process::id());
        hawser_files::replace(Path::new(GAP), text.as_bytes(), 0o600)?;
        Ok(Self)
    }

    /// Whether who began it still lives, how many threads there were, and since when.
    fn noted() -> Option<(bool, u32, Option<u64>)> {
        let text = fs::read_to_string(GAP).ok()?;
        let mut numbers = text.split_whitespace();
        let pid = numbers.next()?.parse().ok()?;
        let began: u64 = numbers.next()?.parse().ok()?;
        let lives =
            processes::Process::of(pid).is_some_and(|it| it.began == began && !it.is_dead());
        let threads = numbers.next()?.parse().ok()?;
        Some((
            lives,
            threads,
            numbers.next().and_then(|it| it.parse().ok()),
        ))
    }
}

impl Drop for Gap {
    fn drop(&mut self) {
        // What is left of one that was killed names a process that is gone.
        let _left = hawser_files::remove(Path::new(GAP));
    }
}

/// Whether somebody starts the server again right now.
pub fn is_under_way() -> bool {
    Gap::noted().is_some_and(|(lives, ..)| lives)
}

/// Starts a server that somebody stopped to start it again, and was killed.
///
/// # Errors
/// It does not start.
pub fn finish() -> Result<(), NfsError> {
    let Some((false, before, since)) = Gap::noted() else {
        return Ok(());
    };
    if threads()? == 0 {
        start(before)?;
    }
    if since.is_some() && began() != since {
        // Who cannot be told is no reason not to serve the others.
        let _told = monitored::tell();
    }
    drop(Gap);
    Ok(())
}

/// Starts a server that has no threads, as it was started before.
///
/// # Errors
/// It does not start.
pub fn start(threads: u32) -> Result<(), NfsError> {
    let noted = noted();
    match noted.as_deref().and_then(|it| it.split(' ').next()) {
        Some(scope) => start_under(scope, threads),
        None => rpc_nfsd(threads),
    }
}

fn start_under(scope: &str, wanted: u32) -> Result<(), NfsError> {
    named(scope, || rpc_nfsd(wanted))?;
    if threads()? == 0 {
        return Err(NfsError::Refused {
            command: format!("rpc.nfsd {wanted}"),
            said: "nothing, and no thread runs".into(),
        });
    }
    let folder = Path::new(STARTED).parent().expect("it has a folder");
    fs::create_dir_all(folder).map_err(FileError::io("create", folder))?;
    if let Some(note) = note(scope) {
        hawser_files::replace(Path::new(STARTED), note.as_bytes(), 0o600)?;
    }
    Ok(())
}

fn rpc_nfsd(threads: u32) -> Result<(), NfsError> {
    let threads = threads.to_string();
    let ran = Tool::new("rpc.nfsd").args([&threads]).limit(LIMIT).text();
    ran.map(drop).map_err(|error| NfsError::Refused {
        command: format!("rpc.nfsd {threads}"),
        said: error.reason(),
    })
}

/// Does something while this host has another name, for the thread that does it alone: the kernel's server takes its scope from
/// the name of the host where it is started (`nfsd_svc` in fs/nfsd/nfssvc.c). `rpc.nfsd --scope` is not in Debian 12.
fn named(name: &str, act: impl FnOnce() -> Result<(), NfsError> + Send) -> Result<(), NfsError> {
    let apart = || {
        unshare(CloneFlags::CLONE_NEWUTS)
            .and_then(|()| sethostname(name))
            .map_err(|error| NfsError::Refused {
                command: "unshare --uts".into(),
                said: error.desc().into(),
            })?;
        act()
    };
    thread::scope(|scope| scope.spawn(apart).join()).expect("it does not panic")
}

/// Has systemd start it so, too. Without that, a restart by hand costs clients their locks, and no more.
pub fn by_systemd(scope: &str) {
    let path = Path::new(UNIT);
    let text = unit(scope);
    if !Path::new("/run/systemd/system").exists()
        || fs::read_to_string(path).is_ok_and(|there| there == text)
    {
        return;
    }
    let folder = path.parent().expect("it has a folder");
    let written = fs::create_dir_all(folder).is_ok()
        && hawser_files::replace(path, text.as_bytes(), 0o644).is_ok();
    let reload = Tool::new("systemctl").args(["daemon-reload"]).limit(LIMIT);
    if !written || reload.text().is_err() {
        let _next_time = hawser_files::remove(path);
    }
}

/// It notes what [`note`] does: the 22nd field of proc_pid_stat(5).
fn unit(scope: &str) -> String {
    format!(
        "# Made by hawser: clients know the NFS servers of all heads as one, and reclaim locks from it.\n\
         [Service]\n\
         ExecStart=\n\
         ExecStart=/usr/bin/unshare --uts /bin/sh -ec 'echo {scope} >/proc/sys/kernel/hostname; rpc.nfsd; \
         echo {scope} $$(cut -d\" \" -f22 /proc/$$(pgrep -o -x nfsd)/stat) >{STARTED}'\n"
    )
}

#[cfg(test)]
mod tests {
    use nix::unistd::{geteuid, gethostname};

    use super::*;

    #[test]
    fn only_who_starts_the_server_has_another_name() {
        if !geteuid().is_root() {
            return eprintln!("not run: a name of its own takes root");
        }
        let before = gethostname().unwrap();
        let seen = std::sync::Mutex::new(String::new());
        let act = || {
            let said = Tool::new("hostname")
                .text()
                .map_err(|error| NfsError::Missing(error.reason()))?;
            *seen.lock().unwrap() = said;
            Ok(())
        };
        named("hawser-0123456789abcdef", act).unwrap();
        assert_eq!(seen.lock().unwrap().trim(), "hawser-0123456789abcdef");
        assert_eq!(gethostname().unwrap(), before);
    }
}
