//! A lab as the site of its hosts.

mod hung;
mod outside;
mod shelf_disks;

use std::fs;
use std::path::PathBuf;

use hawser_host::site::{Site, SiteError, SiteFault, Trouble, Watcher, all_of, all_shown};
use hawser_model::drill::{Moment, PowerEvent, PowerState};
use hawser_model::names::HostName;
use hawser_tool::processes::{self, Process};
use nix::sys::signal::Signal;

use crate::actions::{CutPoint, cut, heal, power_loss, switch_on};
use crate::cluster::clock::has_heads_clock;
use crate::error::LabError;
use crate::impair::{self, Clear, Direction, Fault, Share};
use crate::lab::Lab;
use crate::name::LabName;
use crate::power::PowerLoss;
use crate::spec::Role;
use crate::status::status;
use outside::FromOutside;

/// A lab by its name: its processes are others after each power cycle.
pub struct LabSite(LabName);

impl From<LabError> for SiteError {
    fn from(error: LabError) -> Self {
        Self::for_good(error)
    }
}

impl LabSite {
    /// The lab of that name.
    pub fn of(name: LabName) -> Self {
        Self(name)
    }

    fn lab(&self) -> Result<Lab, LabError> {
        Lab::open(self.0.as_str())
    }

    fn has_kernels(&self) -> bool {
        self.lab().is_ok_and(|lab| lab.nodes_have_kernels())
    }

    /// What is pulled.
    fn place(&self, fault: &SiteFault) -> Result<Option<CutPoint>, LabError> {
        Ok(match fault {
            SiteFault::Cable { host, link } => Some(CutPoint::Port {
                node: host.to_string(),
                link: link.to_string(),
            }),
            SiteFault::Switch { link } => {
                let lab = self.lab()?;
                let spec = lab.spec();
                let found = spec.link(link.as_str()).ok_or_else(|| LabError::NoSuch {
                    lab: self.0.to_string(),
                    kind: "link",
                    found: link.to_string(),
                    known: spec.links.iter().map(|it| it.name.to_string()).collect(),
                })?;
                Some(CutPoint::Switch(found.switch.clone()))
            }
            _ => None,
        })
    }

    /// The ends of a cable or of all cables of a switch: node and link.
    fn ends(&self, place: &CutPoint) -> Result<Vec<(String, String)>, LabError> {
        let switch = match place {
            CutPoint::Port { node, link } => return Ok(vec![(node.clone(), link.clone())]),
            CutPoint::Switch(switch) => switch,
        };
        let lab = self.lab()?;
        let spec = lab.spec();
        let links = spec.links.iter().filter(|link| link.switch == *switch);
        let ends = links.flat_map(|link| {
            let plugged = spec.nodes.iter();
            let plugged = plugged.filter(|n| n.ports.iter().any(|port| port.link == link.name));
            plugged.map(|node| (node.name.to_string(), link.name.to_string()))
        });
        Ok(ends.collect())
    }

    fn without_carrier(&self, place: &CutPoint) -> Result<Option<String>, LabError> {
        let lab = self.lab()?;
        let mut without = Vec::new();
        for (node, link) in self.ends(place)? {
            // A node without power shows nothing; the lab has its cable out.
            let Ok(process) = lab.process(&node) else {
                without.push(format!("{node}/{link} (off)"));
                continue;
            };
            let carrier = format!("/proc/{process}/root/sys/class/net/{link}/carrier");
            match fs::read_to_string(&carrier) {
                Ok(text) if text.trim() == "1" => return Ok(None),
                _ => without.push(format!("{node}/{link}")),
            }
        }
        Ok((!without.is_empty()).then(|| format!("no carrier at {}", without.join(", "))))
    }

    /// How often something is planted at a port, and how many packets have suffered it.
    fn planted(&self, host: &HostName, link: &str) -> Result<(usize, u64), LabError> {
        let status = status(&self.0)?;
        let here = status.impairments.iter();
        let here = here.filter(|it| it.node == *host && it.link.as_str() == link);
        // A rate shows itself only under load; loss and delay are counted.
        let counts = here.clone().filter_map(|it| it.counts);
        Ok((here.count(), counts.map(|c| c.lost + c.held).sum()))
    }

    /// All processes of a running node, its first one included; none of one that is off.
    fn processes(&self, node: &HostName) -> Result<Vec<Process>, SiteError> {
        let lab = self.lab()?;
        if !lab.running().contains(node) {
            return Ok(Vec::new());
        }
        let first = lab.process(node.as_str())?;
        let init = Process::of(first);
        let Some(wanted) = init.and_then(|init| init.namespace("pid")) else {
            return Ok(Vec::new());
        };
        let mut all = processes::all().map_err(|e| SiteError::for_good(format!("/proc: {e}")))?;
        all.retain(|process| process.namespace("pid").as_ref() == Some(&wanted));
        Ok(all)
    }

