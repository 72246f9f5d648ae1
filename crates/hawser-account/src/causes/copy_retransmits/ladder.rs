//! The same of a ladder's stream: what it lost is out of proportion, and no limit that drops by its nature was found.
//!
//! Evidence: segments sent again that the receiver did not have yet, one in four hundred or more, in the wire rung with
//! one stream; certain, since TCP counted them. A warning. Cases: `ladder-retransmits`, `ladder-retransmits-few`; not `ladder-congestion-loss`,
//! `ladder-policer`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::RungKind;
use serde::Serialize;

use super::{CopyRetransmits, SHARE};
use crate::cause::{Before, Cause, Found, LadderCause, Words, hundredths, percent_text, way};
use crate::causes::congestion_control::CongestionControl;
use crate::causes::policer::Policer;
use crate::causes::rate_limit::RateLimit;
use crate::throughput::mb::MbPerS;
use crate::throughput::view::LadderView;

#[derive(Serialize)]
pub(crate) struct LadderRetransmits {
    mb_per_s: MbPerS,
    segments: u64,
    retransmits: u64,
    needless: u64,
    lost_percent: f64,
}

impl LadderCause for LadderRetransmits {
    fn find(view: &LadderView<'_>, before: &Before<'_>) -> Vec<Found<Self>> {
        // They lose because of what they are, and say so.
        let told = [Policer::CODE, RateLimit::CODE, CongestionControl::CODE];
        let (Some(stream), Some(mb)) = (view.stream(), view.mb(RungKind::WireTcp)) else {
            return Vec::new();
        };
        if before.any(&told) || view.lost() < SHARE || stream.lost().0 == 0 {
            return Vec::new();
        }
        vec![Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: view.path(),
            evidence: Self {
                mb_per_s: MbPerS::of(mb),
                segments: stream.segments.0,
                retransmits: stream.retransmits.0,
                needless: stream.needless.0,
                lost_percent: hundredths(stream.lost().0, stream.segments.0),
            },
        }]
    }
}

impl Cause for LadderRetransmits {
    const CODE: &'static str = CopyRetransmits::CODE;
    const PAGE: &'static str = CopyRetransmits::PAGE;

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "One stream {} got {}, and TCP sent {} of {} segments again, {} of them needlessly: {} % were lost.",
                way(at),
                self.mb_per_s,
                self.retransmits,
                self.segments,
                self.needless,
                percent_text(self.lost_percent),
            ),
            fix: "`hawser check --stream` measures this link both ways: it says in which layer of which host, or between \
                  them, packets are lost, and whether TCP alone loses."
                .to_owned(),
        }
    }
}
