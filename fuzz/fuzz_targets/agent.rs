//! What a coordinator says to an agent, or to a client: questions, cut anywhere by the pipe.
//!
//! Whatever comes, nothing panics, no more than what arrived is held, and a question that is
//! understood says the same after it was written and read again.
#![no_main]

use std::sync::LazyLock;

use hawser_fuzz::{Kind, bodies, choice, kinds, read};
use hawser_host::protocol::Message;
use libfuzzer_sys::fuzz_target;

static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(kinds);

fuzz_target!(|data: &[u8]| {
    let Some((kind, cut, stream)) = choice(data, KINDS.len()) else {
        return;
    };
    bodies(stream, cut, |body| {
        read::<Message>(body);
        match serde_json::from_slice(body) {
            // As an agent does it: the name says what the body is.
            Ok(Message::Ask { question, body }) => {
                let named = KINDS.iter().find(|kind| kind.name == question);
                (named.unwrap_or(&KINDS[kind]).question)(body.get().as_bytes());
            }
            _ => (KINDS[kind].question)(body),
        }
    });
});