    /// Services that the lab did not start have the machine's clock, which is not stepped.
    fn step_clock(&self, host: &HostName, ahead_s: i32) -> Result<(), SiteError> {
        for service in self.processes(host)? {
            let name = service.name.as_str();
            let is_service = name.starts_with("pacemaker") || ["corosync", "tgtd"].contains(&name);
            // One that has ended meanwhile needs no clock.
            if is_service && !service.is_dead() && !has_heads_clock(service.pid).unwrap_or(true) {
                return Err(SiteError::for_good(format!(
                    "{name} on {host} was not started by the lab, and has the machine's clock"
                )));
            }
        }
        let ahead_ns = i64::from(ahead_s) * 1_000_000_000;
        Ok(self.lab()?.set_clock(host.as_str(), ahead_ns)?)
    }
}

impl Site for LabSite {
    fn is_expendable(&self) -> bool {
        true
    }

    fn on_this_machine(&self) -> Option<&str> {
        Some(self.0.as_str())
    }

    fn prepare(&self) -> Result<(), SiteError> {
        Ok(())
    }

    fn has_power(&self, host: &HostName) -> Result<bool, SiteError> {
        Ok(self.lab()?.running().contains(host))
    }

    fn power_off(&self, host: &HostName) -> Result<(), SiteError> {
        power_loss(&self.0, host.as_str(), PowerLoss::Cut)?;
        Ok(())
    }

    fn power_on(&self, host: &HostName) -> Result<(), SiteError> {
        switch_on(&self.0, host.as_str())?;
        Ok(())
    }

    fn shows_off(&self, host: &HostName) -> Result<Option<String>, SiteError> {
        let off = !self.has_power(host)?;
        Ok(off.then(|| format!("no process of {host} runs any more")))
    }

    fn power_log(&self, hosts: &[HostName]) -> Vec<PowerEvent> {
        let Ok(lab) = self.lab() else {
            return Vec::new();
        };
        let of_host = |host: &HostName| {
            let host = host.clone();
            let changes = lab.power_log(host.as_str()).into_iter();
            changes.map(move |change| PowerEvent {
                host: host.clone(),
                at: Moment(change.at_us),
                what: match (change.on, change.done) {
                    (false, false) => PowerState::OffOrdered,
                    (false, true) => PowerState::Off,
                    (true, false) => PowerState::OnOrdered,
                    (true, true) => PowerState::On,
                },
            })
        };
        hosts.iter().flat_map(of_host).collect()
    }

    /// What is mounted in a machine its own kernel knows, and nobody outside.
    fn watcher<'a>(&'a self, host: &'a HostName) -> Option<Box<dyn Watcher + 'a>> {
        match self.has_kernels() {
            true => None,
            false => Some(Box::new(FromOutside::of(self, host))),
        }
    }

    fn stands_still(&self, host: &HostName) -> Result<bool, SiteError> {
        let all = hung::by_themselves(self.processes(host)?);
        Ok(!all.is_empty() && all.iter().all(hung::is_still))
    }

    fn shelves(&self) -> Vec<HostName> {
        let lab = self.lab().ok();
        let nodes = lab.iter().flat_map(|lab| &lab.spec().nodes);
        let shelves = nodes.filter(|node| node.role == Role::Shelf);
        shelves.map(|node| node.name.clone()).collect()
    }

    fn shelf_of(&self, device: &str) -> Option<HostName> {
        self.unit(device).ok().map(|(machine, _)| machine)
    }

    fn slowness(&self) -> u32 {
        self.lab().map_or(1, |lab| lab.slowness())
    }

    fn break_now(&self, faults: &[SiteFault]) -> Result<(), SiteError> {
        faults.iter().try_for_each(|fault| self.break_one(fault))
    }

    fn shows(&self, faults: &[SiteFault]) -> Result<Option<String>, SiteError> {
        all_shown(faults.iter().map(|fault| self.shows_one(fault)))
    }

    fn mend(&self, faults: &[SiteFault]) -> Result<(), SiteError> {
        all_of(faults.iter().map(|fault| self.mend_one(fault)))
    }

    fn notes(&self) -> Result<PathBuf, SiteError> {
        Ok(self.lab()?.notes().to_owned())
    }
}

