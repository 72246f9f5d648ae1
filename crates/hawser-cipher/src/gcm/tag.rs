//! Authentication tags.

use subtle::ConstantTimeEq;

/// A 128-bit authentication tag. Two are compared in constant time.
#[derive(Clone, Copy, Debug)]
pub struct Tag(pub [u8; 16]);

impl PartialEq for Tag {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Tag {}

impl From<[u8; 16]> for Tag {
    fn from(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}
