//! The copy loops of [`crate::scatter`], compiled for AVX2 too where the processor has it: a piece
//! of 64 bytes is then two loads and two stores. And reading the lengths of a list, likewise.

use std::io::{IoSlice, IoSliceMut};
use std::ops::Deref;
use std::slice;

use crate::scatter::{Pieces, copy};

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

/// The addresses and lengths of a list, in turn.
pub(crate) fn words<'a>(pieces: &'a [IoSlice<'_>]) -> &'a [usize] {
    // SAFETY: std promises that on Unix an IoSlice is an iovec, which on Linux is an address and a length
    // of a word each; any word is a usize. The list stays borrowed as long as the result.
    unsafe { slice::from_raw_parts(pieces.as_ptr().cast(), 2 * pieces.len()) }
}

/// [`words`] of a list of output.
pub(crate) fn words_mut<'a>(pieces: &'a [IoSliceMut<'_>]) -> &'a [usize] {
    // SAFETY: as in `words`; std promises the same of an IoSliceMut.
    unsafe { slice::from_raw_parts(pieces.as_ptr().cast(), 2 * pieces.len()) }
}

/// [`Pieces::summed`] by the widest instructions that this processor has.
#[inline]
pub(crate) fn lengths(words: &[usize]) -> Pieces {
    #[cfg(target_arch = "x86_64")]
    if words.len() >= 16 && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as was just asked.
        return unsafe { avx2::lengths(words) };
    }
    Pieces::summed(words)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        _mm256_add_epi64, _mm256_loadu_si256, _mm256_or_si256, _mm256_setzero_si256,
        _mm256_storeu_si256,
    };
    use std::io::IoSliceMut;
    use std::ops::Deref;

    use crate::scatter::{Pieces, copy};

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

    /// [`Pieces::summed`], eight pieces at once. The addresses are summed along and thrown away: what the
    /// compiler makes of the plain loop, which leaves them out, takes four times as long.
    ///
    /// # Safety
    /// The processor must have AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn lengths(words: &[usize]) -> Pieces {
        let parts = words.chunks_exact(16);
        let rest = Pieces::summed(parts.remainder());
        // SAFETY: the processor has AVX2; each load is of 4 of the 16 words of a part; each store
        // is of as many bytes as the array has.
        let (sums, ors) = unsafe {
            let mut sums = [_mm256_setzero_si256(); 4];
            let mut ors = sums;
            for part in parts {
                for lane in 0..4 {
                    let four = _mm256_loadu_si256(part.as_ptr().add(4 * lane).cast());
                    sums[lane] = _mm256_add_epi64(sums[lane], four);
                    ors[lane] = _mm256_or_si256(ors[lane], four);
                }
            }
            let sum = _mm256_add_epi64(
                _mm256_add_epi64(sums[0], sums[1]),
                _mm256_add_epi64(sums[2], sums[3]),
            );
            let or = _mm256_or_si256(
                _mm256_or_si256(ors[0], ors[1]),
                _mm256_or_si256(ors[2], ors[3]),
            );
            let mut words = ([0_usize; 4], [0_usize; 4]);
            _mm256_storeu_si256(words.0.as_mut_ptr().cast(), sum);
            _mm256_storeu_si256(words.1.as_mut_ptr().cast(), or);
            words
        };
        rest.and(Pieces {
            length: sums[1].wrapping_add(sums[3]),
            lengths: ors[1] | ors[3],
        })
    }
}
