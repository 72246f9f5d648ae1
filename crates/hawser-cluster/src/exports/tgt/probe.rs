//! Whether a portal answers, as a client would notice: a login to a discovery session (RFC 7143, 11.12).

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};

use hawser_tool::Deadline;

use crate::exports::desired::Portal;

/// The basic header segment of a PDU.
const HEADER: usize = 48;

/// The opcode of a login request that is done at once, and of its response.
const LOGIN: u8 = 0x43;
const LOGIN_RESPONSE: u8 = 0x23;

/// From the security stage to the operational one.
const STAGES: u8 = 0x81;

/// Logs in, and is content with any answer: a target that asks for a proof is alive.
pub fn answers(portal: Portal, until: Deadline) -> std::io::Result<()> {
    let ip = match portal.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    let at = SocketAddr::new(ip, portal.port());
    let mut stream = TcpStream::connect_timeout(&at, until.limit()?)?;
    stream.set_write_timeout(Some(until.limit()?))?;
    stream.write_all(&request())?;
    let mut header = [0; HEADER];
    let mut done = 0;
    while done < HEADER {
        stream.set_read_timeout(Some(until.limit()?))?;
        match stream.read(&mut header[done..])? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            some => done += some,
        }
    }
    match header[0] & 0x3f {
        LOGIN_RESPONSE => Ok(()),
        other => Err(Error::other(format!(
            "its answer to a login is PDU 0x{other:02x}"
        ))),
    }
}

fn request() -> Vec<u8> {
    let text =
        b"InitiatorName=iqn.2026-01.hawser:monitor\0SessionType=Discovery\0AuthMethod=None\0";
    let mut bytes = vec![0; HEADER];
    bytes[0] = LOGIN;
    bytes[1] = STAGES;
    let length = u32::try_from(text.len()).unwrap_or(0).to_be_bytes();
    bytes[5..8].copy_from_slice(&length[1..]);
    // A random kind of ISID with a qualifier of ours; this is the first task.
    bytes[8..14].copy_from_slice(&[0x80, 0x48, 0x57, 0x53, 0, 1]);
    bytes[19] = 1;
    bytes.extend(text);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn a_login_response_is_an_answer_and_silence_is_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let portal = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut header = [0; HEADER];
            stream.read_exact(&mut header).unwrap();
            assert_eq!((header[0], header[1], header[5]), (LOGIN, STAGES, 0));
            let mut response = [0; HEADER];
            // Refused: authentication failure.
            (response[0], response[36], response[37]) = (LOGIN_RESPONSE, 2, 1);
            stream.write_all(&response).unwrap();
            // The second one is let in by the kernel and hears nothing.
            (listener, stream)
        });
        let soon = |ms| Deadline::after(Duration::from_millis(ms));
        answers(portal, soon(20_000)).unwrap();
        let kept = server.join().unwrap();
        assert!(answers(portal, soon(100)).is_err());
        drop(kept);
        // Reset: a program that another test starts holds the listener until it is executed.
        let gone = answers(portal, soon(20_000)).unwrap_err().kind();
        let none = [ErrorKind::ConnectionRefused, ErrorKind::ConnectionReset];
        assert!(none.contains(&gone), "{gone:?}");
    }
}
