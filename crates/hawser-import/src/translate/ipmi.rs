//! Management controllers, as the plugin `external/ipmi` of Heartbeat's days was told them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::page::Page;
use crate::picture::{Bmc, Picture};
use crate::place::quoted;
use crate::{Secret, SourceLine};

/// The plugin's parameters.
pub(crate) struct Plugin<'a> {
    pub at: &'a SourceLine,
    pub address: &'a str,
    pub user: &'a str,
    pub interface: Option<&'a str>,
}

impl Plugin<'_> {
    /// The controller.
    pub fn bmc(&self) -> Bmc {
        Bmc {
            at: self.at.clone(),
            address: self.address.to_owned(),
            username: self.user.to_owned(),
            agent: None,
            // The plugin takes IPMI 1.5 unless it is told otherwise.
            lanplus: match self.interface {
                Some("lanplus") => None,
                _ => Some(false),
            },
            cipher: None,
            power_wait: None,
            options: BTreeMap::new(),
        }
    }
}

/// The name of the file of a node's password.
pub(crate) fn secret_name(node: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '-'
        }
    };
    let node: String = node.chars().map(plain).collect();
    format!("{}-bmc", node.trim_start_matches('.'))
}

/// Gives the node its controller.
pub(super) fn give(node: &str, bmc: Bmc, password: Secret, picture: &mut Picture) {
    picture.secrets.insert(secret_name(node), password);
    let at = bmc.at.clone();
    picture.add_node(node, &at).bmc = Some(bmc);
}

/// Whether a controller can be reached there: an address, or a host's name, which the page names. Of anything else the page
/// says that it is neither.
pub(super) fn address_fits(text: &str, at: &SourceLine, what: &str, page: &mut Page) -> bool {
    if text.parse::<IpAddr>().is_ok() {
        return true;
    }
    let fits = is_name(text);
    match fits {
        true => page.understood(
            at,
            format!("{what}: its address {}", quoted(text)),
            "a name: every head must be able to look it up at the moment when it fences",
        ),
        false => page.unsaid(
            at,
            format!("{what}: its address {}", quoted(text)),
            "it is neither an IP address nor a host's name: write [node.bmc]",
        ),
    }
    fits
}

/// A host's name: labels of letters, digits, `-` and `_`, of which the last is no number.
fn is_name(text: &str) -> bool {
    let label = |label: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        !label.is_empty() && label.chars().all(plain)
    };
    let number = |label: &str| label.chars().all(|c| c.is_ascii_digit());
    text.split('.').all(label) && text.rsplit('.').next().is_some_and(|last| !number(last))
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn a_host_has_a_name_and_a_bent_address_is_none() {
        for name in ["bmc1", "bmc-1.example.com", "1.example"] {
            assert!(is_name(name), "{name}");
        }
        for text in [
            "",
            "10.0.0.300",
            "10.0.0",
            "a b",
            "a..b",
            "a/24",
            "fe80::1::2",
        ] {
            assert!(!is_name(text), "{text}");
        }
    }
}
