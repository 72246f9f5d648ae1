//! The receiving end: receive, decrypt, write.

use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hawser_cipher::gcm::{OpeningKey, Tag};
use hawser_cipher::{Cipher, Direction, Iv};
use hawser_model::ladder::{CipherMode, Sample, Stage, StageKind};
use hawser_model::traffic::{PROBE_MAGIC, RunKey};
use hawser_model::units::Nanos;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::block::{BLOCKS, Block, HEAD};
use super::stage::Meter;
use super::{WholeReceived, WholeSpec};
use crate::RungError;
use crate::cipher::key;
use crate::sampler::Sampler;
use crate::storage::{self, Opened};

/// How often a wait for data looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(200);

/// A sender that is silent for so long is gone.
const SILENT: Duration = Duration::from_secs(4);

/// An open receiving end. Dropping it ends it.
pub struct WholeReceiver {
    port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<WholeReceived, RungError>>>,
}

impl WholeReceiver {
    /// Opens the sink and a port on the receiver's address, and waits for the sender.
    ///
    /// # Errors
    /// The call that failed.
    pub fn open(spec: &WholeSpec, run: RunKey) -> Result<Self, RungError> {
        let sink = storage::sink(&spec.sink)?;
        let at = SocketAddr::new(spec.destination_address, 0);
        let listener = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))
            .map_err(RungError::call("socket", at))?;
        listener
            .bind(&SockAddr::from(at))
            .and_then(|()| listener.listen(4))
            .and_then(|()| listener.set_read_timeout(Some(LOOK)))
            .map_err(RungError::call("listen", at))?;
        let local = listener
            .local_addr()
            .map_err(RungError::call("getsockname", at))?;
        let port = local.as_socket().map_or(0, |a| a.port());
        let stop = Arc::new(AtomicBool::new(false));
        let (spec, told) = (spec.clone(), Arc::clone(&stop));
        let thread = thread::Builder::new()
            .name("hawser-whole".to_owned())
            .spawn(move || serve(&listener, &spec, run, &sink, &told))
            .map_err(RungError::call("clone", "receiving thread"))?;
        Ok(Self {
            port,
            stop,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits for the stream's end, which its sender has sent by now, and reports.
    ///
    /// # Errors
    /// What failed while it ran.
    pub fn finish(mut self) -> Result<WholeReceived, RungError> {
        let thread = self.thread.take().ok_or(RungError::Panicked("receive"))?;
        thread.join().map_err(|_| RungError::Panicked("receive"))?
    }
}

impl Drop for WholeReceiver {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.stop.store(true, Ordering::Relaxed);
            // Nobody is left to be told what it says.
            let _ = thread.join();
        }
    }
}

fn serve(
    listener: &Socket,
    spec: &WholeSpec,
    run: RunKey,
    sink: &Opened,
    stop: &AtomicBool,
) -> Result<WholeReceived, RungError> {
    let mut opener = Opener::new(spec)?;
    let stream = accept(listener, run, stop)?;
    let (empty, emptied) = sync_channel(BLOCKS);
    let (filled, to_decrypt) = sync_channel(1);
    let (decrypted, to_write) = sync_channel(1);
    for _ in 0..BLOCKS {
        // There is room for all of them.
        let _ = empty.try_send(Block::new());
    }
    thread::scope(|scope| {
        let stream = &stream;
        let receiving = scope.spawn(move || receive(stream, stop, &emptied, &filled));
        let opening = scope.spawn(move || open(&mut opener, &to_decrypt, &decrypted));
        let writing = scope.spawn(move || write(sink, spec.duration, &to_write, &empty));
        let (written, samples) = writing.join().map_err(|_| RungError::Panicked("write"))??;
        let opened = opening
            .join()
            .map_err(|_| RungError::Panicked("decrypt"))??;
        let received = receiving
            .join()
            .map_err(|_| RungError::Panicked("receive"))??;
        Ok(WholeReceived {
            samples,
            stages: [Some(received), opened, Some(written)]
                .into_iter()
                .flatten()
                .collect(),
        })
    })
}

/// The first connection that shows the run's key.
fn accept(listener: &Socket, run: RunKey, stop: &AtomicBool) -> Result<Socket, RungError> {
    let since = Instant::now();
    while !stop.load(Ordering::Relaxed) && since.elapsed() < SILENT * 3 {
        let Ok((stream, _)) = listener.accept() else {
            continue;
        };
        let mut greeting = [0; 16];
        let shown = stream
            .set_read_timeout(Some(Duration::from_secs(1)))
            .is_ok()
            && (&stream).read_exact(&mut greeting).is_ok()
            && greeting[..8] == PROBE_MAGIC
            && greeting[8..] == run.0.to_be_bytes();
        if shown {
            stream
                .set_read_timeout(Some(LOOK))
                .map_err(RungError::call("setsockopt SO_RCVTIMEO", "stream"))?;
            return Ok(stream);
        }
    }
    Err(RungError::Broken("nobody with the run's key connected"))
}

