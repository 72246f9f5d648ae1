//! Flows of one TCP stream.
//!
//! The stream begins with one probe header, by which the receiver knows it from foreign
//! connections; then come writes of the flow's payload size until the duration is over. The
//! kernel repairs what the path loses, so the sender's report tells bytes and retransmitted
//! segments, and the receiver's bytes read; `sent` and `received` count whole writes.

pub(crate) mod receive;
pub(crate) mod send;
