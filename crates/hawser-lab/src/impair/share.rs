//! Shares, rates and sizes as they are typed: `1.5%`, `100Mbit`, `64k`.

use std::fmt;
use std::str::FromStr;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_as_typed() {
        assert_eq!("1.5%".parse::<Share>().unwrap().per_million(), 15_000);
        assert_eq!("100".parse::<Share>().unwrap().to_string(), "100%");
        assert_eq!("0.0001%".parse::<Share>().unwrap().per_million(), 1);
        for bad in ["0", "101%", "-1", "x", "NaN", "0.00001"] {
            assert!(bad.parse::<Share>().is_err(), "{bad}");
        }
    }
}
