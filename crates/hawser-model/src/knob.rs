//! Knobs of a host: what can be turned, how far a turn reaches, and the changes made.
//!
//! A value is always the text that the kernel prints and takes (`212992`, `on`, `4096 87380 6291456`):
//! what was read can be written back byte for byte.

use std::fmt;
use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{HostName, InterfaceName};

/// How far a turn of a knob reaches.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// One socket.
    Socket,
    /// One network interface.
    Interface,
    /// The node's network namespace.
    Namespace,
    /// The whole machine. In a lab of namespaces: every node of every lab, and the host.
    Machine,
}

impl Scope {
    /// As people call it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Socket => "socket",
            Self::Interface => "interface",
            Self::Namespace => "namespace",
            Self::Machine => "machine",
        }
    }
}

/// A direction of an interface's settings.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// What the host receives.
    Rx,
    /// What the host sends.
    Tx,
}

/// Something that can be turned on a host.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Knob {
    /// A sysctl by its dotted name; the dot of `eth0.100` is a slash, as in sysctl(8).
    Sysctl {
        /// `net.core.rmem_default`.
        name: String,
    },
    /// An interface's MTU, bytes.
    Mtu {
        /// The interface.
        interface: InterfaceName,
    },
    /// Packets that wait in front of an interface (`txqueuelen`).
    TxQueueLength {
        /// The interface.
        interface: InterfaceName,
    },
    /// What an interface queues with in front of it (`tc qdisc … root`): `fq_codel`,
    /// `pfifo limit 1000`. Read as `noqueue 0:` or `pfifo 8001: limit 1000`; the handle `0:` is
    /// the kernel's own choice.
    Qdisc {
        /// The interface.
        interface: InterfaceName,
    },
    /// Descriptors of a NIC's ring (`ethtool -G`).
    Ring {
        /// The interface.
        interface: InterfaceName,
        /// Which ring.
        side: Side,
    },
    /// Queues of a NIC (`ethtool -L`): `rx 1 tx 1 other 0 combined 4`.
    Channels {
        /// The interface.
        interface: InterfaceName,
    },
    /// Interrupt moderation: `on` or `off` for adaptive moderation, or microseconds to wait
    /// before an interrupt (`ethtool -C`): `adaptive off usecs 50`.
    Coalescing {
        /// The interface.
        interface: InterfaceName,
        /// Which direction.
        side: Side,
    },
    /// An offload, `on` or `off` (`ethtool -K`), by the kernel's name (`rx-gro`, `rx-lro`).
    Offload {
        /// The interface.
        interface: InterfaceName,
        /// The feature.
        feature: String,
    },
    /// Pause frames (`ethtool -A`): `autoneg on rx on tx off`.
    Pause {
        /// The interface.
        interface: InterfaceName,
    },
    /// Polling in a kernel thread instead of a softirq, `0` or `1`.
    ThreadedNapi {
        /// The interface.
        interface: InterfaceName,
    },
    /// CPUs that share a queue's work, as a hexadecimal mask: RPS for rx, XPS for tx.
    PacketSteering {
        /// The interface.
        interface: InterfaceName,
        /// Which direction.
        side: Side,
        /// The queue's number.
        queue: u32,
    },
    /// Flows of an rx queue whose CPU is remembered (`rps_flow_cnt`, RFS). Works together with the
    /// sysctl `net.core.rps_sock_flow_entries`.
    FlowSteering {
        /// The interface.
        interface: InterfaceName,
        /// The queue's number.
        queue: u32,
    },
    /// CPUs that an interrupt may go to, as a list: `0-3` (`/proc/irq/N/smp_affinity_list`).
    InterruptAffinity {
        /// The interrupt's number.
        interrupt: u32,
    },
    /// CPUs that each of a NIC's interrupts may go to, one value for all, by number: `24=0-3 25=0-3`. After a boot they may
    /// have other numbers.
    Interrupts {
        /// The interface.
        interface: InterfaceName,
    },
    /// A bridge's multicast setting, as its file below `/sys/class/net/BRIDGE/bridge` has it.
    Bridge {
        /// The bridge.
        bridge: InterfaceName,
        /// `multicast_snooping`, `multicast_querier`, `multicast_igmp_version` and their like.
        setting: String,
    },
    /// RPS of the receivers behind a bridge of this host: the interfaces at the other ends of its
    /// ports, in namespaces of their own. One value for all, by port: `veth1=1 veth2=2`; the masks of
    /// several queues are joined by `/`.
    ReceiverSteering {
        /// The bridge.
        bridge: InterfaceName,
    },
    /// Threaded NAPI of the same interfaces, and the GRO without which a veth has no NAPI:
    /// `veth1=off,0 veth2=on,1`.
    ReceiverThreads {
        /// The bridge.
        bridge: InterfaceName,
    },
    /// A parameter of a loaded kernel module. Many take effect at load only, and cannot be turned.
    ModuleParameter {
        /// The module.
        module: String,
        /// Its parameter.
        parameter: String,
    },
    /// A parameter of the kernel's command line, `absent` or `present`: a boot alone changes it.
    BootParameter {
        /// As it stands there: `pci=nomsi`.
        parameter: String,
    },
    /// Memory that a running program's UDP socket may hold for what it has not read yet, in bytes, as the kernel counts
    /// it: twice what `SO_RCVBUF` asks for (socket(7)). The program is not started again, and does not notice.
    SocketBuffer {
        /// The name of the program.
        process: String,
        /// The socket's own address.
        local: SocketAddr,
        /// The socket's inode. One that the program opens later has another, and the size that the program asks for.
        inode: u64,
    },
    /// Changes nothing: what a trial says of it measures the trial itself.
    Placebo,
}

