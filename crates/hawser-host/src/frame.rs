//! Frames: four bytes of length, big-endian, then that many bytes of JSON.
//!
//! The length is believed only up to [`MAX_FRAME`], and memory is taken for bytes that arrived,
//! never for bytes that were announced.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Largest JSON text of one frame, in bytes. The largest real message is a host's window or
/// facts: some hundred kilobytes on a host with many interfaces and queues.
pub const MAX_FRAME: usize = 16 << 20;

/// Bytes of the length in front of each frame.
const HEADER: usize = 4;

/// What can be wrong with a frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The pipe failed.
    #[error("{call} frame: {source}")]
    Io {
        /// `read` or `write`.
        call: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The length is beyond the limit: the peer does not speak this protocol, or text from a
    /// shell got between two frames.
    #[error("frame of {length} bytes announced, {allowed} allowed (first bytes {start:?})")]
    TooLarge {
        /// The announced length.
        length: usize,
        /// The limit of the message that was expected.
        allowed: usize,
        /// The first bytes as text, since stray output is the usual reason.
        start: String,
    },
    /// The stream ended inside a frame.
    #[error("stream ended inside a frame: {got} of {expected} bytes")]
    Truncated {
        /// Header and body together, as far as announced.
        expected: usize,
        /// What arrived of it.
        got: usize,
    },
    /// The body is not the message that was expected.
    #[error("frame is not a message of this protocol: {source} (starts {start:?})")]
    NotMessage {
        /// What the JSON parser says.
        source: serde_json::Error,
        /// The first bytes of the body, as text.
        start: String,
    },
}

/// One message as it goes over the pipe.
///
/// # Errors
/// [`FrameError::TooLarge`] when its JSON is larger than [`MAX_FRAME`].
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, FrameError> {
    let mut frame = vec![0; HEADER];
    serde_json::to_writer(&mut frame, message).map_err(|source| FrameError::NotMessage {
        source,
        start: String::new(),
    })?;
    let length = frame.len() - HEADER;
    match u32::try_from(length) {
        Ok(announced) if length <= MAX_FRAME => {
            frame[..HEADER].copy_from_slice(&announced.to_be_bytes());
            Ok(frame)
        }
        _ => Err(FrameError::TooLarge {
            length,
            allowed: MAX_FRAME,
            start: excerpt(&frame[HEADER..]),
        }),
    }
}

/// The JSON of a frame.
pub(crate) fn body(mut frame: Vec<u8>) -> Vec<u8> {
    frame.drain(..HEADER);
    frame
}

/// Writes one message and flushes.
///
/// # Errors
/// As [`encode`], and [`FrameError::Io`] when the writer fails.
pub fn write<T: Serialize>(writer: &mut impl Write, message: &T) -> Result<(), FrameError> {
    send(writer, &encode(message)?)
}

/// Writes a frame and flushes.
///
/// # Errors
/// [`FrameError::Io`] when the writer fails.
pub fn send(writer: &mut impl Write, frame: &[u8]) -> Result<(), FrameError> {
    writer
        .write_all(frame)
        .and_then(|()| writer.flush())
        .map_err(|source| FrameError::Io {
            call: "write",
            source,
        })
}

/// Collects bytes as they come and takes whole messages off them.
#[derive(Debug)]
pub struct Decoder {
    buffer: Vec<u8>,
    limit: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            buffer: Vec::new(),
            limit: MAX_FRAME,
        }
    }
}

impl Decoder {
    /// Expects no message above this size from now on; never more than [`MAX_FRAME`].
    pub fn expect_at_most(&mut self, bytes: usize) {
        self.limit = bytes.min(MAX_FRAME);
    }

    /// Whether nothing has arrived that belongs to a message not yet taken.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Adds bytes that arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole message; `None` while bytes are missing.
    ///
    /// # Errors
    /// [`FrameError::TooLarge`] or [`FrameError::NotMessage`]; the stream is of no use then.
    pub fn message<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let Some(body) = self.body()? else {
            return Ok(None);
        };
        let message = serde_json::from_slice(&body).map_err(|source| FrameError::NotMessage {
            source,
            start: excerpt(&body),
        })?;
        Ok(Some(message))
    }

    /// The JSON of the next whole frame; `None` while bytes are missing.
    ///
    /// # Errors
    /// [`FrameError::TooLarge`]; the stream is of no use then.
    pub fn body(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let end = match self.frame_end()? {
            Some(end) if self.buffer.len() >= end => end,
            _ => return Ok(None),
        };
        // What follows is moved and not copied with the frame: one large answer must not stay resident.
        let rest = self.buffer.split_off(end);
        Ok(Some(body(std::mem::replace(&mut self.buffer, rest))))
    }

    /// Says whether the stream may end here.
    ///
    /// # Errors
    /// [`FrameError::Truncated`] when part of a frame is held.
    pub fn finish(&self) -> Result<(), FrameError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        Err(FrameError::Truncated {
            expected: self.frame_end()?.unwrap_or(HEADER),
            got: self.buffer.len(),
        })
    }

    /// Where the first frame will end in the buffer; `None` until its length is there.
    fn frame_end(&self) -> Result<Option<usize>, FrameError> {
        let Some(header) = self.buffer.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*header) as usize;
        if length > self.limit {
            return Err(FrameError::TooLarge {
                length,
                allowed: self.limit,
                start: excerpt(&self.buffer),
            });
        }
        Ok(Some(HEADER + length))
    }
}

