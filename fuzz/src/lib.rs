//! What the targets share.

use hawser_agent::frame::{Decoder, encode};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads messages from bytes that come in pieces of `cut`, with and without the frames around them.
///
/// # Panics
/// A message that was understood does not say the same after it was written and read again.
pub fn messages<T: Serialize + DeserializeOwned>(stream: &[u8], cut: usize) {
    // A mutated length hides the body behind it: the bytes are tried as a body as well.
    if let Ok(message) = serde_json::from_slice::<T>(stream) {
        said_again(&message);
    }
    let mut decoder = Decoder::default();
    for chunk in stream.chunks(cut) {
        decoder.push(chunk);
        loop {
            match decoder.message::<T>() {
                Ok(Some(message)) => said_again(&message),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
    // Says whether it ended inside a frame; either is fine here.
    let _ = decoder.finish();
}

fn said_again<T: Serialize + DeserializeOwned>(message: &T) {
    let frame = encode(message).expect("what was read can be written");
    let mut decoder = Decoder::default();
    decoder.push(&frame);
    let again: T = decoder
        .message()
        .expect("what was written can be read")
        .expect("all of it is there");
    assert_eq!(encode(&again).expect("and written again"), frame);
}
