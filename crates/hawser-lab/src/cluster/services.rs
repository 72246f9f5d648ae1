//! What runs in a head: tgtd always; Corosync and Pacemaker, and a watch, once they are started, and from then on
//! at every boot. In an arbiter: corosync-qnetd. In a lab this does what systemd does on a real host.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use hawser_tool::{Deadline, Launch, Tool, processes};
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;

use super::clock;
use crate::error::LabError;
use crate::init::BIN_INSIDE;

/// The hidden subcommand of `hawser lab`.
pub const SUBCOMMAND: &str = "node-service";

/// The daemon of a quorum device.
const DEVICE: &str = "corosync-qdevice";

/// Where it is written down that the cluster starts at boot; `/etc` survives a power cycle.
const ENABLED: &str = "/etc/hawser/lab-cluster-enabled";

/// The same of the quorum device's daemon.
const DEVICE_ENABLED: &str = "/etc/hawser/lab-device-enabled";

/// Its log.
const DEVICE_LOG: &str = "/var/log/corosync/qdevice.log";

/// Who lends the vote, where it has its socket, and its log.
const ARBITER: &str = "corosync-qnetd";
const ARBITER_FOLDER: &str = "/run/corosync-qnetd";
const ARBITER_LOG: &str = "/var/log/corosync-qnetd.log";

/// The same of `hawser watch`.
const WATCH_ENABLED: &str = "/etc/hawser/lab-watch-enabled";

/// Its log, and the cluster file that it reads: where its unit has that on a real head.
pub const WATCH_LOG: &str = "/var/log/hawser-watch.log";
pub(crate) const WATCH_FILE: &str = "/etc/hawser/hawser.toml";

/// Where it listens unless told otherwise: no second one can.
const WATCH_LISTENS: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 9967);

/// A node that is back within a second joins in the middle of the failover it caused and makes
/// it 3 s longer (measured). A server takes far longer to boot.
const BOOT: Duration = Duration::from_secs(15);

/// Corosync answers within a second; a busy machine may need some.
const STARTS: Duration = Duration::from_secs(20);

/// How long one answer of it is waited for.
const ANSWERS: Duration = Duration::from_secs(5);

/// Pools that stop may take their whole timeouts.
const STOPS: Duration = Duration::from_secs(300);

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceAction {
    /// Start the iSCSI target, where it has died.
    Target,
    /// Start the cluster now and at each boot.
    Start,
    /// Stop it, Pacemaker first.
    Stop,
    /// Stop it, and do not start it at boot.
    Withdraw,
    /// Stop it, and start it again.
    Restart,
    /// Start corosync-qdevice now and at each boot.
    StartDevice,
    /// Stop it.
    StopDevice,
    /// Stop it, and do not start it at boot.
    WithdrawDevice,
    /// Start `hawser watch` now and at each boot.
    StartWatch,
    /// Start corosync-qnetd: the node is an arbiter, and boots.
    StartArbiter,
    /// The node boots.
    Boot,
}

impl ServiceAction {
    const ALL: [Self; 11] = [
        Self::Target,
        Self::Start,
        Self::Stop,
        Self::Withdraw,
        Self::Restart,
        Self::StartDevice,
        Self::StopDevice,
        Self::WithdrawDevice,
        Self::StartWatch,
        Self::StartArbiter,
        Self::Boot,
    ];

    /// What the subcommand calls it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Withdraw => "withdraw",
            Self::Restart => "restart",
            Self::StartDevice => "start-device",
            Self::StopDevice => "stop-device",
            Self::WithdrawDevice => "withdraw-device",
            Self::StartWatch => "start-watch",
            Self::StartArbiter => "start-arbiter",
            Self::Boot => "boot",
        }
    }
}

impl FromStr for ServiceAction {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|it| it.word() == word);
        known.ok_or_else(|| format!("allowed: {}", Self::ALL.map(Self::word).join(", ")))
    }
}

