//! The per-node process, its protocol and the transports that start it.
