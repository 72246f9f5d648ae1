//! The largest IP packet a directed path carries: don't-fragment probes of many sizes, each
//! believed only when the other end confirms it.
//!
//! A hop with too small an MTU may be *silent*: the kernel takes the packet, nothing comes
//! back, not even an ICMP message. So nothing but a confirmed arrival counts as passed, and
//! a size is given up only after several tries, since a packet may be lost for other reasons.
//! A responder's confirmations are small, so the way back does not matter. Where nobody responds the other end's kernel does
//! ([`search_echoed_mtu`]), with answers of the same size.

mod end;
mod holes;
mod hops;
mod icmp;
mod probing;
mod responder;
mod strategy;

pub(crate) use holes::turn;
pub use probing::{search_echoed_mtu, search_path_mtu};
pub use responder::PathMtuResponder;
pub use strategy::Strategy;

use hawser_model::traffic::FlowId;

/// Flow number of the probes; no measured flow has it.
const PROBES: FlowId = FlowId(u32::MAX);

/// Flow number of the confirmations, so that two ends never answer each other's answers.
const CONFIRMATIONS: FlowId = FlowId(u32::MAX - 1);
