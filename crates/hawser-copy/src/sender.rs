//! The sending end.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use hawser_model::copy::Stage;
use hawser_model::units::Nanos;
use socket2::{SockAddr, Socket};

use crate::error::CopyError;
use crate::frame::Frame;
use crate::message::{self, Offer};
use crate::pipe::{self, Halves};
use crate::producer::{Producer, Work};
use crate::progress::{Role, Running, Shared};
use crate::seal::Sealer;
use crate::source::Source;
use crate::spec::{SendSpec, validate};
use crate::{tcp, zero_copy};

/// First bytes of every connection: the protocol and its version.
pub(crate) const MAGIC: [u8; 8] = *b"HWSRCPY3";

/// Magic, number of the stream, proof of the key.
pub(crate) const GREETING: usize = 8 + 4 + 32;

/// Begins to send.
///
/// # Errors
/// The source cannot be opened, or the options are out of range. What happens later is in the
/// report.
pub fn send(spec: SendSpec) -> Result<Running, CopyError> {
    validate(&spec.options)?;
    let mut source = Source::open(&spec.source)?;
    let shared = Shared::new(Role::Sender, spec.options);
    let possible =
        spec.options.cipher.is_none() && !spec.options.checksum && source.pages().is_some();
    shared.zero_copy.store(possible, Relaxed);
    Running::start(shared, move |shared| run(&spec, &mut source, shared))
}

fn run(spec: &SendSpec, source: &mut Source, shared: &Shared) -> Result<Option<u128>, CopyError> {
    let to = SocketAddr::new(spec.to, spec.port);
    let peer = to.to_string();
    let mut sockets = Vec::new();
    for stream in 0..spec.options.streams {
        let socket = connect(spec, to, stream)?;
        shared.watch(&socket)?;
        sockets.push(socket);
    }
    // The receiver waits for the offer however long the disk takes.
    source.settle()?;
    let source = &*source;
    let first = &sockets[0];
    let offer = Offer {
        size: source.size,
        mode: source.mode,
    };
    message::send(first, &peer, &spec.key, Offer::NAME, &offer.to_bytes())?;
    let have = message::receive(first, &peer, &spec.key, message::HAVE)?;
    let have: HashMap<u64, u128> = message::list_from_bytes(&have).collect();
    shared.go(source.size);
    let work = Work::new(source, have);
    let overlapped = pipe::overlap(spec.options.streams);
    thread::scope(|scope| {
        for (stream, socket) in (0..).zip(&sockets) {
            let (work, peer) = (&work, &peer);
            scope.spawn(move || {
                if let Err(error) = stream_out(spec, work, shared, socket, peer, stream, overlapped)
                {
                    shared.fail(error);
                }
            });
        }
    });
    if shared.is_stopping() {
        return Err(CopyError::Stopped);
    }
    // Until it has come, a page that the kernel sends without a copy may be written to (sendfile(2)).
    message::receive(first, &peer, &spec.key, message::HERE)?;
    let changed = source.changed();
    let withdrawn = changed.is_some() && !spec.options.live;
    let verdict = if withdrawn {
        message::CHANGED
    } else {
        message::GOOD
    };
    message::send(first, &peer, &spec.key, message::SOURCE, verdict)?;
    shared
        .source
        .get_or_init(|| source.state(changed.as_deref()));
    if let (true, Some(how)) = (withdrawn, changed) {
        let path = source.path().to_owned();
        return Err(CopyError::Changed { path, how });
    }
    let theirs = message::receive(first, &peer, &spec.key, message::DONE)?;
    let theirs = u128::from_le_bytes(theirs.try_into().map_err(|_| CopyError::Protocol {
        peer: peer.clone(),
        what: "a checksum of a wrong length".to_owned(),
    })?);
    let ours = work.whole();
    if ours != theirs {
        return Err(CopyError::Whole { ours, theirs, peer });
    }
    Ok(spec.options.checksum.then_some(ours))
}

fn patience(time: Nanos) -> Duration {
    Duration::from_nanos(time.0)
}

