//! Where a drill takes place: a lab on this machine, or real heads behind their agents.

use std::collections::BTreeMap;

use hawser_cluster::host::drill::Look;
use hawser_cluster::host::{Answer, DrillAnswer, DrillOrder, FenceQuestion, Order};
use hawser_cluster::live::{Head, cannot_switch, switches};
use hawser_cluster::xml::Element;
use hawser_lab::LabName;
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;

use crate::error::DrillError;

/// How long a fence agent may take to switch a head, in seconds: BMCs are slow.
const SWITCHES: u32 = 60;

/// How long it may take to tell whether there is power.
const TELLS: u32 = 20;

/// The way to real heads.
pub trait Remote: Sync {
    /// Has an order obeyed on a head, always by the same agent as long as that one lives: what an agent made,
    /// it mends when it ends.
    ///
    /// # Errors
    /// The head is not reached, or cannot obey.
    fn order(&self, head: &HostName, order: &Order) -> Result<Answer, String>;

    /// An agent of its own, for whoever looks all the time.
    ///
    /// # Errors
    /// The head is not reached.
    fn eyes(&self, head: &HostName) -> Result<Box<dyn Head>, String>;
}

/// The place of a drill.
#[derive(Clone)]
pub enum Ground<'a> {
    /// A lab.
    Lab(LabName),
    /// Real heads.
    Heads(RealHeads<'a>),
}

/// Real heads: what is asked of them, and of their fence devices through each other.
#[derive(Clone)]
pub struct RealHeads<'a> {
    /// The way to them.
    pub remote: &'a dyn Remote,
    /// Their cluster file.
    pub file: &'a ClusterFile,
    /// What switches the power of each, once that is known; all of them together.
    devices: BTreeMap<HostName, Vec<FenceQuestion>>,
}

impl<'a> RealHeads<'a> {
    /// Real heads that something fences.
    ///
    /// # Errors
    /// One is fenced by nothing.
    pub fn new(file: &'a ClusterFile, remote: &'a dyn Remote) -> Result<Self, DrillError> {
        let mut nodes = file.nodes.iter();
        match nodes.find(|node| switches(file, node.name.as_str()).is_empty()) {
            None => Ok(Self {
                remote,
                file,
                devices: BTreeMap::new(),
            }),
            Some(node) => Err(DrillError::CouldNot(format!(
                "{} has no fence device in the cluster file: a drill could not switch it on again once it was fenced",
                node.name.get()
            ))),
        }
    }

    /// Finds for each head the devices that switch its power on and off: of the first level that can. The agents
    /// themselves say what they can.
    ///
    /// # Errors
    /// None of a head's can, or they could not be asked.
    pub fn find_switches(&mut self) -> Result<(), DrillError> {
        let mut known: BTreeMap<String, Element> = BTreeMap::new();
        let mut devices = BTreeMap::new();
        for node in &self.file.nodes {
            let head = node.name.get();
            let mut why = Vec::new();
            let mut found = None;
            for level in switches(self.file, head.as_str()) {
                let mut can = Vec::new();
                for switch in &level {
                    let agent = &switch.device.agent;
                    if !known.contains_key(agent) {
                        known.insert(agent.clone(), self.metadata(agent)?);
                    }
                    match cannot_switch(&known[agent]) {
                        None => can.push(switch.aimed(&known[agent])),
                        Some(words) => {
                            why.push(format!("{} ({agent}): {words}", switch.device.name));
                        }
                    }
                }
                if can.len() == level.len() && !can.is_empty() {
                    found = Some(can);
                    break;
                }
            }
            match found {
                Some(found) => devices.insert(head.clone(), found),
                None => {
                    return Err(DrillError::CouldNot(format!(
                        "no fence device of {head} switches its power off and on, so a drill could not switch it on \
                         again once it was fenced: {}",
                        why.join("; ")
                    )));
                }
            };
        }
        self.devices = devices;
        Ok(())
    }

    /// What an agent says of itself, on the first head that answers.
    fn metadata(&self, agent: &str) -> Result<Element, DrillError> {
        let mut why = String::new();
        for node in &self.file.nodes {
            let order = DrillOrder::FenceMetadata {
                agent: agent.to_owned(),
            };
            match self.ask(node.name.get(), order) {
                Ok(DrillAnswer::Text(text)) => {
                    return Element::parse(&text, "a fence agent's metadata")
                        .map_err(|e| DrillError::CouldNot(format!("{agent}: {e}")));
                }
                Ok(_) => why = format!("{} answered with something else", node.name.get()),
                Err(e) => why = e.to_string(),
            }
        }
        Err(DrillError::CouldNot(why))
    }

    /// Asks a head.
    ///
    /// # Errors
    /// It is not reached, or cannot obey.
    pub fn ask(&self, head: &HostName, order: DrillOrder) -> Result<DrillAnswer, DrillError> {
        match self.remote.order(head, &Order::Drill(order)) {
            Ok(Answer::Drill(answer)) => Ok(answer),
            Ok(_) => Err(DrillError::CouldNot(format!(
                "{head} answered with something else"
            ))),
            Err(why) => Err(DrillError::CouldNot(why)),
        }
    }

    /// A look by the agent that obeys orders.
    pub(crate) fn look(&self, head: &HostName, engine: bool) -> Result<Look, DrillError> {
        match self.ask(head, DrillOrder::Look { engine })? {
            DrillAnswer::Look(look) => Ok(look),
            _ => Err(DrillError::CouldNot(format!("{head} did not look"))),
        }
    }

    /// Whether a head has power, by its fence devices, asked through another head; or switches it, through the very
    /// agents and the very secrets that Pacemaker would use. One of two power supplies is power.
    ///
    /// # Errors
    /// No other head could ask them.
    pub fn power(&self, head: &HostName, on: Option<bool>) -> Result<bool, DrillError> {
        let devices = self.devices.get(head).filter(|devices| !devices.is_empty());
        let devices = devices.ok_or_else(|| {
            DrillError::CouldNot(format!("it is not known yet what switches {head}"))
        })?;
        let mut any = false;
        for device in devices {
            any |= self.switch(head, device, on)?;
        }
        Ok(any)
    }

    /// What switches a head's power, in words.
    pub fn switched_by(&self, head: &HostName) -> String {
        let devices = self.devices.get(head).into_iter().flatten();
        let words = devices.map(|device| format!("{} ({})", device.name, device.agent));
        words.collect::<Vec<_>>().join(" and ")
    }

    fn switch(
        &self,
        head: &HostName,
        device: &FenceQuestion,
        on: Option<bool>,
    ) -> Result<bool, DrillError> {
        let order = DrillOrder::Power {
            device: device.clone(),
            on,
            seconds: on.map_or(TELLS, |_| SWITCHES),
        };
        let mut why = format!("there is no other head to ask {} of {head}", device.name);
        let nodes = self.file.nodes.iter().map(|node| node.name.get());
        for other in nodes.filter(|name| *name != head) {
            match self.ask(other, order.clone()) {
                Ok(DrillAnswer::Power(on)) => return Ok(on),
                Ok(_) => why = format!("{other} answered with something else"),
                Err(e) => why = e.to_string(),
            }
        }
        Err(DrillError::CouldNot(why))
    }

    /// Whether a head has power: one that answers has, of another its fence devices are asked.
    ///
    /// # Errors
    /// It does not answer, and nor do they.
    pub fn is_on(&self, head: &HostName) -> Result<bool, DrillError> {
        match self.look(head, false) {
            Ok(_) => Ok(true),
            Err(_) => self.power(head, None),
        }
    }
}
