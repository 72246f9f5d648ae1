//! The holding line of reordering: a process among the switches that gives back, some
//! milliseconds later, whatever the impairment program sends down its wire.
//!
//! An eBPF classifier cannot keep a packet. It redirects the ones to be reordered into one end of
//! a veth pair; this process reads them from the other end and writes them back there, where a
//! second classifier returns them to the port. Checksums and segmentation are done by the
//! kernel on the way in (`tx off tso off gso off` on the first end), since they would be lost in
//! a packet that is read and written as bytes.

use std::collections::VecDeque;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, bind, recv, send, setsockopt,
    socket, sockopt,
};
use nix::unistd::setsid;

use crate::error::LabError;

/// The hidden subcommand of `hawser lab`.
pub const SUBCOMMAND: &str = "hold-line";

/// What it says when it holds.
pub(super) const READY: &str = "ready";

/// The largest frame: MTU 65535 and an Ethernet header.
const LARGEST: usize = 65_535 + 14;
/// What may wait to be read.
const BUFFER: usize = 16 << 20;

/// What a holding line is told on its command line.
#[derive(Debug)]
pub struct HoldArgs {
    /// The lab's token.
    pub token: String,
    /// The lab's folder.
    pub dir: PathBuf,
    /// The interface to read and write.
    pub device: String,
    /// How long each packet is held.
    pub hold: Duration,
}

/// Runs until the interface goes away or the process is killed.
///
/// # Errors
/// The socket cannot be made, or reading fails.
pub fn run(args: &HoldArgs) -> Result<(), LabError> {
    // Already the leader of a session when started by hand.
    let _own_session = setsid();
    let wire = open(&args.device)?;
    println!("{READY}");
    let _unheard = std::io::stdout().flush();
    let mut held: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut frame = vec![0_u8; LARGEST];
    let failed = |call, errno| LabError::system(call, args.device.clone(), errno);
    loop {
        let timeout = match held.front() {
            Some((due, _)) => {
                // Rounded up: a poll that returns too early would spin.
                let left = due.saturating_duration_since(Instant::now());
                let ms = left.as_micros().div_ceil(1000);
                PollTimeout::from(u16::try_from(ms).unwrap_or(u16::MAX))
            }
            None => PollTimeout::NONE,
        };
        let mut fds = [PollFd::new(wire.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(failed("poll", errno)),
        }
        loop {
            match recv(wire.as_raw_fd(), &mut frame, MsgFlags::empty()) {
                Ok(length) => held.push_back((Instant::now() + args.hold, frame[..length].into())),
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                // The interface went down or away: the fault was cleared.
                Err(Errno::ENETDOWN | Errno::ENODEV | Errno::ENXIO) => return Ok(()),
                Err(errno) => return Err(failed("recv", errno)),
            }
        }
        while held.front().is_some_and(|(due, _)| *due <= Instant::now()) {
            if let Some((_, bytes)) = held.pop_front() {
                match send(wire.as_raw_fd(), &bytes, MsgFlags::empty()) {
                    // A full queue: the frame is lost and the counts say so, held > released.
                    Ok(_) | Err(Errno::ENOBUFS | Errno::EAGAIN | Errno::EINTR) => {}
                    Err(Errno::ENETDOWN | Errno::ENODEV | Errno::ENXIO) => return Ok(()),
                    Err(errno) => return Err(failed("send", errno)),
                }
            }
        }
    }
}

/// A packet socket on `device`.
fn open(device: &str) -> Result<OwnedFd, LabError> {
    let failed = |call, errno| LabError::system(call, device, errno);
    let address = getifaddrs()
        .map_err(|e| failed("getifaddrs", e))?
        .find(|it| it.interface_name == device && it.address.is_some_and(|a| is_link(&a)))
        .and_then(|it| it.address)
        .ok_or_else(|| failed("find the interface", Errno::ENODEV))?;
    let address = *address
        .as_link_addr()
        .ok_or_else(|| failed("find the interface", Errno::ENODEV))?;
    let wire = socket(
        AddressFamily::Packet,
        SockType::Raw,
        SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC,
        SockProtocol::EthAll,
    )
    .map_err(|e| failed("socket", e))?;
    setsockopt(&wire, sockopt::RcvBufForce, &BUFFER).map_err(|e| failed("setsockopt", e))?;
    bind(wire.as_raw_fd(), &address).map_err(|e| failed("bind", e))?;
    Ok(wire)
}

fn is_link(address: &nix::sys::socket::SockaddrStorage) -> bool {
    address.as_link_addr().is_some()
}
