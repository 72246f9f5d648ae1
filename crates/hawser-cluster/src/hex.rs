//! Bytes as text, in hexadecimal digits.

/// Two small digits for each byte.
pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
