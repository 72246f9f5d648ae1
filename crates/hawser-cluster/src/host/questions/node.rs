//! What a node has, and what Hawser installs on it.

use std::collections::BTreeSet;
use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use nix::net::if_::if_nameindex;
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::{Inventory, exports_agent, inventory};

/// What is installed and what runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TakeInventory;

impl Ask for TakeInventory {
    type Answer = Inventory;
    const NAME: &'static str = "inventory";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for TakeInventory {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Inventory, Declined> {
        Ok(inventory::take())
    }
}

/// The names of this node's interfaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListInterfaces;

impl Ask for ListInterfaces {
    type Answer = BTreeSet<String>;
    const NAME: &'static str = "its interfaces";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ListInterfaces {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<BTreeSet<String>, Declined> {
        let all = if_nameindex()
            .map_err(|errno| format!("the kernel does not list its interfaces: {errno}"))?;
        let all = &all;
        Ok(all
            .into_iter()
            .map(|it| it.name().to_string_lossy().into_owned())
            .collect())
    }
}

/// The agent's own program is kept on the node, and with it Hawser's own resource agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstallExports;

impl Ask for InstallExports {
    type Answer = ();
    const NAME: &'static str = "install the exports agent";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for InstallExports {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        Ok(exports_agent::install()?)
    }
}
