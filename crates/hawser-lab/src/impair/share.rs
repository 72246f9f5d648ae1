//! Shares, rates and sizes as they are typed: `1.5%`, `100Mbit`, `64k`.

use std::fmt;
use std::str::FromStr;

use hawser_model::units::{BitsPerSec, Bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A share of packets, exact to one in a million.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Share {
    per_million: u32,
}

impl Share {
    /// All packets.
    pub const ALL: Self = Self {
        per_million: 1_000_000,
    };

    /// So many of a hundred, at most all.
    pub(crate) fn percent(percent: u8) -> Self {
        Self {
            per_million: u32::from(percent.min(100)) * 10_000,
        }
    }

    /// Packets in a million.
    pub fn per_million(self) -> u32 {
        self.per_million
    }
}

impl FromStr for Share {
    type Err = String;

    /// From a percentage, with or without its sign.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('%').unwrap_or(text).trim();
        match number.parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent <= 100.0 => {
                let per_million = (percent * 10_000.0).round() as u32;
                if per_million == 0 {
                    return Err(format!("\"{text}\": the smallest share is 0.0001%"));
                }
                Ok(Self { per_million })
            }
            _ => Err(format!(
                "\"{text}\": a share is more than 0% and at most 100%, such as 1.5%"
            )),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.per_million) / 10_000.0)
    }
}

/// A rate as `tc` takes it, with a decimal prefix: `800kbit`, `1.5Gbit/s`.
///
/// # Errors
/// What is wrong, in words.
pub fn parse_rate(text: &str) -> Result<BitsPerSec, String> {
    let lower = text.to_ascii_lowercase();
    let bare = lower.strip_suffix("/s").unwrap_or(&lower);
    let wrong = || format!("\"{text}\": a rate is a number and a unit, such as 100Mbit");
    let number = bare.strip_suffix("bit").ok_or_else(wrong)?.trim_end();
    let (number, factor) = match number.chars().last() {
        Some('k') => (&number[..number.len() - 1], 1e3),
        Some('m') => (&number[..number.len() - 1], 1e6),
        Some('g') => (&number[..number.len() - 1], 1e9),
        _ => (number, 1.0),
    };
    let rate = number.trim_end().parse::<f64>().map_err(|_| wrong())? * factor;
    if (8_000.0..=1e12).contains(&rate) {
        Ok(BitsPerSec(rate as u64))
    } else {
        Err(format!(
            "\"{text}\": a rate is at least 8kbit and at most 1000Gbit"
        ))
    }
}

/// A size with a binary prefix: `4096`, `64k`, `1MiB`.
///
/// # Errors
/// What is wrong, in words.
pub fn parse_size(text: &str) -> Result<Bytes, String> {
    let lower = text.to_ascii_lowercase();
    let bare = lower
        .strip_suffix("ib")
        .or(lower.strip_suffix('b'))
        .unwrap_or(&lower);
    let (number, shift) = match bare.chars().last() {
        Some('k') => (&bare[..bare.len() - 1], 10),
        Some('m') => (&bare[..bare.len() - 1], 20),
        _ => (bare, 0),
    };
    let bytes = number
        .trim_end()
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(1 << shift));
    match bytes {
        Some(bytes @ 1..=0x7fff_ffff) => Ok(Bytes(bytes)),
        _ => Err(format!(
            "\"{text}\": a size is a whole number of bytes below 2 GiB, such as 4096, 64k or 1M"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_rates_and_sizes_are_read_as_typed() {
        assert_eq!("1.5%".parse::<Share>().unwrap().per_million(), 15_000);
        assert_eq!("100".parse::<Share>().unwrap().to_string(), "100%");
        assert_eq!("0.0001%".parse::<Share>().unwrap().per_million(), 1);
        for bad in ["0", "101%", "-1", "x", "NaN", "0.00001"] {
            assert!(bad.parse::<Share>().is_err(), "{bad}");
        }
        assert_eq!(parse_rate("100Mbit").unwrap(), BitsPerSec(100_000_000));
        assert_eq!(parse_rate("1.5 Gbit/s").unwrap(), BitsPerSec(1_500_000_000));
        assert!(parse_rate("100MB").is_err() && parse_rate("1bit").is_err());
        assert_eq!(parse_size("64k").unwrap(), Bytes(65_536));
        assert_eq!(parse_size("1MiB").unwrap(), Bytes(1 << 20));
        assert!(parse_size("0").is_err() && parse_size("64x").is_err());
    }
}
