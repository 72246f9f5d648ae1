//! The watch of another head, asked as any host.

use std::net::SocketAddr;

use hawser_host::frame::{FrameError, excerpt};
use hawser_host::protocol::VERSION;
use hawser_host::{Failure, Host, HostError, Question, Stopper};
use hawser_model::names::HostName;

use super::channel::{Channel, ChannelError};
use super::questions::{Request, Response};
use super::{Ring, key};

/// The watch of another head, reached over a heartbeat link.
pub struct Peer {
    name: HostName,
    channel: Option<Channel>,
}

impl Peer {
    /// Reaches the watch of that head, over the first link on which it answers.
    ///
    /// # Errors
    /// This head has no key, or it answers on no link: why, link by link.
    pub fn connect(ring: &Ring, name: &HostName) -> Result<Self, HostError> {
        let unreachable = |said: String| Failure::Unreachable { said }.on(name);
        let key = key::read(&ring.secret).map_err(|e| unreachable(e.to_string()))?;
        let meant = ring.meant(name);
        let addresses: &[SocketAddr] = ring.others.get(name).map_or(&[], Vec::as_slice);
        let mut why = Vec::new();
        for address in addresses {
            match Channel::connect(*address, &key, &meant) {
                Ok(channel) => {
                    return Ok(Self {
                        name: name.clone(),
                        channel: Some(channel),
                    });
                }
                Err(e) => why.push(format!("{address}: {e}")),
            }
        }
        if why.is_empty() {
            let words = "the cluster file has no address of it on a heartbeat link";
            why.push(words.to_owned());
        }
        Err(unreachable(why.join("; ")))
    }

    fn converse(&mut self, question: &Question) -> Result<Vec<u8>, Failure> {
        let name = question.name;
        let channel = self.channel.as_mut();
        let channel = channel.ok_or(Failure::Gone {
            question: name,
            earlier: None,
        })?;
        let unreadable = |source, bytes: &[u8]| Failure::Frame {
            question: name,
            source: FrameError::NotMessage {
                source,
                start: excerpt(bytes),
            },
            said: String::new(),
        };
        let request = Request {
            version: VERSION,
            question: name.to_owned(),
            body: question.body.clone(),
        };
        let request = serde_json::to_vec(&request).map_err(|e| unreadable(e, &[]))?;
        let failed = |e: ChannelError| match e {
            ChannelError::Late => Failure::Timeout {
                question: name,
                after: question.patience,
                said: String::new(),
            },
            e => Failure::Ended {
                question: name,
                said: format!(": {e}"),
            },
        };
        channel.send(&request, question.patience).map_err(failed)?;
        let response = channel.receive(question.size.bytes(), question.patience);
        let bytes = response.map_err(failed)?;
        let response: Response =
            serde_json::from_slice(&bytes).map_err(|e| unreadable(e, &bytes))?;
        match response.version == VERSION {
            true => Ok(response.reply.get().as_bytes().to_vec()),
            false => Err(Failure::OtherVersion {
                theirs: response.version.to_string(),
                ours: VERSION,
            }),
        }
    }
}

impl Host for Peer {
    fn name(&self) -> &HostName {
        &self.name
    }

    fn exchange(&mut self, question: &Question) -> Result<Vec<u8>, HostError> {
        let answer = self.converse(question);
        answer.map_err(|failure| {
            self.let_go();
            failure.on(&self.name)
        })
    }

    fn is_lost(&mut self) -> bool {
        self.channel.as_ref().is_none_or(Channel::is_closed)
    }

    fn let_go(&mut self) {
        self.channel = None;
    }

    fn stopper(&self) -> Stopper {
        // What a watch is asked it answers from what it has.
        Stopper::new(|| {})
    }
}
