//! A network namespace that lives as long as the value, and programs and files within it.

use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd};
use std::process::Output;
use std::thread;

use hawser_tool::{Tool, ToolError};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};

use crate::RungError;

/// A network namespace without a name.
pub(super) struct Namespace(File);

impl Namespace {
    /// A new one, without IPv6: routers and neighbours that nobody asked for would be packets beside
    /// the flow.
    pub(super) fn new() -> Result<Self, RungError> {
        apart(|| {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(RungError::call("unshare", "a network namespace"))?;
            for which in ["all", "default"] {
                // Where the kernel has no IPv6 there is nothing to turn off.
                let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
            }
            let path = "/proc/thread-self/ns/net";
            File::open(path)
                .map(Self)
                .map_err(RungError::call("open", path))
        })
    }

    /// Does something within it, on a thread of its own.
    pub(super) fn within<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, RungError> + Send,
    ) -> Result<T, RungError> {
        apart(|| {
            self.enter()?;
            work()
        })
    }

    /// The calling thread is in it from now on.
    fn enter(&self) -> Result<(), RungError> {
        setns(self.0.as_fd(), CloneFlags::CLONE_NEWNET)
            .map_err(RungError::call("setns", "a network namespace"))
    }

    /// A path by which other programs find it while this process lives.
    pub(super) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}

/// Runs something on a thread of its own: what it does to its namespaces ends with it.
fn apart<T: Send>(work: impl FnOnce() -> Result<T, RungError> + Send) -> Result<T, RungError> {
    thread::scope(|scope| {
        scope
            .spawn(work)
            .join()
            .unwrap_or(Err(RungError::Panicked("preparing")))
    })
}

/// Calls `each` for every namespace with its own `/sys/class/net` in place.
pub(super) fn with_sysfs<'a>(
    namespaces: impl Iterator<Item = &'a Namespace> + Send,
    mut each: impl FnMut(usize) -> Result<(), RungError> + Send,
) -> Result<(), RungError> {
    const SYS: &str = "/sys";
    const NONE: Option<&str> = None;
    apart(|| {
        unshare(CloneFlags::CLONE_NEWNS)
            .map_err(RungError::call("unshare", "a mount namespace"))?;
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(NONE, "/", NONE, private, NONE)
            .map_err(RungError::call("mount --make-rprivate", "/"))?;
        for (number, namespace) in namespaces.enumerate() {
            namespace.enter()?;
            mount(Some("sysfs"), SYS, Some("sysfs"), MsFlags::empty(), NONE)
                .map_err(RungError::call("mount sysfs", SYS))?;
            let done = each(number);
            umount2(SYS, MntFlags::MNT_DETACH).map_err(RungError::call("umount", SYS))?;
            done?;
        }
        Ok(())
    })
}

/// Writes a file of `/sys/class/net`.
pub(super) fn write(path: &str, value: &str) -> Result<(), RungError> {
    fs::write(path, value).map_err(RungError::call("write", format!("{path} {value}")))
}

/// Has `ip` do these lines, in the namespace of the calling thread.
pub(super) fn ip(lines: &str) -> Result<(), RungError> {
    let ip = Tool::new("ip").args(["-batch", "-"]).input(lines);
    said("ip -batch", ip.output())
}

/// Runs a program in the namespace of the calling thread.
pub(super) fn run(program: &str, arguments: &[&str]) -> Result<(), RungError> {
    let ran = Tool::new(program).args(arguments).output();
    said(&format!("{program} {}", arguments.join(" ")), ran)
}

fn said(what: &str, ran: Result<Output, ToolError>) -> Result<(), RungError> {
    let ran = ran.map_err(|e| RungError::Absent(format!("{what}: {}", e.reason())))?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(RungError::Absent(format!(
            "{what}: {}",
            String::from_utf8_lossy(&ran.stderr).trim()
        ))),
    }
}
