//! What a watch can be asked by the watches of the other heads: nothing that changes anything.

use std::time::Duration;

use hawser_cluster::host::questions::{ListKeptLogs, ReadKeptLog};
use hawser_host::protocol::{Reply, VERSION};
use hawser_host::{Ask, Host, Question, Size};
use hawser_model::names::HostName;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::board::Board;
use crate::shown::Shown;

/// What a watch shows of its head.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadWatched;

impl Ask for ReadWatched {
    /// Absent before the first reading.
    type Answer = Option<Shown>;
    const NAME: &'static str = "what the watch shows";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = Duration::from_secs(5);

    fn may_say(answer: &Self::Answer, host: &HostName) -> bool {
        let shown = answer.iter();
        let mut heads = shown.flat_map(|shown| {
            let read = shown.reading.heads.iter().map(|head| &head.name);
            read.chain(shown.heads.keys())
        });
        heads.all(|head| head == host)
    }
}

/// A question on its way, with the version of the protocol that its type belongs to.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub version: u32,
    pub question: String,
    pub body: Box<RawValue>,
}

/// What comes back: the JSON of a [`Reply`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Response {
    pub version: u32,
    pub reply: Box<RawValue>,
}

/// Who answers on a head: what its watch shows, and what it has kept of incidents.
pub struct Answering {
    board: Board,
    own: Box<dyn Host>,
}

impl Answering {
    /// By what the watch shows, and this head.
    pub fn new(board: Board, own: Box<dyn Host>) -> Self {
        Self { board, own }
    }

    /// The answer to a request, as bytes of JSON.
    pub(super) fn answer(&mut self, request: &[u8]) -> Vec<u8> {
        let reply = match serde_json::from_slice::<Request>(request) {
            Ok(request) if request.version == VERSION => self.reply(request),
            Ok(_) => declined("another version of Hawser"),
            Err(_) => declined("not understood"),
        };
        let version = VERSION;
        serde_json::to_vec(&Response { version, reply }).unwrap_or_default()
    }

    fn reply(&mut self, request: Request) -> Box<RawValue> {
        if request.question == ReadWatched::NAME {
            let shown = self.board.newest();
            return to_raw_value(&Reply::Answer(shown.as_deref()))
                .unwrap_or_else(|_| declined("no JSON"));
        }
        let Some((name, size)) = of_incidents(&request.question) else {
            return declined("a watch answers no such question");
        };
        let question = Question {
            name,
            patience: Duration::MAX,
            size,
            body: request.body,
        };
        match self.own.exchange(&question) {
            Ok(reply) => String::from_utf8(reply)
                .ok()
                .and_then(|reply| RawValue::from_string(reply).ok())
                .unwrap_or_else(|| declined("no JSON")),
            Err(e) => declined(&e.failure.to_string()),
        }
    }
}

/// The questions that are put on to the head itself.
fn of_incidents(question: &str) -> Option<(&'static str, Size)> {
    fn of<A: Ask>() -> (&'static str, Size) {
        (A::NAME, A::SIZE)
    }
    let all = [of::<ListKeptLogs>(), of::<ReadKeptLog>()];
    all.into_iter().find(|(name, _)| *name == question)
}

fn declined(words: &str) -> Box<RawValue> {
    let reply = Reply::<()>::Declined(words.to_owned());
    to_raw_value(&reply).expect("words are JSON")
}
