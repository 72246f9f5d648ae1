//! What the targets share.

use hawser_agent::questions as agent;
use hawser_client::questions as client;
use hawser_cluster::host::questions as cluster;
use hawser_host::frame::{Decoder, encode};
use hawser_host::protocol::Reply;
use hawser_host::{Ask, OfEach};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How the bodies of a question are read, and those of its replies.
pub struct Kind {
    /// The question's name.
    pub name: &'static str,
    /// Reads the question.
    pub question: fn(&[u8]),
    /// Reads a reply to it.
    pub reply: fn(&[u8]),
}

struct Kinds(Vec<Kind>);

impl OfEach for Kinds {
    fn question<A: Ask>(&mut self) {
        self.0.push(Kind {
            name: A::NAME,
            question: read::<A>,
            reply: read::<Reply<A::Answer>>,
        });
    }
}

/// Every question that an agent or a client answers.
pub fn kinds() -> Vec<Kind> {
    let mut kinds = Kinds(Vec::new());
    agent::each_question(&mut kinds);
    cluster::each_question(&mut kinds);
    client::each_question(&mut kinds);
    kinds.0
}

/// What the first two bytes of an input say of the others: the number of what they are read as, and the size of the
/// pieces in which they come.
pub fn choice(data: &[u8], kinds: usize) -> Option<(usize, usize, &[u8])> {
    let (&[kind, cut], stream) = data.split_first_chunk()?;
    let cut = [1, 7, 64, usize::MAX][usize::from(cut % 4)];
    Some((usize::from(kind) % kinds, cut, stream))
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
