//! Levels of fencing: in Hawser's file a node's BMC comes first, and others with it or after it.

use std::collections::BTreeSet;

use hawser_model::cluster_file::is_ipmi_agent;

use crate::crm::Primitive;

/// A level: node, number, devices.
pub(super) type Level = (String, u8, Vec<String>);

/// The levels of the source, and which device is the BMC of which node.
pub(super) struct Levels<'a> {
    all: Vec<Level>,
    bmcs: Vec<(String, &'a str)>,
}

impl<'a> Levels<'a> {
    /// From the devices with their agents and the nodes that they fence.
    pub fn new(all: Vec<Level>, devices: &[(&'a Primitive, &str, Vec<String>)]) -> Self {
        let bmc = |(device, agent, fenced): &(&'a Primitive, &str, Vec<String>)| match &fenced[..] {
            [node] if is_ipmi_agent(agent) || *agent == "external/ipmi" => {
                Some((node.clone(), device.id.as_str()))
            }
            _ => None,
        };
        Self {
            all,
            bmcs: devices.iter().filter_map(bmc).collect(),
        }
    }

    /// The levels of a device that is no BMC, of which 1 is with the BMC. It may have one for each node.
    ///
    /// # Errors
    /// Why the file cannot say it.
    pub fn of(&self, device: &str) -> Result<BTreeSet<u8>, String> {
        let mut found = BTreeSet::new();
        for (node, level, devices) in &self.all {
            if !devices.iter().any(|id| id == device) {
                continue;
            }
            match self.of_bmc(node) {
                Some(first) if *level < first => {
                    return Err(format!(
                        "it comes before the BMC of {node}, and Hawser tries BMCs first: it is left out"
                    ));
                }
                Some(first) => found.insert((level - first).saturating_add(1)),
                None => found.insert(*level),
            };
        }
        Ok(found)
    }

    fn of_bmc(&self, node: &str) -> Option<u8> {
        let (_, bmc) = self.bmcs.iter().find(|(of, _)| of == node)?;
        let mut levels = self.all.iter();
        let level =
            levels.find(|(of, _, devices)| of == node && devices.iter().any(|id| id == bmc));
        level.map(|(_, level, ..)| *level)
    }
}
