//! The clients of the storage: how long their kernels wait for a head that is gone before programs get errors.

use std::collections::BTreeMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{HostName, LinkName};

/// The facts of one `hawser check --client`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientsRun {
    /// The pools of the cluster file, as clients reach them.
    pub pools: Vec<OfferedPool>,
    /// How long clients have to wait.
    pub outage: LongestOutage,
    /// Each client that answered, or of which the cluster file says how long it waits.
    pub clients: BTreeMap<HostName, ClientTold>,
}

/// A pool as clients reach it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OfferedPool {
    /// The pool.
    pub name: String,
    /// The name of its iSCSI target; those of its further targets begin with it and a colon. Absent: it has none.
    pub target: Option<String>,
    /// Its addresses on each link; they move with it.
    pub addresses: BTreeMap<LinkName, Vec<IpAddr>>,
}

impl OfferedPool {
    /// The link on which the pool has this address; none if it is not one of the pool's.
    pub fn link_of(&self, address: IpAddr) -> Option<&LinkName> {
        let mut links = self.addresses.iter();
        links.find_map(|(link, addresses)| addresses.contains(&address).then_some(link))
    }
}

/// How long clients of the cluster have to wait when a head dies, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongestOutage {
    /// By when the last sign of life of a head that died is followed by a head that serves its pools: by the file's times, and by
    /// how long its pools took to start the last time.
    pub expected_s: f64,
    /// Nobody knows how long its pools take to start: `expected_s` ends when the dead head is known to be off.
    pub without_start: bool,
    /// The longest outage in the heads' logs. Absent: there is none, or no head said.
    pub seen: Option<SeenOutage>,
    /// Heads whose logs were not read, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

/// An outage that has been.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeenOutage {
    /// The incident, as `hawser incident show` takes it.
    pub incident: String,
    /// How long a service was away, seconds.
    pub seconds: f64,
}

/// What is known of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClientTold {
    /// It answered.
    Read(ClientFacts),
    /// It is not asked: the cluster file says after how many seconds it gives up (`gives_up`).
    Stated(f64),
}

/// What a client's kernel has of storage that lies elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientFacts {
    /// Its iSCSI sessions (`/sys/class/iscsi_session`), by their number.
    pub sessions: Vec<IscsiSession>,
    /// Its multipath devices (`/sys/block/dm-*`), by name.
    pub maps: Vec<MultipathMap>,
    /// What it mounts by NFS (`/proc/self/mountinfo`).
    pub mounts: Vec<NfsMount>,
}

/// How long something waits before it gives up.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// So many seconds.
    Seconds(f64),
    /// It never gives up.
    Forever,
}

impl Wait {
    /// One after the other.
    pub fn then(self, next: Self) -> Self {
        match (self, next) {
            (Self::Seconds(one), Self::Seconds(other)) => Self::Seconds(one + other),
            _ => Self::Forever,
        }
    }

    /// The longer of both.
    pub fn longer(self, other: Self) -> Self {
        match self < other {
            true => other,
            false => self,
        }
    }
}

/// A session of open-iscsi.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IscsiSession {
    /// The target's name.
    pub target: String,
    /// The address at which it was logged in (`persistent_address`). Absent: it was not told.
    pub address: Option<IpAddr>,
    /// `LOGGED_IN`, `FAILED` or `FREE`.
    pub state: String,
    /// How long the kernel holds what is read and written when its connection is gone (`recovery_tmo`, which is
    /// `node.session.timeo.replacement_timeout` or multipath's `fast_io_fail_tmo`). Absent: it was not told.
    pub recovery: Option<Wait>,
    /// After how many seconds a connection that is silent counts as gone: `noop_out_interval` and `noop_out_timeout` together.
    /// Absent: it does not ask, or was not told.
    pub notices_s: Option<u32>,
    /// Its disks: `sda`.
    pub disks: Vec<String>,
}

/// A device of dm-multipath.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MultipathMap {
    /// `mpatha`.
    pub name: String,
    /// The disks that are its paths.
    pub disks: Vec<String>,
    /// How long it holds what is read and written when none of its paths is left (`no_path_retry`, times multipathd's
    /// `polling_interval`). Absent: multipathd did not say.
    pub without_path: Option<Wait>,
}

/// A mount of NFS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NfsMount {
    /// The address of the server that is asked, which may be another than the one that was named.
    pub server: IpAddr,
    /// What is mounted: `10.0.3.207:/pool/vm`.
    pub source: String,
    /// The version of NFS: `3`, `4.2`. Absent: the kernel did not say.
    pub version: Option<String>,
    /// Where.
    pub directory: String,
    /// How long a call waits: a hard mount for ever, a soft one `timeo` times one more than `retrans` (`xprt_calc_majortimeo`
    /// in the kernel's net/sunrpc/xprt.c).
    pub wait: Wait,
}

impl NfsMount {
    /// The address that was named when it was mounted; `None`: it was a name.
    pub fn named(&self) -> Option<IpAddr> {
        let (host, _) = self.source.split_once(":/")?;
        let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        bare.unwrap_or(host).parse().ok()
    }
}
