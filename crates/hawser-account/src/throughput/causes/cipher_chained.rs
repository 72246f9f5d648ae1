//! CBC encrypts each block with the one before in it, so one stream uses one of the processor's
//! many AES units, whatever else it has. Decryption is not chained and several times faster.
//!
//! Evidence: the mode, and encryption at less than half of decryption's rate and below the link's, each by
//! the processor time that it had. Certain; a warning. Case: `ladder-cipher-chained`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::ladder::{CipherMode, RungKind};

use super::{LadderCause, any};
use crate::causes::support::Draft;
use crate::throughput::view::LadderView;

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "cipher-chained",
    find,
};

fn find(view: &LadderView<'_>, found: &[Finding]) -> Vec<Finding> {
    let Some(cipher) = view.run.cipher.filter(|c| c.mode == CipherMode::Cbc) else {
        return Vec::new();
    };
    let rate = |kind| view.undisturbed(kind);
    let rates = (rate(RungKind::Encrypt), rate(RungKind::Decrypt));
    let ((Some(encrypt), Some(decrypt)), Some(link)) = (rates, view.link()) else {
        return Vec::new();
    };
    let chained = encrypt.clearly_below(0.5, decrypt) && encrypt.clearly_below(1.0, link);
    if !chained || any(found, &["cipher-without-instructions"]) {
        return Vec::new();
    }
    let place = Place {
        host: Some(view.run.from.clone()),
        ..Place::default()
    };
    vec![
        Draft::new(CAUSE.code, Severity::Warning, Confidence::Certain, place)
            .name("cipher", &cipher.name())
            .decimal("encrypt_mb_per_s", encrypt.mb_per_s)
            .decimal("decrypt_mb_per_s", decrypt.mb_per_s)
            .decimal("link_mb_per_s", link.mb_per_s)
            .done(),
    ]
}
