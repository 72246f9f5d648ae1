//! Datagrams that the receiver could not put together.

use hawser_model::account::{Basis, Layer};

use super::books::{Books, Entry, Segment};
use super::facts::{PhaseFacts, Side};

/// Books the receiver's failed and unfinished reassemblies, within what is left.
///
/// `ReasmFails` moves only when a datagram times out (30 s) or is refused; until then it
/// waits, and the gauge `frag/inuse` holds it (`net/ipv4/inet_fragment.c`).
pub(crate) fn book(facts: &PhaseFacts<'_>, books: &mut Books) {
    let (_, ip) = facts.families();
    let gauge = if ip == "ip" {
        "frag/inuse"
    } else {
        "frag6/inuse"
    };
    let host = facts.host(Side::Receiver);
    let failed = facts.counter(Side::Receiver, &format!("{ip}/ReasmFails"));
    let waiting = facts.counter(Side::Receiver, gauge);
    let mut known = books.booked(host, Layer::Reassembly);
    for (reason, packets) in [
        (format!("{ip}/ReasmFails"), failed),
        (gauge.to_owned(), waiting),
    ] {
        let already = known.min(packets);
        known -= already;
        books.book(&Entry {
            segment: Segment::ReceiverHost,
            host: Some(host),
            layer: Layer::Reassembly,
            reason: &reason,
            packets: packets - already,
            basis: Basis::Counter,
        });
    }
}
