//! Values of command-line arguments that carry a unit.

use std::time::Duration;

/// `500us`, `20ms`, `3s`.
pub fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|e| format!("{e}; write 500us, 20ms or 3s"))
}

/// `65536`, `64k`, `8M`: bytes, with binary prefixes as sysctls and buffers use them.
pub fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size; write 65536, 64k or 8M");
    let (digits, shift) = match text.trim_end_matches("iB").char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'M')) => (&text[..at], 20),
        Some((at, 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.trim().parse().map_err(|_| wrong())?;
    number
        .checked_shl(shift)
        .filter(|n| n >> shift == number)
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_and_nonsense_is_refused() {
        assert_eq!(bytes("212992"), Ok(212_992));
        assert_eq!(bytes("64k"), Ok(65_536));
        assert_eq!(bytes("8MiB"), Ok(8 << 20));
        assert!(bytes("lots").is_err());
        assert!(bytes("99999999999999G").is_err());
    }
}
