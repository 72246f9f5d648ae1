//! Counters of the sending host that may hold losses of the flow.

use hawser_model::account::Layer;

use super::{Candidate, filter_rules};
use crate::packets::books::{Books, Segment};
use crate::packets::facts::{PhaseFacts, Side};

/// The candidates, each loss once: a queue's drop is also `ip/OutDiscards` and
/// `udp/SndbufErrors`, a veth's `tx_dropped` also its peer's backlog or ring.
pub(super) fn candidates(facts: &PhaseFacts<'_>, books: &Books) -> Vec<Candidate> {
    let (udp, ip) = facts.families();
    let mut found = Vec::new();
    let mut add = |segment, layer, reason: String, moved: u64, eventless| {
        if moved > 0 {
            found.push(Candidate {
                side: Side::Sender,
                segment,
                layer,
                reason,
                moved,
                eventless,
            });
        }
    };

    let unit = facts.sender_unit();
    let beneath = facts.beneath(Side::Sender);
    let mut queue_seen = false;
    for device in facts.devices(Side::Sender) {
        let segment = if beneath.contains(&device) {
            Segment::Middle
        } else {
            Segment::SenderHost
        };
        let [queue, program] = queue_drops(facts, device.as_str());
        for (name, drops) in queue.into_iter().chain(program) {
            queue_seen = true;
            add(
                segment,
                Layer::Qdisc,
                name,
                drops.saturating_mul(unit),
                false,
            );
        }
    }
    if !queue_seen {
        // Queues not readable: the protocol's own count of refusals below it.
        let name = format!("{udp}/SndbufErrors");
        let drops = facts.counter(Side::Sender, &name);
        add(
            Segment::SenderHost,
            Layer::Qdisc,
            name,
            drops.saturating_mul(unit),
            false,
        );
    }

    let table = if ip == "ip" {
        "arp_cache"
    } else {
        "ndisc_cache"
    };
    let name = format!("neigh/{table}/unresolved_discards");
    let discards = facts.counter(Side::Sender, &name);
    add(Segment::SenderHost, Layer::Neighbour, name, discards, false);
    for field in ["OutNoRoutes", "FragFails"] {
        let name = format!("{ip}/{field}");
        let moved = facts.counter(Side::Sender, &name);
        add(Segment::SenderHost, Layer::SenderIp, name, moved, false);
    }

    if let Some((rule, drops)) = filter_rules(facts, Side::Sender) {
        add(Segment::SenderHost, Layer::SenderFilter, rule, drops, false);
    }
    nic(facts, books, &mut add);
    found
}

/// What a device's queueing discipline dropped, and what its `clsact` programs did: each
/// with its counter's name. Classes and inner disciplines stand under other names, since
/// their parents count their drops again.
fn queue_drops(facts: &PhaseFacts<'_>, device: &str) -> [Option<(String, u64)>; 2] {
    let prefix = format!("qdisc/{device}/");
    let most = |program: bool| {
        facts
            .window(Side::Sender)
            .counters
            .under(&prefix)
            .filter(|(name, _)| name.ends_with("/drops") && !name.contains("/ingress/"))
            .filter(|(name, _)| name.contains("/clsact/") == program)
            .max_by_key(|(_, drops)| *drops)
            .map(|(name, drops)| (name.to_owned(), drops))
    };
    [most(false), most(true)]
}

/// The interface itself.
fn nic(
    facts: &PhaseFacts<'_>,
    books: &Books,
    add: &mut impl FnMut(Segment, Layer, String, u64, bool),
) {
    let Some((device, _)) = facts.interface(Side::Sender) else {
        return;
    };
    let dropped = facts.link_counter(Side::Sender, "tx_dropped");
    let mut own = dropped;
    if facts.is_veth(Side::Sender) {
        // The same packet at the other end of the pair: the receiver's backlog (its
        // rx_dropped) or ring. Where both fit into what is missing they are two hops of a
        // bridged path, not one loss twice.
        let receiver = facts.host(Side::Receiver);
        let backlog = facts
            .softnet_dropped(Side::Receiver)
            .min(facts.link_counter(Side::Receiver, "rx_dropped"));
        let unbooked = backlog.saturating_sub(books.booked(receiver, Layer::Backlog));
        let fits = books.left(Segment::Middle) >= own.saturating_add(unbooked);
        if !fits {
            let twice = backlog
                .max(books.booked(receiver, Layer::Backlog))
                .saturating_add(books.booked(receiver, Layer::ReceiverNic));
            own = own.saturating_sub(twice);
        }
        // What the pair's other end refused for a full backlog, this machine counts itself.
        let machine = facts.softnet_dropped(Side::Sender);
        if own > 0 && machine >= own {
            add(
                Segment::Middle,
                Layer::Backlog,
                "softnet/dropped".to_owned(),
                own,
                true,
            );
            return;
        }
    }
    add(
        Segment::Middle,
        Layer::SenderNic,
        format!("link/{device}/tx_dropped"),
        own,
        true,
    );
    for field in ["tx_carrier_errors", "tx_errors"] {
        let errors = facts.link_counter(Side::Sender, field);
        if errors > 0 {
            // tx_errors is the sum of the kinds (`include/uapi/linux/if_link.h`).
            add(
                Segment::Middle,
                Layer::SenderNic,
                format!("link/{device}/{field}"),
                errors,
                true,
            );
            break;
        }
    }
}
