//! Values that are written as text in the file: speeds, times, networks, secrets by reference.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::BitsPerSec;
pub use crate::units::NotA;
use crate::units::written::split_unit;

macro_rules! text_value {
    ($name:ident, $format:literal, $example:literal, $description:literal) => {
        impl $name {
            /// The schema's `format` of this value.
            pub const FORMAT: &'static str = $format;
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "format": $format,
                    "description": $description,
                    "examples": [$example],
                })
            }
        }
    };
}

/// A link's speed, written with its unit: `10Gbit/s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed(pub BitsPerSec);

text_value!(
    Speed,
    "hawser-speed",
    "10Gbit/s",
    "A speed with its unit: bit/s, kbit/s, Mbit/s, Gbit/s."
);

impl FromStr for Speed {
    type Err = NotA;

    fn from_str(text: &str) -> Result<Self, NotA> {
        text.parse().map(Self)
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.get();
        match bits {
            b if b % 1_000_000_000 == 0 => write!(f, "{}Gbit/s", b / 1_000_000_000),
            b if b % 1_000_000 == 0 => write!(f, "{}Mbit/s", b / 1_000_000),
            b if b % 1_000 == 0 => write!(f, "{}kbit/s", b / 1_000),
            b => write!(f, "{b}bit/s"),
        }
    }
}

/// A span of time, written with its unit: `10s`, `500ms`, `2min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period(pub Duration);

const PERIOD: &str = "a whole number and ms, s, min or h, such as \"10s\" or \"500ms\"";

text_value!(
    Period,
    "hawser-period",
    "10s",
    "A span of time with its unit: ms, s, min, h."
);

impl Period {
    /// From whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(Duration::from_millis(ms))
    }

    /// From whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(Duration::from_secs(s))
    }

    /// In whole milliseconds.
    pub fn as_millis(self) -> u64 {
        u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX)
    }
}

impl FromStr for Period {
    type Err = NotA;

    fn from_str(text: &str) -> Result<Self, NotA> {
        let (number, unit) = split_unit(text);
        let Ok(number) = number.parse::<u64>() else {
            return NotA::because(
                format!("\"{text}\" does not begin with a whole number"),
                PERIOD,
            );
        };
        let factor = match unit {
            "ms" => 1,
            "s" => 1_000,
            "min" => 60_000,
            "h" => 3_600_000,
            "" => return NotA::because(format!("\"{text}\" has no unit"), PERIOD),
            _ => return NotA::because(format!("\"{unit}\" is no unit of time here"), PERIOD),
        };
        match number.checked_mul(factor) {
            Some(ms) if ms <= 7 * 24 * 3_600_000 => Ok(Self::from_millis(ms)),
            _ => NotA::because(format!("\"{text}\" is longer than a week"), PERIOD),
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_millis() {
            ms if ms % 1_000 == 0 => write!(f, "{}s", ms / 1_000),
            ms => write!(f, "{ms}ms"),
        }
    }
}

/// An IP network, written with its prefix length: `10.0.1.0/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(pub IpNet);

const NETWORK: &str = "an address and a prefix length, such as \"10.0.1.0/24\"";

text_value!(
    Network,
    "hawser-network",
    "10.0.1.0/24",
    "An IP network with its prefix length."
);

impl FromStr for Network {
    type Err = NotA;

