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
}
