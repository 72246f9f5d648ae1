//! A conversation of two watches: messages that only the two can read, each whole and in its place, or none.
//!
//! The pattern is `NNpsk0` of the Noise Protocol Framework (revision 34): both prove that they have the key, and what was
//! said before cannot be read by whoever learns it later. A message goes in records of two bytes of length and at most
//! 65 535 bytes; the first byte within each says whether more of it follows.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use snow::{Builder, HandshakeState, TransportState};

use super::key::LENGTH;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";

/// Bytes of a record.
const RECORD: usize = 65_535;

/// Bytes of a record that prove it (AEAD_CHACHA20_POLY1305, RFC 8439).
const TAG: usize = 16;

/// How long the two may take to know each other.
pub const GREETING: Duration = Duration::from_secs(5);

const LAST: u8 = 0;
const MORE: u8 = 1;

/// Why a conversation ended.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The way between the two failed.
    #[error("{call}: {source}")]
    Io {
        /// The call.
        call: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The other end has closed.
    #[error("the other end has closed the connection")]
    Closed,
    /// Nothing came, or was taken, in time.
    #[error("no answer in time")]
    Late,
    /// The other end has another key, or means another cluster or head.
    #[error(
        "the other end has another key than this head's /etc/corosync/authkey, or another cluster file"
    )]
    Key,
    /// What came was not said by the other end.
    #[error("what came is not what was said")]
    Forged,
    /// More than is taken for one message.
    #[error("a message of more than {0} bytes")]
    TooLarge(usize),
}

/// One end of a conversation.
pub struct Channel {
    stream: TcpStream,
    noise: TransportState,
}

impl Channel {
    /// Reaches a watch and begins. `meant` is what both ends must mean.
    ///
    /// # Errors
    /// It is not reached, or is none that has the key.
    pub fn connect(
        address: SocketAddr,
        key: &[u8; LENGTH],
        meant: &[u8],
    ) -> Result<Self, ChannelError> {
        let until = Instant::now() + GREETING;
        let stream = TcpStream::connect_timeout(&address, GREETING).map_err(failed("connect"))?;
        stream.set_nodelay(true).map_err(failed("setsockopt"))?;
        let noise = builder(key, meant).build_initiator();
        let mut noise = noise.map_err(|_| ChannelError::Key)?;
        tell(&stream, &mut noise, until)?;
        hear(&stream, &mut noise, until)?;
        Self::of(stream, noise)
    }

    /// Answers whoever has come.
    ///
    /// # Errors
    /// It is none that has the key.
    pub fn accept(
        stream: TcpStream,
        key: &[u8; LENGTH],
        meant: &[u8],
    ) -> Result<Self, ChannelError> {
        let until = Instant::now() + GREETING;
        let noise = builder(key, meant).build_responder();
        let mut noise = noise.map_err(|_| ChannelError::Key)?;
        hear(&stream, &mut noise, until)?;
        tell(&stream, &mut noise, until)?;
        Self::of(stream, noise)
    }

    fn of(stream: TcpStream, noise: HandshakeState) -> Result<Self, ChannelError> {
        let noise = noise.into_transport_mode().map_err(|_| ChannelError::Key)?;
        Ok(Self { stream, noise })
    }

    /// Says a message.
    ///
    /// # Errors
    /// It was not taken in time.
    pub fn send(&mut self, message: &[u8], within: Duration) -> Result<(), ChannelError> {
        let until = Instant::now() + within;
        let mut parts = message.chunks(RECORD - TAG - 1).peekable();
        let mut record = vec![0; RECORD];
        loop {
            let part = parts.next().unwrap_or_default();
            let ends = parts.peek().is_none();
            let words = [&[if ends { LAST } else { MORE }], part].concat();
            let sealed = self.noise.write_message(&words, &mut record);
            let length = sealed.map_err(|_| ChannelError::Forged)?;
            write(&self.stream, &record[..length], until)?;
            if ends {
                return Ok(());
            }
        }
    }

