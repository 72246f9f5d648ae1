//! What each end is told.

use std::net::IpAddr;

use hawser_model::copy::{CopyOptions, CopySink, CopySource};
use serde::{Deserialize, Serialize};

use crate::error::CopyError;
use crate::key::CopyKey;

/// What the sending end is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SendSpec {
    /// Where the bytes come from.
    pub source: CopySource,
    /// The sender's own address: the sockets are bound to it, so it selects the link.
    pub from: IpAddr,
    /// The receiver's address.
    pub to: IpAddr,
    /// The receiver's port.
    pub port: u16,
    /// Either end goes past the page cache (`O_DIRECT`): data lies in memory as that wants it.
    pub aligned: bool,
    /// The run's key.
    pub key: CopyKey,
    /// How to copy.
    pub options: CopyOptions,
}

/// What the receiving end is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReceiveSpec {
    /// Where the bytes go.
    pub sink: CopySink,
    /// The receiver's own address: it listens there and nowhere else.
    pub at: IpAddr,
    /// The run's key.
    pub key: CopyKey,
    /// How to copy.
    pub options: CopyOptions,
}

/// The most connections of one copy.
pub(crate) const MOST_STREAMS: u32 = 64;

/// Refuses options that no end could follow.
pub(crate) fn validate(options: &CopyOptions) -> Result<(), CopyError> {
    if !(1..=MOST_STREAMS).contains(&options.streams) {
        return Err(CopyError::Streams(options.streams));
    }
    if !options.chunk.is_power_of_two() || !(1 << 15..=1 << 20).contains(&options.chunk) {
        return Err(CopyError::Chunk(options.chunk));
    }
    Ok(())
}
