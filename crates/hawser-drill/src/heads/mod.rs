//! Real heads as a site: their power is switched by their fence devices, each asked through another head, and what
//! happens to their cables they do to themselves.

mod power;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::OnceLock;

use hawser_cluster::host::FenceQuestion;
use hawser_cluster::host::drill::HostFault;
use hawser_cluster::host::questions::{FitsFault, LookAround, MakeFault, MendFault, ShowFault};
use hawser_cluster::live::switches;
use hawser_host::site::{Site, SiteError, SiteFault, Trouble, Watcher, all_of, all_shown};
use hawser_host::{Ask, Reconnecting};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::drill::PowerEvent;
use hawser_model::names::{HostName, LinkName};

use crate::error::DrillError;

/// What a head does to itself it mends after so many seconds, if nobody has.
pub(crate) const MENDS_ITSELF: u32 = 600;

/// Real heads: what is asked of them, and of their fence devices through each other.
pub struct RealHeads<'a> {
    hosts: &'a Reconnecting<'a>,
    /// Over which is asked who has power: no order to switch it, which may take a minute, keeps whoever watches waiting.
    beside: Reconnecting<'a>,
    file: &'a ClusterFile,
    notes: PathBuf,
    /// What switches the power of each, once that is known; all of them together.
    devices: OnceLock<BTreeMap<HostName, Vec<FenceQuestion>>>,
}

impl<'a> RealHeads<'a> {
    /// Real heads that something fences.
    ///
    /// # Errors
    /// One is fenced by nothing.
    pub fn new(file: &'a ClusterFile, hosts: &'a Reconnecting<'a>) -> Result<Self, DrillError> {
        let mut nodes = file.nodes.iter();
        match nodes.find(|node| switches(file, node.name.as_str()).is_empty()) {
            None => Ok(Self {
                hosts,
                beside: hosts.beside(),
                file,
                notes: crate::left::notes(file.cluster.name.as_str()),
                devices: OnceLock::new(),
            }),
            Some(node) => Err(DrillError::CouldNot(format!(
                "{} has no fence device in the cluster file: a drill could not switch it on again once it was fenced",
                node.name.get()
            ))),
        }
    }

    /// The same, with its notes in this folder.
    #[must_use]
    pub fn with_notes_in(mut self, folder: PathBuf) -> Self {
        self.notes = folder;
        self
    }

    fn names(&self) -> impl Iterator<Item = &HostName> {
        self.file.nodes.iter().map(|node| node.name.get())
    }

    /// The answer of the first of these heads that gives one.
    fn first_answer<'h, A: Ask>(
        hosts: &Reconnecting<'_>,
        heads: impl Iterator<Item = &'h HostName>,
        question: &A,
        none: &str,
    ) -> Result<A::Answer, SiteError> {
        let mut why = none.to_owned();
        for head in heads {
            match hosts.ask(head, question) {
                Ok(answer) => return Ok(answer),
                Err(e) => why = e.to_string(),
            }
        }
        Err(SiteError::for_now(why))
    }

    /// What each head does to itself instead. It has one packet filter for all that is swallowed: links of a head that
    /// suffer alike are one fault.
    fn on_heads(&self, faults: &[SiteFault]) -> Result<Vec<(HostName, HostFault)>, SiteError> {
        let mut all: Vec<(HostName, HostFault)> = Vec::new();
        for fault in faults {
            for (head, fault) in self.of_one(fault)? {
                let mut of_head = all.iter_mut().filter(|(name, _)| *name == head);
                if !of_head.any(|(_, there)| joins(there, &fault)) {
                    all.push((head, fault));
                }
            }
        }
        Ok(all)
    }

    /// The same of one fault: the packet filter of a head swallows what comes and goes, so that addresses and routes stay
    /// and it can be taken back.
    fn of_one(&self, fault: &SiteFault) -> Result<Vec<(HostName, HostFault)>, SiteError> {
        let silence = |host: &HostName, link: &LinkName, incoming, outgoing, percent| {
            let silence = HostFault::Silence {
                addresses: self.addresses(host, link)?,
                incoming,
                outgoing,
                percent,
            };
            Ok((host.clone(), silence))
        };
        match fault {
            SiteFault::Cable { host, link } => Ok(vec![silence(host, link, true, true, 100)?]),
            SiteFault::Switch { link } => self
                .names()
                .map(|host| silence(host, link, true, true, 100))
                .collect(),
            SiteFault::Impaired {
                host,
                link,
                to_host,
                from_host,
                trouble: Trouble::Lost(percent),
            } => Ok(vec![silence(host, link, *to_host, *from_host, *percent)?]),
            SiteFault::Reboot { host } => Ok(vec![(host.clone(), HostFault::Reboot)]),
            _ => Err(SiteError::for_good("that exists only in a lab")),
        }
    }

    /// The address of a head on a link, by which its interface is found.
    fn addresses(&self, head: &HostName, link: &LinkName) -> Result<Vec<IpAddr>, SiteError> {
        let node = self.file.node(head.as_str());
        let mut all = node.iter().flat_map(|node| node.addresses.iter());
        let found = all.find(|(name, _)| *name.get() == *link);
        found.map(|(_, address)| vec![**address]).ok_or_else(|| {
            SiteError::for_good(format!(
                "{head} has no address on {link} in the cluster file"
            ))
        })
    }
}

