//! How a node that does not answer is made harmless.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::names::HostName;
use crate::toml_file::At;
use crate::toml_file::{Period, SecretRef};

/// What `none` of `[fencing]` must say, word for word, before a cluster without fencing is built.
pub const WITHOUT_FENCING: &str =
    "I accept that two nodes may write to one pool at the same time and destroy it";

/// How a node that does not answer is made harmless.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fencing {
    /// What is done to the node. Default: `off`: what was shot stays down until somebody looks.
    #[serde(default)]
    pub action: FenceAction,
    /// How long the shot at a node is held back. In a duel the node named here wins.
    #[serde(default)]
    pub delay: BTreeMap<At<HostName>, At<Period>>,
    /// Devices beside the nodes' BMCs: power switches, storage switches.
    #[serde(default, rename = "device")]
    pub devices: Vec<FenceDevice>,
    /// Builds the cluster without fencing. Says what that means.
    pub none: Option<At<String>>,
}

impl Fencing {
    /// How long the shot at a node is held back; zero where nothing is said.
    pub fn delay_of(&self, node: &str) -> Period {
        let mut delays = self.delay.iter();
        let of = delays.find(|(name, _)| name.as_str() == node);
        of.map_or(Period::from_millis(0), |(_, delay)| **delay)
    }
}

/// What is done to a node that does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FenceAction {
    /// Its power is cut.
    #[default]
    Off,
    /// Its power is cut and restored.
    Reboot,
}

/// A node's own management controller.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bmc {
    /// Its name or address.
    pub address: At<String>,
    /// The account, which needs the operator privilege.
    pub username: String,
    /// Where its password is kept.
    pub password: At<SecretRef>,
    /// The fence agent. Default: `fence_ipmilan`.
    pub agent: Option<At<String>>,
    /// IPMI 2.0 (`lanplus`) rather than 1.5. Default: `true`.
    pub lanplus: Option<At<bool>>,
    /// IPMI cipher suite. Default: ipmitool's own.
    pub cipher: Option<At<u8>>,
    /// Time between the order to cut the power and the question whether it is off.
    pub power_wait: Option<Period>,
    /// More parameters of the agent, by its own names.
    #[serde(default)]
    pub options: BTreeMap<At<String>, String>,
    /// The agent is this site's own, not one of the fence-agents project.
    #[serde(default)]
    pub own_agent: bool,
}

/// A fence device that is not a node's BMC.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FenceDevice {
    /// Its name.
    pub name: At<String>,
    /// The fence agent: `fence_apc_snmp`, …
    pub agent: At<String>,
    /// The nodes it can fence, each with its port or plug there. An empty text: the agent needs none.
    pub ports: BTreeMap<At<HostName>, String>,
    /// Levels are tried in order; all devices of one level must succeed. Default: 2, after the
    /// BMCs, or 1 for nodes that have none.
    #[schemars(range(min = 1, max = 9))]
    pub level: Option<u8>,
    /// Parameters of the agent, by its own names.
    #[serde(default)]
    pub options: BTreeMap<At<String>, String>,
    /// Parameters of the agent that are secrets.
    #[serde(default)]
    pub secrets: BTreeMap<At<String>, At<SecretRef>>,
    /// The agent is this site's own, not one of the fence-agents project.
    #[serde(default)]
    pub own_agent: bool,
}

/// The resource that is a node's own BMC.
pub fn bmc_id(node: &str) -> String {
    format!("fence-{node}")
}

impl Bmc {
    /// Its fence agent.
    pub fn agent_name(&self) -> &str {
        self.agent
            .as_ref()
            .map_or("fence_ipmilan", |agent| agent.as_str())
    }

    /// True when its agent is one of the [`is_ipmi_agent`]s.
    pub fn is_ipmi(&self) -> bool {
        is_ipmi_agent(self.agent_name())
    }
}

/// True for `fence_ipmilan` and the agents that are the same program under another name (its
/// `symlink` list).
pub fn is_ipmi_agent(agent: &str) -> bool {
    let ipmi = [
        "ipmilan",
        "ipmilanplus",
        "ilo3",
        "ilo4",
        "ilo5",
        "imm",
        "idrac",
    ];
    ipmi.iter()
        .any(|name| agent.strip_prefix("fence_") == Some(name))
}
