//! What a node says to the coordinator: greeting, marker, then answers, cut anywhere by the pipe.
//!
//! Whatever comes, nothing panics, no more than what arrived is held, and an answer that is
//! understood says the same after it was written and read again.
#![no_main]

use hawser_agent::marker::Scanner;
use hawser_agent::protocol::Response;
use hawser_fuzz::messages;
use libfuzzer_sys::fuzz_target;

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
    messages::<Response>(stream, cut);
});
