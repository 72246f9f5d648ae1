//! Cables are pulled, or the plugs of switches: the carrier goes. On a real head its own packet filter swallows what
//! comes and goes, so that addresses and routes stay and it can be taken back.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_cluster::host::drill::HostFault;
use hawser_lab::{Place, cut, heal};
use hawser_model::names::{HostName, LinkName};

use super::Fault;
use crate::error::DrillError;
use crate::stage::Stage;

/// See the module.
pub struct Cut {
    /// Its name in records: `ring-down`, `switch-down`.
    pub name: &'static str,
    /// What is pulled.
    pub places: Vec<Place>,
}

impl Cut {
    /// The cables of a head to these links.
    pub fn cables(name: &'static str, head: &HostName, links: &[LinkName]) -> Self {
        let port = |link: &LinkName| Place::Port {
            node: head.to_string(),
            link: link.to_string(),
        };
        Self {
            name,
            places: links.iter().map(port).collect(),
        }
    }

    /// The switches that these links run over: on real heads, that all of them lose the link.
    pub fn switches(name: &'static str, stage: &Stage<'_>, links: &[LinkName]) -> Self {
        if stage.real().is_some() {
            let heads = stage.heads.iter();
            let all = heads.flat_map(|head| Self::cables(name, head, links).places);
            return Self {
                name,
                places: all.collect(),
            };
        }
        let lab = stage.lab().ok();
        let switches = links.iter().filter_map(|link| {
            let all = &lab.as_ref()?.spec().links;
            let link = all.iter().find(|it| it.name == *link)?;
            Some(Place::Switch(link.switch.clone()))
        });
        Self {
            name,
            places: switches.collect(),
        }
    }

    /// What each real head is to lose: a switch that swallows what comes over its cables.
    fn silences(&self, stage: &Stage<'_>) -> Result<BTreeMap<HostName, HostFault>, DrillError> {
        let mut all: BTreeMap<HostName, Vec<IpAddr>> = BTreeMap::new();
        for place in &self.places {
            if let Place::Port { node, link } = place {
                let head = HostName::from(node.as_str());
                let addresses = stage.addresses_of(&head, &link.as_str().into())?;
                all.entry(head).or_default().extend(addresses);
            }
        }
        let silence = |addresses| HostFault::Silence {
            addresses,
            incoming: true,
            outgoing: true,
            percent: 100,
        };
        let all = all.into_iter();
        Ok(all.map(|(head, them)| (head, silence(them))).collect())
    }

    /// The ends of what is pulled: node and link.
    fn ends(&self, stage: &Stage<'_>) -> Result<Vec<(String, String)>, DrillError> {
        let lab = stage.lab()?;
        let spec = lab.spec();
        let mut ends = Vec::new();
        for place in &self.places {
            match place {
                Place::Port { node, link } => ends.push((node.clone(), link.clone())),
                Place::Switch(switch) => {
                    let links = spec.links.iter().filter(|link| link.switch == *switch);
                    for link in links {
                        let nodes = spec.nodes.iter();
                        let plugged =
                            nodes.filter(|n| n.ports.iter().any(|port| port.link == link.name));
                        ends.extend(plugged.map(|n| (n.name.to_string(), link.name.to_string())));
                    }
                }
            }
        }
        Ok(ends)
    }
}

impl Fault for Cut {
    fn name(&self) -> &'static str {
        self.name
    }

    fn hosts(&self) -> Vec<HostName> {
        let mut hosts: Vec<HostName> = Vec::new();
        for place in &self.places {
            if let Place::Port { node, .. } = place {
                let node = HostName::from(node.as_str());
                if !hosts.contains(&node) {
                    hosts.push(node);
                }
            }
        }
        hosts
    }

    fn object(&self) -> Option<String> {
        let places: Vec<String> = self.places.iter().map(ToString::to_string).collect();
        Some(places.join(", "))
    }

    fn make(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        if stage.real().is_some() {
            let mut all = self.silences(stage)?.into_iter();
            return all.try_for_each(|(head, silence)| stage.make_there(&head, silence));
        }
        for place in &self.places {
            cut(stage.lab_name()?, place)?;
        }
        Ok(())
    }

    fn evidence(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        if stage.real().is_some() {
            let mut shown = Vec::new();
            for (head, silence) in self.silences(stage)? {
                match stage.shown_there(&head, silence)? {
                    Some(words) => shown.push(format!("{head}: {words}")),
                    None => return Ok(None),
                }
            }
            return Ok((!shown.is_empty()).then(|| shown.join("; ")));
        }
        let lab = stage.lab()?;
        let mut without = Vec::new();
        for (node, link) in self.ends(stage)? {
            // A head without power shows nothing; the lab has its cable out.
            let Ok(process) = lab.process(&node) else {
                without.push(format!("{node}/{link} (off)"));
                continue;
            };
            let carrier = format!("/proc/{process}/root/sys/class/net/{link}/carrier");
            match std::fs::read_to_string(&carrier) {
                Ok(text) if text.trim() == "1" => return Ok(None),
                _ => without.push(format!("{node}/{link}")),
            }
        }
        Ok((!without.is_empty()).then(|| format!("no carrier at {}", without.join(", "))))
    }

    fn heal(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        if stage.real().is_some() {
            let mut all = self.silences(stage)?.into_iter();
            return all.try_for_each(|(head, silence)| stage.mend_there(&head, silence));
        }
        for place in &self.places {
            heal(stage.lab_name()?, place)?;
        }
        Ok(())
    }
}
