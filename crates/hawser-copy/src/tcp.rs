//! Connections: their options, and what they say of themselves.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use hawser_model::copy::TcpFacts;
use hawser_model::units::{Bytes, Nanos};
use nix::sys::socket::{getsockopt, sockopt};
use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive, Type};

use crate::error::CopyError;
use crate::sys;

/// A socket bound to `address`.
pub(crate) fn bound(address: IpAddr) -> Result<Socket, CopyError> {
    let local = SocketAddr::new(address, 0);
    let socket = Socket::new(
        Domain::for_address(local),
        Type::STREAM,
        Some(Protocol::TCP),
    )
    .map_err(CopyError::connection("socket", local))?;
    socket
        .bind(&SockAddr::from(local))
        .map_err(CopyError::connection("bind", local))?;
    Ok(socket)
}

/// Makes a connection that notices when its peer's host or the path is gone.
///
/// Keepalive probes (`tcp(7)`) tell an idle connection to a dead host from one whose peer is busy
/// with its disk. `TCP_USER_TIMEOUT` does it for data under way; it also ends a connection whose
/// window stays shut, so it is twice as patient.
pub(crate) fn mind(socket: &Socket, patience: Duration) -> io::Result<()> {
    let idle = (patience / 2).max(Duration::from_secs(1));
    let keepalive = TcpKeepalive::new()
        .with_time(idle)
        .with_interval((patience / 8).max(Duration::from_secs(1)))
        .with_retries(4);
    socket.set_tcp_keepalive(&keepalive)?;
    socket.set_tcp_user_timeout(Some(patience * 2))?;
    socket.set_tcp_nodelay(true)
}

/// What a connection says of itself now; all zero when it says nothing.
pub(crate) fn info(socket: &Socket) -> TcpFacts {
    let Ok(bytes) = sys::tcp_info(socket.as_fd()) else {
        return TcpFacts::default();
    };
    parse(&bytes)
}

/// All that is known of a connection.
pub(crate) fn facts(socket: &Socket) -> TcpFacts {
    let size = |bytes: io::Result<usize>| Bytes(bytes.unwrap_or(0) as u64);
    TcpFacts {
        congestion: getsockopt(&socket.as_fd(), sockopt::TcpCongestion)
            .map(|name| name.to_string_lossy().trim_end_matches('\0').to_owned())
            .unwrap_or_default(),
        receive_buffer: size(socket.recv_buffer_size()),
        send_buffer: size(socket.send_buffer_size()),
        ..info(socket)
    }
}

/// Offsets of `struct tcp_info` (`include/uapi/linux/tcp.h`): the kernel only ever adds at the end.
fn parse(bytes: &[u8; sys::TCP_INFO_BYTES]) -> TcpFacts {
    let u16_at = |at: usize| u64::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]));
    let u32_at = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let u64_at = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let micros = |value: u64| Nanos(value.saturating_mul(1_000));
    TcpFacts {
        rto: micros(u32_at(8).into()),
        snd_mss: u32_at(16),
        rcv_mss: u32_at(20),
        pmtu: u32_at(60),
        rtt: micros(u32_at(68).into()),
        snd_ssthresh: u32_at(76),
        snd_cwnd: u32_at(80),
        retransmits: u32_at(100).into(),
        needless: u32_at(216).into(),
        segments_out: u32_at(136).into(),
        min_rtt: micros(u32_at(148).into()),
        data_segments_in: u32_at(152).into(),
        busy: micros(u64_at(168)),
        window_limited: micros(u64_at(176)),
        send_buffer_limited: micros(u64_at(184)),
        out_of_order: u32_at(224).into(),
        snd_wnd: Bytes(u32_at(228).into()),
        timeouts: u16_at(240),
        ..TcpFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_fresh_connection_over_loopback_tells_its_segment_size_and_windows() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _server = listener.accept().unwrap();
        let facts = facts(&Socket::from(client));
        assert!(facts.snd_mss > 500 && facts.pmtu >= facts.snd_mss);
        assert!(facts.snd_wnd.0 > 0 && facts.snd_cwnd > 0);
        assert!(!facts.congestion.is_empty() && facts.retransmits == 0);
    }
}
