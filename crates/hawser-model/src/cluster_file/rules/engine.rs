//! What Corosync can do: links, crypto, quorum, timing.

use std::net::IpAddr;

use super::{Found, Problem};
use crate::cluster_file::{
    At, ClusterFile, CryptoCipher, CryptoHash, LinkEntry, NodeEntry, Period, Profile, Role,
};

/// kronosnet carries at most so many links (`KNET_MAX_LINK`).
pub const MAX_LINKS: usize = 8;

/// Consensus must be longer than `join`, which is 50 ms (corosync.conf(5)): twice that, to be safe.
const SHORTEST_CONSENSUS: Period = Period::from_millis(100);

/// The engine retransmits a token four times before it gives it up, at least 30 ms apart
/// (`token_retransmit` of corosync.conf(5)); below twice that a busy CPU looks like a dead node.
const SHORTEST_TOKEN: Period = Period::from_millis(300);

/// Pacemaker's properties that are made from other keys, and the key of each.
const OWN_PROPERTIES: &[(&str, &str)] = &[
    ("dc-deadtime", "[timing] initial"),
    ("maintenance-mode", "[cluster] maintenance"),
    ("no-quorum-policy", "[quorum]"),
    ("stonith-action", "[fencing] action"),
    ("stonith-enabled", "[fencing]"),
    ("stonith-timeout", "[fencing]"),
];

/// What can be wrong with the engine's settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenEngine {
    /// More heartbeat links than kronosnet carries.
    #[error("this is one heartbeat link too many: Corosync carries {MAX_LINKS}")]
    TooManyLinks,
    /// No heartbeat link at all.
    #[error("no link carries the heartbeat")]
    NoHeartbeat,
    /// A node without an address on a heartbeat link.
    #[error("node \"{node}\" has no address on heartbeat link \"{link}\"")]
    NodeNotOnLink {
        /// The node.
        node: String,
        /// The link.
        link: String,
    },
    /// IPv4 and IPv6 on one heartbeat link.
    #[error("heartbeat link \"{link}\" mixes IPv4 and IPv6")]
    MixedFamilies {
        /// The link.
        link: String,
    },
    /// Encryption without a signature.
    #[error("a cipher needs a hash beside it")]
    CipherWithoutHash,
    /// A property that is made from another key.
    #[error("the property \"{name}\" is made from {key}")]
    OwnProperty {
        /// The property.
        name: String,
        /// The key.
        key: &'static str,
    },
    /// Two nodes with one number.
    #[error("two nodes have the id {0}")]
    IdTwice(u32),
    /// The quorum device is one of the nodes.
    #[error("the quorum device runs on \"{0}\", which is a node of this cluster")]
    DeviceOnNode(String),
    /// A time that this profile does not know.
    #[error("\"{key}\" does not go with profile \"{profile}\"")]
    NotInProfile {
        /// The key.
        key: &'static str,
        /// The profile.
        profile: &'static str,
    },
    /// A time that the heartbeat profile needs.
    #[error("profile \"heartbeat\" needs \"{0}\"")]
    NeedsTime(&'static str),
    /// keepalive, warning and dead in the wrong order.
    #[error("{shorter} ({a}) must be less than {longer} ({b})")]
    Order {
        /// The key that must be less.
        shorter: &'static str,
        /// Its value.
        a: Period,
        /// The other key.
        longer: &'static str,
        /// Its value.
        b: Period,
    },
    /// A consensus that this many nodes cannot live with.
    #[error("with {nodes} nodes, consensus ({consensus}) must be more than token ({token})")]
    ShortConsensus {
        /// Number of nodes.
        nodes: usize,
        /// As given.
        consensus: Period,
        /// As it results.
        token: Period,
    },
    /// A consensus that leaves nothing of `dead` for the token.
    #[error(
        "consensus ({consensus}) must be less than dead ({dead}), which is token and consensus together"
    )]
    LongConsensus {
        /// As given.
        consensus: Period,
        /// As given.
        dead: Period,
    },
    /// A token so short that the engine's own timers do not fit into it.
    #[error("{key} of {value} is too short to tell a lost node from a busy one")]
    TooShort {
        /// The key.
        key: &'static str,
        /// The value.
        value: Period,
    },
}