/// One fault.
impl LabSite {
    fn break_one(&self, fault: &SiteFault) -> Result<(), SiteError> {
        if let Some(place) = self.place(fault)? {
            cut(&self.0, &place)?;
            return Ok(());
        }
        match fault {
            SiteFault::Impaired {
                host,
                link,
                to_host,
                from_host,
                trouble,
            } => {
                let ways = [
                    (to_host, Direction::ToNode),
                    (from_host, Direction::FromNode),
                ];
                let order = impair::Order::Port {
                    node: host.to_string(),
                    link: link.to_string(),
                    directions: ways
                        .into_iter()
                        .filter(|(it, _)| **it)
                        .map(|(_, d)| d)
                        .collect(),
                    fault: planted(*trouble),
                };
                Ok(impair::impair(&self.0, &order)?)
            }
            SiteFault::Hung { host } => hung::stop(|| self.processes(host)),
            SiteFault::Reboot { host } => {
                power_loss(&self.0, host.as_str(), PowerLoss::Off)?;
                self.power_on(host)
            }
            SiteFault::Shelf { host } => self.power_off(host),
            SiteFault::Disk {
                device, trouble, ..
            } => self.trouble(device, Some(*trouble)),
            SiteFault::Clock { host, ahead_s } => self.step_clock(host, *ahead_s),
            SiteFault::Cable { .. } | SiteFault::Switch { .. } => Ok(()),
        }
    }

    fn shows_one(&self, fault: &SiteFault) -> Result<Option<String>, SiteError> {
        if let Some(place) = self.place(fault)? {
            return Ok(self.without_carrier(&place)?);
        }
        match fault {
            SiteFault::Impaired {
                host,
                link,
                trouble,
                ..
            } => {
                let is_counted = !matches!(trouble, Trouble::Slow(_));
                Ok(match (self.planted(host, link.as_str())?, is_counted) {
                    ((0, _), _) | ((_, 0), true) => None,
                    ((_, packets), true) => Some(format!("{packets} packets suffered it by now")),
                    (_, false) => Some("it is planted at the switch's port".to_owned()),
                })
            }
            SiteFault::Hung { host } => {
                let all = hung::by_themselves(self.processes(host)?);
                // By the time somebody looks it may have been fenced already.
                if all.is_empty() {
                    return Ok(Some(format!("{host} hung until it lost its power")));
                }
                let count = all.len();
                let words = || format!("all {count} processes of {host} are stopped (SIGSTOP)");
                Ok(all.iter().all(hung::is_still).then(words))
            }
            SiteFault::Reboot { host } if self.has_kernels() => {
                let up = self.lab()?.has_booted(host.as_str());
                Ok((!up).then(|| format!("{host} boots: it is not up yet")))
            }
            SiteFault::Reboot { host } => {
                let all = self.processes(host)?;
                let engine = all.iter().any(|it| it.name == "pacemakerd");
                Ok((!engine).then(|| format!("{host} boots: its Pacemaker does not run")))
            }
            SiteFault::Shelf { host } => self.shows_off(host),
            SiteFault::Disk {
                device, trouble, ..
            } => self.shows_trouble(device, *trouble),
            SiteFault::Clock { .. } | SiteFault::Cable { .. } | SiteFault::Switch { .. } => {
                Ok(None)
            }
        }
    }

    fn mend_one(&self, fault: &SiteFault) -> Result<(), SiteError> {
        if let Some(place) = self.place(fault)? {
            heal(&self.0, &place)?;
            return Ok(());
        }
        match fault {
            SiteFault::Impaired { host, link, .. } => {
                let what = Clear::Port {
                    node: host.to_string(),
                    link: link.to_string(),
                };
                impair::clear(&self.0, &what)?;
            }
            SiteFault::Hung { host } => {
                for process in hung::by_themselves(self.processes(host)?) {
                    hung::signal(&process, Signal::SIGCONT)?;
                }
            }
            SiteFault::Reboot { host } => self.power_on(host)?,
            SiteFault::Shelf { host } => {
                self.power_on(host)?;
                if !self.lab()?.has_booted(host.as_str()) {
                    return Err(SiteError::for_now(format!("{host} boots")));
                }
            }
            // One that was off has no trouble.
            SiteFault::Disk { shelf, device, .. } if self.has_power(shelf)? => {
                self.trouble(device, None)
                    .map_err(|e| SiteError::for_now(e.why))?;
            }
            // One that was off has the machine's time again.
            SiteFault::Clock { host, .. } if self.has_power(host)? => {
                self.lab()?.set_clock(host.as_str(), 0)?;
            }
            SiteFault::Disk { .. }
            | SiteFault::Clock { .. }
            | SiteFault::Cable { .. }
            | SiteFault::Switch { .. } => {}
        }
        Ok(())
    }
}

/// What a trouble is at a port.
fn planted(trouble: Trouble) -> Fault {
    let mut fault = Fault::default();
    match trouble {
        Trouble::Lost(percent) => fault.loss = Some(Share::percent(percent)),
        Trouble::Slow(rate) => fault.rate = Some(rate),
        Trouble::Late(ms) => (fault.reorder, fault.hold_ms) = (Some(Share::ALL), Some(ms)),
    }
    fault
}
