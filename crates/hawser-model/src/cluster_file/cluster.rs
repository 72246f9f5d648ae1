//! The cluster as a whole: its name, how its messages are protected, quorum, timing.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::toml_file::At;
use crate::toml_file::Period;

/// The cluster as a whole.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Its name.
    pub name: At<String>,
    /// How Corosync's messages are encrypted and signed. Default: aes256 and sha256.
    #[serde(default)]
    pub crypto: At<Crypto>,
    /// Compression of Corosync's messages. Default: none.
    pub compression: Option<Compression>,
    /// Over how many of the links messages go at a time. Default: `passive`, the best one.
    #[serde(default)]
    pub link_mode: LinkMode,
    /// What happens when a head that a pool prefers is back. Default: `manual`.
    #[serde(default)]
    pub failback: Failback,
    /// `true`: Pacemaker watches and touches nothing. Default: `false`.
    #[serde(default)]
    pub maintenance: bool,
    /// More of Pacemaker's cluster properties, by its own names. Those that are not named here or
    /// made from other keys stay at Pacemaker's own values.
    #[serde(default)]
    pub properties: BTreeMap<At<String>, String>,
}

/// How Corosync's messages are protected (knet with NSS or OpenSSL).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Crypto {
    /// Cipher of the messages.
    pub cipher: CryptoCipher,
    /// Hash that signs them.
    pub hash: CryptoHash,
}

impl Default for Crypto {
    fn default() -> Self {
        Self {
            cipher: CryptoCipher::Aes256,
            hash: CryptoHash::Sha256,
        }
    }
}

/// `crypto_cipher` of corosync.conf(5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum CryptoCipher {
    None,
    Aes128,
    Aes192,
    Aes256,
}

/// `crypto_hash` of corosync.conf(5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum CryptoHash {
    None,
    Md5,
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

/// Compression of Corosync's messages, `knet_compression_*` of corosync.conf(5).
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compression {
    /// The library.
    pub model: CompressionModel,
    /// Its level; what it means is the library's affair.
    pub level: Option<i32>,
    /// Messages shorter than this, in bytes, are sent as they are. Default: Corosync's own, 100.
    pub threshold: Option<u32>,
}

/// A compression library that kronosnet can load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum CompressionModel {
    Zlib,
    Lz4,
    Lz4hc,
    Lzo2,
    Lzma,
    Bzip2,
    Zstd,
}

/// `link_mode` of corosync.conf(5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkMode {
    /// The link of the highest priority that is up.
    #[default]
    Passive,
    /// All links at once.
    Active,
    /// The links of the highest priority in turn.
    Rr,
}

/// What happens when a head that a pool prefers is back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Failback {
    /// The pool stays where it is until somebody moves it: a return is no second outage.
    #[default]
    Manual,
    /// The pool moves back at once.
    Automatic,
}

/// Who has a say when nodes lose sight of each other.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quorum {
    /// After a cold start, wait until all nodes have been seen once. Default: `true`.
    pub wait_for_all: Option<bool>,
    /// A quorum device: a third machine that lends its vote.
    pub device: Option<QuorumDevice>,
}

/// A quorum device served by `corosync-qnetd`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuorumDevice {
    /// Name or address of the machine that runs `corosync-qnetd`.
    pub host: At<String>,
    /// Whom it gives its vote to. Default: `ffsplit`.
    #[serde(default)]
    pub algorithm: At<QdeviceAlgorithm>,
    /// Whether the connection is encrypted. Default: `on`, if the server can.
    #[serde(default)]
    pub tls: QdeviceTls,
}

/// `algorithm` of corosync-qdevice(8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QdeviceAlgorithm {
    /// Exactly one half of an even split.
    #[default]
    Ffsplit,
    /// The last node standing; its vote counts as much as all nodes but one.
    Lms,
}

/// `tls` of corosync-qdevice(8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QdeviceTls {
    /// If the server can.
    #[default]
    On,
    /// Never.
    Off,
    /// Or not at all.
    Required,
}

/// How fast a lost node is noticed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Where the numbers come from. Default: `stock`.
    #[serde(default)]
    pub profile: At<Profile>,
    /// Corosync's `token`: silence for so long is the loss of a node. Not with `heartbeat`.
    pub token: Option<At<Period>>,
    /// Corosync's `consensus`: how long the others then confer. Default: 1.2 × token. With `heartbeat` it is a part of
    /// `dead`.
    pub consensus: Option<At<Period>>,
    /// How long a starting node waits for the others (Heartbeat's initdead, Pacemaker's
    /// `dc-deadtime`). Default: Pacemaker's own, 20 s.
    pub initial: Option<At<Period>>,
    /// Heartbeat's keepalive: time between two signs of life on a link.
    pub keepalive: Option<At<Period>>,
    /// Heartbeat's warntime: a silence of this length is logged.
    pub warning: Option<At<Period>>,
    /// Heartbeat's deadtime: a silence of this length is the loss of a node, so token and consensus together.
    pub dead: Option<At<Period>>,
}

/// Where the timing comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Corosync's and the agents' own defaults: token 3 s.
    #[default]
    Stock,
    /// For heads on a quiet interconnect: token 1 s, no wait after the power is cut.
    Tuned,
    /// Heartbeat's four times, mapped onto Corosync and Pacemaker.
    Heartbeat,
}

impl Timing {
    /// Corosync's `token`, by the profile, for two nodes.
    ///
    /// Heartbeat's deadtime is the whole silence after which a node is dead, and Corosync declares a node lost after
    /// token and consensus: together they are `dead`.
    pub fn token(&self) -> Period {
        let default = match *self.profile {
            // corosync.conf(5), since Corosync 3.1; 3.0 had 1 s.
            Profile::Stock => Period::from_secs(3),
            Profile::Tuned => Period::from_secs(1),
            Profile::Heartbeat => {
                let (dead, consensus) = (self.dead(), self.consensus.as_ref());
                return Period::from_millis(match consensus {
                    Some(consensus) => dead.saturating_sub(consensus.as_millis()),
                    // Corosync's own ratio: consensus is 1.2 × token (corosync.conf(5)).
                    None => dead * 10 / 22,
                });
            }
        };
        self.token.as_ref().map_or(default, |period| **period)
    }

    /// Corosync's `consensus`; `None`: its own 1.2 × token.
    pub fn consensus(&self) -> Option<Period> {
        match (*self.profile, &self.consensus) {
            (_, Some(consensus)) => Some(**consensus),
            // The rest of `dead`, so that no rounding makes it longer or shorter.
            (Profile::Heartbeat, None) => Some(Period::from_millis(
                self.dead().saturating_sub(self.token().as_millis()),
            )),
            (Profile::Stock | Profile::Tuned, None) => None,
        }
    }

    /// Heartbeat's deadtime in milliseconds; the file's rules say that it is there with its profile.
    fn dead(&self) -> u64 {
        self.dead.as_ref().map_or(0, |dead| dead.as_millis())
    }
}
