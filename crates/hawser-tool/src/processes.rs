//! The processes of this machine, as `/proc` shows them (proc(5)).

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};

/// The kernel keeps so many characters of a name (`TASK_COMM_LEN` less one).
const NAME: usize = 15;

/// A `stat` of a process is never longer: 51 numbers of at most 20 digits, and a name (`do_task_stat`, fs/proc/array.c). The kernel
/// gives it all to one reading.
const STAT: usize = 2048;

/// A process. Its number may come to mean another one; number and beginning together do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its name, of 15 characters at most. It says of itself what it is called.
    pub name: String,
    /// Its state letter: `T` is stopped.
    pub state: char,
    /// The number of its parent; 0 if that is in none of the namespaces that can be seen.
    pub parent: i32,
    /// When it began, in clock ticks after the boot.
    pub began: u64,
    /// The processor time of all its threads, in clock ticks.
    pub spent: u64,
    /// Whether its first thread has a real-time priority.
    pub real_time: bool,
}

impl Process {
    /// The one with this number; `None` when there is none.
    pub fn of(pid: i32) -> Option<Self> {
        let mut stat = [0; STAT];
        let mut file = File::open(format!("/proc/{pid}/stat")).ok()?;
        let length = file.read(&mut stat).ok()?;
        // Bytes: a process may call itself what is no text.
        Self::parse(pid, &String::from_utf8_lossy(&stat[..length]))
    }

    /// Name, state, parent, user and system time, beginning and real-time priority are fields 2, 3, 4, 14, 15, 22 and 40.
    fn parse(pid: i32, stat: &str) -> Option<Self> {
        // The name is in parentheses and may hold some itself.
        let (begin, end) = (stat.find('(')?, stat.rfind(')')?);
        let rest: Vec<&str> = stat.get(end + 1..)?.split_whitespace().collect();
        let field = |number: usize| rest.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            pid,
            name: stat.get(begin + 1..end)?.to_owned(),
            state: rest.first()?.chars().next()?,
            parent: i32::try_from(field(4)?).ok()?,
            began: field(22)?,
            spent: field(14)?.saturating_add(field(15)?),
            real_time: field(40).is_some_and(|priority| priority > 0),
        })
    }

    /// Whether both are one, whatever it does now.
    pub fn is(&self, other: &Self) -> bool {
        (self.pid, self.began) == (other.pid, other.began)
    }

    /// Whether it has ended and only waits for its parent to hear of it.
    pub fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Whether one of its threads computes or waits for a disk at this moment. One that has ended does not.
    pub fn works(&self) -> bool {
        let threads = fs::read_dir(self.folder().join("task"))
            .into_iter()
            .flatten();
        let stats = threads
            .flatten()
            .filter_map(|thread| fs::read(thread.path().join("stat")).ok());
        let mut threads =
            stats.filter_map(|stat| Self::parse(self.pid, &String::from_utf8_lossy(&stat)));
        threads.any(|thread| matches!(thread.state, 'R' | 'D'))
    }

    /// Whether it is called so, as far as the kernel keeps the name.
    pub fn is_called(&self, name: &str) -> bool {
        name.chars().take(NAME).eq(self.name.chars())
    }

    /// Its folder in `/proc`.
    pub fn folder(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}", self.pid))
    }

    /// Its words, each ended by a zero byte; none of a process that has ended.
    pub fn command_line(&self) -> Vec<u8> {
        fs::read(self.folder().join("cmdline")).unwrap_or_default()
    }

    /// Who traces it (ptrace(2)); `None`: nobody, or it has ended.
    pub fn tracer(&self) -> Option<i32> {
        let status = fs::read(self.folder().join("status")).ok()?;
        tracer(&String::from_utf8_lossy(&status))
    }

    /// For how long it has been running.
    pub fn age(&self) -> Option<Duration> {
        let ticks = sysconf(SysconfVar::CLK_TCK).ok()??;
        let began = Duration::from_secs_f64(self.began as f64 / ticks as f64);
        let now = Duration::from(clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?);
        Some(now.saturating_sub(began))
    }

    /// What names its namespace of this kind (`net`, `pid`): equal for two that share it. `None`: it has ended, or is
    /// another user's.
    pub fn namespace(&self, kind: &str) -> Option<PathBuf> {
        fs::read_link(self.folder().join("ns").join(kind)).ok()
    }
}

