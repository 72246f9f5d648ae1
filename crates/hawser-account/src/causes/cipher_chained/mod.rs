//! CBC encrypts each block with the one before in it, so one stream uses one of the processor's
//! many AES units, whatever else it has. Decryption is not chained and several times faster.
//!
//! Evidence: the mode, and encryption at less than half of decryption's rate and below the link's, each by
//! the processor time that it had. Certain; a warning. Case: `ladder-cipher-chained`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::{CipherMode, RungKind};
use serde::Serialize;

use super::cipher_without_instructions::CipherWithoutInstructions;
use crate::cause::{Before, Cause, Found, LadderCause, Words};
use crate::throughput::mb::MbPerS;
use crate::throughput::view::LadderView;

#[derive(Serialize)]
pub(crate) struct CipherChained {
    cipher: String,
    encrypt_mb_per_s: MbPerS,
    decrypt_mb_per_s: MbPerS,
    link_mb_per_s: MbPerS,
}

impl LadderCause for CipherChained {
    fn find(view: &LadderView<'_>, before: &Before<'_>) -> Vec<Found<Self>> {
        let Some(cipher) = view.run.cipher.filter(|c| c.mode == CipherMode::Cbc) else {
            return Vec::new();
        };
        let rate = |kind| view.undisturbed(kind);
        let rates = (rate(RungKind::Encrypt), rate(RungKind::Decrypt));
        let ((Some(encrypt), Some(decrypt)), Some(link)) = (rates, view.link()) else {
            return Vec::new();
        };
        let chained = encrypt.clearly_below(0.5, decrypt) && encrypt.clearly_below(1.0, link);
        if !chained || before.any(&[CipherWithoutInstructions::CODE]) {
            return Vec::new();
        }
        vec![Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: Place::on(&view.run.from),
            evidence: Self {
                cipher: cipher.name(),
                encrypt_mb_per_s: MbPerS::of(encrypt.mb_per_s),
                decrypt_mb_per_s: MbPerS::of(decrypt.mb_per_s),
                link_mb_per_s: MbPerS::of(link.mb_per_s),
            },
        }]
    }
}

impl Cause for CipherChained {
    const CODE: &'static str = "cipher-chained";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, _: &Place) -> Words {
        Words {
            text: format!(
                "{} chains its blocks: one stream encrypts {} and decrypts {}, while the link carried \
                 {}.",
                self.cipher, self.encrypt_mb_per_s, self.decrypt_mb_per_s, self.link_mb_per_s,
            ),
            fix:
                "Use GCM (or CTR with an authentication of its own): their blocks are independent, \
                  and GCM authenticates as well. Where it must be CBC, several streams use several \
                  processors."
                    .to_owned(),
        }
    }
}
