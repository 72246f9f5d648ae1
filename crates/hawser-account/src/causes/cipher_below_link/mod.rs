//! One stream's cipher is slower than the link, on a processor that has the instructions for it:
//! one processor is not enough.
//!
//! Evidence: the bare cipher rung, by the processor time that it had, below what the link carried, its
//! speed at most, by more than both vary. Certain; a warning. Cases: `ladder-cipher-below-link`, and
//! two in which it only looks so: `ladder-cipher-waiting`, `ladder-cipher-noisy`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::RungKind;
use serde::Serialize;

use super::cipher_chained::CipherChained;
use super::cipher_without_instructions::CipherWithoutInstructions;
use crate::cause::{Before, Cause, Found, LadderCause, Words, host};
use crate::compare::topic::{About, COMPUTING};
use crate::throughput::mb::MbPerS;
use crate::throughput::view::LadderView;

#[derive(Serialize)]
pub(crate) struct CipherBelowLink {
    cipher: String,
    cipher_mb_per_s: MbPerS,
    link_mb_per_s: MbPerS,
}

impl LadderCause for CipherBelowLink {
    fn find(view: &LadderView<'_>, before: &Before<'_>) -> Vec<Found<Self>> {
        let (Some(cipher), Some(link)) = (view.run.cipher, view.link()) else {
            return Vec::new();
        };
        if before.any(&[CipherWithoutInstructions::CODE, CipherChained::CODE]) {
            return Vec::new();
        }
        let ends = [
            (&view.run.from, RungKind::Encrypt),
            (&view.run.to, RungKind::Decrypt),
        ];
        ends.into_iter()
            .filter_map(|(host, kind)| Some((host, view.undisturbed(kind)?)))
            .filter(|(_, rate)| rate.clearly_below(0.95, link))
            .map(|(host, rate)| Found {
                severity: Severity::Warning,
                confidence: Confidence::Certain,
                place: Place::on(host),
                evidence: Self {
                    cipher: cipher.name(),
                    cipher_mb_per_s: MbPerS::of(rate.mb_per_s),
                    link_mb_per_s: MbPerS::of(link.mb_per_s),
                },
            })
            .collect()
    }
}

impl Cause for CipherBelowLink {
    const CODE: &'static str = "cipher-below-link";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &COMPUTING;

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "One processor of {} does {} of {}, the link takes {}.",
                host(at),
                self.cipher_mb_per_s,
                self.cipher,
                self.link_mb_per_s,
            ),
            fix: "Use several streams, each with a processor of its own; or a shorter key \
                  (`hawser bench cipher` shows what it gains here)."
                .to_owned(),
        }
    }
}
