//! What the causes of a check try, as candidates.

use hawser_model::fanout::first_processors_mask;
use hawser_model::host::Interface;
use hawser_model::knob::{Knob, Side};
use hawser_model::names::InterfaceName;
use hawser_model::units::Mtu;

use super::{Candidate, TrialValue};
use crate::causes::knet;

/// A socket that asks for nothing gets this much from an unchanged kernel
/// (`SK_RMEM_MAX`, 256 packets; include/net/sock.h): less is no improvement on any host.
pub(crate) const KERNEL_DEFAULT: u64 = 212_992;

/// Packets that wait for a processor at most, on an unchanged kernel (`netdev_max_backlog`; net/core/dev.c): ten
/// times a queue that somebody has made tiny is a tiny queue.
const KERNEL_BACKLOG: u64 = 1_000;

/// Where knobs are turned.
pub(crate) struct At<'a> {
    /// The interface that carried the lost packets, when it is known.
    pub(super) interface: Option<&'a InterfaceName>,
    /// The processors of the host.
    pub(super) cpus: u32,
    /// What is known of the interface.
    pub(super) facts: Option<&'a Interface>,
}

impl At<'_> {
    fn turn(
        &self,
        knob: impl FnOnce(InterfaceName) -> Knob,
        value: TrialValue,
    ) -> Option<Candidate> {
        let knob = knob(self.interface?.clone());
        Some(Candidate::new(knob, value))
    }

    /// The receive ring, as large as the device makes it.
    pub(crate) fn largest_ring(&self) -> Option<Candidate> {
        let side = Side::Rx;
        self.turn(
            |interface| Knob::Ring { interface, side },
            TrialValue::Largest,
        )
    }

    /// A thread of its own for each receive queue.
    pub(crate) fn threaded(&self) -> Option<Candidate> {
        self.turn(|interface| Knob::ThreadedNapi { interface }, value("1"))
    }

    /// An interrupt for each packet.
    pub(crate) fn no_coalescing(&self) -> Option<Candidate> {
        let knob = |interface| Knob::Coalescing {
            interface,
            side: Side::Rx,
        };
        self.turn(knob, value("adaptive off usecs 0"))
    }

    /// All processors for what the interrupt has begun; more than 32 need no more to be told apart.
    pub(crate) fn all_cpus(&self) -> Option<Candidate> {
        let mask = first_processors_mask(self.cpus.min(32));
        let knob = |interface| Knob::PacketSteering {
            interface,
            side: Side::Rx,
            queue: 0,
        };
        self.turn(knob, value(&mask))
    }

    /// An offload, by the kernel's name of it, off.
    pub(crate) fn offload_off(&self, feature: &str) -> Option<Candidate> {
        let feature = feature.to_owned();
        self.turn(
            |interface| Knob::Offload { interface, feature },
            value("off"),
        )
    }

    /// The checksums of what is sent, left to the kernel: whichever of its names the interface has on
    /// (`netdev_features_strings`, net/ethtool/common.c). What needs them, segmentation among it, goes with them and comes back.
    pub(crate) fn transmit_checksum_off(&self) -> Option<Candidate> {
        const NAMES: [&str; 3] = [
            "tx-checksum-ip-generic",
            "tx-checksum-ipv4",
            "tx-checksum-ipv6",
        ];
        let on = |name: &&&str| {
            let facts = self.facts?;
            Some(facts.features_on.iter().any(|feature| feature == **name))
        };
        let name = NAMES.iter().find(|name| on(name) == Some(true));
        self.offload_off(name.unwrap_or(&NAMES[0]))
    }

    /// A queue, with an interrupt of its own, for each processor.
    pub(crate) fn more_queues(&self) -> Option<Candidate> {
        self.turn(
            |interface| Knob::Channels { interface },
            TrialValue::Queues(self.cpus),
        )
    }

    /// The interrupts of the interface, each to one processor, in turn.
    pub(crate) fn interrupts_in_turn(&self) -> Option<Candidate> {
        let processors = (0..self.cpus).map(|number| number.to_string());
        self.turn(
            |interface| Knob::Interrupts { interface },
            TrialValue::InTurn(processors.collect()),
        )
    }

    /// Parameters of the module that drives the interface: of those of `all` (module, parameter, value) that are its own.
    pub(crate) fn module_parameters(&self, all: &[(&str, &str, &str)]) -> Vec<Option<Candidate>> {
        let driver = self.facts.and_then(|facts| facts.driver.as_deref());
        let own = all.iter().filter(|(module, ..)| Some(*module) == driver);
        own.map(|(module, parameter, to)| {
            let knob = Knob::ModuleParameter {
                module: (*module).to_owned(),
                parameter: (*parameter).to_owned(),
            };
            Some(Candidate::new(knob, value(to)))
        })
        .collect()
    }

    /// Plain interrupts instead of message-signalled ones, of a card on a PCI bus: what operators try when nothing helps.
    pub(crate) fn no_msi(&self) -> Option<Candidate> {
        let on_pci = self
            .facts
            .is_some_and(|facts| facts.pcie.is_some() || facts.bus.is_some());
        let knob = Knob::BootParameter {
            parameter: "pci=nomsi".to_owned(),
        };
        on_pci.then(|| Candidate::new(knob, value("present")))
    }

    /// A setting of the interface as a bridge.
    pub(crate) fn bridge(&self, setting: &str, to: &str) -> Option<Candidate> {
        let setting = setting.to_owned();
        self.turn(|bridge| Knob::Bridge { bridge, setting }, value(to))
    }

    /// A sysctl of the interface: `net.ipv4.conf.INTERFACE.NAME`.
    pub(crate) fn setting(&self, name: &str, to: &str) -> Option<Candidate> {
        let dotless = self.interface?.as_str().replace('.', "/");
        sysctl(&format!("net.ipv4.conf.{dotless}.{name}"), value(to))
    }

    /// Ten times the queue of packets to be sent.
    pub(crate) fn longer_queue(&self) -> Option<Candidate> {
        self.turn(
            |interface| Knob::TxQueueLength { interface },
            TrialValue::Times(10),
        )
    }

    /// No pause frames.
    pub(crate) fn no_pause(&self) -> Option<Candidate> {
        self.turn(
            |interface| Knob::Pause { interface },
            value("autoneg off rx off tx off"),
        )
    }

    /// This MTU.
    pub(crate) fn mtu(&self, mtu: Mtu) -> Option<Candidate> {
        self.turn(|interface| Knob::Mtu { interface }, value(&mtu.to_string()))
    }
}

