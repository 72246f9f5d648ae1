//! A NIC that merges received segments in hardware (LRO; bnx2x calls it TPA) and stalls: a transfer
//! starts well and after some hundred megabytes falls to hundreds of kilobytes a second.
//!
//! Evidence: a fall to less than a tenth, TCP waits for retransmission timeouts after it, and the
//! receiving interface has LRO on and really merged (segments longer than the path's MTU reached
//! TCP). Possible, never more: only a run with LRO off proves it. Case: `copy/receive-merging`.

/// The same of a stream of a check.
pub(crate) mod stream;

use hawser_model::finding::{Confidence, Place};
use serde::Serialize;

use crate::cause::{Cause, CopyCause, Found, Words, host, interface};
use crate::compare::topic::{About, Topic};
use crate::copy::View;
use crate::copy::fell::{Fell, at_receiver};

#[derive(Serialize)]
pub(crate) struct ReceiveMergingStall {
    #[serde(flatten)]
    fell: Fell,
    merged_bytes: u32,
    path_mtu: u32,
    timeouts: u64,
    lost_after: u64,
}

/// The kernel's name of the feature (`netdev_features_strings`, `net/ethtool/common.c`).
const LRO: &str = "rx-lro";

/// The rate after, of the rate before.
const FALL: f64 = 0.1;

impl CopyCause for ReceiveMergingStall {
    fn find(view: &View<'_>, explained: bool) -> Option<Found<Self>> {
        let (change, (_, after)) = (view.change?, view.parts?);
        let (_, interface) = view.case.receiver.interface.as_ref()?;
        let merged = view.case.receiver.tcp.iter().map(|t| t.rcv_mss).max()?;
        let pmtu = view.case.receiver.tcp.iter().map(|t| t.pmtu).max()?;
        let timeouts: u64 = view.case.sender.tcp.iter().map(|t| t.timeouts).sum();
        let fits = !explained
            && interface.features_on.iter().any(|f| f == LRO)
            && change.after_mb_per_s < FALL * change.before_mb_per_s
            && merged > pmtu
            && timeouts > 0;
        let fell = Fell::of(view);
        fits.then(|| Found {
            severity: fell.severity(),
            confidence: Confidence::Possible,
            place: at_receiver(view),
            evidence: Self {
                fell,
                merged_bytes: merged,
                path_mtu: pmtu,
                timeouts,
                lost_after: after.lost,
            },
        })
    }
}

impl Cause for ReceiveMergingStall {
    const CODE: &'static str = "receive-merging-stall";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[
        Topic::Offload.with("rx-lro"),
        Topic::Offload.with("rx-gro"),
        Topic::Driver.any(),
        Topic::Firmware.any(),
        Topic::DriverOption.any(),
    ];

    fn words(&self, at: &Place) -> Words {
        let (host, interface) = (host(at), interface(at));
        Words {
            text: format!(
                "The copy {} and TCP waited for {} retransmission timeouts. {interface} of {host} merges received \
                 segments in hardware (LRO is on; segments of {} B reached TCP on a path of {} B), which \
                 is known to stall with some drivers. It is a suspicion: only a copy without it shows.",
                self.fell, self.timeouts, self.merged_bytes, self.path_mtu,
            ),
            fix: format!(
                "Try `ethtool -K {interface} lro off` on {host} and copy again; the rate tells whether it was that. \
                 It changes nothing but CPU time, and `lro on` takes it back.",
            ),
        }
    }
}
