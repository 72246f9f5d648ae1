//! What can go wrong, by call and object.

use std::io;
use std::net::IpAddr;

use thiserror::Error;

use crate::packet::HEADER_BYTES;

/// The largest payload of a UDP datagram over IPv4: 65 535 less 20 and 8 bytes of headers.
pub const LARGEST_PAYLOAD: u32 = 65_507;

/// Why traffic could not be opened or run. Packets the kernel refuses are not errors: they
/// are counted in the reports.
#[derive(Debug, Error)]
pub enum WireError {
    /// A system call failed on something.
    #[error("{call} {object}: {source}")]
    Call {
        /// The call and its option: `setsockopt SO_RCVBUF`.
        call: &'static str,
        /// On what: an address, an interface.
        object: String,
        /// Why.
        source: io::Error,
    },
    /// No interface of this host has the address.
    #[error("no interface of this host has the address {0}")]
    NoInterface(IpAddr),
    /// Addresses of one flow are of different families.
    #[error("{0} and {1} are of different address families")]
    Families(IpAddr, IpAddr),
    /// The payload cannot hold the probe header or exceeds a datagram.
    #[error("payload of {0} bytes: from {HEADER_BYTES} to {LARGEST_PAYLOAD} are possible")]
    Payload(u32),
    /// The address was to be a multicast group.
    #[error("{0} is not a multicast group")]
    NotMulticast(IpAddr),
    /// A thread of the engine panicked.
    #[error("the {0} thread panicked")]
    Thread(&'static str),
    /// A stream has no packets that could be echoed, nor a group it could go to.
    #[error("a TCP flow can neither be echoed nor multicast")]
    Stream,
}

impl WireError {
    /// For `map_err`: names the call and the object of an I/O error.
    pub(crate) fn call<E: Into<io::Error>>(
        call: &'static str,
        object: impl std::fmt::Display,
    ) -> impl FnOnce(E) -> Self {
        let object = object.to_string();
        move |source| Self::Call {
            call,
            object,
            source: source.into(),
        }
    }
}
