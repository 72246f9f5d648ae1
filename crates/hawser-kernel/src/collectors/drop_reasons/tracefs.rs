//! Drop events as tracefs prints them: an instance of our own, so that nobody's tracing is
//! disturbed, enabled while a window is open and removed at the end.
//!
//! A line names neither host nor flow, so the events become counters of the whole kernel.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use hawser_model::counters::Counters;

use super::Seen;
use crate::{KernelError, proc};

/// Where tracefs is mounted, by `Documentation/trace/ftrace.rst`.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Kernel memory for the text of all CPUs together; a CPU gets its share, at most 1 MiB.
const BUFFERS_KB: usize = 16 * 1024;

/// A trace instance.
pub(crate) struct Text {
    instance: PathBuf,
}

impl Text {
    pub(super) fn start() -> Result<Self, KernelError> {
        let place = PLACES
            .iter()
            .map(Path::new)
            .find(|place| place.join("instances").is_dir())
            .ok_or_else(|| {
                KernelError::Absent(format!("tracefs is not mounted on {}", PLACES[0]))
            })?;
        Self::start_in(place)
    }

    fn start_in(tracefs: &Path) -> Result<Self, KernelError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let instances = tracefs.join("instances");
        let prefix = format!("hawser-{}-", pid_namespace()?);
        remove_abandoned(&instances, &prefix);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let instance = instances.join(format!("{prefix}{}-{number}", std::process::id()));
        fs::create_dir(&instance).map_err(|e| file("create", &instance, e))?;
        let text = Self { instance };
        let cpus = proc::net("softnet_stat").map_or(1, |stat| stat.lines().count().max(1));
        let share = (BUFFERS_KB / cpus).clamp(64, 1024);
        text.write("buffer_size_kb", &share.to_string())?;
        // The event is older than its reasons.
        let format = text.instance.join("events/skb/kfree_skb/format");
        if !proc::file(&format)?.contains("reason") {
            return Err(KernelError::Format {
                path: format,
                what: "the event names no reason (the kernel is older than 5.17)".to_owned(),
            });
        }
        Ok(text)
    }

    pub(super) fn open(&mut self) -> Result<(), KernelError> {
        self.write("trace", "")?;
        self.write("events/skb/kfree_skb/enable", "1")
    }

    pub(super) fn stop(&mut self) -> Result<(), KernelError> {
        self.write("events/skb/kfree_skb/enable", "0")
    }

    pub(super) fn read(&mut self) -> Result<Seen, KernelError> {
        let trace = self.instance.join("trace");
        let opened = fs::File::open(&trace).map_err(|e| file("read", &trace, e))?;
        let counters = count(BufReader::new(opened)).map_err(|e| file("read", &trace, e))?;
        Ok(Seen {
            drops: None,
            missed: self.overrun(),
            counters,
        })
    }

    /// Events that were overwritten before they were read.
    fn overrun(&self) -> u64 {
        let Ok(cpus) = fs::read_dir(self.instance.join("per_cpu")) else {
            return 0;
        };
        cpus.flatten()
            .filter_map(|cpu| fs::read_to_string(cpu.path().join("stats")).ok())
            .map(|stats| lost(&stats))
            .sum()
    }

    fn write(&self, name: &str, value: &str) -> Result<(), KernelError> {
        let path = self.instance.join(name);
        // Opening `trace` for writing with O_TRUNC, as this does, is what empties the buffers.
        fs::write(&path, value).map_err(|e| file("write", &path, e))
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        // Best effort: what is left behind is removed by the next start in this pid namespace.
        let _ = self.stop();
        let _ = fs::remove_dir(&self.instance);
    }
}

fn file(call: &'static str, path: &Path, source: std::io::Error) -> KernelError {
    KernelError::File {
        call,
        path: path.to_owned(),
        source,
    }
}

/// Process ids mean something only within one.
fn pid_namespace() -> Result<u64, KernelError> {
    let path = Path::new("/proc/self/ns/pid");
    let meta = fs::metadata(path).map_err(|e| file("stat", path, e))?;
    Ok(meta.ino())
}

