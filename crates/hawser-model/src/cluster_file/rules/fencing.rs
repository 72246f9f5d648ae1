//! Every node can be made harmless, by an agent that exists, and never both at once.

use super::agents;
use super::network::{Given, names};
use super::{Found, Problem};
use crate::cluster_file::{At, ClusterFile, FenceDevice, Fencing, NodeEntry, WITHOUT_FENCING};
use crate::toml_file::nearest;

/// Parameters of fence agents that hold a secret (fence-agents, `lib/fencing.py`), and may
/// therefore only be given by reference.
const SECRET_PARAMETERS: &[&str] = &[
    "passwd",
    "password",
    "snmp_priv_passwd",
    "community",
    "secret_key",
    "token",
    "hexadecimal_kg",
];

/// True for a parameter of a fence agent that holds a secret.
pub fn is_fence_parameter_secret(name: &str) -> bool {
    SECRET_PARAMETERS.contains(&name)
}

/// Parameters of every agent that Hawser derives from the file.
const OWN_PARAMETERS: &[&str] = &[
    "action",
    "ipmitool_path",
    "passwd_script",
    "password_script",
    "pcmk_delay_base",
    "pcmk_host_check",
    "pcmk_host_list",
    "pcmk_host_map",
    "plug",
    "port",
];

/// Parameters of a BMC's agent that have a key of their own.
const BMC_KEYS: &[&str] = &[
    "cipher",
    "ip",
    "ipaddr",
    "lanplus",
    "login",
    "method",
    "power_wait",
    "username",
];

/// What can be wrong with fencing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenFencing {
    /// No word about fencing.
    #[error(
        "this cluster has no fencing: when the nodes lose sight of each other, both {}",
        match pools {
            true => "import the pools and destroy them",
            false => "take over what the other runs",
        }
    )]
    None {
        /// Whether the file names pools.
        pools: bool,
    },
    /// `none` does not say the sentence.
    #[error("[fencing] none must say, word for word, what it means")]
    NotAccepted,
    /// `none` beside devices.
    #[error("[fencing] says none, and yet there is \"{0}\"")]
    NoneAndDevices(String),
    /// A node that nothing can fence.
    #[error("nothing can fence node \"{0}\": it has no bmc and is in no [[fencing.device]]")]
    NodeUnfenced(String),
    /// Nodes that shoot each other at the same moment.
    #[error(
        "\"{first}\" and \"{second}\" would shoot each other at the same moment and both be off"
    )]
    Duel {
        /// One node.
        first: String,
        /// The other.
        second: String,
    },
    /// An agent nobody knows.
    #[error("there is no fence agent \"{found}\"")]
    UnknownAgent {
        /// The name.
        found: String,
        /// The known one it is most like.
        meant: Option<&'static str>,
    },
    /// An agent that says yes and does nothing.
    #[error("\"{0}\" fences nothing, it only says that it did")]
    FencesNothing(String),
    /// A secret among the plain options.
    #[error("\"{0}\" is a secret and must not stand among the options")]
    SecretInOptions(String),
    /// An option that the file has a key for.
    #[error("\"{0}\" is set by Hawser from other keys of this file")]
    OwnOption(String),
    /// A device for no node.
    #[error("fence device \"{0}\" fences no node")]
    NoPorts(String),
    /// A port that Pacemaker would take apart.
    #[error("\"{}\" cannot be the port of \"{node}\" on fence device \"{device}\"", .port.escape_debug())]
    BadPort {
        /// The device.
        device: String,
        /// The node.
        node: String,
        /// As it is written.
        port: String,
    },
    /// A BMC is needed for IPMI keys, other agents take options.
    #[error("\"{key}\" belongs to IPMI, agent \"{agent}\" does not take it")]
    NotIpmi {
        /// The key.
        key: &'static str,
        /// The agent.
        agent: String,
    },
}