/// Does it, inside the node.
///
/// # Errors
/// What did not start or stop, and where its log is.
pub fn run(action: ServiceAction) -> Result<(), LabError> {
    // Whoever began this may hold signals back until a change is whole (`Interrupt`), and a daemon inherits
    // that: Pacemaker would then never hear that it is to end.
    SigSet::empty()
        .thread_set_mask()
        .map_err(|e| LabError::system("sigprocmask", "this process", e))?;
    match action {
        ServiceAction::Target => {
            let _alone = alone()?;
            target()
        }
        ServiceAction::Start => {
            write(ENABLED, "")?;
            start()
        }
        ServiceAction::Stop => {
            let _alone = alone()?;
            stop()
        }
        ServiceAction::Restart => {
            let alone = alone()?;
            stop()?;
            start_alone(alone)
        }
        ServiceAction::Withdraw => {
            remove(ENABLED)?;
            let _alone = alone()?;
            stop()
        }
        ServiceAction::StartDevice => {
            write(DEVICE_ENABLED, "")?;
            let _alone = alone()?;
            folders()?;
            start_device()
        }
        ServiceAction::StopDevice => {
            let _alone = alone()?;
            end(DEVICE, DEVICE_LOG)
        }
        ServiceAction::WithdrawDevice => {
            remove(DEVICE_ENABLED)?;
            let _alone = alone()?;
            end(DEVICE, DEVICE_LOG)
        }
        ServiceAction::StartWatch => {
            write(WATCH_ENABLED, "")?;
            watch()
        }
        ServiceAction::StartArbiter => {
            make(ARBITER_FOLDER)?;
            daemon(ARBITER, &["-f"], &[], ARBITER_LOG)
        }
        ServiceAction::Boot => {
            folders()?;
            clock::set_up()?;
            target()?;
            let started = match Path::new(ENABLED).exists() {
                true => {
                    std::thread::sleep(BOOT);
                    start()
                }
                false => Ok(()),
            };
            // As its unit: after them, whatever became of them.
            if Path::new(WATCH_ENABLED).exists() {
                watch()?;
            }
            started
        }
    }
}

fn target() -> Result<(), LabError> {
    match runs("tgtd") {
        true => Ok(()),
        false => daemon("tgtd", &["-f"], &[], "/var/log/tgtd.log"),
    }
}

fn start() -> Result<(), LabError> {
    start_alone(alone()?)
}

fn start_alone(_alone: Flock<File>) -> Result<(), LabError> {
    folders()?;
    if !runs("corosync") {
        daemon("corosync", &["-f"], &[], "/var/log/corosync/lab.log")?;
    }
    wait(STARTS, "corosync", "/var/log/corosync/lab.log", || {
        let asked = Tool::new("corosync-cfgtool").args(["-s"]).limit(ANSWERS);
        asked.output().is_ok_and(|said| said.status.success())
    })?;
    if Path::new(DEVICE_ENABLED).exists() {
        start_device()?;
    }
    if !runs("pacemakerd") {
        let environment = [
            ("PCMK_logfile", "/var/log/pacemaker/pacemaker.log"),
            ("PCMK_stderr", "0"),
            // There is no syslog in a node; pacemaker.log has what an expert reads.
            ("PCMK_logfacility", "none"),
        ];
        daemon(
            "pacemakerd",
            &["-f"],
            &environment,
            "/var/log/pacemaker/lab.log",
        )?;
    }
    Ok(())
}

fn start_device() -> Result<(), LabError> {
    match runs(DEVICE) {
        true => Ok(()),
        false => daemon(DEVICE, &["-f"], &[], DEVICE_LOG),
    }
}

/// Starts the watch unless one runs.
fn watch() -> Result<(), LabError> {
    let _alone = alone()?;
    if TcpListener::bind(WATCH_LISTENS).is_err() {
        return Ok(());
    }
    let hawser = Path::new(BIN_INSIDE).join("hawser");
    let hawser = hawser.to_string_lossy().into_owned();
    // Nice as in its unit.
    let words = ["-n", "10", &hawser, "watch", "-f", WATCH_FILE];
    daemon("nice", &words, &[], WATCH_LOG)
}

