//! What switches the power of real heads: their fence devices.

use std::collections::BTreeMap;

use hawser_cluster::fence_history::is_under_way;
use hawser_cluster::host::FenceQuestion;
use hawser_cluster::host::questions::{Power, ReadFenceHistory, ReadFenceMetadata};
use hawser_cluster::live::{cannot_switch, switches};
use hawser_cluster::xml::Element;
use hawser_host::site::SiteError;
use hawser_model::names::HostName;

use super::RealHeads;

/// How long a fence agent may take to switch a head, in seconds: BMCs are slow.
const SWITCHES: u32 = 60;

/// How long it may take to tell whether there is power.
const TELLS: u32 = 20;

impl RealHeads<'_> {
    /// Finds the devices that switch the power of a head on and off: of the first level that can. The agents
    /// themselves say what they can.
    pub(super) fn switches_of(
        &self,
        head: &HostName,
        known: &mut BTreeMap<String, Element>,
    ) -> Result<Vec<FenceQuestion>, SiteError> {
        let mut why = Vec::new();
        for level in switches(self.file, head.as_str()) {
            let mut can = Vec::new();
            for switch in &level {
                let agent = &switch.device.agent;
                if !known.contains_key(agent) {
                    known.insert(agent.clone(), self.metadata(agent)?);
                }
                match cannot_switch(&known[agent]) {
                    None => can.push(switch.aimed(&known[agent])),
                    Some(words) => why.push(format!("{} ({agent}): {words}", switch.device.name)),
                }
            }
            if can.len() == level.len() && !can.is_empty() {
                return Ok(can);
            }
        }
        Err(SiteError::for_good(format!(
            "no fence device of {head} switches its power off and on, so a drill could not switch it on again once it \
             was fenced: {}",
            why.join("; ")
        )))
    }

    /// What an agent says of itself, on the first head that answers.
    fn metadata(&self, agent: &str) -> Result<Element, SiteError> {
        let question = ReadFenceMetadata {
            agent: agent.to_owned(),
        };
        let text = Self::first_answer(self.hosts, self.names(), &question, "there is no head")?;
        Element::parse(&text, "a fence agent's metadata")
            .map_err(|e| SiteError::for_good(format!("{agent}: {e}")))
    }

    /// Whether a head has power, by its fence devices, or switches it, through the very agents and the very secrets
    /// that Pacemaker would use. One of two power supplies is power.
    pub(super) fn power(&self, head: &HostName, on: Option<bool>) -> Result<bool, SiteError> {
        let mut any = false;
        for device in self.devices(head)? {
            any |= self.power_by(device, head, on)?;
        }
        Ok(any)
    }

    /// The same by one of its devices.
    fn power_by(
        &self,
        device: &FenceQuestion,
        head: &HostName,
        on: Option<bool>,
    ) -> Result<bool, SiteError> {
        let question = Power {
            device: device.clone(),
            on,
            seconds: on.map_or(TELLS, |_| SWITCHES),
        };
        let others = self.names().filter(|name| *name != head);
        let none = format!("there is no other head to ask {} of {head}", device.name);
        let hosts = on.map_or(&self.beside, |_| self.hosts);
        Self::first_answer(hosts, others, &question, &none)
    }

    /// Has each of the devices give a head power that does not. With one of two supplies a head runs, and lacks the other.
    pub(super) fn power_by_all(&self, head: &HostName) -> Result<(), SiteError> {
        let devices = self.devices(head)?;
        let (mut off, mut failed) = (Vec::new(), None);
        for device in devices {
            match self.power_by(device, head, None) {
                Ok(true) => {}
                Ok(false) => off.push(device),
                Err(e) => failed = failed.or(Some(e)),
            }
        }
        // A shot takes one supply after the other. Who gave the first one back in between would have the cluster believe
        // that a head is off that never was.
        let may_run = off.len() < devices.len();
        if may_run && !off.is_empty() && self.is_being_fenced(head)? {
            return Err(SiteError::for_now(format!("{head} is being fenced")));
        }
        for device in off {
            if let Err(e) = self.power_by(device, head, Some(true)) {
                failed = failed.or(Some(e));
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Whether a shot at a head is under way, by any fencer that tells.
    fn is_being_fenced(&self, head: &HostName) -> Result<bool, SiteError> {
        let history = Self::first_answer(
            &self.beside,
            self.names(),
            &ReadFenceHistory,
            "there is no head",
        )?;
        is_under_way(&history, head).map_err(SiteError::for_good)
    }

    pub(super) fn devices(&self, head: &HostName) -> Result<&[FenceQuestion], SiteError> {
        let devices = self.devices.get().and_then(|all| all.get(head));
        devices
            .map(Vec::as_slice)
            .ok_or_else(|| SiteError::for_good(format!("it is not known yet what switches {head}")))
    }
}