impl BrokenFencing {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::None { .. } => format!(
                "give each [[node]] its bmc, or write [fencing] none = \"{WITHOUT_FENCING}\""
            ),
            Self::NotAccepted => format!("write none = \"{WITHOUT_FENCING}\""),
            Self::NoneAndDevices(_) => "remove the one or the other".into(),
            Self::NodeUnfenced(_) => {
                "give it a bmc = { address, username, password }, or a port of a device".into()
            }
            Self::Duel { first, .. } => format!(
                "let one of them win: [fencing] delay = {{ {first} = \"5s\" }} delays the fencing of {first}"
            ),
            Self::UnknownAgent { meant, .. } => {
                let meant =
                    meant.map_or(String::new(), |name| format!("did you mean \"{name}\"? "));
                format!("{meant}if it is an agent of your own, add own_agent = true beside it")
            }
            Self::FencesNothing(_) => "name an agent that cuts the node off".into(),
            Self::SecretInOptions(_) => {
                "say where it is kept: \"file:/path\" or \"env:NAME\", under password or secrets"
                    .into()
            }
            Self::OwnOption(_) => "remove it".into(),
            Self::NoPorts(_) => "name them: ports = { head1 = \"1\" }".into(),
            Self::BadPort { .. } => {
                "a port has no blank, \":\", \"=\", \";\" and \"\\\": there Pacemaker divides its list of ports \
                 (pcmk_host_map). What comes before it, a switch or a blade, is an option of the agent, and each of \
                 them a device of its own"
                    .into()
            }
            Self::NotIpmi { .. } => "give the agent's own parameters under options".into(),
        }
    }
}

impl From<BrokenFencing> for Problem {
    fn from(broken: BrokenFencing) -> Self {
        Self::Rule(broken.into())
    }
}

pub(super) fn check(file: &ClusterFile, given: &mut Given, found: &mut Found) {
    for node in &file.nodes {
        let Some(bmc) = &node.bmc else { continue };
        if let Ok(address) = bmc.address.parse() {
            let owner = format!("{}'s bmc", node.name);
            given.take(&At::new(address, bmc.address.span()), owner, found);
        }
        let known = bmc
            .agent
            .as_ref()
            .is_none_or(|name| agent(name, bmc.own_agent, found));
        let lanplus = bmc.lanplus.as_ref().map(|value| ("lanplus", value.span()));
        let cipher = bmc.cipher.as_ref().map(|value| ("cipher", value.span()));
        if let Some((key, span)) = lanplus.or(cipher).filter(|_| known && !bmc.is_ipmi()) {
            let agent = bmc.agent_name().to_owned();
            found.push(BrokenFencing::NotIpmi { key, agent }, span);
        }
        options(
            bmc.options.keys(),
            &[OWN_PARAMETERS, BMC_KEYS].concat(),
            found,
        );
    }
    let Some(fencing) = &file.fencing else { return };
    names(
        "fence device",
        fencing
            .devices
            .iter()
            .map(|d| (d.name.as_str(), d.name.span())),
        found,
    );
    let no_such_node = |name: &str| Problem::NoSuch {
        kind: "node",
        found: name.to_owned(),
        allowed: file
            .nodes
            .iter()
            .map(|node| node.name.to_string())
            .collect(),
    };
    for node in fencing
        .delay
        .keys()
        .filter(|name| file.node(name.as_str()).is_none())
    {
        found.push(no_such_node(node.as_str()), node.span());
    }
    for device in &fencing.devices {
        agent(&device.agent, device.own_agent, found);
        options(device.options.keys(), OWN_PARAMETERS, found);
        if device.ports.is_empty() {
            let broken = BrokenFencing::NoPorts(device.name.to_string());
            found.push(broken, device.name.span());
        }
        for node in device
            .ports
            .keys()
            .filter(|name| file.node(name.as_str()).is_none())
        {
            found.push(no_such_node(node.as_str()), node.span());
        }
        ports(device, found);
    }
    none(file, fencing, found);
}

