//! The processor, or what a hypervisor shows of it, lacks the instructions ciphers are built on:
//! AES itself (AES-NI), or carry-less multiplication for GCM's tag (PCLMULQDQ). Everything is
//! computed in tables then, ten to thirty times slower.
//!
//! Evidence: the flags of `/proc/cpuinfo`. Certain; an error when the cipher is slower than the
//! link, else a warning. Case: `ladder-cipher-without-instructions`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::{CipherMode, RungKind};
use serde::Serialize;

use crate::cause::{Before, Cause, Found, LadderCause, Words, host};
use crate::compare::topic::{About, Topic};
use crate::throughput::mb::MbPerS;
use crate::throughput::view::LadderView;

#[derive(Serialize)]
pub(crate) struct CipherWithoutInstructions {
    missing: &'static str,
    cipher: String,
    cipher_mb_per_s: MbPerS,
}

impl LadderCause for CipherWithoutInstructions {
    fn find(view: &LadderView<'_>, _: &Before<'_>) -> Vec<Found<Self>> {
        let Some(cipher) = view.run.cipher else {
            return Vec::new();
        };
        let ends = [
            (&view.run.from, RungKind::Encrypt),
            (&view.run.to, RungKind::Decrypt),
        ];
        let mut found = Vec::new();
        for (host, kind) in ends {
            let (Some(facts), Some(hardware)) = (view.facts(host), view.run.hardware.get(host))
            else {
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
            found.push(Found {
                severity: match slow {
                    true => Severity::Error,
                    false => Severity::Warning,
                },
                confidence: Confidence::Certain,
                place: Place::of(&hardware.processor, Some(host)),
                evidence: Self {
                    missing,
                    cipher: cipher.name(),
                    cipher_mb_per_s: MbPerS::of(rate),
                },
            });
        }
        found
    }
}

impl Cause for CipherWithoutInstructions {
    const CODE: &'static str = "cipher-without-instructions";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Processor.any()];

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "{} has no `{}` instruction for {} ({}): {}.",
                host(at),
                self.missing,
                self.cipher,
                at.object.as_deref().unwrap_or("its processor"),
                self.cipher_mb_per_s,
            ),
            fix: "In a virtual machine give the guest the host's processor (`-cpu host`, `cpu: host`, \
                  EVC or a CPU mask without the exclusion); a physical one without it wants another \
                  processor, or no encryption here."
                .to_owned(),
        }
    }
}
