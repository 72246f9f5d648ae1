//! A TCP stream stands still after lost segments: its two ends do not acknowledge selectively (SACK, RFC 2018), since one
//! of them has it switched off (`net.ipv4.tcp_sack = 0`, as many lists advised in 2019 against CVE-2019-11477), or something
//! between them takes the option out of the SYN.
//!
//! Evidence: the stream's own socket says that it goes without SACK (`tcpi_options`), it sent segments again and stood still
//! as long as a retransmission timeout lasts, and its sender's kernel counted timeouts of connections without SACK meanwhile
//! (`TCPRenoFailures`, `TCPRenoRecoveryFail`: `tcp_retransmit_timer` in `net/ipv4/tcp_timer.c`). Certain; likely where more
//! than one segment of a hundred was lost, which stops streams with SACK too. A stream that a filter, a merging receiver or a
//! limit stops is not told. In a lab that loses one packet of a thousand streams had 12 to 17 Gbit/s with SACK and 1.2 to 2.3
//! without, of which they stood still two thirds. Why segments are lost is a finding of its own. A setting is a host's, so all
//! its streams are one finding, and the one that stood still longest gives the numbers. Cases: `sack-off`, `sack-off-between`,
//! `sack-off-unread`; not `sack-off-scattered`, `sack-on-lossy`.

use std::collections::BTreeMap;

use hawser_model::case::{Case, Phase};
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use hawser_model::trial::TrialTraffic;
use hawser_model::units::Packets;
use serde::Serialize;

use super::claims::only;
use super::tcp_option::{ToldBy, look_between, switch_on};
use super::{firewall_drop, rate_after_burst, receive_merging_stall};
use crate::cause::{Cause, CheckCause, Found, Words, counted};
use crate::compare::topic::{About, Topic};
use crate::fixes::knobs::{At, sysctl};
use crate::fixes::{Candidate, TrialValue, stream_of};
use crate::losses::Losses;
use crate::packets::facts::{PhaseFacts, Side};
use crate::stream::{StreamView, slices, streams};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct SackOff {
    /// What the hosts' own settings say of it.
    told_by: ToldBy,
    /// The hosts that have it off, by their settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    off_on: Vec<HostName>,
    /// The one that gives the numbers: from, to, and on which link.
    stream: String,
    /// How many streams stood still.
    streams: usize,
    timeouts: u64,
    still_percent: u64,
    segments: Packets,
    retransmits: Packets,
}

/// The sysctl.
const SACK: &str = "net.ipv4.tcp_sack";

/// Timeouts without SACK, the first of each series: of a connection that had been told of data beyond a gap, and of one that
/// was repairing a gap.
const TIMEOUTS: [&str; 2] = ["tcpext/TCPRenoFailures", "tcpext/TCPRenoRecoveryFail"];

/// A timeout lasts 200 ms at least (`TCP_RTO_MIN`, `include/net/tcp.h`): so many whole slices without a byte.
const TIMEOUT: usize = 3;

/// One timeout in a stream of three seconds.
const STILL: u64 = 5;

/// From this share of segments lost on, a stream with SACK has timeouts too.
const MANY: f64 = 0.01;

/// A stream that stood still for want of SACK.
pub(super) struct Held<'a> {
    facts: PhaseFacts<'a>,
    confidence: Confidence,
    /// As if it were the only one.
    evidence: SackOff,
}

/// How much of its time a stream stood still, in percent.
fn still(phase: &Phase) -> Option<u64> {
    let empty: Vec<bool> = slices(phase).map(|slice| slice.0 == 0).collect();
    let runs = empty.chunk_by(|a, b| a == b);
    let still = runs.filter(|run| run[0] && run.len() >= TIMEOUT);
    let still: usize = still.map(<[bool]>::len).sum();
    (100 * still as u64).checked_div(empty.len() as u64)
}

/// Whether this stream stood still for want of SACK.
pub(super) fn held<'a>(case: &Case, stream: &StreamView<'a>) -> Option<Held<'a>> {
    let facts = stream.facts;
    let tcp = facts.phase.sender.stream.as_ref()?;
    let timeouts = TIMEOUTS.map(|name| facts.counter(Side::Sender, name));
    let timeouts = timeouts.into_iter().fold(0, u64::saturating_add);
    let still_percent = still(facts.phase)?;
    let stopped = tcp.selective == Some(false)
        && timeouts > 0
        && tcp.retransmits.0 > 0
        && still_percent >= STILL
        && stream.reader_waited();
    let told = || {
        firewall_drop::stream::filtered(stream).is_some()
            || receive_merging_stall::stream::stall(stream).is_some()
            || rate_after_burst::stream::limit(stream).is_some()
    };
    if !stopped || told() {
        return None;
    }
    let (from, to) = (facts.host(Side::Sender), facts.host(Side::Receiver));
    let (told_by, off) = ToldBy::of(case, SACK, [from, to]);
    Some(Held {
        facts,
        confidence: match (tcp.lost().0 as f64) < MANY * tcp.segments.0 as f64 {
            true => Confidence::Certain,
            false => Confidence::Likely,
        },
        evidence: SackOff {
            told_by,
            off_on: off.into_iter().cloned().collect(),
            stream: format!("from {from} to {to} on {}", facts.link()),
            streams: 1,
            timeouts,
            still_percent,
            segments: tcp.segments,
            retransmits: tcp.retransmits,
        },
    })
}

