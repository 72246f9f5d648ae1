//! Where a drill takes place: a lab on this machine, or real heads behind their agents.

use hawser_cluster::host::drill::Look;
use hawser_cluster::host::{Answer, DrillAnswer, DrillOrder, Order};
use hawser_cluster::live::{Head, bmc_of};
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

/// Real heads: what is asked of them, and of their BMCs through each other.
#[derive(Clone)]
pub struct RealHeads<'a> {
    /// The way to them.
    pub remote: &'a dyn Remote,
    /// Their cluster file.
    pub file: &'a ClusterFile,
}

impl<'a> RealHeads<'a> {
    /// Real heads that a drill can switch on again, whoever switched them off.
    ///
    /// # Errors
    /// One has no BMC of its own.
    pub fn new(file: &'a ClusterFile, remote: &'a dyn Remote) -> Result<Self, DrillError> {
        let mut nodes = file.nodes.iter();
        match nodes.find(|node| node.bmc.is_none()) {
            None => Ok(Self { remote, file }),
            Some(node) => Err(DrillError::CouldNot(format!(
                "{} has no BMC in the cluster file: a drill could not switch it on again once it was fenced",
                node.name.get()
            ))),
        }
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

    /// Whether a head has power, by its BMC, asked through another head; or switches it, through the very fence
    /// agent and the very secret that Pacemaker would use.
    ///
    /// # Errors
    /// No other head could ask it.
    pub fn power(&self, head: &HostName, on: Option<bool>) -> Result<bool, DrillError> {
        let device = bmc_of(self.file, head.as_str());
        let device = device.ok_or_else(|| {
            DrillError::CouldNot(format!("{head} has no BMC in the cluster file"))
        })?;
        let order = DrillOrder::Power {
            device,
            on,
            seconds: on.map_or(TELLS, |_| SWITCHES),
        };
        let mut why = format!("there is no other head to ask the BMC of {head}");
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

    /// Whether a head has power: one that answers has, of another its BMC is asked.
    ///
    /// # Errors
    /// It does not answer, and nor does its BMC.
    pub fn is_on(&self, head: &HostName) -> Result<bool, DrillError> {
        match self.look(head, false) {
            Ok(_) => Ok(true),
            Err(_) => self.power(head, None),
        }
    }
}
