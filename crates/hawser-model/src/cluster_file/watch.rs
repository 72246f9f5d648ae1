//! How the heads are watched.

use schemars::JsonSchema;
use serde::Deserialize;

/// What `apply` sets up on the heads so that each is watched all the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeadWatch {
    /// systemd runs `hawser watch` on each head, and Pacemaker's alerts wake it. Default: `false`.
    #[serde(default)]
    pub unit: bool,
}
