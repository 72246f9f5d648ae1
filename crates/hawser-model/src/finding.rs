//! Findings: what is wrong, how sure that is, and the numbers it rests on.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{HostName, InterfaceName, LinkName};

/// How much it matters.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; nothing is lost today.
    Note,
    /// Redundancy or headroom is less than intended.
    Warning,
    /// Packets are lost, a link cannot carry what it must, or a dead node could not be fenced.
    Error,
}

impl Severity {
    /// As people call it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// How sure the cause is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// One piece of evidence points there; others could explain it too.
    Possible,
    /// The evidence fits, with a stated gap.
    Likely,
    /// Counted for our own packets and nothing else fits.
    Certain,
}

impl Confidence {
    /// As people call it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

/// Where a finding applies.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Place {
    /// The host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostName>,
    /// The other host, for a finding about a direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<HostName>,
    /// The link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkName>,
    /// The interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<InterfaceName>,
    /// Something else with a name: a process and its socket, a rule, a qdisc, a switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
}

impl Place {
    /// A host.
    pub fn on(host: &HostName) -> Self {
        Self {
            host: Some(host.clone()),
            ..Self::default()
        }
    }

    /// A host's interface on a link.
    pub fn port(host: &HostName, link: &LinkName, interface: &InterfaceName) -> Self {
        Self {
            link: Some(link.clone()),
            interface: Some(interface.clone()),
            ..Self::on(host)
        }
    }

    /// Something with a name, on a host where that is known.
    pub fn of(object: &str, host: Option<&HostName>) -> Self {
        Self {
            host: host.cloned(),
            object: Some(object.to_owned()),
            ..Self::default()
        }
    }
}

impl fmt::Display for Place {
    /// `head1, peer head2 on ring0 (eth1)`, or `vmpool01` alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = match (&self.host, &self.peer) {
            (Some(host), Some(peer)) => format!("{host}, peer {peer}"),
            (Some(host), None) => host.to_string(),
            (None, Some(peer)) => format!("peer {peer}"),
            (None, None) => String::new(),
        };
        if let Some(link) = &self.link {
            if !text.is_empty() {
                text.push_str(" on ");
            }
            text.push_str(link.as_str());
        }
        let details: Vec<&str> = [
            self.interface.as_ref().map(|i| i.as_str()),
            self.object.as_deref(),
        ]
        .into_iter()
        .flatten()
        .filter(|d| self.link.as_ref().is_none_or(|l| l.as_str() != *d))
        .collect();
        let details = details.join(", ");
        match (text.is_empty(), details.is_empty()) {
            (_, true) => {}
            // Of a thing that is on no host and no link there is nothing to stand behind.
            (true, false) => text = details,
            (false, false) => text.push_str(&format!(" ({details})")),
        }
        f.pad(&text)
    }
}

/// A finding without words: what the pure core concludes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Kebab-case, explained by `hawser explain CODE`, never renamed.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// How sure the cause is.
    pub confidence: Confidence,
    /// Where.
    #[serde(rename = "where")]
    pub place: Place,
    /// The very numbers it rests on, by name.
    pub evidence: BTreeMap<String, serde_json::Value>,
}

/// A finding with its words, as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WordedFinding {
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
    /// What it means.
    pub text: String,
    /// What to do.
    pub fix: String,
    /// What is set otherwise here than where the same is not found, of that which the finding is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<Differs>,
}

/// Something that is set otherwise at the place of a finding than at its like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Differs {
    /// What it is: `receive ring`, `net.core.rmem_max`.
    pub item: String,
    /// The value at the place of the finding.
    pub here: String,
    /// The host with another value.
    pub host: HostName,
    /// Its link, where that is another one; the host is then the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkName>,
    /// The value there.
    pub there: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_says_what_it_has() {
        let object = |host: Option<&str>| Place {
            host: host.map(HostName::from),
            object: Some("vmpool01".into()),
            ..Place::default()
        };
        assert_eq!(object(Some("head1")).to_string(), "head1 (vmpool01)");
        assert_eq!(object(None).to_string(), "vmpool01");
        assert_eq!(Place::default().to_string(), "");
    }
}
