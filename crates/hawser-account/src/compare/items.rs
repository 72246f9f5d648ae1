//! The items of a case's hosts, each with the values that are known of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use hawser_model::bond::HashPolicy;
use hawser_model::case::Case;
use hawser_model::host::{HostFacts, Interface};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::setup::{HostSetup, InterfaceSetup};

use super::topic::Topic;

/// What an item is. Items of links come first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The link, for an item of its interface.
    pub(crate) link: Option<LinkName>,
    pub(crate) topic: Topic,
    pub(crate) name: String,
}

/// The known values of each item; a host that is missing did not tell.
pub(crate) type Items = BTreeMap<Key, BTreeMap<HostName, String>>;

/// An interface below an interface below an interface: a VLAN of a bond.
const DEEPEST: usize = 3;

/// It names modules that happen to be loaded, not what is in use.
const NOT_COMPARED: &str = "net.ipv4.tcp_available_congestion_control";

/// The interface of a host on a link, or one below it.
struct Port<'a> {
    host: &'a HostName,
    facts: &'a HostFacts,
    setup: Option<&'a HostSetup>,
    name: &'a InterfaceName,
    interface: &'a Interface,
}

impl<'a> Port<'a> {
    fn setup(&self) -> Option<&'a InterfaceSetup> {
        self.setup?.interfaces.get(self.name)
    }

    /// The interfaces below it, by name.
    fn below(&self) -> Vec<Port<'a>> {
        let names: BTreeSet<&InterfaceName> = self.interface.lower.iter().collect();
        let ports = names.into_iter().filter_map(|name| {
            let (name, interface) = self.facts.interfaces.get_key_value(name)?;
            Some(Port {
                name,
                interface,
                ..*self
            })
        });
        ports.collect()
    }
}

/// All items of a case's hosts.
pub(crate) fn items(case: &Case) -> Items {
    let mut items = Items::new();
    for link in &case.topology.links {
        let ports = case.topology.nodes.iter().filter_map(|node| {
            let (host, facts) = case.hosts.get_key_value(&node.name)?;
            let (name, interface) = facts.interface_with(*node.addresses.get(&link.name)?)?;
            Some(Port {
                host,
                facts,
                setup: case.setups.get(host),
                name,
                interface,
            })
        });
        let ports: Vec<Port<'_>> = ports.collect();
        link_items(&mut items, &link.name, &ports, "", DEEPEST);
    }
    let drivers: BTreeSet<String> = case
        .hosts
        .values()
        .flat_map(|facts| facts.interfaces.values())
        .filter_map(|interface| Some(interface.driver.as_ref()?.replace('-', "_")))
        .collect();
    for (host, facts) in &case.hosts {
        let mut on = On {
            items: &mut items,
            link: None,
            host,
            suffix: "",
        };
        host_items(&mut on, facts);
        if let Some(setup) = case.setups.get(host) {
            setup_items(&mut on, setup, &drivers);
        }
    }
    absences(&mut items, case);
    one_kernel(&mut items);
    items
}

/// Where values are put.
struct On<'a> {
    items: &'a mut Items,
    link: Option<&'a LinkName>,
    host: &'a HostName,
    suffix: &'a str,
}

impl On<'_> {
    fn put<T: Display>(&mut self, topic: Topic, name: &str, value: Option<T>) {
        let Some(value) = value.map(|value| value.to_string()) else {
            return;
        };
        let key = Key {
            link: self.link.cloned(),
            topic,
            name: format!("{name}{}", self.suffix),
        };
        let values = self.items.entry(key).or_default();
        values.insert(self.host.clone(), value);
    }
}