/// Pacemaker's list of ports (`build_port_aliases`) has a pair for each node and port, and an escape in it.
fn ports(device: &FenceDevice, found: &mut Found) {
    let divides = |c: char| c.is_whitespace() || c.is_control() || ":=;\\".contains(c);
    for (node, port) in device
        .ports
        .iter()
        .filter(|(_, port)| port.contains(divides))
    {
        let broken = BrokenFencing::BadPort {
            device: device.name.to_string(),
            node: node.to_string(),
            port: port.clone(),
        };
        found.push(broken, node.span());
    }
}

/// Whether the agent is one that fences; of another nothing else is worth saying.
fn agent(name: &At<String>, own: bool, found: &mut Found) -> bool {
    if own || agents::KNOWN.contains(&name.as_str()) {
        return true;
    }
    if agents::FENCE_NOTHING.contains(&name.as_str()) {
        found.push(BrokenFencing::FencesNothing(name.to_string()), name.span());
        return false;
    }
    let meant = nearest(name, agents::KNOWN);
    let broken = BrokenFencing::UnknownAgent {
        found: name.to_string(),
        meant,
    };
    found.push(broken, name.span());
    false
}

fn options<'a>(keys: impl Iterator<Item = &'a At<String>>, own: &[&str], found: &mut Found) {
    for key in keys {
        let broken = match key.as_str() {
            name if SECRET_PARAMETERS.contains(&name) => BrokenFencing::SecretInOptions,
            name if own.contains(&name) => BrokenFencing::OwnOption,
            _ => continue,
        };
        found.push(broken(key.to_string()), key.span());
    }
}

fn none(file: &ClusterFile, fencing: &Fencing, found: &mut Found) {
    let Some(none) = &fencing.none else { return };
    if none.as_str() != WITHOUT_FENCING {
        return found.push(BrokenFencing::NotAccepted, none.span());
    }
    let bmc = file.nodes.iter().find_map(|node| {
        Some((
            format!("the bmc of {}", node.name),
            node.bmc.as_ref()?.address.span(),
        ))
    });
    let device = fencing
        .devices
        .first()
        .map(|d| (d.name.to_string(), d.name.span()));
    if let Some((what, span)) = bmc.or(device) {
        found.push_with(BrokenFencing::NoneAndDevices(what), none.span(), span);
    }
}

/// What must also hold before a cluster is built from the file.
pub(super) fn check_complete(file: &ClusterFile, found: &mut Found) {
    let default = Fencing::default();
    let fencing = file.fencing.as_ref().unwrap_or(&default);
    if fencing.none.is_some() {
        return;
    }
    if fencing.devices.is_empty() && file.nodes.iter().all(|node| node.bmc.is_none()) {
        let pools = !file.pools.is_empty();
        return found.push(BrokenFencing::None { pools }, file.cluster.name.span());
    }
    let fenced = |name: &str| {
        let in_device = |d: &FenceDevice| d.ports.keys().any(|n| n.as_str() == name);
        file.node(name).is_some_and(|node| node.bmc.is_some())
            || fencing.devices.iter().any(in_device)
    };
    for node in file.nodes.iter().filter(|node| !fenced(node.name.as_str())) {
        found.push(
            BrokenFencing::NodeUnfenced(node.name.to_string()),
            node.name.span(),
        );
    }
    duel(file, fencing, found);
}

/// Two nodes that lose sight of each other are both quorate (`two_node`) and both shoot. Without a
/// delay on one side the faster network decides, and with equally fast ones both go off. A
/// quorum device gives its vote to one side only, so there is no duel.
fn duel(file: &ClusterFile, fencing: &Fencing, found: &mut Found) {
    let [first, second] = &file.nodes[..] else {
        return;
    };
    if file.quorum.device.is_some() {
        return;
    }
    let delay = |node: &NodeEntry| fencing.delay_of(node.name.as_str());
    if delay(first) == delay(second) {
        let broken = BrokenFencing::Duel {
            first: first.name.to_string(),
            second: second.name.to_string(),
        };
        let span = fencing
            .delay
            .keys()
            .next()
            .map_or(second.name.span(), At::span);
        found.push(broken, span);
    }
}
