//! The traffic engine: probe packets at a set rate, and what became of them.
//!
//! A flow has two ends, each on its own host: a [`Receiver`] is opened first and tells its
//! port, a [`Sender`] runs towards that port for the time the specification says, and the
//! receiver is finished with the number of packets sent. Nothing here knows why a packet was
//! lost; the reports say which, when, and what the sockets themselves counted.
//!
//! Pure and usable without a network: [`packet`], [`sequence`], [`jitter`], [`pacing`],
//! [`tally`], [`transit`], [`drain`], [`packet_memory`]. The operating system is behind [`Sender`],
//! [`Receiver`], [`path_mtu`] and [`hello`], and its unsafe calls in one private module.
#![deny(unsafe_code)]

mod clock;
mod counting;
pub mod drain;
mod error;
pub mod frames;
pub mod hello;
pub mod histogram;
pub mod jitter;
pub mod multicast;
pub mod own_address;
pub mod pacing;
pub mod packet;
pub mod packet_memory;
pub mod path_mtu;
mod receiver;
mod refusals;
mod sender;
pub mod sequence;
mod socket;
mod sys;
pub mod tally;
mod tcp;
mod thread;
pub mod transit;
mod udp;
mod waiting;

pub use counting::CountingReceiver;
pub use error::{LARGEST_PAYLOAD, WireError};
pub use path_mtu::{PathMtuResponder, search_echoed_mtu, search_path_mtu};
pub use receiver::Receiver;
pub use sender::Sender;