fn connect(spec: &SendSpec, to: SocketAddr, stream: u32) -> Result<Socket, CopyError> {
    let socket = tcp::bound(spec.from)?;
    let patience = patience(spec.options.patience);
    let failed = |call| move |e: std::io::Error| CopyError::connection(call, to)(e);
    tcp::mind(&socket, patience).map_err(failed("setsockopt of connection to"))?;
    socket
        .connect_timeout(&SockAddr::from(to), patience)
        .map_err(failed("connect"))?;
    let mut greeting = [0; GREETING];
    greeting[..8].copy_from_slice(&MAGIC);
    greeting[8..12].copy_from_slice(&stream.to_be_bytes());
    greeting[12..].copy_from_slice(&spec.key.proof(stream)[..]);
    (&socket).write_all(&greeting).map_err(failed("greet"))?;
    // One byte says that the key was right.
    (&socket)
        .read_exact(&mut [0])
        .map_err(failed("be let in by"))?;
    Ok(socket)
}

fn stream_out(
    spec: &SendSpec,
    work: &Work<'_>,
    shared: &Shared,
    socket: &Socket,
    peer: &str,
    stream: u32,
    overlapped: bool,
) -> Result<(), CopyError> {
    // A frame that is encrypted and not full is filled up, so it takes more than one piece of data.
    let aligned = spec.aligned || spec.options.cipher.is_none();
    let mut producer = Producer::new(work, shared, aligned);
    let mut shipper = Shipper::new(spec, shared, work.source, socket, peer, stream)?;
    pipe::drive(
        shared,
        &HALVES,
        overlapped,
        |frame| producer.fill(frame),
        |frame| shipper.ship(frame),
    )
}

const HALVES: Halves = Halves {
    first: &[Stage::Read, Stage::Checksum],
    second: &[Stage::Cipher, Stage::Send],
};

/// One stream's last stages: encrypts and sends frames.
struct Shipper<'a> {
    shared: &'a Shared,
    source: &'a Source,
    socket: &'a Socket,
    peer: &'a str,
    stream: u32,
    sealer: Option<Sealer>,
}

impl<'a> Shipper<'a> {
    fn new(
        spec: &SendSpec,
        shared: &'a Shared,
        source: &'a Source,
        mut socket: &'a Socket,
        peer: &'a str,
        stream: u32,
    ) -> Result<Self, CopyError> {
        let mut sealer = None;
        if let Some(cipher) = spec.options.cipher {
            let (made, preamble) = Sealer::new(&spec.key, cipher, spec.options.chunk, stream)
                .map_err(|source| CopyError::Cipher { stream, source })?;
            socket
                .write_all(&preamble)
                .map_err(CopyError::connection("send to", peer))?;
            sealer = Some(made);
        }
        Ok(Self {
            shared,
            source,
            socket,
            peer,
            stream,
            sealer,
        })
    }

    fn ship(&mut self, frame: &mut Frame) -> Result<(), CopyError> {
        if let Some(sealer) = &mut self.sealer {
            frame.pad_to_seal();
            let (last, data, stream) = (frame.last, frame.data, self.stream);
            let (text, tag) = frame.sealing();
            self.shared
                .working(Stage::Cipher, data, || sealer.seal(last, text, tag))
                .map_err(|source| CopyError::Cipher { stream, source })?;
        }
        let mut socket = self.socket;
        let data = if frame.raw.is_some() { 0 } else { frame.data };
        let wire = frame.wire(self.sealer.is_some());
        self.shared
            .waiting(Stage::Send, data, || socket.write_all(wire))
            .map_err(CopyError::connection("send to", self.peer))?;
        if let (Some((at, length)), Some(file)) = (frame.raw, self.source.pages()) {
            self.shared.waiting(Stage::Send, length, || {
                zero_copy::send(self.socket, self.peer, self.source, file, at, length)
            })?;
        }
        self.shared.moved.fetch_add(frame.data, Relaxed);
        Ok(())
    }
}
