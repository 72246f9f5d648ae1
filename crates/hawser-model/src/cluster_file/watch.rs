//! How the heads are watched.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::toml_file::{At, Whom};

/// What `apply` sets up on the heads so that each is watched all the time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeadWatch {
    /// systemd runs `hawser watch` on each head, and Pacemaker's alerts wake it. Default: `false`.
    #[serde(default)]
    pub unit: bool,
    /// Whom the watch on each head tells of each alarm that begins or ends, as `hawser watch --tell`. Default: nobody.
    #[serde(default)]
    pub tell: Option<At<Whom>>,
    /// TCP port at which the watches of the heads speak with each other over the heartbeat links, by Corosync's key; the same on
    /// each head. 0: they do not. Default: 9968.
    pub port: Option<u16>,
}

/// The port unless the file has one: the one after that of pages and metrics.
const PORT: u16 = 9968;

impl HeadWatch {
    /// The port at which the watches of the heads speak with each other; absent: they do not.
    pub fn port(&self) -> Option<u16> {
        Some(self.port.unwrap_or(PORT)).filter(|port| *port != 0)
    }
}
