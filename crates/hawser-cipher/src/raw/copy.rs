//! The copy loops of [`crate::scatter`], compiled for AVX2 too where the processor has it: a piece
//! of 64 bytes is then two loads and two stores.

use std::io::IoSliceMut;
use std::ops::Deref;

use crate::scatter::copy;

/// [`copy::gather`] by the widest instructions that this processor has.
#[inline]
pub(crate) fn gather<T: Deref<Target = [u8]>>(pieces: &[T], into: &mut [u8]) -> copy::Copied {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as was just asked.
        return unsafe { avx2::gather(pieces, into) };
    }
    copy::gather(pieces, into)
}

/// [`copy::scatter`] by the widest instructions that this processor has.
#[inline]
pub(crate) fn scatter(from: &[u8], pieces: &mut [IoSliceMut<'_>]) -> copy::Copied {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as was just asked.
        return unsafe { avx2::scatter(from, pieces) };
    }
    copy::scatter(from, pieces)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::io::IoSliceMut;
    use std::ops::Deref;

    use crate::scatter::copy;

    /// # Safety
    /// The processor must have AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn gather<T: Deref<Target = [u8]>>(
        pieces: &[T],
        into: &mut [u8],
    ) -> copy::Copied {
        copy::gather(pieces, into)
    }

    /// # Safety
    /// The processor must have AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn scatter(from: &[u8], pieces: &mut [IoSliceMut<'_>]) -> copy::Copied {
        copy::scatter(from, pieces)
    }
}
