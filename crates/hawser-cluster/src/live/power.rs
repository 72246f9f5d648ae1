//! What switches a node's power on and off again: its fence devices, whatever they are.

use std::collections::BTreeMap;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;

use super::fence_questions::questions;
use crate::cib::fencing::levels_of;
use crate::host::FenceQuestion;
use crate::xml::Element;

/// A fence device, as it is asked for one node's power.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// The device.
    pub device: FenceQuestion,
    /// The node's port or plug there; absent: it has none.
    pub plug: Option<String>,
}

/// The devices that fence a node, level by level in the order in which they are tried: all of one level together
/// make one attempt, as two power switches do that feed one machine.
pub fn switches(file: &ClusterFile, node: &str) -> Vec<Vec<Switch>> {
    let somebody = HostName::from("");
    let all = questions(file, &[somebody]).into_values().flatten();
    let devices: BTreeMap<String, FenceQuestion> =
        all.map(|device| (device.name.clone(), device)).collect();
    let switch = |name: String| {
        Some(Switch {
            device: devices.get(&name)?.clone(),
            plug: plug(file, &name, node),
        })
    };
    let levels = levels_of(file, node).into_iter();
    levels
        .map(|names| names.into_iter().filter_map(switch).collect())
        .collect()
}

fn plug(file: &ClusterFile, device: &str, node: &str) -> Option<String> {
    let mut all = file.fencing.iter().flat_map(|fencing| &fencing.devices);
    let entry = all.find(|entry| entry.name.as_str() == device)?;
    let mut ports = entry.ports.iter();
    let (_, port) = ports.find(|(name, _)| name.as_str() == node)?;
    (!port.is_empty()).then(|| port.clone())
}

impl Switch {
    /// The question for this one node. `metadata` is the agent's own.
    pub fn aimed(&self, metadata: &Element) -> FenceQuestion {
        let mut device = self.device.clone();
        if let Some(plug) = &self.plug {
            // As Pacemaker does it: the newer of the two names when the agent has it.
            let name = match device.parameters.get("pcmk_host_argument") {
                Some(name) => name.clone(),
                None if has_parameter(metadata, "plug") => "plug".to_owned(),
                None => "port".to_owned(),
            };
            device.parameters.insert(name, plug.clone());
        }
        device
    }
}

/// What keeps an agent from switching power: nothing, or in words. A device that cuts a node off from its disks or
/// its network has an `on` too, which lets it in again (`automatic`, fence-agents' API).
pub fn cannot_switch(metadata: &Element) -> Option<String> {
    let actions: Vec<&Element> = metadata
        .at(&["actions"])
        .map(|actions| actions.all("action").collect())
        .unwrap_or_default();
    let action = |name: &str| actions.iter().find(|it| it.get("name") == Some(name));
    for name in ["on", "off", "status"] {
        if action(name).is_none() {
            return Some(format!("it has no action \"{name}\""));
        }
    }
    let fabric = action("on").and_then(|on| on.get("automatic"));
    (fabric == Some("1"))
        .then(|| "it cuts a node off from disks or networks, and leaves its power on".to_owned())
}

fn has_parameter(metadata: &Element, name: &str) -> bool {
    let parameters = metadata.at(&["parameters"]);
    parameters.is_some_and(|all| {
        all.all("parameter")
            .any(|parameter| parameter.get("name") == Some(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(actions: &str, parameters: &str) -> Element {
        let text = format!(
            "<resource-agent name=\"fence_x\"><parameters>{parameters}</parameters><actions>{actions}</actions>\
             </resource-agent>"
        );
        Element::parse(&text, "test").unwrap()
    }

    #[test]
    fn an_agent_without_on_or_that_leaves_the_power_on_switches_nothing() {
        let power =
            "<action name=\"on\" automatic=\"0\"/><action name=\"off\"/><action name=\"status\"/>";
        assert_eq!(cannot_switch(&metadata(power, "")), None);
        // As of fence_kdump and fence_scsi.
        let kdump = "<action name=\"off\"/><action name=\"monitor\"/>";
        let words = cannot_switch(&metadata(kdump, "")).unwrap();
        assert!(words.contains("no action \"on\""), "{words}");
        let scsi = "<action name=\"on\" on_target=\"1\" automatic=\"1\"/><action name=\"off\"/><action name=\"status\"/>";
        let words = cannot_switch(&metadata(scsi, "")).unwrap();
        assert!(words.contains("leaves its power on"), "{words}");
    }

    const FILE: &str = r#"
[cluster]
name = "c"
[[link]]
name = "ring0"
network = "10.0.0.0/24"
[[node]]
name = "head1"
addresses = { ring0 = "10.0.0.1" }
[[node]]
name = "head2"
addresses = { ring0 = "10.0.0.2" }
[[fencing.device]]
name = "pdu-a"
agent = "fence_apc"
ports = { head1 = "3", head2 = "4" }
options = { ip = "10.0.0.90" }
[[fencing.device]]
name = "pdu-b"
agent = "fence_apc"
ports = { head1 = "7", head2 = "" }
options = { ip = "10.0.0.91" }
[[fencing.device]]
name = "last"
agent = "fence_kdump"
level = 2
ports = { head1 = "" }
"#;

    #[test]
    fn a_head_with_two_power_supplies_is_switched_by_both_at_its_own_plugs() {
        let file = hawser_model::cluster_file::parse(FILE, "test").unwrap();
        let levels = switches(&file, "head1");
        let names: Vec<Vec<&str>> = levels
            .iter()
            .map(|level| level.iter().map(|it| it.device.name.as_str()).collect())
            .collect();
        assert_eq!(names, [vec!["pdu-a", "pdu-b"], vec!["last"]]);
        let older = metadata("", "<parameter name=\"port\"/>");
        let newer = metadata("", "<parameter name=\"port\"/><parameter name=\"plug\"/>");
        let [a, b] = &levels[0][..] else { panic!() };
        assert_eq!(a.aimed(&older).parameters["port"], "3");
        assert_eq!(b.aimed(&newer).parameters["plug"], "7");
        assert_eq!(b.aimed(&newer).parameters["ip"], "10.0.0.91");
        assert_eq!(switches(&file, "head2")[0][1].plug, None);
        assert!(switches(&file, "head3").is_empty());
    }
}
