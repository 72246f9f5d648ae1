//! Null-modem cables. What a machine writes to its serial line goes to the other end in datagrams over the link's cable, so it is
//! lost where that is cut, and at the speed of a real line.

use std::io::{self, Read, Write};
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::sys::socket::{setsockopt, sockopt};
use rustix::io::{FdFlags, fcntl_setfd};

use super::plan::Serial;
use crate::error::LabError;

/// Bytes a second: 115200 bit/s, and each byte has a start and a stop bit.
const RATE: u32 = 11_520;
/// Bytes of one datagram, which take 22 ms.
const MOST: usize = 256;
/// Where datagrams go, in the cases of both machines. Nothing else runs there.
const PORT: u16 = 8250;
/// What the kernel has room for on the way: it would keep seconds of such a line.
const BUFFER: usize = 4096;
/// How long a line is left alone whose machine has ended.
const ENDED: Duration = Duration::from_secs(1);

/// A machine's end of a cable, as its kernel is started with it.
pub(super) struct Plug(UnixStream);

impl Plug {
    /// The descriptor's number.
    pub fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// A cable in a machine's case.
pub(super) struct Line {
    machine: UnixStream,
    cable: UdpSocket,
    /// Until then the line is busy with what the machine has sent.
    busy: Instant,
}

impl Line {
    /// The cable, and what the kernel of the machine inherits.
    ///
    /// # Errors
    /// The case has not the address of its end.
    pub fn plug(serial: &Serial) -> Result<(Self, Plug), LabError> {
        let open = || {
            let (machine, plug) = UnixStream::pair()?;
            machine.set_nonblocking(true)?;
            setsockopt(&plug, sockopt::SndBuf, &BUFFER)?;
            setsockopt(&machine, sockopt::SndBuf, &BUFFER)?;
            fcntl_setfd(&plug, FdFlags::empty())?;
            let cable = UdpSocket::bind((serial.own, PORT))?;
            cable.connect((serial.peer, PORT))?;
            cable.set_nonblocking(true)?;
            let busy = Instant::now();
            let line = Self {
                machine,
                cable,
                busy,
            };
            Ok::<_, io::Error>((line, Plug(plug)))
        };
        open().map_err(|e| LabError::io("plug in", serial.link.as_str(), e))
    }

    /// What is waited for.
    pub fn waits_for(&self, now: Instant) -> impl Iterator<Item = BorrowedFd<'_>> {
        let machine = (now >= self.busy).then(|| self.machine.as_fd());
        machine.into_iter().chain([self.cable.as_fd()])
    }

    /// How long it is until the machine may send again; none: it may.
    pub fn busy_for(&self, now: Instant) -> Option<Duration> {
        let left = self.busy.saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    /// Takes what has come from either end to the other. What there is no room for is lost, as on a line without flow control.
    pub fn carry(&mut self, now: Instant) {
        let mut bytes = [0; MOST];
        if now >= self.busy {
            self.busy = now
                + match self.machine.read(&mut bytes) {
                    Ok(0) => ENDED,
                    Ok(count) => {
                        let _lost = self.cable.send(&bytes[..count]);
                        Duration::from_secs(count as u64) / RATE
                    }
                    Err(_) => Duration::ZERO,
                };
        }
        // A datagram that met nobody at the other end comes back as an error.
        loop {
            match self.cable.recv(&mut bytes) {
                Ok(count) => {
                    let _lost = self.machine.write(&bytes[..count]);
                }
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::thread::sleep;

    use super::*;

    #[test]
    fn what_one_end_sends_the_other_hears_and_no_faster_than_a_line_is() {
        let serial = |own: u8, peer: u8| Serial {
            link: "ring2".into(),
            own: Ipv4Addr::new(127, 72, 5, own),
            peer: Ipv4Addr::new(127, 72, 5, peer),
            mtu: crate::spec::DEFAULT_MTU,
        };
        let (mut one, mut from) = Line::plug(&serial(1, 2)).unwrap();
        // Nobody is at the other end yet.
        from.0.write_all(b"lost").unwrap();
        one.carry(Instant::now());
        let (mut other, mut to) = Line::plug(&serial(2, 1)).unwrap();
        to.0.set_nonblocking(true).unwrap();

        let sent: Vec<u8> = (0..1000).map(|it| it as u8).collect();
        from.0.write_all(&sent).unwrap();
        let begun = Instant::now();
        let mut heard: Vec<u8> = Vec::new();
        while heard.len() < sent.len() {
            let now = Instant::now();
            assert!(now < begun + Duration::from_secs(10), "{}", heard.len());
            one.carry(now);
            other.carry(now);
            let mut bytes = [0; 4 * MOST];
            let count = to.0.read(&mut bytes).unwrap_or(0);
            heard.extend(&bytes[..count]);
            sleep(Duration::from_millis(1));
        }
        assert_eq!(heard, sent);
        let least = Duration::from_secs(sent.len() as u64 - 2 * MOST as u64) / RATE;
        assert!(begun.elapsed() >= least, "{:?}", begun.elapsed());
        // The machine has ended: it is not looked at again and again.
        drop(from);
        sleep(Duration::from_millis(50));
        let now = Instant::now();
        one.carry(now);
        assert_eq!(one.busy_for(now), Some(ENDED));
        assert_eq!(one.waits_for(now).count(), 1);
    }
}