/// More packets at a time.
pub(crate) fn budget() -> Option<Candidate> {
    sysctl("net.core.netdev_budget", TrialValue::Times(4))
}

/// IGMP version 2 for all interfaces.
pub(crate) fn igmp_2() -> Option<Candidate> {
    sysctl("net.ipv4.conf.all.force_igmp_version", value("2"))
}

/// A longer queue before each processor.
pub(crate) fn backlog() -> Option<Candidate> {
    let value = TrialValue::TimesOrOf(10, KERNEL_BACKLOG);
    sysctl("net.core.netdev_max_backlog", value)
}

/// What a socket may ask for.
pub(crate) fn rmem_max(bytes: u64) -> Option<Candidate> {
    let least = knet::rmem_max(bytes.max(KERNEL_DEFAULT));
    sysctl("net.core.rmem_max", TrialValue::AtLeast(least))
}

/// What a socket gets that asks for nothing.
pub(crate) fn rmem_default(bytes: u64) -> Option<Candidate> {
    let least = bytes.max(KERNEL_DEFAULT);
    sysctl("net.core.rmem_default", TrialValue::AtLeast(least))
}

/// Any sysctl.
pub(crate) fn sysctl(name: &str, value: TrialValue) -> Option<Candidate> {
    let name = name.to_owned();
    let knob = Knob::Sysctl { name };
    Some(Candidate::new(knob, value))
}

fn value(value: &str) -> TrialValue {
    TrialValue::Value(value.to_owned())
}
