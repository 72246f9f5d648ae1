//! The sending end: read, encrypt, send.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use hawser_cipher::gcm::{NonceSequence, SealingKey};
use hawser_cipher::{Cipher, Direction, Iv};
use hawser_model::ladder::{CipherMode, Stage, StageKind};
use hawser_model::traffic::{PROBE_MAGIC, RunKey};
use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::WholeSpec;
use super::block::{BLOCKS, Block, SIZE};
use super::stage::Meter;
use crate::RungError;
use crate::cipher::key;
use crate::storage::{self, Opened};

/// A host that does not answer three SYNs (sent at 0, 1 and 3 s) is not there.
const CONNECT: Duration = Duration::from_secs(4);

/// A path that takes nothing for so long is stuck.
const STUCK: Duration = Duration::from_secs(3);

/// What the sending end measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WholeSent {
    /// Its stages.
    pub stages: Vec<Stage>,
    /// Its source.
    pub how: String,
}

/// Reads, encrypts and sends until the time is over.
///
/// # Errors
/// The call that failed; a path that takes nothing for three seconds is one.
pub fn send(spec: &WholeSpec, run: RunKey, port: u16) -> Result<WholeSent, RungError> {
    let source = storage::source(&spec.source)?;
    let mut sealer = Sealer::new(spec)?;
    let to = SocketAddr::new(spec.destination_address, port);
    let socket = connect(spec, to)?;
    let mut greeting = PROBE_MAGIC.to_vec();
    greeting.extend(run.0.to_be_bytes());
    (&socket)
        .write_all(&greeting)
        .map_err(RungError::call("write", to))?;
    let how = source.how.clone();
    let until = Instant::now() + Duration::from_nanos(spec.duration.0);
    let (empty, emptied) = sync_channel(BLOCKS);
    let (filled, to_encrypt) = sync_channel(1);
    let (encrypted, to_send) = sync_channel(1);
    for _ in 0..BLOCKS {
        // There is room for all of them.
        let _ = empty.try_send(Block::new());
    }
    let stages = thread::scope(|scope| {
        let reading = scope.spawn(move || read(&source, until, &emptied, &filled));
        let encrypting = scope.spawn(move || seal(&mut sealer, &to_encrypt, &encrypted));
        let socket = &socket;
        let sending = scope.spawn(move || transmit(socket, to, &to_send, &empty));
        [
            reading.join().map_err(|_| RungError::Panicked("read"))?,
            encrypting
                .join()
                .map_err(|_| RungError::Panicked("encrypt"))?,
            sending.join().map_err(|_| RungError::Panicked("send"))?,
        ]
        .into_iter()
        .collect::<Result<Vec<Option<Stage>>, RungError>>()
    })?;
    Ok(WholeSent {
        stages: stages.into_iter().flatten().collect(),
        how,
    })
}

fn connect(spec: &WholeSpec, to: SocketAddr) -> Result<Socket, RungError> {
    let from = SocketAddr::new(spec.source_address, 0);
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))
        .map_err(RungError::call("socket", to))?;
    socket
        .bind(&SockAddr::from(from))
        .map_err(RungError::call("bind", from))?;
    socket
        .connect_timeout(&SockAddr::from(to), CONNECT)
        .map_err(RungError::call("connect", to))?;
    socket
        .set_write_timeout(Some(STUCK))
        .and_then(|()| socket.set_read_timeout(Some(STUCK)))
        .map_err(RungError::call("setsockopt SO_SNDTIMEO", to))?;
    Ok(socket)
}

type Outcome = Result<Option<Stage>, RungError>;

fn read(
    source: &Opened,
    until: Instant,
    from: &Receiver<Block>,
    to: &SyncSender<Block>,
) -> Outcome {
    let mut meter = Meter::start(StageKind::Read);
    let mut offset = 0;
    while Instant::now() < until {
        let Some(mut block) = meter.take(from) else {
            break;
        };
        block.length = meter.work(SIZE, || source.read(block.memory.bytes_mut(), &mut offset))?;
        if !meter.give(to, block) {
            break;
        }
    }
    Ok(Some(meter.finish()))
}

/// The cipher of the sending end.
enum Sealer {
    None,
    Stream(Box<Cipher>),
    Gcm(Box<SealingKey>),
}

impl Sealer {
    fn new(spec: &WholeSpec) -> Result<Self, RungError> {
        let Some(cipher) = spec.cipher else {
            return Ok(Self::None);
        };
        let key = key(cipher, &spec.key)?;
        // The key is fresh for this run and encrypts this one stream.
        let iv = Iv::new([0; 16]);
        Ok(match cipher.mode {
            CipherMode::Ctr => Self::Stream(Box::new(Cipher::ctr(&key, iv)?)),
            CipherMode::Cbc => Self::Stream(Box::new(Cipher::cbc(Direction::Encrypt, &key, iv)?)),
            CipherMode::Gcm => {
                Self::Gcm(Box::new(SealingKey::new(key, NonceSequence::new([0; 4]))?))
            }
        })
    }
}

fn seal(sealer: &mut Sealer, from: &Receiver<Block>, to: &SyncSender<Block>) -> Outcome {
    let mut meter = Meter::start(StageKind::Encrypt);
    while let Some(mut block) = meter.take(from) {
        let length = block.length;
        match sealer {
            Sealer::None => {}
            Sealer::Stream(cipher) => meter.work(length, || cipher.update(block.text()))?,
            Sealer::Gcm(key) => {
                let sealed = meter.work(length, || key.seal(&[], block.text()))?;
                block.nonce = sealed.nonce;
                block.tag = sealed.tag.0;
            }
        }
        if !meter.give(to, block) {
            break;
        }
    }
    let cipher = !matches!(sealer, Sealer::None);
    Ok(cipher.then(|| meter.finish()))
}

fn transmit(
    socket: &Socket,
    to: SocketAddr,
    from: &Receiver<Block>,
    empty: &SyncSender<Block>,
) -> Outcome {
    let mut meter = Meter::start(StageKind::Send);
    let mut stream = socket;
    while let Some(mut block) = meter.take(from) {
        let (head, length) = (block.head(), block.length);
        meter
            .sending(length, || {
                stream.write_all(&head)?;
                stream.write_all(block.text())
            })
            .map_err(RungError::call("write", to))?;
        // The reader may have ended; then nobody needs the block.
        let _ = empty.try_send(block);
    }
    let end = Block::new().head();
    stream
        .write_all(&end)
        .and_then(|()| socket.shutdown(Shutdown::Write))
        .map_err(RungError::call("write", to))?;
    let stage = meter.finish();
    // Waits until the other end has read it all; what it says is not looked at.
    match stream.read(&mut [0; 1]) {
        Err(e) if e.kind() == ErrorKind::WouldBlock => {
            Err(RungError::Broken("the receiver did not read it to its end"))
        }
        _ => Ok(Some(stage)),
    }
}
