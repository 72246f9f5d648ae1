//! What a node says to the coordinator: greeting, marker, then answers, cut anywhere by the pipe.
//!
//! Whatever comes, nothing panics, no more than what arrived is held, and an answer that is
//! understood says the same after it was written and read again.
#![no_main]

use std::sync::LazyLock;

use hawser_fuzz::{Kind, bodies, choice, kinds};
use hawser_host::marker::Scanner;
use libfuzzer_sys::fuzz_target;

static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(kinds);

fuzz_target!(|data: &[u8]| {
    let Some((kind, cut, stream)) = choice(data, KINDS.len()) else {
        return;
    };
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
    bodies(stream, cut, KINDS[kind].reply);
});
