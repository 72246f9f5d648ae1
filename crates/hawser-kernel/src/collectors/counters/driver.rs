//! Drivers' own statistics, as `ethtool -S` prints them, per queue where the driver has them so.

use std::collections::BTreeMap;

use hawser_model::counters::Counters;

use super::Source;
use crate::KernelError;
use crate::ethtool::Ethtool;

/// `driver/IF/NAME`, the name being the driver's.
#[derive(Default)]
pub(super) struct Drivers {
    ethtool: Option<Ethtool>,
    /// Names by interface: they are many, and stay until the driver is set up again.
    names: BTreeMap<String, Vec<String>>,
}

impl Source for Drivers {
    fn name(&self) -> &'static str {
        "driver"
    }

    fn read(&mut self, into: &mut Counters) -> Result<(), KernelError> {
        let ethtool = match &mut self.ethtool {
            Some(ethtool) => ethtool,
            none => none.insert(Ethtool::open()?),
        };
        let interfaces =
            nix::net::if_::if_nameindex().map_err(|e| KernelError::call("if_nameindex", "", e))?;
        for interface in &interfaces {
            let interface = interface.name().to_string_lossy();
            // A driver without statistics says EOPNOTSUPP, one that just went away ENODEV.
            let Ok(count @ 1..) = ethtool.statistics_count(&interface) else {
                continue;
            };
            let names = self.names.entry(interface.to_string()).or_default();
            if names.len() != count {
                match ethtool.statistics_names(&interface) {
                    Ok(new) => *names = new,
                    Err(_) => continue,
                }
            }
            let Ok(values) = ethtool.statistics(&interface, names.len()) else {
                continue;
            };
            for (name, value) in names.iter().zip(values) {
                // Some drivers name all queues' counters alike.
                let key = format!("driver/{interface}/{}", name.trim());
                *into.0.entry(key).or_default() += value;
            }
        }
        Ok(())
    }
}