impl BrokenEngine {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::TooManyLinks => "take the role \"heartbeat\" from one".into(),
            Self::NoHeartbeat => "give at least one link, better two, role = \"heartbeat\"".into(),
            Self::NodeNotOnLink { .. } => {
                "Corosync wants every node on every one of its links".into()
            }
            Self::MixedFamilies { .. } => "use one family on a link".into(),
            Self::CipherWithoutHash => "set hash = \"sha256\", or cipher = \"none\"".into(),
            Self::OwnProperty { key, .. } => format!("remove it and write {key}"),
            Self::IdTwice(_) => "give each node an id of its own, or leave it out".into(),
            Self::DeviceOnNode(_) => {
                "its vote is worth something only on a machine outside the cluster".into()
            }
            Self::NotInProfile {
                profile: "heartbeat",
                ..
            } => "\"heartbeat\" takes keepalive, warning, dead, initial and consensus".into(),
            Self::NotInProfile { profile, .. } => {
                format!(
                    "\"{profile}\" takes token, consensus and initial; the others go with \"heartbeat\""
                )
            }
            Self::NeedsTime(_) => "it takes keepalive, warning and dead".into(),
            Self::Order { .. } => "keepalive < warning < dead".into(),
            Self::ShortConsensus { .. } => {
                "leave consensus out: Corosync takes 1.2 × token (corosync.conf(5))".into()
            }
            Self::LongConsensus { .. } => "leave consensus out: it is then 6/11 of dead".into(),
            Self::TooShort { key: "dead", .. } => {
                "660 ms and more: 300 ms of them are the token".into()
            }
            Self::TooShort { .. } => "300 ms and more for a node, 100 ms for consensus".into(),
        }
    }
}

impl From<BrokenEngine> for Problem {
    fn from(broken: BrokenEngine) -> Self {
        Self::Rule(broken.into())
    }
}

pub(super) fn check(file: &ClusterFile, found: &mut Found) {
    let crypto = &file.cluster.crypto;
    if crypto.cipher != CryptoCipher::None && crypto.hash == CryptoHash::None {
        found.push(BrokenEngine::CipherWithoutHash, crypto.span());
    }
    for name in file.cluster.properties.keys() {
        if let Some((_, key)) = OWN_PROPERTIES.iter().find(|(own, _)| *own == name.as_str()) {
            let name_ = name.to_string();
            found.push(BrokenEngine::OwnProperty { name: name_, key }, name.span());
        }
    }
    let heartbeat = file
        .links
        .iter()
        .filter(|link| link.role.has(Role::Heartbeat));
    if let Some(ninth) = heartbeat.clone().nth(MAX_LINKS) {
        found.push(BrokenEngine::TooManyLinks, ninth.name.span());
    }
    heartbeat.for_each(|link| one_family(file, link, found));
    ids(file, found);
    if let Some(device) = &file.quorum.device {
        let host = device.host.as_str();
        let is_node = |node: &&NodeEntry| {
            node.name.as_str() == host || node.addresses.values().any(|a| a.to_string() == host)
        };
        if let Some(node) = file.nodes.iter().find(is_node) {
            let broken = BrokenEngine::DeviceOnNode(node.name.to_string());
            found.push_with(broken, device.host.span(), node.name.span());
        }
    }
    timing(file, found);
}

/// What must also hold before a cluster is built from the file.
pub(super) fn check_complete(file: &ClusterFile, found: &mut Found) {
    let mut heartbeat = file
        .links
        .iter()
        .filter(|link| link.role.has(Role::Heartbeat))
        .peekable();
    if heartbeat.peek().is_none() {
        let span = file
            .links
            .first()
            .map_or(file.cluster.name.span(), |link| link.name.span());
        found.push(BrokenEngine::NoHeartbeat, span);
    }
    for link in heartbeat {
        for node in &file.nodes {
            if node.address_on(link.name.as_str()).is_none() {
                let broken = BrokenEngine::NodeNotOnLink {
                    node: node.name.to_string(),
                    link: link.name.to_string(),
                };
                found.push_with(broken, node.name.span(), link.name.span());
            }
        }
    }
}

