//! The way down: from the best rung of the path over each slower one to the whole path.
//!
//! Between two bare rungs the step is their difference. Below the slowest rung there is one more:
//! in the whole path all stages run at once and share processors and memory, so what limits it does
//! less there than bare: `whole / utilisation` of the bottleneck, by the bottleneck's own time. The
//! time in which the bottleneck had nothing to do is what stays unexplained.

use hawser_model::finding::WordedFinding;
use hawser_model::ladder::RungKind;
use hawser_model::names::HostName;
use hawser_model::output::Step;
use hawser_model::statistics::rounded;

use super::rates::{self, Rate};
use super::resources::{bottleneck, held_back};
use super::view::LadderView;
use crate::cause::{Before, Cause};
use crate::causes::cipher_below_link::CipherBelowLink;
use crate::causes::cipher_chained::CipherChained;
use crate::causes::cipher_without_instructions::CipherWithoutInstructions;
use crate::causes::congestion_control::CongestionControl;
use crate::causes::copy_retransmits::CopyRetransmits;
use crate::causes::cpu_limit::CpuLimit;
use crate::causes::path_mtu_below_interface::PathMtuBelowInterface;
use crate::causes::policer::Policer;
use crate::causes::processors_taken::ProcessorsTaken;
use crate::causes::rate_limit::RateLimit;
use crate::causes::segment_size_clamped::SegmentSizeClamped;
use crate::causes::single_stream::SingleStream;
use crate::causes::small_frames::SmallFrames;
use crate::causes::softirq_core_saturated::SoftirqCoreSaturated;
use crate::causes::speed_below_peer::SpeedBelowPeer;
use crate::causes::storage_below_link::StorageBelowLink;
use crate::causes::window_not_scaled::WindowNotScaled;
use crate::causes::window_too_small::WindowTooSmall;

/// The steps and what they leave.
pub(crate) struct Way {
    pub(crate) steps: Vec<Step>,
    pub(crate) unexplained: f64,
}

const BETWEEN: &str = "the way between the hosts";

/// The rungs that are part of the path, and what each stands for.
const ON_THE_PATH: [(RungKind, &str); 8] = [
    (RungKind::MemoryCopy, "moving data in memory"),
    (RungKind::SourceRead, "reading the source"),
    (RungKind::Checksum, "the checksum"),
    (RungKind::Encrypt, "encrypting"),
    (RungKind::LoopbackTcp, "both ends of the TCP stack"),
    (RungKind::WireTcp, BETWEEN),
    (RungKind::Decrypt, "decrypting"),
    (RungKind::SinkWrite, "writing the sink"),
];

const CONGESTION: &str = "the congestion control";

struct Point {
    name: String,
    mb: f64,
    what: &'static str,
    kind: RungKind,
    host: Option<HostName>,
}

pub(crate) fn steps(view: &LadderView<'_>, found: &[WordedFinding]) -> Way {
    let mut points = points(view);
    points.sort_by(|a, b| b.mb.total_cmp(&a.mb));
    let other = points.iter().any(|p| p.kind == RungKind::WireTcpOther);
    let mut steps: Vec<Step> = points
        .windows(2)
        .map(|pair| Step {
            from: pair[0].name.clone(),
            to: pair[1].name.clone(),
            mb_per_s: rounded(pair[0].mb - pair[1].mb, 1),
            why: because(&pair[1], other, found),
        })
        .collect();
    let (Some(best), Some(slowest)) = (points.first(), points.last()) else {
        return Way {
            steps,
            unexplained: 0.0,
        };
    };
    let whole = rounded(view.whole(), 1);
    if let Some((bound, why)) = bound(view, found) {
        let explained = slowest.mb - bound.clamp(whole.min(slowest.mb), slowest.mb);
        if explained > 0.05 {
            steps.push(Step {
                from: slowest.name.clone(),
                to: "whole path".to_owned(),
                mb_per_s: rounded(explained, 1),
                why,
            });
        }
    }
    // From the rounded numbers, so that what is printed adds up.
    let sum: f64 = steps.iter().map(|s| s.mb_per_s).sum();
    Way {
        unexplained: rounded(rounded(best.mb, 1) - whole - sum, 1),
        steps,
    }
}