/// The field of a process's status that names its tracer: 0 is nobody.
fn tracer(status: &str) -> Option<i32> {
    let mut lines = status.lines();
    let said = lines.find_map(|line| line.strip_prefix("TracerPid:"))?;
    said.trim().parse().ok().filter(|&pid| pid != 0)
}

/// All that can be seen, those of containers included. One that ends meanwhile is left out.
///
/// # Errors
/// `/proc` cannot be read.
pub fn all() -> io::Result<Vec<Process>> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let pid = name.to_str().and_then(|name| name.parse().ok());
        all.extend(pid.and_then(Process::of));
    }
    Ok(all)
}

/// Those of this name that have not ended; none where `/proc` cannot be read.
pub fn named(name: &str) -> Vec<Process> {
    named_any(&[name])
}

/// The same of several names, by one reading of `/proc`.
fn named_any(names: &[&str]) -> Vec<Process> {
    let mut all = all().unwrap_or_default();
    all.retain(|process| {
        let is_called = names.iter().any(|name| process.is_called(name));
        is_called && !process.is_dead()
    });
    all
}

/// Those of this name that are this machine's own: not those of containers and labs on it, which have process numbers
/// of their own.
pub fn own(name: &str) -> Vec<Process> {
    own_of(&[name])
}

/// The same of several names, by one reading of `/proc`.
pub fn own_of(names: &[&str]) -> Vec<Process> {
    let own = fs::read_link("/proc/self/ns/pid").ok();
    let mut named = named_any(names);
    named.retain(|process| process.namespace("pid") == own);
    named
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;
    use crate::Deadline;

    #[test]
    fn a_process_is_read_whatever_it_calls_itself() {
        let stat = "42 (a) b) T 1 42 42 0 -1 4194560 100 0 0 0 3 1 0 0 20 0 1 0 7741 1000 20 184";
        let read = Process::parse(42, stat).unwrap();
        assert_eq!(
            (read.name.as_str(), read.state, read.parent, read.began),
            ("a) b", 'T', 1, 7741)
        );
        assert_eq!((read.spent, read.real_time), (4, false));
        let more = " 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 50 2";
        assert!(
            Process::parse(42, &format!("{stat}{more}"))
                .unwrap()
                .real_time
        );
        assert_eq!(Process::parse(42, "42 (short) S 1"), None);
    }

    #[test]
    fn this_one_is_among_all_and_a_long_name_is_cut_as_the_kernel_cuts_it() {
        let own = i32::try_from(std::process::id()).unwrap();
        let own = all()
            .unwrap()
            .into_iter()
            .find(|process| process.pid == own);
        let own = own.expect("this process");
        assert!(!own.is_dead() && !own.command_line().is_empty());
        assert_eq!(
            own.namespace("pid"),
            fs::read_link("/proc/self/ns/pid").ok()
        );
        let long = Process {
            name: "pacemaker-based".to_owned(),
            ..own
        };
        assert!(long.is_called("pacemaker-based-more") && !long.is_called("pacemaker"));
        assert!(named("no-such-program").is_empty());
    }

    #[test]
    fn who_traces_a_process_is_read_from_its_status() {
        assert_eq!(tracer("Name:\tx\nTracerPid:\t41\nUid:\t0\n"), Some(41));
        assert_eq!(tracer("Name:\tx\nTracerPid:\t0\n"), None);
        // The kernel escapes a line feed in a name.
        assert_eq!(tracer("Name:\tTracerPid:\\n7\n"), None);
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(Process::of(own).unwrap().tracer(), None);
    }

    #[test]
    fn one_that_sleeps_or_is_stopped_does_not_work() {
        let of = |pid| Process::of(i32::try_from(pid).unwrap()).unwrap();
        assert!(of(std::process::id()).works());
        let mut child = crate::Launch::new("sleep").arg("60").daemon().unwrap();
        let asleep = Deadline::after(Duration::from_secs(60))
            .holds(Duration::from_millis(10), || !of(child.id()).works());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(asleep);
    }

    #[test]
    fn a_name_that_is_no_text_hides_no_process() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(std::ffi::OsStr::from_bytes(b"a\xff"));
        fs::copy("/bin/sleep", &program).unwrap();
        let mut child = crate::Launch::new(&program).arg("60").daemon().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let seen = all().unwrap().iter().any(|process| process.pid == pid);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(seen);
    }
}
