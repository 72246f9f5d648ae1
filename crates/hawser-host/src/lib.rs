//! The door to a host.
//!
//! A question is a type that names its answer ([`Ask`]); [`Host`] is the only way in which anything is asked of a
//! machine. Whoever asks does not know what stands behind it: an agent over the operator's own `ssh` or over a command
//! ([`Agent`], [`transport`]), or a host that is [simulated](sim). There is no control port: agent and coordinator speak
//! length-framed JSON on standard input and output, one question, one answer ([`protocol`]).
#![forbid(unsafe_code)]

pub mod answer;
pub mod ask;
pub mod client;
pub mod clock;
mod enough;
pub mod error;
pub mod frame;
pub mod host;
pub mod hosts;
pub mod marker;
mod own;
pub mod protocol;
pub mod sent_copy;
pub mod server;
pub mod sim;
pub mod site;
pub mod stop;
pub mod transport;

pub use answer::{Answers, Declined, Entry, OfEach, answer_from};
pub use ask::{Ask, SLOW, SOON, Size};
pub use client::Agent;
pub use clock::{Beside, Clock};
pub use enough::until_enough;
pub use error::{Failure, HostError};
pub use host::{Host, Question, Stopper};
pub use hosts::{Hosts, Reach, Reconnecting, at_once, clock, connect_missing, on_all};
pub use own::Own;
pub use stop::{Progress, Stop};
