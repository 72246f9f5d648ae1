//! Starting the kernel's NFS server again, so that clients may reclaim what they held.

use std::fs;
use std::path::Path;
use std::process;
use std::thread;
use std::time::Duration;

use hawser_files::{Expected, FileError};
use hawser_tool::{Tool, processes};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::sethostname;

use super::super::server::{NFSD, NfsError};

/// How long clients may reclaim at most, and how long a client that says nothing keeps what it holds, in seconds. `nfs.conf` is
/// believed if it says otherwise (`grace-time`, `lease-time`); the kernel's own 90 s would have new files wait for so long whenever
/// one client is gone. A client says something each two thirds of it (`nfs4_schedule_state_renewal`).
pub const GRACE: u32 = 15;

/// How long the server may take to stop or start: half of what Pacemaker gives a start.
const LIMIT: Duration = Duration::from_secs(30);

/// Who monitors clients of NFS 3 keeps a file for each that holds locks.
const MONITORED: &str = "/var/lib/nfs/sm";

/// What says of the server that runs how it was started.
const STARTED: &str = "/run/hawser/nfs/scope";

/// Who starts it again right now.
const GAP: &str = "/run/hawser/nfs/restart";

/// Has `systemctl restart nfs-server` start it as [`start`] does, until the next boot.
const UNIT: &str = "/run/systemd/system/nfs-server.service.d/hawser.conf";

/// Whether clients of NFS 3 hold locks.
pub fn locks_of_3() -> bool {
    fs::read_dir(MONITORED).is_ok_and(|mut entries| entries.next().is_some())
}

/// Whether the server that runs was started under this scope.
pub fn has(scope: &str) -> bool {
    let now = note(scope);
    now.is_some() && noted() == now
}

/// What is noted of a server: its scope, and when its first thread began.
fn note(scope: &str) -> Option<String> {
    let threads = processes::named("nfsd");
    let began = threads.iter().map(|thread| thread.began).min()?;
    Some(format!("{scope} {began}\n"))
}

fn noted() -> Option<String> {
    let bytes = hawser_files::read(Path::new(STARTED), Expected::OF_ROOT).ok()??;
    String::from_utf8(bytes).ok()
}

/// Stops and starts the server, with as many threads as it has. Its table of exports stays.
///
/// # Errors
/// It does not stop or start.
pub fn again(scope: &str) -> Result<(), NfsError> {
    let before = threads()?;
    let _gap = Gap::begin(before)?;
    rpc_nfsd(0)?;
    // The kernel takes the times only while nothing is served.
    for name in ["nfsv4leasetime", "nfsv4gracetime"] {
        let path = Path::new(NFSD).join(name);
        fs::write(&path, format!("{GRACE}\n")).map_err(FileError::io("write", &path))?;
    }
    start_under(scope, before)?;
    by_systemd(scope)
}

/// That the server is stopped and started again. Who looks at another pool meanwhile does not take that for a failure.
struct Gap;

impl Gap {
    /// Noted first: whenever this is killed, what is noted is what there was.
    fn begin(threads: u32) -> Result<Self, NfsError> {
        let folder = Path::new(GAP).parent().expect("it has a folder");
        fs::create_dir_all(folder).map_err(FileError::io("create", folder))?;
        let text = format!("{} {threads}\n", process::id());
        hawser_files::replace(Path::new(GAP), text.as_bytes(), 0o600)?;
        Ok(Self)
    }

    /// Who began it, and how many threads there were.
    fn noted() -> Option<(i32, u32)> {
        let text = fs::read_to_string(GAP).ok()?;
        let (pid, threads) = text.trim().split_once(' ')?;
        Some((pid.parse().ok()?, threads.parse().ok()?))
    }

    fn lives(pid: i32) -> bool {
        processes::Process::of(pid).is_some_and(|it| !it.is_dead())
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
    Gap::noted().is_some_and(|(pid, _)| Gap::lives(pid))
}

/// Starts a server that somebody stopped to start it again, and was killed.
///
/// # Errors
/// It does not start.
pub fn finish() -> Result<(), NfsError> {
    let Some((_, before)) = Gap::noted().filter(|(pid, _)| !Gap::lives(*pid)) else {
        return Ok(());
    };
    if threads()? == 0 {
        start(before)?;
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
    let running = threads()?;
    if running != wanted {
        return Err(NfsError::Refused {
            command: format!("rpc.nfsd {wanted}"),
            said: format!("nothing, and {running} threads run"),
        });
    }
    let folder = Path::new(STARTED).parent().expect("it has a folder");
    fs::create_dir_all(folder).map_err(FileError::io("create", folder))?;
    if let Some(note) = note(scope) {
        hawser_files::replace(Path::new(STARTED), note.as_bytes(), 0o600)?;
    }
    Ok(())
}

/// How many threads the server has; 0: it does not run.
///
/// # Errors
/// The kernel does not say.
pub fn threads() -> Result<u32, NfsError> {
    let path = Path::new(NFSD).join("threads");
    let text = fs::read_to_string(&path).map_err(FileError::io("read", &path))?;
    Ok(text.trim().parse().unwrap_or(0))
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

fn by_systemd(scope: &str) -> Result<(), NfsError> {
    let path = Path::new(UNIT);
    let text = unit(scope);
    if !Path::new("/run/systemd/system").exists()
        || fs::read_to_string(path).is_ok_and(|there| there == text)
    {
        return Ok(());
    }
    let folder = path.parent().expect("it has a folder");
    fs::create_dir_all(folder).map_err(FileError::io("create", folder))?;
    hawser_files::replace(path, text.as_bytes(), 0o644)?;
    let reload = Tool::new("systemctl").args(["daemon-reload"]).limit(LIMIT);
    reload.text().map(drop).map_err(|error| NfsError::Refused {
        command: "systemctl daemon-reload".into(),
        said: error.reason(),
    })
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
