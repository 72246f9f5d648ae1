//! Layer 2 by itself, after a measurement of which nearly nothing arrived.

use hawser_agent::questions::{HearFrames, ListenFrames, SendFrames};
use hawser_host::HostError;
use hawser_model::case::{Measurement, PhaseKind};
use hawser_model::probe::FramesHeard;

use crate::measure::{End, still_there};
use crate::schedule::Direction;

/// Of so many packets one at most arrived: less is an ordinary loss, which a cause of packets explains.
const ONE_IN: u64 = 50;

/// Whether unicast packets were sent and nearly none arrived.
pub(crate) fn wanted(measurement: &Measurement) -> bool {
    let unicast = measurement
        .phases
        .iter()
        .filter(|phase| !matches!(phase.kind, PhaseKind::Multicast | PhaseKind::Stream));
    let (sent, received) = unicast.fold((0u64, 0u64), |(sent, received), phase| {
        (
            sent.saturating_add(phase.sender.sent.0),
            received.saturating_add(phase.receiver.received.0),
        )
    });
    sent >= ONE_IN && received.saturating_mul(ONE_IN) <= sent
}

/// What the receiver hears of frames to everybody and of frames to it; nothing where a host may not send or hear frames.
pub(crate) fn heard(
    direction: &Direction,
    from: &mut End<'_>,
    to: &mut End<'_>,
) -> Result<Option<FramesHeard>, HostError> {
    let receivers = to.facts.interfaces.get(to.interface);
    let Some(mac) = receivers.and_then(|interface| interface.answers_with()) else {
        return Ok(None);
    };
    match between(direction, from, to, mac) {
        Ok(heard) => Ok(Some(heard)),
        Err(e) => still_there(e).map(|_| None),
    }
}

fn between(
    direction: &Direction,
    from: &mut End<'_>,
    to: &mut End<'_>,
    mac: &str,
) -> Result<FramesHeard, HostError> {
    let listen = |end: &End<'_>| ListenFrames {
        interface: end.interface.clone(),
        mac: mac.to_owned(),
    };
    to.agent.ask(&listen(to))?;
    from.agent.ask(&listen(from))?;
    let sent = from.agent.ask(&SendFrames {
        interface: from.interface.clone(),
        link: direction.link.clone(),
        mac: mac.to_owned(),
    });
    let receiver = to.agent.ask(&HearFrames)?;
    let sender = from.agent.ask(&HearFrames)?;
    let sent = sent?;
    Ok(FramesHeard {
        mac: mac.to_owned(),
        broadcast_sent: sent,
        broadcast_heard: receiver.broadcast,
        unicast_sent: sent,
        unicast_heard: receiver.unicast,
        own_address_heard: receiver.from_watched,
        receiver_address_heard: sender.from_watched,
        receiver_sent: receiver.sent,
    })
}
