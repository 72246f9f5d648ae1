//! What this machine's processor makes of AES: the measurement behind `hawser bench cipher`.
//!
//! Every mode, key size, chunk and layout of buffers, on one thread and on all, by this crate, by AWS-LC
//! without this crate's data path and (with the feature `openssl`) by OpenSSL's libcrypto, both through
//! the interface that programs use. All layouts of a line and all three take turns of a millisecond,
//! so that a machine that is busy or changes its clock treats them alike; what is reported is the
//! median of the rounds. The kernel's own AES (AF_ALG) takes its turns too, over contiguous buffers, where
//! it offers any.

mod arena;
#[cfg(feature = "aws-lc")]
mod aws_lc;
mod contender;
mod kernel;
mod longest;
#[cfg(feature = "openssl")]
mod openssl;
mod plan;
mod rounds;
mod row;
mod share;

use std::time::Instant;

use crate::error::CipherError;

pub use plan::BenchPlan;
pub use row::{Layout, Peer, Row};
pub use share::{LINKS_GBIT, LinkShare, link_shares};

/// The version of OpenSSL that is measured beside ours, if this build has one.
pub fn openssl_version() -> Option<&'static str> {
    #[cfg(feature = "openssl")]
    return Some(::openssl::version::version());
    #[cfg(not(feature = "openssl"))]
    None
}

/// Measures what `plan` says. `progress` is told the groups done and the groups there are.
///
/// # Errors
/// The first [`CipherError`] of any operation: then nothing of the run is worth reporting.
pub fn run(
    plan: &BenchPlan,
    mut progress: impl FnMut(usize, usize),
) -> Result<Vec<Row>, CipherError> {
    let groups = plan.groups();
    let end = Instant::now() + plan.limit;
    let mut rows = Vec::new();
    for (done, group) in groups.iter().enumerate() {
        progress(done, groups.len());
        let left = end.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(groups.len() - done).unwrap_or(u32::MAX);
        rows.extend(rounds::measure(group, plan, share)?);
    }
    progress(groups.len(), groups.len());
    Ok(rows)
}
