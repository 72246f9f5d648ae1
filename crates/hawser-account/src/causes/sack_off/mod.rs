//! A TCP stream stands still after lost segments: its two ends do not acknowledge selectively (SACK, RFC 2018), since one
//! of them has it switched off (`net.ipv4.tcp_sack = 0`, as many lists advised in 2019 against CVE-2019-11477), or something
//! between them takes the option out of the SYN.
//!
//! Evidence: while the stream ran, its sender's kernel counted retransmission timeouts of connections without SACK
//! (`TCPRenoFailures`, `TCPRenoRecoveryFail`: `tcp_retransmit_timer` in `net/ipv4/tcp_timer.c`), and the stream sent segments
//! again and stood still. If a host's sysctl says 0, certain; else likely: another connection of the sender may have had the
//! timeouts. In a lab that loses one packet of a thousand a stream had 12 Gbit/s with SACK, and 1.2 to 2.3 without, of which
//! it stood still two thirds. Why segments are lost is a finding of its own. Cases: `sack-off`, `sack-off-between`; not
//! `sack-on-lossy`.

use hawser_model::case::Case;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::trial::TrialTraffic;
use hawser_model::units::Packets;
use serde::Serialize;

use crate::cause::{Cause, CheckCause, Found, Words, counted, way};
use crate::compare::topic::{About, Topic};
use crate::fixes::knobs::{At, sysctl};
use crate::fixes::{Candidate, TrialValue, end, stream_of};
use crate::losses::Losses;
use crate::packets::facts::Side;
use crate::stream::{StreamView, streams};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct SackOff {
    /// The hosts that have it off, by their settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    off_on: Vec<HostName>,
    timeouts: u64,
    still_percent: u64,
    segments: Packets,
    retransmits: Packets,
}

/// The sysctl.
const SACK: &str = "net.ipv4.tcp_sack";

/// Timeouts without SACK: of a connection that had been told of data beyond a gap, and of one that was repairing one.
const TIMEOUTS: [&str; 2] = ["tcpext/TCPRenoFailures", "tcpext/TCPRenoRecoveryFail"];

/// A timeout takes 200 ms at least (`TCP_RTO_MIN`, `include/net/tcp.h`): this share of a stream of two seconds.
const STILL: u64 = 10;

/// Of these two hosts those that have it off, by their settings.
fn off_on(case: &Case, hosts: [&HostName; 2]) -> Vec<HostName> {
    let off = |host: &&HostName| {
        let facts = case.hosts.get(*host);
        facts.and_then(|facts| facts.sysctl_number(SACK)) == Some(0)
    };
    hosts.into_iter().filter(off).cloned().collect()
}

/// Whether this stream stood still for want of SACK.
pub(super) fn stood_still(case: &Case, stream: &StreamView<'_>) -> Option<Found<SackOff>> {
    let facts = &stream.facts;
    let tcp = facts.phase.sender.stream.as_ref()?;
    let timeouts = TIMEOUTS.map(|name| facts.counter(Side::Sender, name));
    let timeouts = timeouts.into_iter().fold(0, u64::saturating_add);
    let slices = &facts.phase.receiver.slices;
    let still = slices.iter().filter(|slice| slice.0 == 0).count() as u64;
    let still_percent = (100 * still).checked_div(slices.len() as u64)?;
    if timeouts == 0 || tcp.retransmits.0 == 0 || still_percent < STILL {
        return None;
    }
    let (from, to) = (facts.host(Side::Sender), facts.host(Side::Receiver));
    let evidence = SackOff {
        off_on: off_on(case, [from, to]),
        timeouts,
        still_percent,
        segments: tcp.segments,
        retransmits: tcp.retransmits,
    };
    Some(Found {
        severity: Severity::Error,
        confidence: match evidence.off_on.is_empty() {
            true => Confidence::Likely,
            false => Confidence::Certain,
        },
        place: Place {
            peer: Some(to.clone()),
            link: Some(facts.link().clone()),
            interface: facts.interface(Side::Sender).map(|(name, _)| name.clone()),
            ..Place::on(from)
        },
        evidence,
    })
}

impl CheckCause for SackOff {
    const SHOWN_BY_RATE: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let streams = streams(view.case);
        let found = streams.iter();
        found
            .filter_map(|stream| stood_still(view.case, stream))
            .collect()
    }

    /// Where both have it off, one alone cures nothing.
    fn candidates(&self, _: &At<'_>) -> Vec<Option<Candidate>> {
        match self.off_on.as_slice() {
            [_] => vec![sysctl(SACK, TrialValue::Value("1".to_owned()))],
            _ => Vec::new(),
        }
    }

    /// On the host that has it off.
    fn turned_at(case: &Case, place: &Place) -> Option<(HostName, InterfaceName)> {
        let off = off_on(case, [place.host.as_ref()?, place.peer.as_ref()?]);
        end(case, off.first()?, place.link.as_ref()?)
    }

    /// The stream itself.
    fn traffic(view: &View<'_>, place: &Place, _: &HostName) -> Option<TrialTraffic> {
        let (from, to, link) = (
            place.host.as_ref()?,
            place.peer.as_ref()?,
            place.link.as_ref()?,
        );
        let mut measured = view.case.measurements.iter();
        stream_of(measured.find(|m| m.from == *from && m.to == *to && m.link == *link)?)
    }
}

impl Cause for SackOff {
    const CODE: &'static str = "sack-off";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &'static [About] = &[Topic::Sysctl.with("tcp_sack").told()];

    fn words(&self, at: &Place) -> Words {
        let hosts: Vec<&str> = self.off_on.iter().map(HostName::as_str).collect();
        let hosts = hosts.join(" and ");
        let who = match self.off_on.is_empty() {
            true => format!(
                "no host is known to have {SACK} off, so something between them takes the option out of the SYN"
            ),
            false => format!("{SACK} is 0 on {hosts}"),
        };
        let on = format!("`sysctl -w {SACK}=1`");
        Words {
            text: format!(
                "The TCP stream {} stood still for {} % of its time: it sent {} of {} again, and its sender waited for {} \
                 of a connection whose receiver does not acknowledge selectively (SACK): {who}. With SACK a lost segment is \
                 sent again at once, and the stream goes on. Why segments are lost is another question.",
                way(at),
                self.still_percent,
                self.retransmits,
                counted(self.segments.0, "segment"),
                counted(self.timeouts, "timeout"),
            ),
            fix: match self.off_on.is_empty() {
                true => format!(
                    "On both hosts: `sysctl {SACK}`; where it is 0, {on}. If it is 1 on both, look for what rewrites TCP \
                     options between them (a firewall, a load balancer, a VPN): `tcpdump -nv 'tcp[tcpflags] & tcp-syn != 0'` \
                     at both ends shows `sackOK` in each SYN that left and not in each that came."
                ),
                false => format!(
                    "On {hosts}: {on}, and remove the line that sets it from /etc/sysctl.conf or /etc/sysctl.d. Kernels \
                     since June 2019 need it off no more (CVE-2019-11477). Streams that run go on without: start them again."
                ),
            },
        }
    }
}