/// Reads one message from a blocking reader; `None` at the end of the stream.
///
/// # Errors
/// Any [`FrameError`].
pub fn read<T: DeserializeOwned>(
    reader: &mut impl Read,
    decoder: &mut Decoder,
) -> Result<Option<T>, FrameError> {
    let mut chunk = [0; 16 << 10];
    loop {
        if let Some(message) = decoder.message()? {
            return Ok(Some(message));
        }
        match reader.read(&mut chunk) {
            Ok(0) => return decoder.finish().map(|()| None),
            Ok(n) => decoder.push(&chunk[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => {
                return Err(FrameError::Io {
                    call: "read",
                    source,
                });
            }
        }
    }
}

/// The first bytes as printable text, for an error message.
pub fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 160;
    let mut text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]).into_owned();
    if bytes.len() > SHOWN {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn decode_all(bytes: &[u8]) -> Result<Vec<Value>, FrameError> {
        let mut reader = bytes;
        let mut decoder = Decoder::default();
        let mut messages = Vec::new();
        while let Some(message) = read(&mut reader, &mut decoder)? {
            messages.push(message);
        }
        Ok(messages)
    }

    #[test]
    fn the_length_is_four_bytes_big_endian() {
        assert_eq!(encode(&json!("ab")).unwrap(), b"\0\0\0\x04\"ab\"");
    }

    #[test]
    fn an_announced_length_beyond_the_limit_is_refused_before_its_body_is_read() {
        let bytes = ((MAX_FRAME + 1) as u32).to_be_bytes();
        assert!(matches!(
            decode_all(&bytes),
            Err(FrameError::TooLarge { length, .. }) if length == MAX_FRAME + 1
        ));
    }

    #[test]
    fn a_message_that_is_small_has_a_limit_of_its_own() {
        let mut decoder = Decoder::default();
        decoder.expect_at_most(3);
        decoder.push(&[0, 0, 0, 4]);
        let error = decoder.message::<Value>().unwrap_err();
        assert!(
            matches!(
                error,
                FrameError::TooLarge {
                    length: 4,
                    allowed: 3,
                    ..
                }
            ),
            "{error}"
        );
    }

    #[test]
    fn a_message_beyond_the_limit_is_not_sent() {
        let long = "x".repeat(MAX_FRAME);
        assert!(matches!(encode(&long), Err(FrameError::TooLarge { .. })));
    }

    #[test]
    fn shell_output_between_frames_is_shown() {
        let error = decode_all(b"bash: warning: something\n").unwrap_err();
        assert!(error.to_string().contains("bash: warning"), "{error}");
    }

    #[test]
    fn a_stream_that_ends_inside_a_frame_says_how_much_is_missing() {
        let frame = encode(&json!({"a": 1})).unwrap();
        for cut in 1..frame.len() {
            let error = decode_all(&frame[..cut]).unwrap_err();
            let FrameError::Truncated { expected, got } = error else {
                panic!("cut at {cut}: {error}");
            };
            assert_eq!(got, cut);
            assert_eq!(expected, if cut < HEADER { HEADER } else { frame.len() });
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_however_the_pipe_cuts_it(
            texts in prop::collection::vec(".{0,200}", 0..8),
            cuts in prop::collection::vec(1usize..64, 1..20),
        ) {
            let mut stream = Vec::new();
            for text in &texts {
                write(&mut stream, text).unwrap();
            }
            let mut decoder = Decoder::default();
            let mut read_back: Vec<String> = Vec::new();
            let mut rest = stream.as_slice();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                decoder.push(now);
                rest = later;
                while let Some(text) = decoder.message().unwrap() {
                    read_back.push(text);
                }
            }
            decoder.finish().unwrap();
            prop_assert_eq!(read_back, texts);
        }

        #[test]
        fn garbage_gives_messages_or_an_error_and_never_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let _ = decode_all(&bytes);
        }
    }
}
