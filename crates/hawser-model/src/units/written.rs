//! Quantities as people write them: `100Mbit`, `64k`, `10k`. All of them are read here, from the command line and from
//! files.

use std::str::FromStr;

use super::{BitsPerSec, Bytes};

/// A text that is not such a value, and how one is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; write {written}")]
pub struct NotA {
    /// What is wrong with the text.
    pub reason: String,
    /// How the value is written, with an example.
    pub written: &'static str,
}

impl NotA {
    pub(crate) fn because<T>(reason: impl Into<String>, written: &'static str) -> Result<T, Self> {
        Err(Self {
            reason: reason.into(),
            written,
        })
    }
}

const RATE: &str = "a number and a unit, such as \"10Gbit/s\" or \"100Mbit/s\"";
const SIZE: &str = "a whole number of bytes, such as 65536, 64k or 8M";
const COUNT: &str = "a whole number, such as 10000, 10k or 2M";

impl FromStr for BitsPerSec {
    type Err = NotA;

    /// `100Mbit`, `1.5 Gbit/s`, `10Gbps`: bits, with decimal prefixes.
    fn from_str(text: &str) -> Result<Self, NotA> {
        let (number, unit) = split_unit(text);
        let Ok(number) = number.parse::<f64>() else {
            return NotA::because(format!("\"{text}\" does not begin with a number"), RATE);
        };
        let bare = unit.strip_suffix("/s").or(unit.strip_suffix("ps"));
        // A byte rate on a link is so often a slip of case that it is worth its own words.
        if bare.unwrap_or(unit).ends_with('B') {
            return NotA::because(
                format!("\"{text}\" counts bytes, a link's speed is in bits"),
                RATE,
            );
        }
        let prefix = match bare {
            Some(bits) => bits.strip_suffix("bit").or(bits.strip_suffix('b')),
            None => unit.strip_suffix("bit"),
        };
        let factor = match prefix {
            Some("") => 1.0,
            Some("k") => 1e3,
            Some("M" | "m") => 1e6,
            Some("G" | "g") => 1e9,
            _ => return NotA::because(format!("\"{unit}\" is no unit of speed"), RATE),
        };
        let bits = number * factor;
        if !(1.0..=1e15).contains(&bits) {
            return NotA::because(format!("\"{text}\" is no speed a link can have"), RATE);
        }
        Ok(Self(bits.round() as u64))
    }
}

impl FromStr for Bytes {
    type Err = NotA;

    /// `65536`, `64k`, `8MiB`: with binary prefixes, as sysctls and buffers use them.
    fn from_str(text: &str) -> Result<Self, NotA> {
        let (number, unit) = split_unit(text);
        let bytes = prefixed(number, unit.strip_suffix("iB").unwrap_or(unit), 1 << 10);
        match bytes {
            Some(bytes) => Ok(Self(bytes)),
            None => NotA::because(format!("\"{text}\" is not a size"), SIZE),
        }
    }
}

/// `10000`, `10k`, `2M`: a number of things that are counted, with decimal prefixes.
///
/// # Errors
/// The text is no such number, or larger than 64 bits.
pub fn count(text: &str) -> Result<u64, NotA> {
    let (number, unit) = split_unit(text);
    match prefixed(number, unit, 1000) {
        Some(count) => Ok(count),
        None => NotA::because(format!("\"{text}\" is not a number"), COUNT),
    }
}

/// A whole number, times a power of `kilo` by its prefix.
fn prefixed(number: &str, prefix: &str, kilo: u64) -> Option<u64> {
    let power = match prefix {
        "" => 0,
        "k" | "K" => 1,
        "M" | "m" => 2,
        "G" | "g" => 3,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(kilo.pow(power))
}

/// `10 Gbit/s` into `10` and `Gbit/s`.
pub(crate) fn split_unit(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_in_bits_with_decimal_prefixes() {
        let rate = |text: &str| text.parse::<BitsPerSec>().map(BitsPerSec::get);
        for text in ["100Mbit", "100 Mbit/s", "100mbit", "100Mb/s", "100Mbps"] {
            assert_eq!(rate(text), Ok(100_000_000), "{text}");
        }
        assert_eq!(rate("1.5 Gbit/s"), Ok(1_500_000_000));
        assert!(rate("100MB/s").unwrap_err().reason.contains("counts bytes"));
        for bad in [
            "100",
            "fast",
            "1Tbit",
            "0bit",
            "1b",
            "9999999Gbit",
            "100MB",
            "",
        ] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_binary_and_counts_are_decimal() {
        let size = |text: &str| text.parse::<Bytes>().map(Bytes::get);
        assert_eq!(size("212992"), Ok(212_992));
        assert_eq!((size("64k"), size("64KiB")), (Ok(65_536), Ok(65_536)));
        assert_eq!(size("8MiB"), Ok(8 << 20));
        assert_eq!((count("10k"), count("2M")), (Ok(10_000), Ok(2_000_000)));
        for bad in ["lots", "64x", "1.5M", "-1", "k", "", "99999999999999999G"] {
            assert!(size(bad).is_err() && count(bad).is_err(), "{bad}");
        }
        // Decimal to some and binary to others.
        assert!(size("64kB").is_err());
    }
}
