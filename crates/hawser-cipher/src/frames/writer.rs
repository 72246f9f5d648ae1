//! A stream of frames into anything that takes bytes.

use std::io::{self, Write};

use zeroize::Zeroizing;

use crate::frames::{FrameSealer, FrameSize, TAG};
use crate::key::Key;

/// Seals what is written to it, frame by frame, into `W`.
///
/// [`FrameWriter::finish`] writes the last frame. A writer that is only dropped leaves a stream that a
/// reader refuses as cut, which is what an interrupted program should leave.
pub struct FrameWriter<W: Write> {
    sink: W,
    sealer: FrameSealer,
    /// Text that waits for its frame to be full, with room for the tag.
    frame: Zeroizing<Vec<u8>>,
    filled: usize,
    /// A write failed; what the sink holds is not known, so nothing may follow.
    failed: bool,
}

impl<W: Write> FrameWriter<W> {
    /// Begins a stream by writing its header. See [`FrameSealer::new`].
    ///
    /// # Errors
    /// Those of the sink; a [`crate::CipherError`] as the inner error of one of kind `InvalidData`.
    pub fn new(mut sink: W, key: &Key, size: FrameSize, associated: &[u8]) -> io::Result<Self> {
        let sealer = FrameSealer::new(key, size, associated)?;
        sink.write_all(&sealer.header().to_bytes())?;
        let frame = Zeroizing::new(vec![0; size.bytes() + TAG]);
        Ok(Self {
            sink,
            sealer,
            frame,
            filled: 0,
            failed: false,
        })
    }

    /// Writes the last frame and gives the sink back.
    ///
    /// # Errors
    /// Those of the sink; a [`crate::CipherError`] as the inner error of one of kind `InvalidData`.
    pub fn finish(mut self) -> io::Result<W> {
        self.usable()?;
        let (text, rest) = self.frame.split_at_mut(self.filled);
        let tag = self.sealer.seal_last(text)?;
        rest[..TAG].copy_from_slice(&tag.0);
        self.sink.write_all(&self.frame[..self.filled + TAG])?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    fn write_frame(&mut self) -> io::Result<()> {
        let (text, room) = self.frame.split_at_mut(self.filled);
        let tag = self.sealer.seal_next(text)?;
        room.copy_from_slice(&tag.0);
        self.failed = true;
        self.sink.write_all(&self.frame)?;
        self.failed = false;
        self.filled = 0;
        Ok(())
    }

    fn usable(&self) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other(
                "stream of frames: an earlier write failed",
            ));
        }
        Ok(())
    }
}

impl<W: Write> Write for FrameWriter<W> {
    /// A full frame is sealed when the byte after it comes, since until then it may be the last.
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.usable()?;
        let size = self.sealer.header().frame_size().bytes();
        if self.filled == size && !data.is_empty() {
            self.write_frame()?;
        }
        let part = data.len().min(size - self.filled);
        self.frame[self.filled..self.filled + part].copy_from_slice(&data[..part]);
        self.filled += part;
        Ok(part)
    }

    /// Flushes the sink. A frame that is not full stays: it cannot be sealed before it is full or
    /// the stream ends.
    fn flush(&mut self) -> io::Result<()> {
        self.usable()?;
        self.sink.flush()
    }
}
