//! The switches that a tune may turn as well: those of a lab.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hawser_host::{Host, Hosts};
use hawser_lab::Lab;
use hawser_model::knob::Knob;
use hawser_model::names::{HostName, LinkName};
use hawser_model::trial::Also;

use crate::cluster::{Cluster, beside_switches};

/// Labs, and who is beside their switches, each reached when it is first needed.
pub struct Switches {
    labs: Vec<Lab>,
    beside: Mutex<Hosts>,
}

impl Switches {
    /// Those of the cluster's labs; none where hosts are real.
    pub fn of(cluster: &Cluster) -> miette::Result<Self> {
        Ok(Self {
            labs: cluster.labs()?,
            beside: Mutex::default(),
        })
    }

    /// The ports of the link. None where no agent can be started beside the switch: then its ports
    /// stay as they are, and the trial shows what that is worth.
    pub fn ports(&self, link: &LinkName) -> Vec<Also> {
        let with_ports = self.labs.iter().map(|lab| (lab, lab.ports(link)));
        let Some((lab, ports)) = with_ports.into_iter().find(|(_, ports)| !ports.is_empty()) else {
            return Vec::new();
        };
        let mut beside = self.beside();
        let host = HostName::from(hawser_lab::init::SWITCHES);
        if !beside.contains_key(&host) {
            match beside_switches(lab) {
                Ok(there) => beside.insert(host.clone(), there),
                Err(_) => return Vec::new(),
            };
        }
        let port = |interface| Also {
            host: host.clone(),
            knob: Knob::Mtu { interface },
        };
        ports.into_iter().map(port).collect()
    }

    /// Does something with who is beside the switch, if anybody is.
    pub fn on(&self, switch: &HostName, work: &mut dyn FnMut(&mut dyn Host)) {
        if let Some(there) = self.beside().get_mut(switch) {
            work(there.as_mut());
        }
    }

    fn beside(&self) -> MutexGuard<'_, Hosts> {
        self.beside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
