//! The receiving end.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use hawser_model::copy::Stage;
use socket2::Socket;
use subtle::ConstantTimeEq;

use crate::error::CopyError;
use crate::frame::{Frame, PREFIX};
use crate::message::{self, Offer, list_to_bytes};
use crate::pipe::{self, Halves};
use crate::plan::Blocks;
use crate::producer::Digests;
use crate::progress::{Role, Running, Shared};
use crate::seal::Opener;
use crate::sender::{GREETING, MAGIC};
use crate::sink::{Destination, Sink};
use crate::spec::{ReceiveSpec, validate};
use crate::tcp;
use crate::writer::{ReceivedCopy, Writer};

/// A connection must show the run's key within this time.
const GREETING_WITHIN: Duration = Duration::from_secs(1);

/// How often the wish to end is looked at while waiting for connections.
const LOOK: Duration = Duration::from_millis(100);

/// An open receiving end: listens on one address, for this copy's connections only.
#[derive(Debug)]
pub struct Receiver {
    listener: Socket,
    address: SocketAddr,
    spec: ReceiveSpec,
    place: Destination,
}

impl Receiver {
    /// Looks at the destination and listens.
    ///
    /// # Errors
    /// The destination exists and shall not be replaced, cannot be written, or the address is not
    /// this host's.
    pub fn open(spec: ReceiveSpec) -> Result<Self, CopyError> {
        validate(&spec.options)?;
        let place = Destination::find(&spec.sink)?;
        let listener = tcp::bound(spec.at)?;
        let failed = |call| CopyError::connection(call, spec.at);
        listener
            .listen(spec.options.streams as i32 + 8)
            .map_err(failed("listen on"))?;
        // accept(2) minds it too.
        listener
            .set_read_timeout(Some(LOOK))
            .map_err(failed("setsockopt SO_RCVTIMEO of"))?;
        let address = listener
            .local_addr()
            .map_err(failed("getsockname of"))?
            .as_socket()
            .unwrap_or(SocketAddr::new(spec.at, 0));
        Ok(Self {
            listener,
            address,
            spec,
            place,
        })
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Waits for the sender and receives.
    ///
    /// # Errors
    /// No thread could be started. What happens later is in the report.
    pub fn start(self) -> Result<Running, CopyError> {
        let shared = Shared::new(Role::Receiver, self.spec.options);
        Running::start(shared, move |shared| self.run(shared))
    }

    fn run(self, shared: &Shared) -> Result<Option<u128>, CopyError> {
        let sockets = self.accept_all(shared)?;
        let Self {
            listener,
            spec,
            place,
            ..
        } = self;
        // Nobody else can come in from here on.
        drop(listener);
        let peer = sockets[0]
            .peer_addr()
            .ok()
            .and_then(|address| address.as_socket())
            .map_or_else(|| "sender".to_owned(), |address| address.to_string());
        let offered = message::receive(&sockets[0], &peer, &spec.key, Offer::NAME)?;
        let offer = Offer::from_bytes(&offered).ok_or_else(|| CopyError::Protocol {
            peer: peer.clone(),
            what: "an offer of a wrong length".to_owned(),
        })?;
        let blocks = Blocks::of(offer.size);
        if blocks.endless() && !place.endless() {
            return Err(CopyError::Protocol {
                peer,
                what: "an offer without an end, for a place that has one".to_owned(),
            });
        }
        let (sink, have) = Sink::open(place, offer, spec.options.checksum, &|| {
            shared.is_stopping()
        })?;
        let copy = ReceivedCopy {
            sink: &sink,
            blocks,
            have,
            digests: Digests::of(blocks),
        };
        let received = receive(&spec, shared, &sockets, &peer, &copy, offer);
        if received.is_err() || shared.is_stopping() {
            let complete = blocks.count() as usize - copy.digests.missing();
            sink.give_up(complete + copy.have.len());
        }
        received
    }

    /// Lets in one connection a stream; others are refused.
    fn accept_all(&self, shared: &Shared) -> Result<Vec<Socket>, CopyError> {
        let streams = self.spec.options.streams as usize;
        let within = Duration::from_nanos(self.spec.options.patience.0);
        let deadline = Instant::now() + within;
        let mut sockets: Vec<Option<Socket>> = (0..streams).map(|_| None).collect();
        while sockets.iter().any(Option::is_none) {
            if shared.is_stopping() {
                return Err(CopyError::Stopped);
            }
            if Instant::now() >= deadline {
                return Err(CopyError::NotConnected {
                    came: sockets.iter().flatten().count(),
                    expected: self.spec.options.streams,
                    seconds: within.as_secs(),
                    foreign: shared.foreign.load(Relaxed),
                });
            }
            let socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock
                            | ErrorKind::Interrupted
                            | ErrorKind::ConnectionAborted
                    ) =>
                {
                    continue;
                }
                Err(error) => {
                    return Err(CopyError::connection("accept on", self.address)(error));
                }
            };
            match self.greeted(&socket) {
                Some(stream) if sockets[stream].is_none() => {
                    let failed = |e: std::io::Error| {
                        CopyError::connection("setsockopt of connection on", self.address)(e)
                    };
                    socket.set_read_timeout(None).map_err(failed)?;
                    tcp::mind(&socket, within).map_err(failed)?;
                    (&socket)
                        .write_all(&[1])
                        .map_err(CopyError::connection("let in", self.address))?;
                    shared.watch(&socket)?;
                    sockets[stream] = Some(socket);
                }
                _ => {
                    shared.foreign.fetch_add(1, Relaxed);
                }
            }
        }
        Ok(sockets.into_iter().flatten().collect())
    }

    /// The stream a connection belongs to, if it shows the run's key.
    fn greeted(&self, mut socket: &Socket) -> Option<usize> {
        let mut greeting = [0; GREETING];
        socket.set_read_timeout(Some(GREETING_WITHIN)).ok()?;
        socket.read_exact(&mut greeting).ok()?;
        let stream = u32::from_be_bytes(greeting[8..12].try_into().ok()?);
        let proof = self.spec.key.proof(stream);
        let ours: bool = greeting[12..].ct_eq(&proof[..]).into();
        (ours && greeting[..8] == MAGIC && stream < self.spec.options.streams)
            .then_some(stream as usize)
    }
}

