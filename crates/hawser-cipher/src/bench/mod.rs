//! What this machine's processor makes of AES: the measurement behind `hawser bench cipher`.
//!
//! Every mode, key size, chunk and layout of buffers, on one thread and on all, by this crate and (with
//! the feature `openssl`) by OpenSSL's libcrypto through the same interface that programs use. All
//! layouts of a line, ours and OpenSSL's, take turns of a few milliseconds, so that a machine that
//! is busy or changes its clock treats them alike; what is reported is the median of the rounds.

mod arena;
mod contender;
mod longest;
#[cfg(feature = "openssl")]
mod openssl;
mod plan;
mod rounds;
mod row;
mod share;

use crate::error::CipherError;

pub use plan::Plan;
pub use row::{Layout, Row};
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
pub fn run(plan: &Plan, mut progress: impl FnMut(usize, usize)) -> Result<Vec<Row>, CipherError> {
    let groups = plan.groups();
    let mut rows = Vec::new();
    for (done, group) in groups.iter().enumerate() {
        progress(done, groups.len());
        rows.extend(rounds::measure(group, plan)?);
    }
    progress(groups.len(), groups.len());
    Ok(rows)
}
