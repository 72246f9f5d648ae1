//! The receive buffer of another program's UDP socket, while it runs: `pidfd_getfd(2)` duplicates the descriptor, which
//! needs what ptrace(2) needs, and `SO_RCVBUFFORCE` (socket(7)) is not cut at `net.core.rmem_max`.
//!
//! A socket is known by its inode and its address: after a restart the program has another one, whose buffer is not
//! this knob's.

use std::fs;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use hawser_model::sockets::SocketFacts;
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::stat::fstat;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::KernelError;
use crate::collectors::sockets::{self, SocketDiag};

/// The kernel counts twice what is asked for (`sk_setsockopt`, net/core/sock.c).
const DOUBLED: usize = 2;

pub(super) fn read(local: SocketAddr, inode: u64) -> Result<String, KernelError> {
    let socket = find(local, inode)?.ok_or_else(|| closed(local))?;
    Ok(socket.receive_buffer.0.to_string())
}

/// Whether there is no such socket any more.
pub(super) fn is_closed(local: SocketAddr, inode: u64) -> bool {
    matches!(find(local, inode), Ok(None))
}

pub(super) fn write(
    process: &str,
    local: SocketAddr,
    inode: u64,
    value: &str,
) -> Result<(), KernelError> {
    let bytes: usize = value.parse().map_err(|_| {
        KernelError::Absent(format!(
            "receive buffer of {process} {local}: `{value}` is no size"
        ))
    })?;
    let mut socket = find(local, inode)?.ok_or_else(|| closed(local))?;
    sockets::find_owner(&mut socket);
    let pid = match (&socket.process, socket.pid) {
        (Some(name), Some(pid)) if name == process => pid,
        _ => {
            return Err(KernelError::Absent(format!(
                "{local}: the socket is not held by {process}"
            )));
        }
    };
    let descriptor = duplicate(pid, inode)?;
    setsockopt(&descriptor, sockopt::RcvBufForce, &(bytes / DOUBLED))
        .map_err(|e| KernelError::call("setsockopt SO_RCVBUFFORCE", local, e))
}

fn find(local: SocketAddr, inode: u64) -> Result<Option<SocketFacts>, KernelError> {
    let found = SocketDiag::open()?.dump()?.remove(&inode);
    Ok(found.filter(|socket| socket.local == local))
}

fn closed(local: SocketAddr) -> KernelError {
    KernelError::Absent(format!("{local}: the program has closed that socket"))
}

/// A descriptor of our own for the socket that a process holds.
fn duplicate(pid: u32, inode: u64) -> Result<OwnedFd, KernelError> {
    let folder = format!("/proc/{pid}/fd");
    let entries = fs::read_dir(&folder).map_err(|source| KernelError::File {
        call: "read",
        path: folder.clone().into(),
        source,
    })?;
    let named = format!("socket:[{inode}]");
    let number = entries.flatten().find_map(|entry| {
        let target = fs::read_link(entry.path()).ok()?;
        let number = entry.file_name().to_str()?.parse::<i32>().ok()?;
        (target.to_str() == Some(&named)).then_some(number)
    });
    let number = number.ok_or_else(|| KernelError::Absent(format!("{folder}: no {named}")))?;
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = raw.ok_or_else(|| KernelError::Absent(format!("process {pid}: no such number")))?;
    let failed = |call| {
        move |e: rustix::io::Errno| KernelError::Call {
            call,
            object: format!("{pid:?} descriptor {number}"),
            source: e.into(),
        }
    };
    let process = pidfd_open(pid, PidfdFlags::empty()).map_err(failed("pidfd_open"))?;
    let descriptor =
        pidfd_getfd(process, number, PidfdGetfdFlags::empty()).map_err(failed("pidfd_getfd"))?;
    // The process may have closed it, and opened another file under that number.
    let is = fstat(descriptor.as_fd())
        .map_err(|e| KernelError::call("fstat", descriptor.as_raw_fd(), e))?;
    match is.st_ino == inode {
        true => Ok(descriptor),
        false => Err(KernelError::Absent(format!(
            "{folder}/{number}: the process has closed the socket"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use hawser_model::knob::Knob;

    use super::*;
    use crate::Knobs;

    #[test]
    fn a_buffer_is_turned_to_and_fro_and_ends_with_its_socket() {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: SO_RCVBUFFORCE needs root");
            return;
        }
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let local = socket.local_addr().unwrap();
        let own = sockets::udp_sockets().unwrap();
        let own = own.iter().find(|s| s.local == local).unwrap();
        let knob = |process: &str| Knob::SocketBuffer {
            process: process.to_owned(),
            local,
            inode: own.inode,
        };
        let (knobs, ours) = (Knobs::default(), knob(own.process.as_deref().unwrap()));
        let before = knobs.read(&ours).unwrap().value;
        assert_eq!(before, own.receive_buffer.0.to_string());
        // More than net.core.rmem_max lets anybody ask for.
        assert_eq!(knobs.write(&ours, "16777216").unwrap(), "16777216");
        assert_eq!(knobs.write(&ours, &before).unwrap(), before);
        let foreign = knobs.write(&knob("corosync"), "4096").unwrap_err();
        assert!(foreign.to_string().contains("not held by corosync"));
        assert!(!knobs.has_ended(&ours));
        drop(socket);
        assert!(knobs.has_ended(&ours));
        assert!(knobs.read(&ours).is_err());
    }
}
