//! Streams a file, block device or generated memory over TCP between two hosts: several
//! connections, optional AES-GCM, a checksum verified at both ends, holes that stay holes, and a
//! copy that was interrupted goes on where it was.
//!
//! [`Receiver`] is opened first and tells its port; [`send`] connects to it. Both run in threads
//! of their own behind a [`Running`], which says how far they are and gives the end's report with
//! the time each stage was busy.
//!
//! The source is cut into blocks ([`plan::block_size`]); streams take the next block when they are
//! done with one. A block is the unit of the checksum and of resuming.
#![deny(unsafe_code)]

mod error;
mod facts;
mod frame;
mod key;
mod message;
mod pipe;
pub mod plan;
mod producer;
mod progress;
mod receiver;
mod sampler;
mod seal;
mod sender;
mod sink;
mod source;
mod spec;
mod state;
pub mod storage;
mod sys;
mod tcp;
mod threads;
mod writer;
mod zero_copy;

pub use error::CopyError;
pub use key::CopyKey;
pub use progress::{Now, Running};
pub use receiver::Receiver;
pub use sender::send;
pub use spec::{ReceiveSpec, SendSpec};

/// The checksum of a block, as both ends of a copy compute it: XXH3-128.
pub fn checksum(data: &[u8]) -> u128 {
    twox_hash::XxHash3_128::oneshot(data)
}
