//! The first process of a machine's case: it mounts what the kernel or its emulator needs, starts it, starts it again if it asks
//! for a reboot, and ends with it. When it ends, all processes of the machine have: they are in its PID namespace.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::stat::{Mode, umask};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, chdir};
use rustix::process::{Resource, Rlimit, setrlimit};

use super::serial::{Line, Plug};
use super::{Kind, folder, mconsole, plan, processor, qemu, uml};
use crate::error::LabError;
use crate::init::{GO, START, checksum, detach};
use crate::paths::LabDir;
use crate::plan::node_index;
use crate::spec::NodeSpec;
use crate::state::State;

/// No machine comes so far in this time that it could ask for a reboot: its kernel did not start, and will not the next time.
const STARTS: Duration = Duration::from_secs(1);

/// Time between two looks at the carriers of an emulated machine's cables.
const CABLES: Duration = Duration::from_millis(200);

/// Mounts what the case has, and writes what the machine finds.
pub(crate) fn prepare(dir: &LabDir, state: &State, node: &NodeSpec) -> Result<(), LabError> {
    let name = node.name.as_str();
    folder::fill(dir, state, node)?;
    // Whoever starts it looks there for what this run makes, not an earlier one.
    not_ready(dir, name)?;
    let memory = folder::memory(dir, name);
    // The kernel maps it to run what lies there, which a host's /dev/shm may forbid.
    let options = format!("mode=700,size={}M", plan::memory(&state.spec, node) + 64);
    let quiet = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(
        Some("tmpfs"),
        &memory,
        Some("tmpfs"),
        quiet,
        Some(options.as_str()),
    )
    .map_err(|e| LabError::system("mount tmpfs", memory.display().to_string(), e))?;
    read_only(&dir.bin(), &folder::binaries(dir, name))
}

fn read_only(from: &Path, to: &Path) -> Result<(), LabError> {
    let bind = MsFlags::MS_BIND;
    for flags in [bind, bind | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY] {
        mount(Some(from), to, None::<&str>, flags, None::<&str>)
            .map_err(|e| LabError::system("mount --bind", to.display().to_string(), e))?;
    }
    Ok(())
}

/// Runs the machine. Until the word that it may live, the end of standard input is its end.
pub(crate) fn run(dir: &LabDir, state: &State, node: &NodeSpec) -> Result<(), LabError> {
    let mut word = [0_u8];
    if !matches!(std::io::stdin().read(&mut word), Ok(1)) || word[0] != START {
        return Ok(());
    }
    let signals = signals()?;
    let memory = folder::memory(dir, node.name.as_str());
    chdir(&memory).map_err(|e| LabError::system("chdir", memory.display().to_string(), e))?;
    // A kernel that panics would leave its whole memory as a file.
    let nothing = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, nothing).map_err(|e| LabError::io("setrlimit", "core", e.into()))?;
    // What a machine keeps from its users, its disk has.
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
    let kind = state.spec.kind_of(node);
    if kind == Kind::Uml {
        let lab = checksum(state.name.as_str().as_bytes());
        processor::keep_to_one(lab, node_index(&state.spec, &node.name))?;
    }
    let mut begun = Instant::now();
    let (mut kernel, mut lines) = start(dir, state, node)?;
    let mut panel = (kind == Kind::Qemu).then(|| qemu::Panel::of(node));
    let looks = panel.as_ref().map(|_| CABLES);
    let mut held = true;
    loop {
        let stdin = std::io::stdin();
        let held_by = held.then(|| stdin.as_fd());
        let (signalled, spoken) = wait(signals.as_fd(), held_by, &lines, looks)?;
        lines.iter_mut().for_each(|line| line.carry(Instant::now()));
        if spoken {
            match stdin.lock().read(&mut word) {
                Ok(1) if word[0] == GO => (held, _) = (false, detach()?),
                _ => return Ok(()),
            }
        }
        if !signalled {
            if let Some(panel) = &mut panel {
                panel.follow_cables();
            }
            continue;
        }
        while let Ok(Some(signal)) = signals.read_signal() {
            if signal.ssi_signo != Signal::SIGTERM as u32 {
                continue;
            }
            eprintln!("{}: asked to power off", node.name);
            let pressed = match &mut panel {
                Some(panel) => panel.power_button(),
                None => mconsole::power_button(),
            };
            match pressed {
                Ok(()) => {}
                // It has not come so far that it could be asked.
                Err(e)
                    if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) =>
                {
                    return Ok(());
                }
                Err(e) => eprintln!("{}: its power button does not answer: {e}", node.name),
            }
        }
        match ended(kernel) {
            None => {}
            // QEMU boots its machine again itself.
            Some(how)
                if kind == Kind::Uml && uml::asks_for_reboot(how) && begun.elapsed() >= STARTS =>
            {
                end_the_rest();
                lines.clear();
                begun = Instant::now();
                (kernel, lines) = start(dir, state, node)?;
            }
            Some(how) => {
                eprintln!("{}: its kernel has ended: {how:?}", node.name);
                return Ok(());
            }
        }
    }
}