    /// Waits for a message of at most so many bytes.
    ///
    /// # Errors
    /// None came in time, or it is not whole.
    pub fn receive(&mut self, most: usize, within: Duration) -> Result<Vec<u8>, ChannelError> {
        let until = Instant::now() + within;
        let mut message = Vec::new();
        let mut opened = vec![0; RECORD];
        loop {
            let record = read(&self.stream, until)?;
            let length = self.noise.read_message(&record, &mut opened);
            let length = length.map_err(|_| ChannelError::Forged)?;
            let (first, part) = opened[..length].split_first().ok_or(ChannelError::Forged)?;
            if message.len() + part.len() > most {
                return Err(ChannelError::TooLarge(most));
            }
            message.extend_from_slice(part);
            match *first {
                LAST => return Ok(message),
                MORE if !part.is_empty() => {}
                _ => return Err(ChannelError::Forged),
            }
        }
    }

    /// Whether the other end has closed. What is said unasked ends the conversation too.
    pub fn is_closed(&self) -> bool {
        let mut byte = [0];
        let closed = self
            .stream
            .set_nonblocking(true)
            .and_then(|()| self.stream.peek(&mut byte));
        let blocks = self.stream.set_nonblocking(false).is_ok();
        !blocks || !matches!(closed, Err(e) if e.kind() == ErrorKind::WouldBlock)
    }
}

fn builder<'a>(key: &'a [u8; LENGTH], meant: &'a [u8]) -> Builder<'a> {
    let pattern = PATTERN.parse().expect("a pattern of the framework");
    let builder = Builder::new(pattern).prologue(meant);
    let builder = builder.and_then(|builder| builder.psk(0, key));
    builder.expect("one prologue and one key")
}

fn tell(
    stream: &TcpStream,
    noise: &mut HandshakeState,
    until: Instant,
) -> Result<(), ChannelError> {
    let mut record = [0; 256];
    let length = noise.write_message(&[], &mut record);
    let length = length.map_err(|_| ChannelError::Key)?;
    write(stream, &record[..length], until)
}

fn hear(
    stream: &TcpStream,
    noise: &mut HandshakeState,
    until: Instant,
) -> Result<(), ChannelError> {
    let heard = match read(stream, until) {
        // Who does not know us says nothing.
        Err(ChannelError::Closed) => return Err(ChannelError::Key),
        heard => heard?,
    };
    let mut nothing = [0; RECORD];
    let outcome = noise.read_message(&heard, &mut nothing);
    outcome.map(drop).map_err(|_| ChannelError::Key)
}

fn failed(call: &'static str) -> impl Fn(io::Error) -> ChannelError {
    move |source| match source.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => ChannelError::Late,
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            ChannelError::Closed
        }
        _ => ChannelError::Io { call, source },
    }
}

fn left(until: Instant) -> Result<Duration, ChannelError> {
    let left = until.saturating_duration_since(Instant::now());
    (!left.is_zero()).then_some(left).ok_or(ChannelError::Late)
}

fn write(mut stream: &TcpStream, record: &[u8], until: Instant) -> Result<(), ChannelError> {
    let length = u16::try_from(record.len()).map_err(|_| ChannelError::TooLarge(RECORD))?;
    let bytes = [&length.to_be_bytes(), record].concat();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let limit = stream.set_write_timeout(Some(left(until)?));
        limit.map_err(failed("setsockopt"))?;
        match stream.write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(failed("write")(e)),
        }
    }
    Ok(())
}

fn read(stream: &TcpStream, until: Instant) -> Result<Vec<u8>, ChannelError> {
    let mut length = [0; 2];
    fill(stream, &mut length, until)?;
    let mut record = vec![0; usize::from(u16::from_be_bytes(length))];
    fill(stream, &mut record, until)?;
    Ok(record)
}

fn fill(mut stream: &TcpStream, mut rest: &mut [u8], until: Instant) -> Result<(), ChannelError> {
    while !rest.is_empty() {
        let limit = stream.set_read_timeout(Some(left(until)?));
        limit.map_err(failed("setsockopt"))?;
        match stream.read(rest) {
            Ok(0) => return Err(ChannelError::Closed),
            Ok(read) => rest = &mut rest[read..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(failed("read")(e)),
        }
    }
    Ok(())
}
