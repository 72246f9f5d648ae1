//! What can go wrong, by call and object.

use std::io;

use hawser_cipher::CipherError;
use hawser_files::FileError;

use crate::spec::MOST_STREAMS;

/// Why a copy failed.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A system call failed on a file or device.
    #[error("{call} {object}: {source}")]
    File {
        /// The call.
        call: &'static str,
        /// The path.
        object: String,
        /// Why.
        source: io::Error,
    },
    /// A file of the destination's is not touched because of what it is.
    #[error(transparent)]
    Files(#[from] FileError),
    /// The destination is a link, of which nobody knows where it leads by the time the copy is done.
    #[error("{0} is a symbolic link: name the file itself")]
    Link(String),
    /// The source is not what it was at the start.
    #[error(
        "{path} was changed while it was copied ({how}): the copy is not complete. A destination file is as it \
         was, and the next run sends only what differs; a destination device holds a part of the copy. --live \
         accepts a source that is written to"
    )]
    Changed {
        /// The source.
        path: String,
        /// What of it.
        how: String,
    },
    /// The sender's source was changed; the sender says more.
    #[error("the source was changed while it was copied: the copy is not complete")]
    Withdrawn,
    /// The connection could not be made or broke.
    #[error("{call} {object}: {source}")]
    Connection {
        /// The call.
        call: &'static str,
        /// The address.
        object: String,
        /// Why.
        source: io::Error,
    },
    /// The peer closed the connection before it was done.
    #[error("{0} closed the connection")]
    Closed(String),
    /// Not all connections of the run came.
    #[error(
        "{came} of {expected} connections came within {seconds} s (and {foreign} without the run's key)"
    )]
    NotConnected {
        /// So many came.
        came: usize,
        /// So many were expected.
        expected: u32,
        /// How long they were waited for.
        seconds: u64,
        /// Refused ones.
        foreign: u64,
    },
    /// What came is not this protocol.
    #[error("from {peer}: {what}")]
    Protocol {
        /// Who sent it.
        peer: String,
        /// What is wrong with it.
        what: String,
    },
    /// A block did not arrive as it was read.
    #[error(
        "checksum of bytes {start} to {end}: {sent:032x} was sent and {got:032x} arrived: the copy is not complete"
    )]
    Checksum {
        /// First byte.
        start: u64,
        /// Byte after the last.
        end: u64,
        /// The sender's.
        sent: u128,
        /// Ours.
        got: u128,
    },
    /// The two ends do not agree on the whole.
    #[error("the ends disagree on the whole: {ours:032x} here, {theirs:032x} at {peer}")]
    Whole {
        /// Ours.
        ours: u128,
        /// The receiver's.
        theirs: u128,
        /// The receiver.
        peer: String,
    },
    /// Something is there already.
    #[error("{0} exists; --force replaces it")]
    Exists(String),
    /// The disk did not take all of it.
    #[error(
        "fsync {path}: {source}. Nothing of it is kept: from now on nobody can tell what of it the disk has"
    )]
    NotDurable {
        /// The destination.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Neither file, directory nor block device.
    #[error("{path} is a {kind}; {allowed} can be copied {direction}")]
    Kind {
        /// The path.
        path: String,
        /// What it is.
        kind: &'static str,
        /// What it may be.
        allowed: &'static str,
        /// `from` or `to`.
        direction: &'static str,
    },
    /// A device is smaller than the source.
    #[error("{path} has {room} bytes, the source {size}")]
    TooSmall {
        /// The device.
        path: String,
        /// Its size.
        room: u64,
        /// What should go there.
        size: u64,
    },
    /// Another copy writes there.
    #[error("another copy to {0} is running")]
    Busy(String),
    /// The source became shorter while it was read.
    #[error("{path} ended at byte {at} of {size}: it was changed while it was copied")]
    Shrunk {
        /// The source.
        path: String,
        /// Where it ends now.
        at: u64,
        /// Where it ended at the start.
        size: u64,
    },
    /// The source's size is not that of what is in it.
    #[error(
        "{path} does not hold the {size} bytes that its size says, as files of /proc and /sys do not: it cannot be copied"
    )]
    NoSize {
        /// The source.
        path: String,
        /// Its size, as stat(2) tells it.
        size: u64,
    },
    /// Encryption failed, or what came was not encrypted with the run's key.
    #[error("cipher, stream {stream}: {source}")]
    Cipher {
        /// Which stream.
        stream: u32,
        /// Why.
        source: CipherError,
    },
    /// More streams than are possible, or none.
    #[error("{0} streams: from 1 to {MOST_STREAMS} are possible")]
    Streams(u32),
    /// Not a size that frames can have.
    #[error("chunks of {0} bytes: powers of two from 32768 to 1048576 are possible")]
    Chunk(u32),
    /// Storage that cannot be read or written over and over.
    #[error("{0}")]
    Storage(String),
    /// The coordinator wants it to end.
    #[error("stopped")]
    Stopped,
    /// A thread of the copy panicked.
    #[error("the {0} thread panicked")]
    Thread(&'static str),
}

impl CopyError {
    /// For `map_err`: a call on a file.
    pub(crate) fn file<E: Into<io::Error>>(
        call: &'static str,
        object: impl std::fmt::Display,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::File {
            call,
            object: object.to_string(),
            source: source.into(),
        }
    }

    /// For `map_err`: a call on a connection.
    pub(crate) fn connection<E: Into<io::Error>>(
        call: &'static str,
        object: impl std::fmt::Display,
    ) -> impl FnOnce(E) -> Self {
        move |source| {
            let source: io::Error = source.into();
            if source.kind() == io::ErrorKind::UnexpectedEof {
                return Self::Closed(object.to_string());
            }
            Self::Connection {
                call,
                object: object.to_string(),
                source,
            }
        }
    }

    /// Whether the other end may know better what happened.
    pub fn is_connection(&self) -> bool {
        matches!(
            self,
            Self::Connection { .. }
                | Self::Closed(_)
                | Self::NotConnected { .. }
                | Self::Stopped
                | Self::Withdrawn
        )
    }
}
