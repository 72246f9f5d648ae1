//! AES modes over contiguous, in-place and scattered buffers.
