//! What coordinator and agent say to each other.
//!
//! The coordinator sends a [`Message::Ask`], the agent answers it with exactly one [`Reply`], in
//! order. Two messages have no answer and may come while a question is being worked on:
//! [`Message::Alive`] and [`Message::Stop`].

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use hawser_model::names::HostName;
use hawser_model::traffic::RunKey;

use crate::ask::Ask;

/// Version of the protocol, from the first line of the list of all that goes over it. Any change to a message raises it:
/// coordinator and agent are the same binary unless somebody started another one by hand; the verifying client is built with
/// them.
pub const VERSION: u32 = version(include_str!("protocol.txt"));

/// The number behind the first word of a text.
const fn version(text: &str) -> u32 {
    let bytes = text.as_bytes();
    let (mut at, mut number) = ("version ".len(), 0);
    while bytes[at].is_ascii_digit() {
        number = number * 10 + (bytes[at] - b'0') as u32;
        at += 1;
    }
    number
}

/// How often the coordinator says [`Message::Alive`].
pub const ALIVE_EVERY: Duration = Duration::from_secs(5);

/// An agent that heard nothing for so long ends: a cut network does not close its stdin (sshd
/// notices after its TCP keepalive, two hours by default). The coordinator's own ssh has given up
/// after 15 s; until then what an agent has turned on the link between them may be what cuts it.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(20);

/// What the coordinator says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// A question. Answer: one [`Reply`].
    Ask {
        /// [`Ask::NAME`].
        question: String,
        /// The question itself.
        body: Box<RawValue>,
    },
    /// The coordinator is there. No answer.
    Alive,
    /// The question that is being worked on shall end early; it is answered as usual. Without one, nothing happens. No
    /// answer.
    Stop,
}

/// What the agent says to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply<T> {
    /// Its answer.
    Answer(T),
    /// It could not be done: the call and the object, in the words of who failed. The agent goes on.
    Declined(String),
}

/// The first question: who asks.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`] of the coordinator.
    pub version: u32,
    /// The run's key: travels here and not in an argument list, which anybody can read.
    pub run_key: RunKey,
    /// What the coordinator calls this host.
    pub host: HostName,
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// [`VERSION`] of the agent.
    pub version: u32,
    /// The agent's process id on its host.
    pub pid: u32,
}

impl Welcome {
    /// This process, which answers on its host.
    pub fn here() -> Self {
        Self {
            version: VERSION,
            pid: std::process::id(),
        }
    }
}

impl Ask for Hello {
    type Answer = Welcome;
    const NAME: &'static str = "hello";
}

/// Whether anybody is there.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ping;

impl Ask for Ping {
    type Answer = ();
    const NAME: &'static str = "ping";
}
