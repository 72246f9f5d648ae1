//! The kernel's cipher is much slower than the same cipher in user space: it took a generic
//! implementation, or pays for saving the vector registers block by block (case `cipher`: 56 MB/s
//! in the kernel of a virtual machine, 1 026 in a program beside it).
//!
//! Evidence: the two rungs, each by the processor time that it had, more than one and a half times
//! apart. Certain; a warning.
//! Case: `ladder-kernel-cipher-slow`.

use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::ladder::RungKind;
use serde::Serialize;

use crate::cause::{Before, Cause, Found, LadderCause, Words, host};
use crate::compare::topic::{About, Topic};
use crate::throughput::mb::MbPerS;
use crate::throughput::view::LadderView;

#[derive(Serialize)]
pub(crate) struct KernelCipherSlow {
    cipher: String,
    kernel_mb_per_s: MbPerS,
    user_mb_per_s: MbPerS,
}

impl LadderCause for KernelCipherSlow {
    fn find(view: &LadderView<'_>, _: &Before<'_>) -> Vec<Found<Self>> {
        let rate = |kind| view.undisturbed(kind);
        let rates = (rate(RungKind::Encrypt), rate(RungKind::EncryptKernel));
        let ((Some(user), Some(kernel)), Some(cipher)) = (rates, view.run.cipher) else {
            return Vec::new();
        };
        if !kernel.clearly_below(1.0 / 1.5, user) {
            return Vec::new();
        }
        vec![Found {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            place: Place::on(&view.run.from),
            evidence: Self {
                cipher: cipher.name(),
                kernel_mb_per_s: MbPerS::of(kernel.mb_per_s),
                user_mb_per_s: MbPerS::of(user.mb_per_s),
            },
        }]
    }
}

impl Cause for KernelCipherSlow {
    const CODE: &'static str = "kernel-cipher-slow";
    const PAGE: &'static str = include_str!("page.md");
    const ABOUT: &[About] = &[Topic::Kernel.any(), Topic::Processor.any()];

    fn words(&self, at: &Place) -> Words {
        Words {
            text: format!(
                "{} by the kernel of {} does {}, in user space {}.",
                self.cipher,
                host(at),
                self.kernel_mb_per_s,
                self.user_mb_per_s,
            ),
            fix: "See which driver the kernel chose (`grep -A1 aes /proc/crypto`): load the \
                  accelerated one (`modprobe aesni_intel`, `ghash_clmulni_intel`), and encrypt in a \
                  program where the kernel has none."
                .to_owned(),
        }
    }
}
