//! Sender, bridge and guests: what is on the bridge, and which processor works off what.

use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::time::Duration;

use hawser_model::fanout::{ReceiverSetting, Spread, processor_mask};
use hawser_tool::Deadline;

use super::namespace::{Namespace, ip, run, with_sysfs, write};
use crate::RungError;

/// The range for benchmarks (RFC 2544), which nobody has for anything else.
pub(super) const SENDER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);

/// The group of the flow, of organization-local scope (RFC 2365).
pub(super) const GROUP: Ipv4Addr = Ipv4Addr::new(239, 192, 72, 89);

/// The address of a guest, counted from zero.
pub(super) fn guest(number: u32) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 1, (number + 1) as u8)
}

/// The bridge's ports forward as soon as their carrier is noticed; that takes a moment of the kernel's.
const PATIENCE: Duration = Duration::from_secs(5);

/// `BR_STATE_FORWARDING` (linux/if_bridge.h).
const FORWARDING: &str = "3";

/// What was built.
pub(super) struct Stage {
    bridge: Namespace,
    sender: Namespace,
    guests: Vec<Namespace>,
    attached: u32,
    /// The processors that work off what comes in, as a mask.
    ingress: String,
    /// How each guest's interface is set.
    set: Vec<ReceiverSetting>,
}

impl Stage {
    pub(super) fn build(count: u32) -> Result<Self, RungError> {
        let (bridge, sender) = (Namespace::new()?, Namespace::new()?);
        let guests = (0..count)
            .map(|_| Namespace::new())
            .collect::<Result<Vec<_>, _>>()?;
        let mut lines = "link add br0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0\n\
                         link set br0 up\n"
            .to_owned();
        cable(&mut lines, "in0", &sender);
        lines.push_str("link set in0 master br0\n");
        for (number, guest) in guests.iter().enumerate() {
            cable(&mut lines, &port(number), guest);
        }
        bridge.within(|| ip(&lines))?;
        address(&sender, SENDER)?;
        for (number, namespace) in guests.iter().enumerate() {
            address(namespace, guest(number as u32))?;
        }
        Ok(Self {
            bridge,
            sender,
            ingress: "0".to_owned(),
            set: vec![ReceiverSetting::default(); guests.len()],
            guests,
            attached: 0,
        })
    }

    pub(super) fn sender(&self) -> &Namespace {
        &self.sender
    }

    pub(super) fn bridge(&self) -> &Namespace {
        &self.bridge
    }

    pub(super) fn guests(&self, count: u32) -> impl Iterator<Item = &Namespace> {
        self.guests.iter().take(count as usize)
    }

    /// So many guests are on the bridge, and it forwards to all of them: a bridge that does not filter
    /// floods, and a guest that does not receive must not cost anything.
    pub(super) fn attach(&mut self, count: u32) -> Result<(), RungError> {
        if count as usize > self.guests.len() {
            let made = self.guests.len();
            return Err(RungError::Absent(format!(
                "{count} receivers of {made} that were made"
            )));
        }
        let mut lines = String::new();
        for number in self.attached..count {
            let _ = writeln!(lines, "link set {} master br0", port(number as usize));
        }
        for number in count..self.attached {
            let _ = writeln!(lines, "link set {} nomaster", port(number as usize));
        }
        self.bridge.within(|| ip(&lines))?;
        self.attached = count;
        let ports: Vec<String> = std::iter::once("in0".to_owned())
            .chain((0..count as usize).map(port))
            .collect();
        with_sysfs(std::iter::once(&self.bridge), |_| forwarding(&ports))
    }

