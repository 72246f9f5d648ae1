//! Flows of UDP datagrams, unicast and multicast.

pub(crate) mod echoes;
pub(crate) mod read;
pub(crate) mod receive;
pub(crate) mod send;
pub(crate) mod transmit;
