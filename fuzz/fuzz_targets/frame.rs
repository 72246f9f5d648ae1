//! The agent's stream from the other side: marker, then frames, cut anywhere by the pipe.
//!
//! Whatever comes, nothing panics, no more than what arrived is held, and a message that is
//! understood says the same after it was written and read again.
#![no_main]

use hawser_agent::frame::{Decoder, encode};
use hawser_agent::marker::Scanner;
use hawser_agent::protocol::{Request, Response};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

fuzz_target!(|data: &[u8]| {
    let Some((&cut, stream)) = data.split_first() else {
        return;
    };
    let cut = usize::from(cut).max(1);
    let mut scanner = Scanner::default();
    for chunk in stream.chunks(cut) {
        match scanner.push(chunk) {
            Ok(None) => {}
            Ok(Some((_, rest))) => {
                assert!(rest.len() <= chunk.len());
                break;
            }
            Err(_) => break,
        }
    }
    messages::<Request>(stream, cut);
    messages::<Response>(stream, cut);
});

fn messages<T: Serialize + DeserializeOwned>(stream: &[u8], cut: usize) {
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
