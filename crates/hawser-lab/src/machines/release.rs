//! The releases of Debian that machines may have, and what differs between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A release of Debian, by its code name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// Debian 12: Corosync 3.1.7, Pacemaker 2.1.5, agents 4.12.
    #[default]
    Bookworm,
    /// Debian 13: Corosync 3.1.9, Pacemaker 3.0.0, agents 4.16.
    Trixie,
}

impl Release {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Bookworm, Self::Trixie];

    /// Its name among apt's suites.
    pub fn suite(self) -> &'static str {
        match self {
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
        }
    }

    /// The version of OpenZFS that its machines have. The first whose modules know user-mode Linux (`ARCH=um`) is 2.2;
    /// bookworm itself has 2.1.11, its backports 2.3.2.
    pub(super) fn zfs(self) -> &'static str {
        match self {
            Self::Bookworm => "2.3.2-2~bpo12+2",
            Self::Trixie => "2.3.9-0+deb13u1",
        }
    }

    /// The suite that has this version, and its components.
    pub(super) fn zfs_suite(self) -> &'static str {
        match self {
            Self::Bookworm => "bookworm-backports main contrib",
            Self::Trixie => "trixie contrib",
        }
    }

    /// The packages with the fence agents that machines can use. Debian 12 has all in one; those of Debian 13 bring the
    /// libraries of all clouds, 1.7 GB.
    pub(super) fn fence_agents(self) -> &'static [&'static str] {
        match self {
            Self::Bookworm => &["fence-agents"],
            Self::Trixie => &[
                "fence-agents-ipmilan",
                "fence-agents-mpath",
                "fence-agents-redfish",
                "fence-agents-scsi",
            ],
        }
    }

    /// Whether it is what machines have unless another is asked for.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