impl fmt::Display for Knob {
    /// The words of the tool that people would use.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sysctl { name } => write!(f, "{name}"),
            Self::Mtu { interface } => write!(f, "mtu of {interface}"),
            Self::TxQueueLength { interface } => write!(f, "txqueuelen of {interface}"),
            Self::Qdisc { interface } => write!(f, "qdisc of {interface}"),
            Self::Ring { interface, side } => write!(f, "{} ring of {interface}", side.word()),
            Self::Channels { interface } => write!(f, "channels of {interface}"),
            Self::Coalescing { interface, side } => {
                write!(f, "{} interrupt coalescing of {interface}", side.word())
            }
            Self::Offload { interface, feature } => write!(f, "{feature} of {interface}"),
            Self::Pause { interface } => write!(f, "pause frames of {interface}"),
            Self::ThreadedNapi { interface } => write!(f, "threaded NAPI of {interface}"),
            Self::PacketSteering {
                interface,
                side,
                queue,
            } => {
                let what = match side {
                    Side::Rx => "RPS",
                    Side::Tx => "XPS",
                };
                write!(f, "{what} of {interface} queue {queue}")
            }
            Self::FlowSteering { interface, queue } => {
                write!(f, "RFS of {interface} queue {queue}")
            }
            Self::InterruptAffinity { interrupt } => write!(f, "affinity of IRQ {interrupt}"),
            Self::Interrupts { interface } => write!(f, "interrupts of {interface}"),
            Self::Bridge { bridge, setting } => write!(f, "{setting} of {bridge}"),
            Self::ReceiverSteering { bridge } => write!(f, "RPS of the receivers behind {bridge}"),
            Self::ReceiverThreads { bridge } => {
                write!(f, "threaded NAPI of the receivers behind {bridge}")
            }
            Self::ModuleParameter { module, parameter } => {
                write!(f, "{parameter} of module {module}")
            }
            Self::BootParameter { parameter } => write!(f, "boot parameter {parameter}"),
            Self::SocketBuffer { process, local, .. } => {
                write!(f, "receive buffer of {process} {local}")
            }
            Self::Placebo => write!(f, "placebo"),
        }
    }
}

