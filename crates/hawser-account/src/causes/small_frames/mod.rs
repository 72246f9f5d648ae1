//! The path sends frames of 1500 bytes, and each costs a host its passage through the stack: 8 KiB
//! go in six frames instead of one.
//!
//! Only a host without segmentation offload pays that: with it the stack handles super-packets of
//! up to 64 KiB whatever the MTU is (measured on one veth pair: 6.6 against 19.8 Gbit/s without
//! offloads, no difference with them). The gain is predicted from two rungs: datagrams of 64 bytes
//! show what a frame costs, full ones what a byte costs.
//!
//! Evidence: MTU, the sender's features, the two UDP rungs. Likely; a warning.
//! Cases: `ladder-small-frames`, `ladder-small-frames-stolen`.

use hawser_model::case::BLOCK;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::RungKind;
use hawser_model::units::{Bytes, Mtu};
use serde::Serialize;

use super::path_mtu_below_interface::PathMtuBelowInterface;
use super::policer::Policer;
use super::rate_limit::RateLimit;
use super::segment_size_clamped::SegmentSizeClamped;
use super::window_not_scaled::WindowNotScaled;
use super::window_too_small::WindowTooSmall;
use crate::cause::{Before, Cause, Found, LadderCause, Tenths, Words, as_number};
use crate::compare::topic::{About, Topic};
use crate::throughput::resources::held_back;
use crate::throughput::view::LadderView;

#[derive(Serialize)]
pub(crate) struct SmallFrames {
    mtu: Mtu,
    #[serde(serialize_with = "as_number")]
    offload: bool,
    frames_per_8_kib: u64,
    frames_per_8_kib_jumbo: u64,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    named: Option<NamedBlock>,
    predicted_gain: Tenths,
}

/// A gain that is worth a change of every port of a link.
const WORTH: f64 = 1.2;

/// The largest common jumbo frame.
const JUMBO: Mtu = Mtu(9_000);

impl LadderCause for SmallFrames {
    fn find(view: &LadderView<'_>, before: &Before<'_>) -> Vec<Found<Self>> {
        let other = [
            PathMtuBelowInterface::CODE,
            SegmentSizeClamped::CODE,
            RateLimit::CODE,
            Policer::CODE,
            WindowNotScaled::CODE,
            WindowTooSmall::CODE,
        ];
        // A quota is what holds the path, and the cost of a frame cannot be told beside it. What a hypervisor takes,
        // it takes of small frames and of large ones.
        if view
            .hosts()
            .into_iter()
            .any(|host| held_back(view, host).is_some())
        {
            return Vec::new();
        }
        let port = view.port(&view.run.from);
        let Some(mtu) = port.and_then(|(_, i)| i.mtu).filter(|m| m.0 <= 1_500) else {
            return Vec::new();
        };
        let full = view.speed().zip(view.mb(RungKind::WireTcp));
        let full = full.is_some_and(|(speed, mb)| mb > 0.9 * speed);
        if before.any(&other) || offload(view) || full {
            return Vec::new();
        }
        let Some(gain) = predicted_gain(view, JUMBO).filter(|g| *g >= WORTH) else {
            return Vec::new();
        };
        vec![Found {
            severity: Severity::Warning,
            confidence: Confidence::Likely,
            place: view.path(),
            evidence: Self {
                mtu,
                offload: false,
                frames_per_8_kib: frames(BLOCK, mtu),
                frames_per_8_kib_jumbo: frames(BLOCK, JUMBO),
                named: view.case.block.map(|block| NamedBlock {
                    block_bytes: block,
                    frames_a_named_block: frames(block, mtu),
                    frames_a_named_block_jumbo: frames(block, JUMBO),
                }),
                predicted_gain: Tenths::of(gain),
            },
        }]
    }
}

/// The same of the block that was named.
#[derive(Serialize)]
struct NamedBlock {
    block_bytes: Bytes,
    frames_a_named_block: u64,
    frames_a_named_block_jumbo: u64,
}

/// Frames that a block of a stream takes, with headers of 40 bytes and timestamps of 12.
fn frames(block: Bytes, mtu: Mtu) -> u64 {
    block.0.div_ceil(u64::from(mtu.0.max(576)) - 52)
}

/// Whether the sender hands its interface super-packets.
pub(super) fn offload(view: &LadderView<'_>) -> bool {
    let port = view.port(&view.run.from);
    port.is_some_and(|(_, i)| {
        let on = |name: &str| i.features_on.iter().any(|f| f == name);
        on("tx-tcp-segmentation") || on("tx-generic-segmentation")
    })
}

/// How much faster datagrams would be that fill `mtu`.
pub(super) fn predicted_gain(view: &LadderView<'_>, mtu: Mtu) -> Option<f64> {
    const SMALL: f64 = 64.0;
    let small = view.mb(RungKind::WireUdpSmall)?;
    let large = view.mb(RungKind::WireUdp)?;
    let path = view.run.path_mtu.as_ref().and_then(|p| p.passed);
    let ours = view.port(&view.run.from)?.1.mtu?;
    let payload = f64::from(path.map_or(ours, |p| p.min(ours)).0) - 28.0;
    let target = f64::from(mtu.0) - 28.0;
    // Microseconds a datagram.
    let (of_small, of_large) = (SMALL / small, payload / large);
    let byte = ((of_large - of_small) / (payload - SMALL)).max(0.0);
    let of_target = of_small + byte * (target - SMALL);
    let gain = (target / of_target) / (payload / of_large);
    gain.is_finite().then_some(gain)
}

impl Cause for SmallFrames {
    const CODE: &'static str = "small-frames";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Mtu.any(), Topic::Offload.any()];

    fn words(&self, _: &Place) -> Words {
        let named = self.named.as_ref().map_or(String::new(), |named| {
            format!(
                ", and {} in {} instead of {}",
                named.block_bytes, named.frames_a_named_block, named.frames_a_named_block_jumbo
            )
        });
        Words {
            text: format!(
                "The path uses frames of {} bytes, and the sender has no segmentation offload, so \
                 each costs it a passage through the stack: 8 KiB go in {} frames instead of {}{named}. By \
                 what a frame and what a byte cost here, frames of 9000 bytes would be {:.1} times as \
                 fast.",
                self.mtu.0,
                self.frames_per_8_kib,
                self.frames_per_8_kib_jumbo,
                self.predicted_gain.0,
            ),
            fix: "Switch segmentation offload on where the driver can (`ethtool -K DEV tso on gso on \
                  gro on`); that gains the same without touching the switches. Else set the MTU to \
                  9000 on every port of the link."
                .to_owned(),
        }
    }
}
