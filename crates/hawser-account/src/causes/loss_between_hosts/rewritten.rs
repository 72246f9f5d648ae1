//! Packets that arrived with another port than they left with: the receiver dropped them as nobody's.

use std::collections::BTreeSet;

use hawser_model::account::Layer;
use hawser_model::drops::DropSubject;
use hawser_model::units::{Packets, counted};

use crate::causes::claims::Lost;
use crate::losses::Loss;
use crate::packets::facts::{PhaseFacts, Side};
use crate::packets::reasons;
use crate::view::View;

/// Of a hundred lost packets, so many more or fewer are about as many.
const ABOUT_PER_CENT: u64 = 10;

/// A few are anybody's: answers that came late, a scan.
const LEAST_PACKETS: u64 = 20;

/// Where to look first.
pub(super) const FIX: &str = "First look for what rewrites ports between the hosts (NAT, a load balancer, an action of a switch): \
     `tcpdump -ni IFACE udp` on the receiver shows the ports that arrive, `icmp` beside it the answers to them. If they are another \
     program's, the loss is the network's.";

/// Packets to ports that nobody has that arrived while these were lost, if they are about as many.
pub(super) fn at_no_port(view: &View<'_>, group: &[Loss]) -> Option<Packets> {
    let between = group.iter();
    let between = between.filter(|l| l.layer == Some(Layer::BetweenHosts));
    let phases: BTreeSet<usize> = between.clone().map(|l| l.phase).collect();
    let lost = between.map(|l| Packets(l.packets)).sum::<Packets>().0;
    let refused = phases
        .iter()
        .map(|index| nobodys(&view.phases[*index].facts));
    let refused = refused.sum::<Packets>().0;
    let about = refused.abs_diff(lost).saturating_mul(100) <= lost.saturating_mul(ABOUT_PER_CENT);
    (about && refused >= LEAST_PACKETS).then_some(Packets(refused))
}

/// Datagrams of others that the receiver's kernel dropped since nobody has their port: those on the flow's interface where events
/// tell, else all.
fn nobodys(facts: &PhaseFacts<'_>) -> Packets {
    let (udp, _) = facts.families();
    let counter = Packets(facts.counter(Side::Receiver, &format!("{udp}/NoPorts")));
    let own = facts.interface(Side::Receiver).map(|(name, _)| name);
    let Some(drops) = &facts.window(Side::Receiver).drops else {
        return counter;
    };
    let of_others = drops.iter().filter(|drop| {
        let stage = reasons::on_receiver(&drop.reason, &drop.location, drop.scope);
        let no_listener = stage.is_some_and(|stage| stage.layer == Layer::NoListener);
        no_listener && drop.subject == DropSubject::Other && drop.interface.as_ref() == own
    });
    let events: Packets = of_others.map(|drop| drop.packets).sum();
    events.min(counter)
}

/// What is said instead of that no host dropped them.
pub(super) fn text(lost: &Lost, at_no_port: Packets) -> String {
    format!(
        "{lost} left one host and did not arrive at the other with their addresses and ports. In the same time {} arrived there at a \
         port that nobody has, and its kernel dropped them: they may be the same, if something on the way rewrites ports. ",
        counted(at_no_port.0, "packet"),
    )
}