impl Knob {
    /// The interface or bridge whose setting it is.
    pub fn interface(&self) -> Option<&InterfaceName> {
        match self {
            Self::Mtu { interface }
            | Self::TxQueueLength { interface }
            | Self::Qdisc { interface }
            | Self::Ring { interface, .. }
            | Self::Channels { interface }
            | Self::Coalescing { interface, .. }
            | Self::Offload { interface, .. }
            | Self::Pause { interface }
            | Self::ThreadedNapi { interface }
            | Self::PacketSteering { interface, .. }
            | Self::FlowSteering { interface, .. }
            | Self::Interrupts { interface }
            | Self::Bridge {
                bridge: interface, ..
            }
            | Self::ReceiverSteering { bridge: interface }
            | Self::ReceiverThreads { bridge: interface } => Some(interface),
            Self::Sysctl { .. }
            | Self::InterruptAffinity { .. }
            | Self::ModuleParameter { .. }
            | Self::BootParameter { .. }
            | Self::SocketBuffer { .. }
            | Self::Placebo => None,
        }
    }

    /// The file below `/sys/class/net/INTERFACE` that is the setting, of a knob that is one file there.
    pub fn attribute(&self) -> Option<String> {
        Some(match self {
            Self::Mtu { .. } => "mtu".to_owned(),
            Self::TxQueueLength { .. } => "tx_queue_len".to_owned(),
            Self::ThreadedNapi { .. } => "threaded".to_owned(),
            Self::PacketSteering { side, queue, .. } => match side {
                Side::Rx => format!("queues/rx-{queue}/rps_cpus"),
                Side::Tx => format!("queues/tx-{queue}/xps_cpus"),
            },
            Self::FlowSteering { queue, .. } => format!("queues/rx-{queue}/rps_flow_cnt"),
            Self::Bridge { setting, .. } => format!("bridge/{setting}"),
            _ => return None,
        })
    }
}

impl Side {
    /// `rx` or `tx`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rx => "rx",
            Self::Tx => "tx",
        }
    }
}

/// A knob as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// The value.
    pub value: String,
    /// How far a turn reaches here.
    pub scope: Scope,
    /// The largest value that the device takes, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<String>,
    /// It is read once, when the host boots or the module is loaded: writing it changes nothing that is in force.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_boot: bool,
}

/// Whether a change is still an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// A trial's: it is undone when the agent that made it is gone.
    Trial,
    /// Kept until `hawser undo`.
    Kept,
}

/// A change made to a host, as its journal has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Its number in the journal of its host, counted up.
    pub number: u64,
    /// What was turned.
    pub knob: Knob,
    /// How far that reaches.
    pub scope: Scope,
    /// The value before.
    pub before: String,
    /// The value after, as the kernel has taken it.
    pub after: String,
    /// Trial or kept.
    pub standing: Standing,
    /// The file that makes it last over a reboot.
    pub persisted_in: Option<String>,
    /// Why there is none, for a kept change. For a trial, why it is still there although its agent is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_persisted: Option<String>,
    /// Ids of all changes that are one with this, itself included, in the order in which they were
    /// made: an MTU at both ends and at the ports between. Empty when it stands alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<String>,
}

/// What the journal of a host has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedChanges {
    /// The changes, oldest first.
    pub changes: Vec<Change>,
    /// The entries that cannot be read, each with its file and why. They stay as they are.
    pub unreadable: Vec<String>,
}

/// What became of a change that was to be undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undone {
    /// The change.
    pub change: Change,
    /// The value that the knob has instead of its old one: somebody else has turned it since, or a later change of the same
    /// knob, which then has the old value to put back. It was left alone.
    pub left_at: Option<String>,
    /// There was nothing to put back: what was changed is gone (a closed socket, a removed interface), or the host has booted
    /// since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
}

/// Name of a change in a cluster: `head2-3`.
pub fn change_id(host: &HostName, number: u64) -> String {
    format!("{host}-{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knob_reads_as_people_call_it_and_survives_its_json() {
        let knob = Knob::PacketSteering {
            interface: "ring0".into(),
            side: Side::Rx,
            queue: 1,
        };
        assert_eq!(knob.to_string(), "RPS of ring0 queue 1");
        let text = serde_json::to_string(&knob).unwrap();
        assert_eq!(serde_json::from_str::<Knob>(&text).unwrap(), knob);
        assert_eq!(change_id(&"head2".into(), 3), "head2-3");
        assert_eq!(knob.attribute().unwrap(), "queues/rx-1/rps_cpus");
        assert_eq!(Knob::Placebo.attribute(), None);
    }
}