impl Site for RealHeads<'_> {
    fn is_expendable(&self) -> bool {
        false
    }

    fn on_this_machine(&self) -> Option<&str> {
        None
    }

    fn prepare(&self) -> Result<(), SiteError> {
        if self.devices.get().is_some() {
            return Ok(());
        }
        let mut known = BTreeMap::new();
        let devices = self
            .names()
            .map(|head| Ok((head.clone(), self.switches_of(head, &mut known)?)));
        let devices = devices.collect::<Result<_, SiteError>>()?;
        let _nobody_else_sets_it = self.devices.set(devices);
        Ok(())
    }

    /// A head that answers has power. Of another its fence devices are asked.
    fn has_power(&self, host: &HostName) -> Result<bool, SiteError> {
        match self.hosts.ask(host, &LookAround { engine: false }) {
            Ok(_) => Ok(true),
            Err(_) => self.power(host, None),
        }
    }

    fn power_off(&self, host: &HostName) -> Result<(), SiteError> {
        self.power(host, Some(false)).map(drop)
    }

    fn power_on(&self, host: &HostName) -> Result<(), SiteError> {
        if self.devices(host)?.len() > 1 {
            return self.power_by_all(host);
        }
        match self.has_power(host)? {
            true => Ok(()),
            false => self.power(host, Some(true)).map(drop),
        }
    }

    fn shows_off(&self, host: &HostName) -> Result<Option<String>, SiteError> {
        let off = !self.power(host, None)?;
        let devices = self.devices(host)?.iter();
        let words = devices.map(|device| format!("{} ({})", device.name, device.agent));
        let words = words.collect::<Vec<_>>().join(" and ");
        Ok(off.then(|| format!("{words} says that {host} is off")))
    }

    /// What real BMCs did is known by Pacemaker's history alone.
    fn power_log(&self, _: &[HostName]) -> Vec<PowerEvent> {
        Vec::new()
    }

    fn watcher<'a>(&'a self, _: &'a HostName) -> Option<Box<dyn Watcher + 'a>> {
        None
    }

    fn unfit(&self, faults: &[SiteFault]) -> Result<Option<String>, SiteError> {
        let on_heads = match self.on_heads(faults) {
            Ok(on_heads) => on_heads,
            Err(e) => return Ok(Some(e.why)),
        };
        for (head, fault) in on_heads {
            let unfit = self.hosts.ask(&head, &FitsFault(fault));
            if let Some(why) = unfit.map_err(SiteError::for_now)? {
                return Ok(Some(format!("{head}: {why}")));
            }
        }
        Ok(None)
    }

    fn break_now(&self, faults: &[SiteFault]) -> Result<(), SiteError> {
        for (head, fault) in self.on_heads(faults)? {
            let seconds = MENDS_ITSELF;
            let made = self.hosts.ask(&head, &MakeFault { fault, seconds });
            made.map_err(SiteError::for_good)?;
        }
        Ok(())
    }

    fn shows(&self, faults: &[SiteFault]) -> Result<Option<String>, SiteError> {
        let on_heads = self.on_heads(faults)?.into_iter();
        all_shown(on_heads.map(|(head, fault)| {
            let is_reboot = fault == HostFault::Reboot;
            match self.hosts.ask(&head, &ShowFault(fault)) {
                Ok(shown) => Ok(shown.map(|words| format!("{head}: {words}"))),
                Err(_) if is_reboot => Ok(Some(format!("{head} does not answer"))),
                Err(_) if !self.has_power(&head)? => {
                    Ok(Some(format!("{head} lost its power by it")))
                }
                Err(e) => Err(SiteError::for_good(e)),
            }
        }))
    }

    /// A head that has lost its power needs no mending; one that nobody reaches does so by itself.
    fn mend(&self, faults: &[SiteFault]) -> Result<(), SiteError> {
        let on_heads = self.on_heads(faults)?.into_iter();
        all_of(on_heads.map(|(head, fault)| {
            let mended = self.hosts.ask(&head, &MendFault(fault));
            match mended {
                Err(e) if self.power(&head, None).unwrap_or(true) => Err(SiteError::for_now(e)),
                _ => Ok(()),
            }
        }))
    }

    fn notes(&self) -> Result<PathBuf, SiteError> {
        let folder = &self.notes;
        std::fs::create_dir_all(folder)
            .map_err(|e| SiteError::for_good(format!("create {}: {e}", folder.display())))?;
        Ok(folder.clone())
    }
}

/// Adds the links of a fault to one that makes others suffer alike; false: that is another.
fn joins(there: &mut HostFault, fault: &HostFault) -> bool {
    match (there, fault) {
        (
            HostFault::Silence {
                addresses,
                incoming,
                outgoing,
                percent,
            },
            HostFault::Silence {
                addresses: more,
                incoming: to,
                outgoing: from,
                percent: share,
            },
        ) if incoming == to && outgoing == from && percent == share => {
            addresses.extend(more);
            true
        }
        _ => false,
    }
}
