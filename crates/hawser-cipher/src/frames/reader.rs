//! A stream of frames out of anything that gives bytes.

use std::io::{self, Read};

use zeroize::Zeroizing;

use crate::error::CipherError;
use crate::frames::{FrameOpener, Header, TAG};
use crate::gcm::Tag;
use crate::key::Key;

/// Gives the text of a stream of frames read from `R`, each frame only after it was verified.
///
/// `Ok(0)` says that the true end was reached. A stream that was cut, even between two frames, ends in
/// an error, as does one with something behind its last frame: frames are told apart by what follows,
/// so `R` must end where the stream ends ([`Read::take`] where it does not).
pub struct FrameReader<R: Read> {
    source: R,
    opener: FrameOpener,
    /// One frame with its tag, and one byte more that tells whether another follows.
    held: Zeroizing<Vec<u8>>,
    /// Bytes of `held` read from the source.
    filled: usize,
    /// Text of `held` that may be given out.
    text: std::ops::Range<usize>,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// More frames follow.
    Within,
    /// The last one was opened.
    Ended,
    /// Something did not open.
    Broken(CipherError),
}

impl<R: Read> FrameReader<R> {
    /// Reads the header of a stream. See [`FrameOpener::new`].
    ///
    /// # Errors
    /// Those of the source; a [`CipherError`] as the inner error of one of kind `InvalidData`.
    pub fn new(mut source: R, key: &Key, associated: &[u8]) -> io::Result<Self> {
        let mut bytes = [0; Header::LENGTH];
        source.read_exact(&mut bytes)?;
        let header = Header::from_bytes(&bytes)?;
        let opener = FrameOpener::new(key, &header, associated)?;
        let held = Zeroizing::new(vec![0; header.frame_size().bytes() + TAG + 1]);
        Ok(Self {
            source,
            opener,
            held,
            filled: 0,
            text: 0..0,
            state: State::Within,
        })
    }

    /// Reads and opens the next frame.
    fn next_frame(&mut self) -> io::Result<()> {
        while self.filled < self.held.len() {
            match self.source.read(&mut self.held[self.filled..]) {
                Ok(0) => break,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let last = self.filled < self.held.len();
        let length = self.filled - usize::from(!last);
        let opened = match length.checked_sub(TAG) {
            Some(text) => {
                let (text, tag) = self.held[..length].split_at_mut(text);
                let tag = Tag(tag.try_into().expect("16 bytes are left"));
                self.opener
                    .frame(text.into(), &tag, last)
                    .map(|()| text.len())
            }
            None => Err(CipherError::FrameForged {
                index: self.opener.next(),
                last: true,
            }),
        };
        match opened {
            Ok(text) => {
                self.text = 0..text;
                self.state = if last { State::Ended } else { State::Within };
                Ok(())
            }
            Err(error) => {
                self.state = State::Broken(error.clone());
                Err(error.into())
            }
        }
    }
}

impl<R: Read> Read for FrameReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        while self.text.is_empty() {
            match &self.state {
                State::Ended => return Ok(0),
                State::Broken(error) => return Err(error.clone().into()),
                State::Within => {
                    // The byte that was read ahead begins the next frame.
                    if self.filled == self.held.len() {
                        self.held[0] = self.held[self.filled - 1];
                        self.filled = 1;
                    }
                    self.next_frame()?;
                }
            }
        }
        let part = into.len().min(self.text.len());
        let end = self.text.start + part;
        into[..part].copy_from_slice(&self.held[self.text.start..end]);
        self.text.start = end;
        Ok(part)
    }
}