fn points(view: &LadderView<'_>) -> Vec<Point> {
    let mut points = Vec::new();
    let own = view.rate(RungKind::WireTcp);
    let other = view.rate(RungKind::WireTcpOther);
    // The path could go that way: what it then has more is the congestion control's. What both vary by is nobody's.
    // Nor what is not to be seen in the numbers that are told.
    let told = |rate: Rate| rounded(rate.mb_per_s, 1);
    let better = own
        .zip(other)
        .is_some_and(|(own, other)| own.clearly_below(1.0, other) && told(own) < told(other));
    let on_the_path = ON_THE_PATH.map(|(kind, what)| match kind {
        RungKind::WireTcp if better => (kind, CONGESTION),
        _ => (kind, what),
    });
    let detour = better.then_some((RungKind::WireTcpOther, BETWEEN));
    for (kind, what) in on_the_path.into_iter().chain(detour) {
        for rung in view.run.rungs.iter().filter(|r| r.kind == kind) {
            if let Some(rate) = rates::rate(&rung.samples) {
                points.push(Point {
                    name: view.name(rung),
                    mb: rounded(rate.mb_per_s, 1),
                    what,
                    kind,
                    host: rung.host.clone(),
                });
            }
        }
    }
    points
}

/// How fast the whole path could be with its bottleneck never idle, and why it is not faster: what
/// limits does less beside the other stages than bare, since they share processors and memory.
fn bound(view: &LadderView<'_>, found: &[WordedFinding]) -> Option<(f64, String)> {
    let whole = view.whole();
    for host in view.hosts() {
        if held_back(view, host).is_some() {
            let code = named(found, &[CpuLimit::CODE]);
            return Some((whole, format!("processors kept from {host}'s stages{code}")));
        }
    }
    let limit = bottleneck(view).filter(|limit| limit.utilisation > 0.0)?;
    let percent = (limit.utilisation * 100.0).round();
    let why = match limit.name.strip_prefix("processors of ") {
        Some(host) => {
            let code = named(found, &[CpuLimit::CODE, ProcessorsTaken::CODE]);
            format!("all stages share the processors of {host}: {percent} % busy{code}")
        }
        None => format!("{} beside all other stages: {percent} % busy", limit.name),
    };
    Some((whole / limit.utilisation, why))
}

/// What a step stands for, and the finding about it: of a rung on a host one of that host, since the other end may be
/// the one that is found. `other` says that the stream with another congestion control is on the way down: what that
/// one has more is a step of its own.
fn because(point: &Point, other: bool, found: &[WordedFinding]) -> String {
    const CIPHERS: [&str; 3] = [
        CipherWithoutInstructions::CODE,
        CipherChained::CODE,
        CipherBelowLink::CODE,
    ];
    let own = |worded: &&WordedFinding| {
        let host = worded.finding.place.host.as_ref();
        point.host.is_none() || host.is_none() || host == point.host.as_ref()
    };
    let of_host = |codes: &[&str]| {
        let found: Vec<WordedFinding> = found.iter().filter(own).cloned().collect();
        named(&found, codes)
    };
    let code = match point.kind {
        RungKind::SourceRead | RungKind::SinkWrite => of_host(&[StorageBelowLink::CODE]),
        RungKind::Encrypt | RungKind::Decrypt => of_host(&CIPHERS),
        RungKind::WireTcp if point.what == CONGESTION => named(found, &[CongestionControl::CODE]),
        RungKind::WireTcp | RungKind::WireTcpOther => {
            let codes = ON_THE_WAY.iter().copied();
            let codes = codes.filter(|code| !other || *code != CongestionControl::CODE);
            named(found, &codes.collect::<Vec<_>>())
        }
        _ => String::new(),
    };
    format!("{}{code}", point.what)
}

/// What slows a stream between the hosts.
const ON_THE_WAY: [&str; 13] = [
    Policer::CODE,
    RateLimit::CODE,
    WindowNotScaled::CODE,
    WindowTooSmall::CODE,
    PathMtuBelowInterface::CODE,
    SegmentSizeClamped::CODE,
    SmallFrames::CODE,
    SoftirqCoreSaturated::CODE,
    CongestionControl::CODE,
    SingleStream::CODE,
    SpeedBelowPeer::CODE,
    CpuLimit::CODE,
    CopyRetransmits::CODE,
];

/// ` (CODE)` of the first that was found.
fn named(found: &[WordedFinding], codes: &[&str]) -> String {
    codes
        .iter()
        .find(|code| Before(found).any(&[code]))
        .map_or_else(String::new, |code| format!(" ({code})"))
}
