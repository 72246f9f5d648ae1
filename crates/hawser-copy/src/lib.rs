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
mod frame;
mod key;
mod message;
mod pipe;
pub mod plan;
mod producer;
mod progress;
mod receiver;
mod sampler;
mod sender;
mod sink;
mod source;
mod spec;
mod state;
mod sys;
mod tcp;
mod writer;
mod zero_copy;

pub use error::CopyError;
pub use key::CopyKey;
pub use progress::{Now, Running};
pub use receiver::Receiver;
pub use sender::send;
pub use spec::{ReceiveSpec, SendSpec};
