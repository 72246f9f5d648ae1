//! In how many frames a block goes.

use std::collections::BTreeMap;

use hawser_model::case::Case;
use hawser_model::names::LinkName;
use hawser_model::units::{Bytes, Mtu};

/// The largest UDP payload over IPv4: 65 535 bytes less both headers (RFC 791, RFC 768).
const LARGEST_DATAGRAM: u64 = 65_507;

/// In how many frames a block goes through an MTU, as one datagram of IPv4, or as few where it is too large for one;
/// absent for an MTU that is none.
pub(crate) fn frames_a_block(block: Bytes, mtu: Mtu) -> Option<u64> {
    // RFC 791: each fragment but the last carries a multiple of 8 bytes.
    let room = u64::from(mtu.0.checked_sub(20)? & !7);
    let frames = |payload: u64| (payload + 8).div_ceil(room);
    if room == 0 || block.is_zero() {
        return None;
    }
    let whole = block.0 / LARGEST_DATAGRAM * frames(LARGEST_DATAGRAM);
    Some(match block.0 % LARGEST_DATAGRAM {
        0 => whole,
        rest => whole + frames(rest),
    })
}

/// In how many frames a block goes over each link, on its smallest path.
pub(crate) fn frames(case: &Case, block: Bytes) -> BTreeMap<LinkName, u64> {
    let mut most = BTreeMap::new();
    for measured in &case.measurements {
        let passed = measured.path_mtu.as_ref().and_then(|path| path.passed);
        if let Some(frames) = passed.and_then(|mtu| frames_a_block(block, mtu)) {
            let known = most.entry(measured.link.clone()).or_insert(frames);
            *known = frames.max(*known);
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_larger_than_a_datagram_goes_in_several() {
        let frames = |block: u64, mtu| frames_a_block(Bytes(block), Mtu(mtu));
        assert_eq!(frames(8 << 10, 1_500), Some(6));
        assert_eq!(frames(8 << 10, 9_000), Some(1));
        // Two of 65 507 bytes in 45 frames each, and 58 bytes.
        assert_eq!(frames(128 << 10, 1_500), Some(91));
        assert_eq!(frames(65_507, 1_500), Some(45));
        assert_eq!(frames(8 << 10, 20), None);
        assert_eq!(frames(0, 1_500), None);
    }
}
