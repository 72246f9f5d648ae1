//! Words on what happens to packets on their way between the hosts.

use super::{Told, Words, counted, reason};

pub(super) fn reassembly_failure(f: &Told<'_>) -> Words {
    let fragments = f.count("fragments_per_datagram");
    Words {
        text: format!(
            "{} could not put together {} from {}{}{}: {} refused or timed out, {} still \
             waiting for a fragment. A datagram of {} is lost with any one of them.",
            f.host(),
            f.lost(),
            f.peer(),
            f.on_link(),
            reason(f),
            counted(f.count("reassembly_failures"), "fragment"),
            counted(f.count("unfinished_datagrams"), "datagram"),
            counted(fragments, "fragment"),
        ),
        fix: format!(
            "Send smaller datagrams or raise the link's MTU, so that nothing is cut. If memory \
             is short ({} now): `sysctl -w net.ipv4.ipfrag_high_thresh=8388608`. A filter that \
             drops later fragments, which carry no port, does the same.",
            f.bytes("ipfrag_high_thresh_bytes")
                .unwrap_or_else(|| "net.ipv4.ipfrag_high_thresh not read".to_owned()),
        ),
    }
}
