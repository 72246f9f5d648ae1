//! Reading a host (counters, drop reasons, sockets, interfaces) and turning its knobs, every change
//! journalled before it is made. It does not judge.
//!
//! An [`Observer`] holds every collector that can run on this host and says of the others why
//! they cannot. [`Observer::open`] and [`Observer::close`] bracket a measurement; what moved in
//! between is a [`hawser_model::host::HostWindow`].
//!
//! Everything is read in the network, pid and mount namespace of the calling thread, so an
//! `Observer` is started and used on one thread, or on threads of the same namespaces.
#![deny(unsafe_code)]

mod collectors;
pub mod descriptors;
mod error;
mod ethtool;
mod host;
mod journal;
mod knobs;
mod netlink;
mod observer;
mod proc;
mod processors;
mod program;
mod sys;
mod tally;

pub use collectors::counters::{host_counters, softnet_counters};
pub use collectors::sockets::udp_sockets;
pub use error::KernelError;
pub use host::{
    CertificateReader, LostPings, StorageReader, clock, corosync_facts, corosync_pid,
    corosync_stats, hardware, host_facts, host_setup, interfaces, interfaces_and_counts,
    storage_client, surroundings, validity,
};
pub use journal::{Arm, Journal, Owner, watch as guard};
pub use knobs::{Knobs, receivers};
pub use observer::Observer;
pub use processors::Processors;
pub use tally::{Tallied, Tally};