/// The interfaces of a link and, pair by pair, those below them.
fn link_items(items: &mut Items, link: &LinkName, ports: &[Port<'_>], suffix: &str, deep: usize) {
    let offloads: BTreeSet<&String> = ports
        .iter()
        .flat_map(|port| &port.interface.features_on)
        .collect();
    for port in ports {
        let mut on = On {
            items: &mut *items,
            link: Some(link),
            host: port.host,
            suffix,
        };
        port_items(&mut on, port, &offloads);
    }
    let below: Vec<Vec<Port<'_>>> = ports.iter().map(Port::below).collect();
    let fewest = below.iter().map(Vec::len).min().unwrap_or(0);
    for (port, below) in ports.iter().zip(&below) {
        let mut on = On {
            items: &mut *items,
            link: Some(link),
            host: port.host,
            suffix,
        };
        on.put(Topic::Members, "interfaces below", Some(below.len()));
    }
    if deep == 0 {
        return;
    }
    let mut columns: Vec<_> = below.into_iter().map(Vec::into_iter).collect();
    for number in 1..=fewest {
        let row: Vec<Port<'_>> = columns.iter_mut().filter_map(Iterator::next).collect();
        let suffix = match fewest {
            1 => format!("{suffix} below"),
            _ => format!("{suffix} below ({number})"),
        };
        link_items(items, link, &row, &suffix, deep - 1);
    }
}

fn port_items(on: &mut On<'_>, port: &Port<'_>, offloads: &BTreeSet<&String>) {
    let interface = port.interface;
    on.put(Topic::Speed, "speed", interface.speed);
    on.put(Topic::Duplex, "duplex", interface.duplex.as_ref());
    on.put(Topic::Mtu, "MTU", interface.mtu);
    on.put(Topic::Driver, "driver", interface.driver.as_ref());
    let slot = interface.pcie.map(|slot| {
        let rate = f64::from(slot.lane_mt_per_s) / 1_000.0;
        format!("{} lanes of {rate} GT/s", slot.lanes)
    });
    on.put(Topic::Slot, "slot", slot);
    // Every interface has some feature: none at all is a driver that was not asked.
    for offload in offloads
        .iter()
        .filter(|_| !interface.features_on.is_empty())
    {
        let is_on = interface.features_on.contains(offload);
        let name = format!("offload {offload}");
        on.put(
            Topic::Offload,
            &name,
            Some(if is_on { "on" } else { "off" }),
        );
    }
    if let Some(bond) = port.facts.bonds.get(port.name) {
        on.put(Topic::Bond, "bond mode", Some(bond.mode.name()));
        let policy = bond.hash_policy.map(HashPolicy::name);
        on.put(Topic::Bond, "bond hash policy", policy);
        on.put(Topic::Bond, "bond miimon", Some(bond.miimon_ms));
        let asks = Some(bond.arp_interval_ms);
        on.put(Topic::Bond, "bond ARP interval", asks);
    }
    if let Some(bridge) = port.facts.bridges.get(port.name) {
        let word = |on: bool| Some(if on { "on" } else { "off" });
        let most = bridge.hash_max;
        on.put(Topic::Bridge, "most multicast groups", most);
        let snooping = word(bridge.multicast_snooping);
        on.put(Topic::Bridge, "multicast snooping", snooping);
        on.put(
            Topic::Bridge,
            "multicast querier",
            word(bridge.multicast_querier),
        );
    }
    let dotless = format!(".{}.", port.name.as_str().replace('.', "/"));
    for (name, value) in &port.facts.sysctls {
        if name.contains(".conf.") && name.contains(&dotless) {
            on.put(Topic::Sysctl, &name.replace(&dotless, ".IF."), Some(value));
        }
    }
    let Some(setup) = port.setup() else {
        return;
    };
    on.put(
        Topic::Driver,
        "driver's version",
        setup.driver_version.as_ref(),
    );
    on.put(Topic::Firmware, "firmware", setup.firmware.as_ref());
    on.put(Topic::Card, "card", setup.card.as_ref());
    for (name, ring) in [
        ("receive ring", setup.rx_ring),
        ("transmit ring", setup.tx_ring),
    ] {
        on.put(Topic::Ring, name, ring.map(|ring| ring.size));
        on.put(
            Topic::Ring,
            &format!("largest {name}"),
            ring.map(|ring| ring.largest),
        );
    }
    let coalescing = [&setup.rx_coalescing, &setup.tx_coalescing];
    for (name, value) in ["receive coalescing", "transmit coalescing"]
        .iter()
        .zip(coalescing)
    {
        on.put(Topic::Coalescing, name, value.as_ref());
    }
    on.put(Topic::Channels, "channels", setup.channels.as_ref());
    on.put(Topic::Pause, "pause frames", setup.pause.as_ref());
    for (name, value) in &setup.settings {
        on.put(Topic::Device, name, Some(value));
    }
}

fn host_items(on: &mut On<'_>, facts: &HostFacts) {
    let known = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    on.put(Topic::Kernel, "kernel", known(&facts.kernel));
    on.put(Topic::Machine, "machine", known(&facts.machine));
    on.put(
        Topic::Machine,
        "virtual machine of",
        facts.virtualization.as_ref(),
    );
    on.put(
        Topic::Processor,
        "processors",
        Some(facts.cpus).filter(|n| *n > 0),
    );
    for (name, value) in &facts.sysctls {
        let of_interface = name.contains(".conf.") && !name.contains(".conf.all.");
        if !of_interface && name != NOT_COMPARED {
            on.put(Topic::Sysctl, name, Some(value));
        }
    }
}

fn setup_items(on: &mut On<'_>, setup: &HostSetup, drivers: &BTreeSet<String>) {
    on.put(Topic::Kernel, KERNEL_BUILD, setup.kernel_build.as_ref());
    let hardware = &setup.hardware;
    let known = |text: String| Some(text).filter(|text| !text.is_empty());
    on.put(
        Topic::Processor,
        "processor",
        known(hardware.processor.clone()),
    );
    let instructions = known(hardware.cipher_instructions.join(" "));
    on.put(Topic::Processor, "cipher instructions", instructions);
    let quota = hardware.quota_millis.map(|n| n as f64 / 1_000.0);
    on.put(Topic::Processor, "processor quota", quota);
    let governors = setup.governors.as_ref().map(|all| match all.len() {
        0 => "none".to_owned(),
        _ => all.iter().map(String::as_str).collect::<Vec<_>>().join(" "),
    });
    on.put(Topic::Governor, "frequency governor", governors);
    on.put(Topic::Clock, "clock source", setup.clocksource.as_ref());
    on.put(Topic::Memory, "memory", setup.memory);
    for (name, value) in setup.boot_options.iter().flatten() {
        let value = if value.is_empty() { "set" } else { value };
        on.put(Topic::Boot, &format!("boot option {name}"), Some(value));
    }
    for (module, parameters) in setup.modules.iter().flatten() {
        let topic = match drivers.contains(module) {
            true => Topic::DriverOption,
            false => Topic::Module,
        };
        if topic == Topic::Module {
            on.put(topic, &format!("module {module}"), Some("loaded"));
        }
        for (name, value) in parameters {
            on.put(topic, &format!("{module} {name}"), Some(value));
        }
    }
    for (name, value) in &setup.sysctls {
        on.put(Topic::Sysctl, name, Some(value));
    }
}

const KERNEL_BUILD: &str = "kernel build";

/// What a host would have told if it had it: that it has not is known too. What belongs to a module that a host has
/// not loaded is nothing that it lacks.
fn absences(items: &mut Items, case: &Case) {
    let modules = |host: &HostName| case.setups.get(host)?.modules.as_ref();
    items.retain(|key, values| {
        for host in case.hosts.keys() {
            let boots = case.setups.get(host).and_then(|s| s.boot_options.as_ref());
            let absent = match key.topic {
                Topic::Boot => boots.map(|_| "not set"),
                Topic::Module if key.name.starts_with("module ") => {
                    modules(host).map(|_| "not loaded")
                }
                _ => None,
            };
            if let (Some(word), false) = (absent, values.contains_key(host)) {
                values.insert(host.clone(), word.to_owned());
            }
        }
        let module = match (key.topic, key.name.split_once(' ')) {
            (Topic::Module, Some(("module", _))) => return true,
            (Topic::Module | Topic::DriverOption, Some((module, _))) => module,
            _ => return true,
        };
        let loaded = |host: &HostName| modules(host).is_none_or(|all| all.contains_key(module));
        case.hosts.keys().all(loaded)
    });
}

/// Of two releases it goes without saying that they are two builds.
fn one_kernel(items: &mut Items) {
    let differ = items.iter().any(|(key, values)| {
        let all: BTreeSet<&String> = values.values().collect();
        key.topic == Topic::Kernel && key.name == "kernel" && all.len() > 1
    });
    items.retain(|key, _| !(differ && key.name == KERNEL_BUILD));
}
