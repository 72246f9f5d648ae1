//! What the targets share.

use hawser_host::frame::{Decoder, encode};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What the first byte of an input says of the others: which of `kinds` they are read as, and in pieces of what size
/// they come.
pub fn choice(byte: u8, kinds: usize) -> (usize, usize) {
    let cut = [1, 7, 64, usize::MAX][usize::from(byte >> 6)];
    (usize::from(byte & 63) % kinds, cut)
}

/// Takes the bodies of frames out of bytes that come in pieces of `cut`.
pub fn bodies(stream: &[u8], cut: usize, read: impl Fn(&[u8])) {
    // A mutated length hides the body behind it: the bytes are tried as a body as well.
    read(stream);
    let mut decoder = Decoder::default();
    for chunk in stream.chunks(cut) {
        decoder.push(chunk);
        loop {
            match decoder.body() {
                Ok(Some(body)) => read(&body),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
    // Says whether it ended inside a frame; either is fine here.
    let _ = decoder.finish();
}

/// Reads a body as a message of one kind.
///
/// # Panics
/// A message that was understood does not say the same after it was written and read again.
pub fn read<T: Serialize + DeserializeOwned>(body: &[u8]) {
    let Ok(message) = serde_json::from_slice::<T>(body) else {
        return;
    };
    let frame = encode(&message).expect("what was read can be written");
    let mut decoder = Decoder::default();
    decoder.push(&frame);
    let again: T = decoder
        .message()
        .expect("what was written can be read")
        .expect("all of it is there");
    assert_eq!(encode(&again).expect("and written again"), frame);
}
