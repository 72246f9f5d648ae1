//! Who confirms that a probe has arrived: a responder of ours, or the other end's kernel.

use std::net::IpAddr;

use hawser_model::traffic::RunKey;
use hawser_model::units::Mtu;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::{CONFIRMATIONS, PROBES};
use crate::error::WireError;
use crate::packet::{self, HEADER_BYTES, Probe};
use crate::socket;

/// `icmp.h`, `icmpv6.h`: an echo, and its answer.
const ECHO: u8 = 8;
const V6_ECHO: u8 = 128;
const ANSWER: u8 = 0;
const V6_ANSWER: u8 = 129;

/// Type, code, checksum, identity, number (RFC 792).
const ICMP_BYTES: usize = 8;

/// The longest header of IPv4: a raw socket of that family reads it too (raw(7)), one of IPv6 does not (RFC 3542).
const LONGEST_IP_HEADER: usize = 60;

/// Who confirms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A [`super::PathMtuResponder`] at this port, in few bytes.
    Responder(u16),
    /// The kernel, which sends back all that it is sent.
    Kernel,
}

impl End {
    pub(super) fn socket(self, source: IpAddr) -> Result<Socket, WireError> {
        let own = socket::scoped(source, 0, source)?;
        if self != Self::Kernel {
            return socket::bound(Type::DGRAM, own);
        }
        let protocol = match source.is_ipv4() {
            true => Protocol::ICMPV4,
            false => Protocol::ICMPV6,
        };
        let socket = Socket::new(Domain::for_address(own), Type::RAW, Some(protocol))
            .map_err(WireError::call("socket", own))?;
        socket
            .bind(&SockAddr::from(own))
            .map_err(WireError::call("bind", own))?;
        Ok(socket)
    }

    pub(super) fn port(self) -> u16 {
        match self {
            Self::Responder(port) => port,
            Self::Kernel => 0,
        }
    }

    /// Bytes of the longest confirmation.
    pub(super) fn longest_answer(self, interface_mtu: Mtu) -> usize {
        match self {
            Self::Responder(_) => HEADER_BYTES,
            Self::Kernel => LONGEST_IP_HEADER + interface_mtu.0 as usize,
        }
    }

    /// What is sent to have a probe confirmed.
    pub(super) fn question(self, probe: Vec<u8>, v4: bool) -> Vec<u8> {
        if self != Self::Kernel {
            return probe;
        }
        let mut echo = vec![0; ICMP_BYTES];
        echo[0] = if v4 { ECHO } else { V6_ECHO };
        echo.extend(probe);
        // Of ICMPv6 the kernel writes it, since it is over the addresses too (RFC 3542, section 3.1).
        if v4 {
            let sum = checksum(&echo).to_be_bytes();
            echo[2..4].copy_from_slice(&sum);
        }
        echo
    }

    /// The probe of this run that a datagram confirms; none where it is of another, or something else.
    pub(super) fn confirmation(self, datagram: &[u8], key: RunKey) -> Option<Probe> {
        let (said, flow) = match self {
            Self::Responder(_) => (datagram, CONFIRMATIONS),
            Self::Kernel => (answered(datagram)?, PROBES),
        };
        let probe = packet::parse(said).ok()?;
        (probe.key == key && probe.flow == flow).then_some(probe)
    }
}

/// What an echo's answer brings back: a raw socket reads whatever comes of ICMP.
fn answered(datagram: &[u8]) -> Option<&[u8]> {
    // An answer of ICMPv6 begins with 129, which is no version 4.
    let (icmp, answer) = match datagram.first()? >> 4 {
        4 => {
            let header = usize::from(datagram[0] & 0xf) * 4;
            (datagram.get(header..)?, ANSWER)
        }
        _ => (datagram, V6_ANSWER),
    };
    let (header, said) = icmp.split_at_checked(ICMP_BYTES)?;
    (header[0] == answer).then_some(said)
}

/// The checksum of the Internet (RFC 1071) over a message in which it is 0.
fn checksum(message: &[u8]) -> u16 {
    let words = message.chunks(2).map(|pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        u32::from(u16::from_be_bytes([pair[0], low]))
    });
    // 32 bits hold the sum of 65 536 words; no packet has more.
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use hawser_model::units::Nanos;
    use proptest::prelude::*;

    use super::*;
    use crate::packet::Template;

    const KEY: RunKey = RunKey(7);

    #[test]
    fn the_checksum_is_that_of_the_rfc() {
        // RFC 1071, section 3: the sum of these is ddf2.
        assert_eq!(
            checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]),
            !0xddf2
        );
        assert_eq!(checksum(&[0x01]), !0x0100);
    }

    /// An answer as a raw socket of IPv4 reads it, with options in its header.
    fn answer(kind: u8, options: usize) -> Vec<u8> {
        let probe = Template::new(KEY, PROBES, 100).packet(5, Nanos(1));
        let mut answer = vec![0; 20 + options * 4];
        answer[0] = 0x40 | (5 + options as u8);
        let mut icmp = End::Kernel.question(probe, true);
        icmp[0] = kind;
        answer.extend(icmp);
        answer
    }

    #[test]
    fn only_answers_to_own_probes_confirm() {
        for options in [0, 2] {
            let probe = End::Kernel.confirmation(&answer(ANSWER, options), KEY);
            assert_eq!(probe.map(|it| it.sequence), Some(5));
        }
        // What the other end asks, and an answer to somebody else.
        assert_eq!(End::Kernel.confirmation(&answer(ECHO, 0), KEY), None);
        assert_eq!(
            End::Kernel.confirmation(&answer(ANSWER, 0), RunKey(8)),
            None
        );
        let v6 = {
            let mut icmp = answer(V6_ANSWER, 0);
            icmp.split_off(20)
        };
        assert!(End::Kernel.confirmation(&v6, KEY).is_some());
    }

    proptest! {
        #[test]
        fn whatever_comes_is_no_confirmation(datagram in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(End::Kernel.confirmation(&datagram, KEY), None);
        }
    }
}
