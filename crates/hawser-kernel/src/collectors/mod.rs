//! The collectors: one file or folder each, its eBPF source beside it where it has one.

pub(crate) mod answers;
pub(crate) mod counters;
pub(crate) mod drop_reasons;
mod ebpf;
pub(crate) mod flows;
pub(crate) mod neighbours;
pub(crate) mod sockets;
pub(crate) mod tap;