/// Signals reach even process 1 when they are blocked; others the kernel keeps from it.
fn signals() -> Result<SignalFd, LabError> {
    let mut awaited = SigSet::empty();
    awaited.add(Signal::SIGCHLD);
    awaited.add(Signal::SIGTERM);
    let failed = |call| move |e| LabError::system(call, "process 1", e);
    awaited.thread_block().map_err(failed("sigprocmask"))?;
    let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
    SignalFd::with_flags(&awaited, flags).map_err(failed("signalfd"))
}

/// Waits for a signal, a word of who starts the machine, or what its serial lines bring, for so long.
fn wait(
    signals: BorrowedFd<'_>,
    stdin: Option<BorrowedFd<'_>>,
    lines: &[Line],
    at_most: Option<Duration>,
) -> Result<(bool, bool), LabError> {
    let now = Instant::now();
    let busy = lines.iter().filter_map(|line| line.busy_for(now));
    let at_most = busy.chain(at_most).min();
    // A line that is busy for less than a millisecond is not looked at again and again until then.
    let at_most = at_most.map(|it| it.max(Duration::from_millis(1)));
    let at_most = at_most.and_then(|it| PollTimeout::try_from(it).ok());
    let one = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let mut fds = vec![one(signals)];
    fds.extend(stdin.map(one));
    let others = fds.len();
    fds.extend(lines.iter().flat_map(|line| line.waits_for(now)).map(one));
    match poll(&mut fds, at_most.unwrap_or(PollTimeout::NONE)) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(e) => return Err(LabError::system("poll", "process 1", e)),
    }
    let is_ready = |at: usize| at < others && fds[at].any().unwrap_or(false);
    Ok((is_ready(0), is_ready(1)))
}

fn start(dir: &LabDir, state: &State, node: &NodeSpec) -> Result<(Pid, Vec<Line>), LabError> {
    let name = node.name.as_str();
    not_ready(dir, name)?;
    // What an earlier run has left is in the way of this one's sockets.
    let _absent = fs::remove_dir_all(uml::UMID);
    let kind = state.spec.kind_of(node);
    let Some(boots) = state.boots.get(&kind) else {
        let what =
            "an earlier hawser has made this lab, with another kernel: take it down, and up again";
        return Err(LabError::Machines(what.to_owned()));
    };
    let console = dir.console(name);
    let log = File::options()
        .append(true)
        .open(&console)
        .map_err(|e| LabError::io("open", &console, e))?;
    let serial = plan::serial_lines(&state.spec, node);
    let serial = serial
        .iter()
        .map(Line::plug)
        .collect::<Result<Vec<_>, _>>()?;
    let (lines, plugs): (Vec<Line>, Vec<Plug>) = serial.into_iter().unzip();
    let program = match kind {
        Kind::Qemu => qemu::program(dir, state, node, boots)?,
        Kind::Uml | Kind::Namespace => uml::program(dir, state, node, boots, &plugs)?,
    };
    let child = program.log(log).daemon()?;
    let kernel = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    Ok((kernel, lines))
}

fn not_ready(dir: &LabDir, node: &str) -> Result<(), LabError> {
    let path = folder::ready(dir, node);
    match fs::remove_file(&path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(LabError::io("remove", &path, e)),
        _ => Ok(()),
    }
}

/// Takes the ends of all children; how the kernel ended, if it did.
fn ended(kernel: Pid) -> Option<WaitStatus> {
    let mut found = None;
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return found,
            Ok(status) if status.pid() == Some(kernel) => found = Some(status),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return found,
        }
    }
}

/// Ends what a kernel leaves when it becomes another program: helpers that hold its disks and its cards.
fn end_the_rest() {
    let _nobody = kill(Pid::from_raw(-1), Signal::SIGKILL);
    while !matches!(waitpid(None, None), Err(Errno::ECHILD)) {}
}
