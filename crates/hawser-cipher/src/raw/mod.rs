//! All the unsafe code of the crate: the calls into AWS-LC, copy loops for AVX2, and one call
//! into OpenSSL for the benchmark.

#[cfg(feature = "aws-lc")]
pub(crate) mod aws_lc;
pub(crate) mod copy;
#[cfg(feature = "openssl")]
pub(crate) mod openssl;
