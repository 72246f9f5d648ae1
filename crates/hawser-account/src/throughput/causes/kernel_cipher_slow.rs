//! The kernel's cipher is much slower than the same cipher in user space: it took a generic
//! implementation, or pays for saving the vector registers block by block (case `cipher`: 56 MB/s
//! in the kernel of a virtual machine, 1 026 in a program beside it).
//!
//! Evidence: the two rungs, each by the processor time that it had, more than one and a half times
//! apart. Certain; a warning.
//! Case: `ladder-kernel-cipher-slow`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};
use hawser_model::ladder::RungKind;

use super::LadderCause;
use crate::causes::support::Draft;
use crate::throughput::view::LadderView;

pub(super) const CAUSE: LadderCause = LadderCause {
    code: "kernel-cipher-slow",
    find,
};

fn find(view: &LadderView<'_>, _: &[Finding]) -> Vec<Finding> {
    let rate = |kind| view.undisturbed(kind);
    let rates = (rate(RungKind::Encrypt), rate(RungKind::EncryptKernel));
    let ((Some(user), Some(kernel)), Some(cipher)) = (rates, view.run.cipher) else {
        return Vec::new();
    };
    if !kernel.clearly_below(1.0 / 1.5, user) {
        return Vec::new();
    }
    let place = Place {
        host: Some(view.run.from.clone()),
        ..Place::default()
    };
    vec![
        Draft::new(CAUSE.code, Severity::Warning, Confidence::Certain, place)
            .name("cipher", &cipher.name())
            .decimal("kernel_mb_per_s", kernel.mb_per_s)
            .decimal("user_mb_per_s", user.mb_per_s)
            .done(),
    ]
}