/// One at a time: an order that was given twice, because the first who gave it was killed, must not
/// start anything twice.
fn alone() -> Result<Flock<File>, LabError> {
    let path = "/run/hawser/lab-services.lock";
    let file = File::create(path).map_err(|e| LabError::io("create", path, e))?;
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, e)| LabError::system("flock", path, e))
}

fn stop() -> Result<(), LabError> {
    end("pacemakerd", "/var/log/pacemaker/lab.log")?;
    end(DEVICE, DEVICE_LOG)?;
    end("corosync", "/var/log/corosync/lab.log")
}

fn end(name: &str, log: &str) -> Result<(), LabError> {
    for pid in pids(name) {
        let _gone = kill(Pid::from_raw(pid), Signal::SIGTERM);
    }
    wait(STOPS, &format!("the end of {name}"), log, || !runs(name))
}

/// Folders below `/run`, which is empty at boot, and of logs. systemd makes them on a real host
/// (`tmpfiles.d` of the packages).
fn folders() -> Result<(), LabError> {
    for folder in [
        "/run/tgtd",
        "/run/resource-agents",
        "/run/crm",
        "/run/corosync-qdevice",
        "/var/log/cluster",
    ] {
        make(folder)?;
    }
    for folder in ["/var/log/corosync", "/var/log/pacemaker"] {
        fs::create_dir_all(folder).map_err(|e| LabError::io("create the folder", folder, e))?;
    }
    if let Some((user, group)) = account("hacluster").zip(account("haclient").or(Some(0))) {
        let _as_it_is = std::os::unix::fs::chown("/run/crm", Some(user), Some(group));
    }
    Ok(())
}

fn make(folder: &str) -> Result<(), LabError> {
    let mut new = fs::DirBuilder::new();
    let made = new.recursive(true).mode(0o755).create(folder);
    made.map_err(|e| LabError::io("create the folder", folder, e))
}

/// The user number of a name; groups are only needed where the user's own is the wrong one.
fn account(name: &str) -> Option<u32> {
    let find = |file: &str| {
        let text = fs::read_to_string(file).ok()?;
        let line = text
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        line.split(':').nth(2)?.parse().ok()
    };
    find("/etc/passwd").or_else(|| find("/etc/group"))
}

fn daemon(
    program: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
    log: &str,
) -> Result<(), LabError> {
    let file = OpenOptions::new().create(true).append(true).open(log);
    let file = file.map_err(|e| LabError::io("open", log, e))?;
    Launch::new(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .envs(clock::environment())
        .envs([("LC_ALL", "C"), ("HOME", "/root")])
        .folder("/")
        // Whoever started it may be interrupted; what it started lives until its node ends.
        .apart()
        .log(file)
        .daemon()?;
    Ok(())
}

/// Whether Corosync or Pacemaker runs in this node.
pub(crate) fn cluster_runs() -> bool {
    runs("pacemakerd") || runs("corosync")
}

fn runs(name: &str) -> bool {
    !pids(name).is_empty()
}

/// The processes of that name in this node, zombies aside.
fn pids(name: &str) -> Vec<i32> {
    let named = processes::named(name).into_iter();
    named.map(|process| process.pid).collect()
}

fn wait(
    patience: Duration,
    what: &str,
    log: &str,
    done: impl FnMut() -> bool,
) -> Result<(), LabError> {
    if Deadline::after(patience).holds(Duration::from_millis(50), done) {
        return Ok(());
    }
    let said = fs::read_to_string(log).unwrap_or_default();
    let last = said.lines().last().unwrap_or("it said nothing");
    Err(LabError::Tool {
        command: format!("wait for {what}"),
        what: format!("not within {} s; {log}: {last}", patience.as_secs()),
    })
}

fn remove(path: &str) -> Result<(), LabError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(LabError::io("remove", path, e)),
        _ => Ok(()),
    }
}

fn write(path: &str, text: &str) -> Result<(), LabError> {
    let folder = Path::new(path).parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, text))
        .map_err(|e| LabError::io("write", path, e))
}
