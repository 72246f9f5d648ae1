//! All the unsafe code of the crate: the calls into AWS-LC, and copy loops for AVX2.

#[cfg(feature = "aws-lc")]
pub(crate) mod aws_lc;
pub(crate) mod copy;