/// Removes instances of processes that ended without doing so.
fn remove_abandoned(instances: &Path, prefix: &str) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name
            .to_str()
            .and_then(|name| name.strip_prefix(prefix)?.split_once('-'))
            .and_then(|(pid, _)| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            // One that is in use says EBUSY and stays.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Lines end in `location=__udp4_lib_rcv+0x4bc/0xd00 reason: NO_SOCKET`.
fn count(mut lines: impl BufRead) -> std::io::Result<Counters> {
    let mut counters = Counters::default();
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        let event = line
            .split_once(" location=")
            .and_then(|(_, rest)| rest.split_once(" reason: "));
        if let Some((location, reason)) = event {
            // Hidden from this process, it is a number (`kernel.kptr_restrict`).
            let function = match location.split(['+', '.']).next() {
                Some(name) if !name.starts_with("0x") => name,
                _ => "",
            };
            let key = format!("event/kfree_skb/{}/{function}", reason.trim());
            *counters.0.entry(key).or_default() += 1;
        }
        line.clear();
    }
    Ok(counters)
}

fn lost(stats: &str) -> u64 {
    stats
        .lines()
        .filter_map(|line| line.split_once(": "))
        .filter(|(name, _)| matches!(*name, "overrun" | "commit overrun" | "dropped events"))
        .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use nix::mount::{MsFlags, mount, umount};

    use super::*;

    #[test]
    fn lines_are_counted_by_reason_and_function() {
        let text = "# tracer: nop\n#\n\
            bash-30177 [001] ..s1. 2993.828068: kfree_skb: skbaddr=0000 rx_sk=0 protocol=2048 location=__udp4_lib_rcv+0x4bc/0xd00 reason: NO_SOCKET\n\
            bash-30177 [001] ..s1. 2993.828068: kfree_skb: skbaddr=0000 rx_sk=0 protocol=2048 location=__udp4_lib_rcv+0x4bc/0xd00 reason: NO_SOCKET\n\
            ksoftirqd/1-22 [001] ..s1. 2993.9: kfree_skb: skbaddr=0000 protocol=2048 location=ip_rcv_finish_core.constprop.0+0x1/0x2 reason: NOT_SPECIFIED\n\
            ksoftirqd/1-22 [001] ..s1. 2993.9: kfree_skb: skbaddr=0000 protocol=2048 location=0x0 reason: NOT_SPECIFIED\n";
        assert_eq!(
            count(text.as_bytes()).unwrap(),
            Counters::from_iter([
                ("event/kfree_skb/NO_SOCKET/__udp4_lib_rcv", 2),
                ("event/kfree_skb/NOT_SPECIFIED/ip_rcv_finish_core", 1),
                ("event/kfree_skb/NOT_SPECIFIED/", 1),
            ])
        );
    }

    #[test]
    fn what_was_overwritten_is_told() {
        let stats = "entries: 12\noverrun: 40\ncommit overrun: 1\nbytes: 800\ndropped events: 2\nread events: 5\n";
        assert_eq!(lost(stats), 43);
    }

    /// A tracefs of the test's own, unmounted at its end.
    struct Mounted(tempfile::TempDir);

    impl Mounted {
        fn new() -> nix::Result<Self> {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let none = None::<&str>;
            mount(none, dir.path(), Some("tracefs"), MsFlags::empty(), none)?;
            Ok(Self(dir))
        }
    }

    impl Drop for Mounted {
        fn drop(&mut self) {
            let _ = umount(self.0.path());
        }
    }

    #[test]
    fn drops_of_the_running_kernel_are_counted_and_nothing_is_left_behind() {
        let mounted = match Mounted::new() {
            Ok(mounted) => mounted,
            Err(e) => return eprintln!("not run: mounting tracefs: {e}"),
        };
        let mut text = Text::start_in(mounted.0.path()).unwrap();
        let instance = text.instance.clone();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let nobody = UdpSocket::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        for window in 0..2 {
            text.open().unwrap();
            for _ in 0..7 {
                socket.send_to(b"nobody listens", nobody).unwrap();
            }
            text.stop().unwrap();
            let seen = text.read().unwrap();
            // Other tests and hosts of this kernel may drop meanwhile.
            let no_socket: u64 = seen
                .counters
                .under("event/kfree_skb/NO_SOCKET/")
                .map(|c| c.1)
                .sum();
            assert!(
                (7..1000).contains(&no_socket),
                "window {window}: {:?}",
                seen.counters
            );
            assert!(seen.drops.is_none());
        }
        drop(text);
        assert!(!instance.exists());
    }

    #[test]
    fn an_instance_of_a_process_that_died_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let of = |pid: u32| dir.path().join(format!("hawser-9-{pid}-0"));
        // No process has the number that is one above the largest (pid_max is 2^22 at most).
        let (dead, alive) = (of((1 << 22) + 1), of(std::process::id()));
        for instance in [&dead, &alive] {
            fs::create_dir(instance).unwrap();
        }
        remove_abandoned(dir.path(), "hawser-9-");
        assert!(!dead.exists());
        assert!(alive.exists());
    }
}
