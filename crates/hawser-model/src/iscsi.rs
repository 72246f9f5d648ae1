//! A unit that a target offers by iSCSI.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The port of iSCSI (RFC 7143).
pub const ISCSI_PORT: u16 = 3260;

/// The name that clients know a target of a pool by: `AUTHORITY:POOL`, or `AUTHORITY:POOL:TARGET` for one that the pool
/// does not lend its own name. Of names, only the letters that RFC 3722 leaves: two names may become one.
pub fn target_name(authority: &str, pool: &str, target: Option<&str>) -> String {
    let plain = |name: &str| -> String {
        let plain = |c: char| match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() || c == '.' => c,
            _ => '-',
        };
        name.chars().map(plain).collect()
    };
    match target {
        None => format!("{authority}:{}", plain(pool)),
        Some(target) => format!("{authority}:{}:{}", plain(pool), plain(target)),
    }
}

/// A unit and where it is offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IscsiUnit {
    /// An address of its target.
    pub portal: SocketAddr,
    /// The target's name, an IQN.
    pub target: String,
    /// The unit's number.
    pub lun: u16,
}

/// What is not the name of a unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a unit: ADDRESS[:PORT]/IQN/LUN, such as 10.0.3.207/iqn.2013-06.com.example:pool/1; an \
     IPv6 address in brackets"
)]
pub struct NotAUnit(pub String);

impl FromStr for IscsiUnit {
    type Err = NotAUnit;

    /// Reads `ADDRESS[:PORT]/IQN/LUN`, also with libiscsi's `iscsi://` before it.
    fn from_str(text: &str) -> Result<Self, NotAUnit> {
        let plain = text.strip_prefix("iscsi://").unwrap_or(text);
        let unit = || {
            let (portal, rest) = plain.split_once('/')?;
            let (target, lun) = rest.split_once('/')?;
            let address = || portal.trim_start_matches('[').trim_end_matches(']');
            let portal = portal.parse().ok().or_else(|| {
                let ip: IpAddr = address().parse().ok()?;
                Some(SocketAddr::new(ip, ISCSI_PORT))
            })?;
            let named = ["iqn.", "eui.", "naa."]
                .iter()
                .any(|kind| target.starts_with(kind));
            let lun = lun.parse().ok()?;
            named.then(|| Self {
                portal,
                target: target.to_owned(),
                lun,
            })
        };
        unit().ok_or_else(|| NotAUnit(text.to_owned()))
    }
}

impl fmt::Display for IscsiUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "iscsi://{}/{}/{}", self.portal, self.target, self.lun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_read_as_it_is_printed_and_as_people_write_it() {
        let iqn = "iqn.2013-06.com.example:pool";
        for (text, portal) in [
            (format!("10.0.3.207/{iqn}/1"), "10.0.3.207:3260"),
            (format!("iscsi://10.0.3.207:860/{iqn}/1"), "10.0.3.207:860"),
            (format!("[fd00::7]/{iqn}/1"), "[fd00::7]:3260"),
            (format!("[fd00::7]:860/{iqn}/1"), "[fd00::7]:860"),
        ] {
            let unit: IscsiUnit = text.parse().unwrap();
            assert_eq!(unit.portal, portal.parse().unwrap(), "{text}");
            assert_eq!((unit.target.as_str(), unit.lun), (iqn, 1));
            assert_eq!(unit.to_string().parse(), Ok(unit));
        }
        for wrong in ["", "10.0.3.207", "head1/iqn.x/1", "10.0.3.207/pool/1"] {
            assert!(wrong.parse::<IscsiUnit>().is_err(), "{wrong}");
        }
    }
}
