//! A rule that rejects answers with ICMP, and the sender's kernel gives its next call the answer as an error: a packet that never
//! left for what the receiver's filter did.

use hawser_model::account::Layer;
use hawser_model::units::Packets;

use crate::losses::{Loss, Losses};
use crate::packets::facts::Side;
use crate::view::View;

/// What a sender's call fails with for an ICMP answer (`icmp_err_convert`, `net/ipv4/icmp.c`; `icmpv6_err_convert`,
/// `net/ipv6/icmp.c`). Within a batch the kernel does not say which error it was.
const ANSWERS: [&str; 5] = [
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ECONNREFUSED",
    "EACCES",
    "UNKNOWN",
];

/// Claims what the senders refused for the answers of their receivers' filters.
pub(super) fn claim(view: &View<'_>, losses: &mut Losses, code: &'static str) -> Vec<Loss> {
    let by_filter = |l: &&Loss| l.layer == Some(Layer::ReceiverFilter);
    let dropped: Vec<Loss> = losses.open().filter(by_filter).cloned().collect();
    losses.claim(code, |loss| answered(view, loss, &dropped))
}

/// Whether this is what the sender refused for the answers of the filter that dropped these: no more than that filter dropped,
/// than the receiver sent answers and than the sender got, and nobody there lacks a listener, whose answer looks the same.
fn answered(view: &View<'_>, loss: &Loss, dropped: &[Loss]) -> bool {
    let phase = &view.phases[loss.phase];
    let facts = &phase.facts;
    let (udp, ip) = facts.families();
    let icmp = if ip == "ip" { "icmp" } else { "icmp6" };
    let count = |side, name: &str| facts.counter(side, name);
    let got = count(Side::Sender, &format!("{icmp}/InDestUnreachs"));
    let sent = count(Side::Receiver, &format!("{icmp}/OutDestUnreachs"));
    let no_port = count(Side::Receiver, &format!("{udp}/NoPorts"));
    let by_filter = dropped
        .iter()
        .filter(|d| d.phase == loss.phase && d.path == loss.path);
    let by_filter = by_filter.map(|d| Packets(d.packets)).sum::<Packets>().0;
    let refused_at_sender = matches!(
        loss.layer,
        Some(Layer::SenderIp | Layer::SenderSocket | Layer::SenderFilter)
    );
    refused_at_sender
        && loss.path == phase.path()
        && ANSWERS.contains(&loss.reason.as_str())
        && no_port == 0
        && loss.packets <= got.min(sent).min(by_filter)
}
