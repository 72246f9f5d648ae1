//! The networks of a cluster's lab: those of its file, and those that the lab adds.

use std::net::Ipv4Addr;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::LinkName;
use ipnet::{IpNet, Ipv4Net};

use super::spec::refused;
use crate::error::LabError;
use crate::machines::Card;
use crate::spec::{DEFAULT_MTU, LinkSpec, SwitchSpec, default_ipv4};

/// Links, and the switches that they run over.
pub(super) struct Networks {
    /// The switches.
    pub switches: Vec<SwitchSpec>,
    /// The links.
    pub links: Vec<LinkSpec>,
}

impl Networks {
    /// Those of a cluster file.
    pub fn of(file: &ClusterFile) -> Self {
        let (switches, links) = (Vec::new(), Vec::new());
        let mut all = Self { switches, links };
        for (index, link) in file.links.iter().enumerate() {
            let switch = link.switch.clone().unwrap_or_else(|| format!("sw{index}"));
            all.add_switch(&switch);
            let (ipv4, ipv6) = match link.network.as_ref().map(|network| network.0) {
                Some(IpNet::V4(net)) => (Some(net), None),
                Some(IpNet::V6(net)) => (None, Some(net)),
                None => (Some(default_ipv4(index)), None),
            };
            all.links.push(LinkSpec {
                name: link.name.get().clone(),
                switch,
                mtu: link.mtu.unwrap_or(DEFAULT_MTU),
                ipv4,
                ipv6,
                card: Card::default(),
                serial: link.is_serial(),
            });
        }
        all
    }

    /// Adds one by which heads reach something of the lab's: these addresses, or a network of the plan's that is free.
    ///
    /// # Errors
    /// A link of the file is called so.
    pub fn add(
        &mut self,
        name: &str,
        switch: &str,
        ipv4: Option<Ipv4Net>,
        reached: &str,
    ) -> Result<LinkSpec, LabError> {
        if self.links.iter().any(|link| link.name.as_str() == name) {
            return refused(format!(
                "its link {name} is called as the one by which heads reach {reached}"
            ));
        }
        let link = LinkSpec {
            name: LinkName(name.to_owned()),
            switch: switch.to_owned(),
            mtu: DEFAULT_MTU,
            ipv4: ipv4.or_else(|| self.free()),
            ipv6: None,
            card: Card::default(),
            serial: false,
        };
        self.add_switch(switch);
        self.links.push(link.clone());
        Ok(link)
    }

    fn free(&self) -> Option<Ipv4Net> {
        let in_use = |net: &Ipv4Net| {
            let mut others = self.links.iter().filter_map(|link| link.ipv4);
            others.any(|other| other.contains(net) || net.contains(&other))
        };
        (0..256).map(default_ipv4).find(|net| !in_use(net))
    }

    /// The one that an address is in.
    pub fn with(&self, address: Ipv4Addr) -> Option<LinkSpec> {
        let mut links = self.links.iter();
        let found = links.find(|link| link.ipv4.is_some_and(|net| net.contains(&address)));
        found.cloned()
    }

    fn add_switch(&mut self, name: &str) {
        if !self.switches.iter().any(|switch| switch.name == name) {
            self.switches.push(SwitchSpec {
                name: name.to_owned(),
                snooping: false,
                querier: false,
            });
        }
    }
}
