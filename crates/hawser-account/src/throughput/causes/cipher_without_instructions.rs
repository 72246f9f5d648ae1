//! The processor, or what a hypervisor shows of it, lacks the instructions ciphers are built on:
//! AES itself (AES-NI), or carry-less multiplication for GCM's tag (PCLMULQDQ). Everything is
//! computed in tables then, ten to thirty times slower.
//!
//! Evidence: the flags of `/proc/cpuinfo`. Certain; an error when the cipher is slower than the
//! link, else a warning. Case: `ladder-cipher-without-instructions`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::ladder::{CipherMode, RungKind};

use super::LadderCause;
use crate::causes::support::Draft;
use crate::throughput::view::LadderView;

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "cipher-without-instructions",
    find,
};

fn find(view: &LadderView<'_>, _: &[Finding]) -> Vec<Finding> {
    let Some(cipher) = view.run.cipher else {
        return Vec::new();
    };
    let ends = [
        (&view.run.from, RungKind::Encrypt),
        (&view.run.to, RungKind::Decrypt),
    ];
    let mut found = Vec::new();
    for (host, kind) in ends {
        let (Some(facts), Some(hardware)) = (view.facts(host), view.run.hardware.get(host)) else {
            continue;
        };
        let multiply = match facts.machine.as_str() {
            "x86_64" => "pclmulqdq",
            "aarch64" => "pmull",
            // Of other machines it is not known what they need.
            _ => continue,
        };
        let has = |name: &str| hardware.cipher_instructions.iter().any(|i| i == name);
        let missing = match (has("aes"), has(multiply)) {
            (false, _) => "aes",
            (true, false) if cipher.mode == CipherMode::Gcm => multiply,
            _ => continue,
        };
        let rate = view.mb(kind).unwrap_or(0.0);
        let slow = view.link_mb().is_some_and(|link| rate < link);
        let place = Place {
            host: Some(host.clone()),
            object: Some(hardware.processor.clone()),
            ..Place::default()
        };
        let severity = match slow {
            true => Severity::Error,
            false => Severity::Warning,
        };
        found.push(
            Draft::new(CAUSE.code, severity, Confidence::Certain, place)
                .name("missing", missing)
                .name("cipher", &cipher.name())
                .decimal("cipher_mb_per_s", rate)
                .done(),
        );
    }
    found
}