/// The hosts that have it off; if none is known to, the stream.
type Group = (Vec<HostName>, Option<String>);

/// The streams that stood still, by whose setting it is.
fn groups<'a>(view: &View<'a>) -> BTreeMap<Group, Vec<Held<'a>>> {
    let mut groups: BTreeMap<Group, Vec<Held<'a>>> = BTreeMap::new();
    let all = streams(view.case);
    for held in all.iter().filter_map(|stream| held(view.case, stream)) {
        let SackOff { off_on, stream, .. } = &held.evidence;
        let alone = off_on.is_empty().then(|| stream.clone());
        groups
            .entry((off_on.clone(), alone))
            .or_default()
            .push(held);
    }
    groups
}

/// The one that stood still longest; the first of equal ones.
fn worst(group: Vec<Held<'_>>) -> Option<Held<'_>> {
    let all = group.into_iter().rev();
    all.max_by_key(|held| held.evidence.still_percent)
}

fn found(group: Vec<Held<'_>>) -> Option<Found<SackOff>> {
    let ends =
        |held: &Held<'_>| [Side::Sender, Side::Receiver].map(|side| held.facts.host(side).clone());
    let first = group.first()?;
    let [from, _] = ends(first);
    let host = first.evidence.off_on.first().cloned().unwrap_or(from);
    let peers = group.iter().flat_map(|held| ends(held).into_iter());
    let peer = only(peers.filter(|end| *end != host));
    let link = only(group.iter().map(|held| held.facts.link().clone()));
    let streams = group.len();
    let worst = worst(group)?;
    Some(Found {
        severity: Severity::Error,
        confidence: worst.confidence,
        place: Place {
            peer,
            link,
            ..Place::on(&host)
        },
        evidence: SackOff {
            streams,
            ..worst.evidence
        },
    })
}

impl CheckCause for SackOff {
    const SHOWN_BY_RATE: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        groups(view).into_values().filter_map(found).collect()
    }

    /// If both have it off, one alone cures nothing.
    fn candidates(&self, _: &At<'_>) -> Vec<Option<Candidate>> {
        match self.off_on.as_slice() {
            [_] => vec![sysctl(SACK, TrialValue::Value("1".to_owned()))],
            _ => Vec::new(),
        }
    }

    /// The stream that stood still longest.
    fn traffic(view: &View<'_>, _: &Place, host: &HostName) -> Option<TrialTraffic> {
        let group = groups(view).remove(&(vec![host.clone()], None))?;
        stream_of(worst(group)?.facts.measurement)
    }
}

impl Cause for SackOff {
    const CODE: &'static str = "sack-off";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &'static [About] = &[Topic::Sysctl.with("tcp_sack").told()];

    fn words(&self, _: &Place) -> Words {
        let hosts: Vec<&str> = self.off_on.iter().map(HostName::as_str).collect();
        let hosts = hosts.join(" and ");
        let who = match self.told_by {
            ToldBy::Host => format!("{SACK} is 0 on {hosts}."),
            ToldBy::Neither => format!(
                "{SACK} is on at both, so something between them takes the option out of the SYN."
            ),
            ToldBy::Unread => format!(
                "{SACK} is 0 on one of them, or something between them takes the option out of the SYN."
            ),
        };
        let others = match self.streams {
            1 => String::new(),
            all => format!(" It is the worst of {all} streams."),
        };
        let on = switch_on(SACK);
        let between = look_between("sackOK");
        Words {
            text: format!(
                "The TCP stream {} stood still for {} % of its time: it sent {} of {} again, and its sender waited for {} or \
                 more.{others} Its two ends do not acknowledge selectively (SACK). {who} With SACK most lost segments are sent \
                 again within a round trip. Why segments are lost is another question.",
                self.stream,
                self.still_percent,
                self.retransmits,
                counted(self.segments.0, "segment"),
                counted(self.timeouts, "timeout"),
            ),
            fix: match self.told_by {
                ToldBy::Host => format!(
                    "On {hosts}: {on}. Kernels patched since June 2019 no longer need it off (CVE-2019-11477). Streams that \
                     run go on without it: start them again."
                ),
                ToldBy::Neither => format!("{SACK} is on at both hosts: {between}."),
                ToldBy::Unread => format!(
                    "On both hosts: `sysctl {SACK}`; where it is 0, {on}. If it is 1 on both: {between}."
                ),
            },
        }
    }
}