/// Fills a buffer, unless the sender is gone.
fn fill(mut stream: &Socket, mut buffer: &mut [u8], stop: &AtomicBool) -> Result<(), RungError> {
    let mut since = Instant::now();
    while !buffer.is_empty() {
        match stream.read(buffer) {
            Ok(0) => return Err(RungError::Broken("it ended in the middle of a block")),
            Ok(bytes) => {
                buffer = &mut buffer[bytes..];
                since = Instant::now();
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                if stop.load(Ordering::Relaxed) || since.elapsed() > SILENT {
                    return Err(RungError::Broken("nothing came any more"));
                }
            }
            Err(e) => return Err(RungError::call("read", "stream")(e)),
        }
    }
    Ok(())
}

fn receive(
    stream: &Socket,
    stop: &AtomicBool,
    from: &Receiver<Block>,
    to: &SyncSender<Block>,
) -> Result<Stage, RungError> {
    let mut meter = Meter::start(StageKind::Receive);
    loop {
        // Waiting for an empty block is waiting for those who are behind.
        let waited = Instant::now();
        let Ok(mut block) = from.recv() else {
            break;
        };
        meter.waited_out(waited);
        let mut head = [0; HEAD];
        meter.receiving(0, || fill(stream, &mut head, stop))?;
        block.announce(&head)?;
        if block.length == 0 {
            break;
        }
        let length = block.length;
        meter.receiving(length, || fill(stream, block.text(), stop))?;
        if !meter.give(to, block) {
            break;
        }
    }
    Ok(meter.finish())
}

/// The cipher of the receiving end.
enum Opener {
    None,
    Stream(Box<Cipher>),
    Gcm(Box<OpeningKey>),
}

impl Opener {
    fn new(spec: &WholeSpec) -> Result<Self, RungError> {
        let Some(cipher) = spec.cipher else {
            return Ok(Self::None);
        };
        let key = key(cipher, &spec.key)?;
        let iv = Iv::new([0; 16]);
        Ok(match cipher.mode {
            CipherMode::Ctr => Self::Stream(Box::new(Cipher::ctr(&key, iv)?)),
            CipherMode::Cbc => Self::Stream(Box::new(Cipher::cbc(Direction::Decrypt, &key, iv)?)),
            CipherMode::Gcm => Self::Gcm(Box::new(OpeningKey::new(&key)?)),
        })
    }
}

fn open(
    opener: &mut Opener,
    from: &Receiver<Block>,
    to: &SyncSender<Block>,
) -> Result<Option<Stage>, RungError> {
    let mut meter = Meter::start(StageKind::Decrypt);
    while let Some(mut block) = meter.take(from) {
        let length = block.length;
        match opener {
            Opener::None => {}
            Opener::Stream(cipher) => meter.work(length, || cipher.update(block.text()))?,
            Opener::Gcm(key) => {
                let (nonce, tag) = (block.nonce, Tag(block.tag));
                meter.work(length, || key.open(nonce, &[], block.text(), &tag))?;
            }
        }
        if !meter.give(to, block) {
            break;
        }
    }
    let cipher = !matches!(opener, Opener::None);
    Ok(cipher.then(|| meter.finish()))
}

/// Bytes between two `fdatasync`, as in the bare rung.
const SYNC_EVERY: usize = 64 << 20;

fn write(
    sink: &Opened,
    duration: Nanos,
    from: &Receiver<Block>,
    empty: &SyncSender<Block>,
) -> Result<(Stage, Vec<Sample>), RungError> {
    let mut meter = Meter::start(StageKind::Write);
    let mut sampler = Sampler::start(duration);
    let (mut offset, mut unsynced) = (0, 0);
    while let Some(mut block) = meter.take(from) {
        let length = block.length;
        meter.work(length, || sink.write(block.text(), &mut offset))?;
        unsynced += length;
        if sink.sync && unsynced >= SYNC_EVERY {
            unsynced = 0;
            meter
                .work(0, || sink.file.sync_data())
                .map_err(RungError::call("fdatasync", &sink.how))?;
        }
        sampler.add(length);
        // The receiver may have ended; then nobody needs the block.
        let _ = empty.try_send(block);
    }
    Ok((meter.finish(), sampler.finish()))
}