fn one_family(file: &ClusterFile, link: &LinkEntry, found: &mut Found) {
    let addresses: Vec<&At<IpAddr>> = file
        .nodes
        .iter()
        .filter_map(|node| node.address_on(link.name.as_str()))
        .collect();
    if let Some(other) = addresses
        .iter()
        .find(|a| a.is_ipv4() != addresses[0].is_ipv4())
    {
        let broken = BrokenEngine::MixedFamilies {
            link: link.name.to_string(),
        };
        found.push_with(broken, other.span(), addresses[0].span());
    }
}

fn ids(file: &ClusterFile, found: &mut Found) {
    let given: Vec<&At<u32>> = file
        .nodes
        .iter()
        .filter_map(|node| node.id.as_ref())
        .collect();
    for (i, id) in given.iter().enumerate() {
        if let Some(first) = given[..i].iter().find(|other| other == &id) {
            found.push_with(BrokenEngine::IdTwice(***id), id.span(), first.span());
        }
    }
}

fn timing(file: &ClusterFile, found: &mut Found) {
    let timing = &file.timing;
    let words = [
        ("keepalive", &timing.keepalive),
        ("warning", &timing.warning),
        ("dead", &timing.dead),
    ];
    let given = match *timing.profile {
        Profile::Heartbeat => {
            if let Some(token) = &timing.token {
                let broken = BrokenEngine::NotInProfile {
                    key: "token",
                    profile: "heartbeat",
                };
                return found.push(broken, token.span());
            }
            if let Some((key, _)) = words.iter().find(|(_, value)| value.is_none()) {
                return found.push(BrokenEngine::NeedsTime(key), timing.profile.span());
            }
            for pair in words.windows(2) {
                let [(shorter, Some(a)), (longer, Some(b))] = pair else {
                    continue;
                };
                if a >= b {
                    let broken = BrokenEngine::Order {
                        shorter,
                        a: **a,
                        longer,
                        b: **b,
                    };
                    found.push_with(broken, a.span(), b.span());
                }
            }
            timing.dead.as_ref()
        }
        Profile::Stock | Profile::Tuned => {
            let profile = match *timing.profile {
                Profile::Stock => "stock",
                _ => "tuned",
            };
            if let Some((key, Some(value))) = words.iter().find(|(_, value)| value.is_some()) {
                let broken = BrokenEngine::NotInProfile { key, profile };
                return found.push(broken, value.span());
            }
            timing.token.as_ref()
        }
    };
    if let Some(given) = given.filter(|_| timing.token() < SHORTEST_TOKEN) {
        let key = match *timing.profile {
            Profile::Heartbeat => "dead",
            Profile::Stock | Profile::Tuned => "token",
        };
        // That there is no token left at all is what `consensus` says.
        if timing.token() > Period::from_millis(0) {
            let broken = BrokenEngine::TooShort {
                key,
                value: **given,
            };
            found.push(broken, given.span());
        }
    }
    consensus(file, found);
}

fn consensus(file: &ClusterFile, found: &mut Found) {
    let Some(consensus) = &file.timing.consensus else {
        return;
    };
    let nodes = file.nodes.len();
    let token = file.timing.token();
    if **consensus < SHORTEST_CONSENSUS {
        let broken = BrokenEngine::TooShort {
            key: "consensus",
            value: **consensus,
        };
        found.push(broken, consensus.span());
    } else if let (Profile::Heartbeat, Some(dead), true) = (
        *file.timing.profile,
        &file.timing.dead,
        token == Period::from_millis(0),
    ) {
        let broken = BrokenEngine::LongConsensus {
            consensus: **consensus,
            dead: **dead,
        };
        found.push_with(broken, consensus.span(), dead.span());
    } else if nodes > 2 && **consensus <= token {
        let broken = BrokenEngine::ShortConsensus {
            nodes,
            consensus: **consensus,
            token,
        };
        found.push(broken, consensus.span());
    }
}