    /// Has the copies worked off as asked.
    pub(super) fn spread(
        &mut self,
        spread: Spread,
        processors: &[u32],
        as_set: &[ReceiverSetting],
    ) -> Result<(), RungError> {
        let Some(&context) = processors.last() else {
            return Err(RungError::Absent("no processor is allowed".to_owned()));
        };
        let ingress = match spread {
            Spread::Default => "0".to_owned(),
            _ => processor_mask(context),
        };
        let wanted: Vec<ReceiverSetting> = (0..self.guests.len())
            .map(|number| match spread {
                Spread::Split => ReceiverSetting {
                    cpus: processor_mask(processors[number % processors.len()]),
                    ..ReceiverSetting::default()
                },
                Spread::Threaded => ReceiverSetting {
                    gro: true,
                    threaded: true,
                    ..ReceiverSetting::default()
                },
                Spread::AsSet => as_set
                    .get(number % as_set.len().max(1))
                    .cloned()
                    .unwrap_or_default(),
                Spread::Default | Spread::OneContext => ReceiverSetting::default(),
            })
            .collect();
        if ingress != self.ingress {
            with_sysfs(std::iter::once(&self.bridge), |_| {
                write("/sys/class/net/in0/queues/rx-0/rps_cpus", &ingress)
            })?;
            self.ingress = ingress;
        }
        if wanted == self.set {
            return Ok(());
        }
        self.merge(&wanted, true)?;
        let set = &self.set;
        with_sysfs(self.guests.iter(), |number| {
            let (is, shall) = (&set[number], &wanted[number]);
            if is.threaded != shall.threaded {
                let on = if shall.threaded { "1" } else { "0" };
                write("/sys/class/net/eth0/threaded", on)?;
            }
            match is.cpus == shall.cpus {
                true => Ok(()),
                false => write("/sys/class/net/eth0/queues/rx-0/rps_cpus", &shall.cpus),
            }
        })?;
        self.merge(&wanted, false)?;
        self.set = wanted;
        Ok(())
    }

    /// Turns GRO on, or off, where it shall be: only a veth that polls (GRO) has a NAPI that a thread
    /// could run, so it is on before there are threads, and off after.
    fn merge(&self, wanted: &[ReceiverSetting], on: bool) -> Result<(), RungError> {
        let word = if on { "on" } else { "off" };
        for ((guest, is), shall) in self.guests.iter().zip(&self.set).zip(wanted) {
            if is.gro != shall.gro && shall.gro == on {
                guest.within(|| run("ethtool", &["-K", "eth0", "gro", word]))?;
            }
        }
        Ok(())
    }
}

/// The bridge's port towards a guest, counted from zero.
fn port(number: usize) -> String {
    format!("g{}", number + 1)
}

fn cable(lines: &mut String, name: &str, to: &Namespace) {
    let queues = "numtxqueues 1 numrxqueues 1";
    let _ = writeln!(
        lines,
        "link add {name} {queues} type veth peer name eth0 {queues} netns {}\nlink set {name} up",
        to.path()
    );
}

fn address(namespace: &Namespace, address: Ipv4Addr) -> Result<(), RungError> {
    namespace.within(|| {
        ip(&format!(
            "addr add {address}/15 dev eth0\nlink set eth0 up\n"
        ))
    })
}

fn forwarding(ports: &[String]) -> Result<(), RungError> {
    let deadline = Deadline::after(PATIENCE);
    for port in ports {
        let path = format!("/sys/class/net/{port}/brport/state");
        let mut state = String::new();
        let forwards = deadline.ask(Duration::from_millis(5), || {
            state = fs::read_to_string(&path).map_err(RungError::call("read", &path))?;
            Ok::<_, RungError>((state.trim() == FORWARDING).then_some(()))
        })?;
        if forwards.is_none() {
            let state = state.trim();
            return Err(RungError::Absent(format!(
                "{path} is {state}, not {FORWARDING}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guest_has_an_address_of_its_own() {
        assert_eq!(guest(0), Ipv4Addr::new(198, 18, 1, 1));
        assert_eq!(
            guest(super::super::MOST - 1),
            Ipv4Addr::new(198, 18, 1, 200)
        );
    }
}