fn receive(
    spec: &ReceiveSpec,
    shared: &Shared,
    sockets: &[Socket],
    peer: &str,
    copy: &ReceivedCopy<'_>,
    offer: Offer,
) -> Result<Option<u128>, CopyError> {
    let have = list_to_bytes(copy.have.iter());
    message::send(&sockets[0], peer, &spec.key, message::HAVE, &have)?;
    shared.go(offer.size);
    thread::scope(|scope| {
        for (stream, socket) in (0..).zip(sockets) {
            scope.spawn(move || {
                if let Err(error) = stream_in(spec, shared, socket, peer, stream, copy) {
                    shared.fail(error);
                }
            });
        }
    });
    if shared.is_stopping() {
        return Err(CopyError::Stopped);
    }
    let missing = copy.digests.missing();
    if missing > 0 {
        return Err(CopyError::Protocol {
            peer: peer.to_owned(),
            what: format!("the streams ended with {missing} blocks missing"),
        });
    }
    let whole = copy.digests.whole();
    // All of it is here. Whether it is of one source, the sender knows.
    message::send(&sockets[0], peer, &spec.key, message::HERE, &[])?;
    if message::receive(&sockets[0], peer, &spec.key, message::SOURCE)? != message::GOOD {
        return Err(CopyError::Withdrawn);
    }
    shared.working(Stage::Sync, 0, || {
        copy.sink.commit(offer.mode, &|| shared.is_stopping())
    })?;
    // In place is in place: a sender that does not hear of it says what it lacks.
    let done = &whole.to_le_bytes();
    let _ = message::send(&sockets[0], peer, &spec.key, message::DONE, done);
    Ok(spec.options.checksum.then_some(whole))
}

fn stream_in(
    spec: &ReceiveSpec,
    shared: &Shared,
    socket: &Socket,
    peer: &str,
    stream: u32,
    copy: &ReceivedCopy<'_>,
) -> Result<(), CopyError> {
    let mut taker = Taker::new(spec, shared, socket, peer, stream)?;
    let mut writer = Writer::new(copy, shared, socket, peer);
    // Raw data is taken from the socket by the last stage: then nobody else may read ahead.
    let raw_may_come = spec.options.cipher.is_none() && !spec.options.checksum;
    pipe::drive(
        shared,
        &HALVES,
        pipe::overlap(spec.options.streams) && !raw_may_come,
        |frame| taker.take(frame),
        |frame| writer.apply(frame),
    )
}

const HALVES: Halves = Halves {
    first: &[Stage::Receive, Stage::Decipher],
    second: &[Stage::Verify, Stage::Write],
};

/// One stream's first stages: receives and decrypts frames.
struct Taker<'a> {
    shared: &'a Shared,
    socket: &'a Socket,
    peer: &'a str,
    stream: u32,
    opener: Option<Opener>,
}

impl<'a> Taker<'a> {
    fn new(
        spec: &ReceiveSpec,
        shared: &'a Shared,
        mut socket: &'a Socket,
        peer: &'a str,
        stream: u32,
    ) -> Result<Self, CopyError> {
        let mut opener = None;
        if let Some(cipher) = spec.options.cipher {
            let mut preamble = vec![0; Opener::preamble(cipher)];
            socket
                .read_exact(&mut preamble)
                .map_err(CopyError::connection("receive from", peer))?;
            let made = Opener::new(&spec.key, cipher, stream, &preamble);
            opener = Some(made.map_err(|source| CopyError::Cipher { stream, source })?);
        }
        Ok(Self {
            shared,
            socket,
            peer,
            stream,
            opener,
        })
    }

    fn take(&mut self, frame: &mut Frame) -> Result<(), CopyError> {
        let mut socket = self.socket;
        let failed = |e: std::io::Error| CopyError::connection("receive from", self.peer)(e);
        let mut prefix = [0; PREFIX];
        self.shared
            .waiting(Stage::Receive, 0, || socket.read_exact(&mut prefix))
            .map_err(failed)?;
        let Some(body) = frame.expect(prefix, self.opener.is_some()) else {
            return Err(CopyError::Protocol {
                peer: self.peer.to_owned(),
                what: "a frame that is longer than agreed".to_owned(),
            });
        };
        let length = body.len() as u64;
        self.shared
            .waiting(Stage::Receive, length, || socket.read_exact(body))
            .map_err(failed)?;
        let Some(opener) = &mut self.opener else {
            return Ok(());
        };
        let (last, stream) = (frame.last, self.stream);
        let (text, tag) = frame.sealing();
        let tag = <[u8; 16]>::try_from(&*tag).expect("16 bytes");
        let length = text.len() as u64;
        self.shared
            .working(Stage::Decipher, length, || opener.open(last, text, tag))
            .map_err(|source| CopyError::Cipher { stream, source })
    }
}
