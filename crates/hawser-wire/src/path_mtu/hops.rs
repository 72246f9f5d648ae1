//! How far packets come that vanish in silence: a packet whose hop limit ends at a router makes it answer, whatever
//! becomes of larger ones behind it.

use std::net::IpAddr;
use std::os::fd::AsFd;

use hawser_model::probe::VanishesBetween;
use hawser_model::units::Nanos;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use super::icmp::Said;
use super::probing::Probing;
use crate::clock;
use crate::error::WireError;

/// Routers between two heads, at most; behind more nobody looks.
const FARTHEST: u32 = 8;

/// A router answers from its processor, not from its fast path.
const PATIENCE: Nanos = Nanos::from_millis(100);

/// What came of a packet with a hop limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// Nobody said anything.
    Unheard,
    /// To this router.
    To(IpAddr),
    /// To the receiver, which confirmed it.
    Whole,
}

/// Finds it, with packets of the size that vanishes and small ones side by side. `open` gives a socket for one packet.
pub(super) fn vanishes(
    open: impl Fn() -> Result<Probing, WireError>,
    receiver: IpAddr,
    [small, silent]: [u32; 2],
) -> Result<Option<VanishesBetween>, WireError> {
    let mut came = Vec::new();
    for hops in 1..=FARTHEST {
        // A socket for each packet: a message that comes late belongs to no other.
        let mut both = [open()?, open()?];
        for (probing, size) in both.iter_mut().zip([small, silent]) {
            probing.limit_hops(hops)?;
            probing.send_one(size);
        }
        let [small, silent] = hear(&mut both)?;
        came.push((small, silent));
        let unheard = came.iter().rev().take_while(|(s, _)| *s == Came::Unheard);
        if small == Came::Whole || unheard.count() > 1 {
            break;
        }
    }
    Ok(judge(&came, receiver))
}

fn hear(both: &mut [Probing; 2]) -> Result<[Came; 2], WireError> {
    let mut came = [Came::Unheard; 2];
    let until = clock::now() + PATIENCE;
    // When a small one came to the receiver there is no router that has not answered.
    while came[0] != Came::Whole && came.contains(&Came::Unheard) && clock::now() < until {
        let left = until.saturating_sub(clock::now()).0 as i64;
        let mut waited = [
            PollFd::new(both[0].socket.as_fd(), PollFlags::POLLIN),
            PollFd::new(both[1].socket.as_fd(), PollFlags::POLLIN),
        ];
        // An interrupted wait is one that found nothing.
        let _ = ppoll(&mut waited, Some(TimeSpec::new(0, left)), None);
        for (probing, came) in both.iter_mut().zip(&mut came) {
            let (messages, confirmed) = probing.take();
            if confirmed {
                *came = Came::Whole;
            }
            for message in messages {
                if *came == Came::Unheard && message.said == Said::Expired {
                    *came = Came::To(message.from);
                }
            }
        }
    }
    Ok(came)
}

/// The farthest router that the silent size reached, and who is next for a small one. Nothing when the receiver is
/// the first hop, or where the next one is not known.
pub(super) fn judge(came: &[(Came, Came)], receiver: IpAddr) -> Option<VanishesBetween> {
    let reached = came
        .iter()
        .rposition(|(_, silent)| matches!(silent, Came::To(_)));
    let next = reached.map_or(0, |index| index + 1);
    let not_reached = match came.get(next)?.0 {
        Came::Whole if next == 0 => return None,
        Came::Whole => receiver,
        Came::To(router) => router,
        Came::Unheard => return None,
    };
    let whole = came.iter().any(|(_, silent)| *silent == Came::Whole);
    let reached = reached.and_then(|index| match came[index].1 {
        Came::To(router) => Some(router),
        _ => None,
    });
    (!whole).then_some(VanishesBetween {
        reached,
        not_reached,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 9, 9, 2));

    fn router(n: u8) -> Came {
        Came::To(IpAddr::from([10, 0, 0, n]))
    }

    #[test]
    fn a_packet_vanishes_behind_the_last_router_that_took_it() {
        let between = |came: &[(Came, Came)]| {
            judge(came, RECEIVER).map(|v| (v.reached.map(|r| r.to_string()), v.not_reached))
        };
        let unheard = Came::Unheard;
        let hop = |n| IpAddr::from([10, 0, 0, n]);
        assert_eq!(
            between(&[
                (router(1), router(1)),
                (router(2), unheard),
                (Came::Whole, unheard)
            ]),
            Some((Some("10.0.0.1".to_owned()), hop(2)))
        );
        assert_eq!(
            between(&[(router(1), router(1)), (Came::Whole, unheard)]),
            Some((Some("10.0.0.1".to_owned()), RECEIVER))
        );
        assert_eq!(between(&[(router(1), unheard)]), Some((None, hop(1))));
    }

    #[test]
    fn without_routers_or_with_one_that_is_silent_nothing_is_known() {
        let unheard = Came::Unheard;
        assert_eq!(judge(&[(Came::Whole, unheard)], RECEIVER), None);
        assert_eq!(
            judge(&[(unheard, unheard), (Came::Whole, unheard)], RECEIVER),
            None
        );
        assert_eq!(
            judge(&[(router(1), router(1)), (unheard, unheard)], RECEIVER),
            None
        );
        assert_eq!(
            judge(
                &[(router(1), router(1)), (Came::Whole, Came::Whole)],
                RECEIVER
            ),
            None,
            "it was only lost before"
        );
        assert_eq!(judge(&[], RECEIVER), None);
    }
}
