//! The catalogue of a ladder's causes: one file each, one line each in [`CAUSES`].
//!
//! They are asked in the order of the list, and each sees what was found before it: a node that
//! is held back by a quota also looks like a path with a rate limit.

use hawser_model::finding::Finding;

use super::view::LadderView;

mod cipher_below_link;
mod cipher_chained;
mod cipher_without_instructions;
mod congestion_control;
mod cpu_limit;
mod kernel_cipher_slow;
mod not_measured;
mod path_mtu;
mod policer;
mod rate_limit;
mod single_stream;
mod small_frames;
mod softirq_core;
mod speed_below_peer;
mod storage_below_link;
mod unit_below_link;
mod window;

/// A cause.
pub(super) struct LadderCause {
    /// Its code: kebab-case, documented in `docs/causes/CODE.md`, never renamed.
    pub(super) code: &'static str,
    /// Looks for it, knowing what was found before.
    pub(super) find: fn(&LadderView<'_>, &[Finding]) -> Vec<Finding>,
}

/// All causes, in the order in which they are asked.
pub(super) const CAUSES: &[LadderCause] = &[
    not_measured::CAUSE,
    cpu_limit::CAUSE,
    speed_below_peer::CAUSE,
    path_mtu::CAUSE,
    window::CAUSE,
    policer::CAUSE,
    rate_limit::CAUSE,
    small_frames::CAUSE,
    softirq_core::CAUSE,
    congestion_control::CAUSE,
    single_stream::CAUSE,
    storage_below_link::CAUSE,
    unit_below_link::CAUSE,
    cipher_without_instructions::CAUSE,
    cipher_chained::CAUSE,
    cipher_below_link::CAUSE,
    kernel_cipher_slow::CAUSE,
];

/// Whether one of these was found.
fn any(found: &[Finding], codes: &[&str]) -> bool {
    found.iter().any(|f| codes.contains(&f.code.as_str()))
}
