//! The links of the page, and their ends.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Light;
use crate::names::{InterfaceName, LinkName};
use crate::output::watch::LinkReading;
use crate::port_traffic::PortRates;
use crate::units::{BitsPerSec, Packets};

/// Reasons of drops that are named for a port.
const REASONS_SHOWN: usize = 3;

/// A link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveLink {
    /// Its name.
    pub name: LinkName,
    /// What it carries, in words.
    pub carries: String,
    /// The switch that it runs over, where the file names one.
    pub switch: Option<String>,
    /// The switch is where to look first: several of its links are down.
    pub suspect: bool,
    /// Its end at each head, in the order of the heads.
    pub ends: Vec<LiveEnd>,
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveEnd {
    /// How it is.
    pub light: Light,
    /// What is known of it.
    pub what: EndKnown,
    /// How this head sees the ways to its peers over the link. Where one head alone watches they stand at the peers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<LinkReading>,
}

/// What is known of an end of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndKnown {
    /// The port of the head.
    Port(OwnPort),
    /// No interface of the head has its address on the link.
    NoPort,
    /// The way to a peer, by Corosync's pings.
    Peer(LinkReading),
    /// The head is on the link, and nothing tells of it.
    NotKnown,
    /// The head is not on the link.
    NotThere,
}

/// A port of a head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnPort {
    /// The interface.
    pub interface: InterfaceName,
    /// Administratively up.
    pub up: bool,
    /// It has a carrier.
    pub carrier: bool,
    /// Its speed; absent where the driver reports none.
    pub speed: Option<BitsPerSec>,
    /// How fast it receives and sends; absent where no two readings tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<PortRates>,
    /// What the kernel dropped there in the last minute, by its own reason (`enum skb_drop_reason`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, Packets>,
}

impl EndKnown {
    /// What is known of it, in lines of words.
    pub fn words(&self) -> Vec<String> {
        let mut all = self.state_words();
        if let Self::Port(port) = self {
            all.extend(port.rates.iter().flat_map(PortRates::words));
            all.extend(port.dropped_words());
        }
        all
    }

    /// The first lines of it: without the numbers of a port that are others each time.
    pub fn state_words(&self) -> Vec<String> {
        match self {
            Self::Port(port) => {
                let name = &port.interface;
                match (port.up, port.carrier, port.speed) {
                    (false, ..) => vec![format!("{name} is switched off")],
                    (true, false, _) => vec![format!("{name} has no carrier")],
                    (true, true, None) => vec![format!("{name} has carrier")],
                    (true, true, Some(speed)) => {
                        vec![format!("{name} has carrier"), speed.to_string()]
                    }
                }
            }
            Self::NoPort => vec!["no interface has its address".to_owned()],
            Self::Peer(link) => link.words(),
            Self::NotKnown => vec!["not known here".to_owned()],
            Self::NotThere => vec!["not on this link".to_owned()],
        }
    }
}

impl OwnPort {
    /// What the kernel dropped there, most first; nothing where it dropped nothing.
    fn dropped_words(&self) -> Option<String> {
        let mut all: Vec<_> = self.dropped.iter().collect();
        all.sort_by_key(|(_, packets)| Reverse(**packets));
        let named = all.iter().take(REASONS_SHOWN);
        let mut words: Vec<String> = named
            .map(|(reason, packets)| format!("{} {reason}", packets.0))
            .collect();
        let rest: Packets = all.iter().skip(REASONS_SHOWN).map(|(_, it)| **it).sum();
        if !rest.is_zero() {
            words.push(format!("{} for other reasons", rest.0));
        }
        let words = words.join(", ");
        (!words.is_empty()).then(|| format!("packets dropped in the last minute: {words}"))
    }
}