    fn from_str(text: &str) -> Result<Self, NotA> {
        let Ok(net) = text.parse::<IpNet>() else {
            return NotA::because(format!("\"{text}\" is no network"), NETWORK);
        };
        if net != net.trunc() {
            // Taking it silently would hide a typing error in either half.
            return NotA::because(
                format!("\"{text}\" is an address in the network {}", net.trunc()),
                NETWORK,
            );
        }
        Ok(Self(net))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A secret, named and never written down: `file:/path` or `env:NAME`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretRef {
    /// The first line of this file on the operator's machine, which must be mode 0600 or less.
    File(PathBuf),
    /// This environment variable of the operator's shell.
    Env(String),
}

const SECRET: &str = "where it is kept: \"file:/path\" (mode 0600) or \"env:NAME\"";

text_value!(
    SecretRef,
    "hawser-secret",
    "file:/etc/hawser/secrets/head1-bmc",
    "Where a secret is kept, never the secret itself: file:/path (mode 0600) or env:NAME."
);

impl FromStr for SecretRef {
    type Err = NotA;

    fn from_str(text: &str) -> Result<Self, NotA> {
        match text.split_once(':') {
            Some(("file", path)) if !path.starts_with('/') => {
                NotA::because("a secret file needs its whole path", SECRET)
            }
            // A lab looks for it below a folder that stands for the operator's root, and must not leave that.
            Some(("file", path)) if path.split('/').any(|part| part == "..") => {
                NotA::because("the path of a secret file has no \"..\"", SECRET)
            }
            Some(("file", path)) => Ok(Self::File(path.into())),
            Some(("env", name))
                if !name.is_empty()
                    && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') =>
            {
                Ok(Self::Env(name.to_owned()))
            }
            Some(("env", _)) => NotA::because("no environment variable has such a name", SECRET),
            // The text is not repeated: it may well be the password itself.
            _ => NotA::because("a secret is not written in the cluster file", SECRET),
        }
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Env(name) => write!(f, "env:{name}"),
        }
    }
}

/// Who is told of alarms, as `hawser watch --tell` has it: `https://…` or `http://…`, `mailto:ADDRESS`, `/PROGRAM`, `@/FILE`
/// with one of these.
#[derive(Clone, PartialEq, Eq)]
pub struct Whom(String);

impl fmt::Debug for Whom {
    /// A webhook's address may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Whom")
    }
}

const WHOM: &str = "\"https://…\" or \"http://…\" (a webhook), \"mailto:ADDRESS\", \"/PROGRAM\", or \"@/FILE\" with one of \
                    these, such as \"@/etc/hawser/webhook\"";

text_value!(
    Whom,
    "hawser-whom",
    "@/etc/hawser/webhook",
    "Who is told of alarms: https:// or http:// (a webhook), mailto:ADDRESS, /PROGRAM, or @/FILE with one of these."
);

impl FromStr for Whom {
    type Err = NotA;

    fn from_str(text: &str) -> Result<Self, NotA> {
        let known = ["https://", "http://", "mailto:", "/", "@/"];
        if text.chars().any(char::is_control) {
            return NotA::because("it has a control character", WHOM);
        }
        match known.iter().any(|begin| text.starts_with(begin)) {
            true => Ok(Self(text.to_owned())),
            false => NotA::because(format!("\"{text}\" names nobody"), WHOM),
        }
    }
}

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_printed_as_it_was_written() {
        for text in ["10Gbit/s", "2500Mbit/s", "1bit/s"] {
            assert_eq!(text.parse::<Speed>().unwrap().to_string(), text);
        }
        for text in ["10s", "500ms", "0s"] {
            assert_eq!(text.parse::<Period>().unwrap().to_string(), text);
        }
        for text in ["file:/etc/x", "env:BMC_PASSWORD"] {
            assert_eq!(text.parse::<SecretRef>().unwrap().to_string(), text);
        }
        assert_eq!(
            "2.5 Gbit/s".parse::<Speed>().unwrap().0,
            BitsPerSec(2_500_000_000)
        );
        assert_eq!("2min".parse::<Period>().unwrap(), Period::from_secs(120));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |e: NotA| e.reason;
        assert!(said("10GB/s".parse::<Speed>().unwrap_err()).contains("counts bytes"));
        assert!(said("10".parse::<Period>().unwrap_err()).contains("no unit"));
        assert!(
            said("10.0.1.5/24".parse::<Network>().unwrap_err()).contains("network 10.0.1.0/24")
        );
    }

    #[test]
    fn a_password_written_in_the_file_is_refused_and_not_repeated() {
        let error = "hunter2".parse::<SecretRef>().unwrap_err().to_string();
        assert!(error.contains("not written in the cluster file"));
        assert!(!error.contains("hunter2"));
    }
}
