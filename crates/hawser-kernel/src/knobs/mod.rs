//! Knobs: one file a kind. Each is read, written, and read back; a value is the text that the
//! kernel prints and takes, so that what was there can be put back exactly.
//!
//! What a device or kernel cannot do is an error that says so; nothing is pretended.

mod boot_parameter;
mod interface_file;
mod interrupt;
mod machine;
mod module_parameter;
mod namespace;
mod nic;
mod offload;
mod parts;
mod qdisc;
mod receivers;
mod socket_buffer;
mod sysctl;

use std::path::{Path, PathBuf};

use hawser_model::knob::{Knob, Scope, Setting};

use crate::KernelError;

pub(crate) use parts::{Parts, parts, same, with_parts};
pub use receivers::receivers;

/// The knobs of the host on which, and the network namespace in which, this is used.
#[derive(Clone, Debug)]
pub struct Knobs {
    /// A handle of the machine's first network namespace, for a node that is not in it (a lab's):
    /// `net.core.rmem_default` and its like can be written nowhere else.
    pub machine_net: Option<PathBuf>,
    /// Below it are `proc` and `sys`: `/`.
    pub root: PathBuf,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            machine_net: None,
            root: "/".into(),
        }
    }
}

impl Knobs {
    /// The value as it stands, and how far a change of it reaches.
    ///
    /// # Errors
    /// There is no such setting here, or the device has none; the error names call and object.
    pub fn read(&self, knob: &Knob) -> Result<Setting, KernelError> {
        let plain = |value, scope| Setting {
            value,
            scope,
            largest: None,
            at_boot: false,
        };
        let interface = |value| plain(value, Scope::Interface);
        match knob {
            Knob::Sysctl { name } => sysctl::read(self, name),
            Knob::Ring { interface, side } => nic::ring::read(interface, *side),
            Knob::Channels { interface } => nic::channels::read(interface),
            Knob::Coalescing {
                interface: name,
                side,
            } => nic::coalescing::read(name, *side).map(interface),
            Knob::Pause { interface: name } => nic::pause::read(name).map(interface),
            Knob::Offload {
                interface: name,
                feature,
            } => offload::read(name, feature).map(interface),
            Knob::ModuleParameter { module, parameter } => {
                module_parameter::read(module, parameter)
            }
            Knob::BootParameter { parameter } => boot_parameter::read(parameter),
            Knob::SocketBuffer { local, inode, .. } => {
                socket_buffer::read(*local, *inode).map(|v| plain(v, Scope::Socket))
            }
            Knob::Qdisc { interface: name } => qdisc::read(name).map(interface),
            Knob::InterruptAffinity { interrupt } => {
                interrupt::read(&self.root, *interrupt).map(|v| plain(v, Scope::Machine))
            }
            Knob::Interrupts { interface: name } => interrupt::of(&self.root, name).map(interface),
            Knob::ReceiverSteering { .. } | Knob::ReceiverThreads { .. } => {
                receivers::read(knob).map(interface)
            }
            Knob::Placebo => Ok(plain("as it is".to_owned(), Scope::Namespace)),
            _ => interface_file::read(knob).map(interface),
        }
    }

    /// Turns a knob and answers the value that the kernel then has: it may round.
    ///
    /// # Errors
    /// The kernel refused the value, or took it without a word and kept the old one.
    pub fn write(&self, knob: &Knob, value: &str) -> Result<String, KernelError> {
        let before = self.read(knob)?.value;
        if same(knob, &before, value) {
            return Ok(before);
        }
        match knob {
            Knob::Sysctl { name } => sysctl::write(self, name, value)?,
            Knob::Ring { interface, side } => nic::ring::write(interface, *side, value)?,
            Knob::Channels { interface } => nic::channels::write(interface, value)?,
            Knob::Coalescing { interface, side } => {
                nic::coalescing::write(interface, *side, value)?;
            }
            Knob::Pause { interface } => nic::pause::write(interface, value)?,
            Knob::Offload { interface, feature } => offload::write(interface, feature, value)?,
            Knob::ModuleParameter { module, parameter } => {
                module_parameter::write(module, parameter, value)?;
            }
            Knob::BootParameter { parameter } => boot_parameter::write(parameter)?,
            Knob::SocketBuffer {
                process,
                local,
                inode,
            } => socket_buffer::write(process, *local, *inode, value)?,
            Knob::Qdisc { interface } => qdisc::write(interface, value)?,
            Knob::InterruptAffinity { interrupt } => {
                interrupt::write(&self.root, *interrupt, value)?
            }
            Knob::Interrupts { interface } => interrupt::write_all(&self.root, interface, value)?,
            Knob::ReceiverSteering { .. } | Knob::ReceiverThreads { .. } => {
                receivers::write(knob, value)?;
            }
            Knob::Placebo => {}
            _ => interface_file::write(knob, value)?,
        }
        let after = self.read(knob)?.value;
        if after == before && *knob != Knob::Placebo {
            return Err(KernelError::Absent(format!(
                "{knob}: the kernel took {value} without a word and kept {before}"
            )));
        }
        Ok(after)
    }

    /// Whether what the knob turns is gone, and its setting with it: a socket that is closed, an interface that was removed.
    /// What cannot be read is not gone.
    pub(crate) fn has_ended(&self, knob: &Knob) -> bool {
        let gone = |path: PathBuf| matches!(path.try_exists(), Ok(false));
        match knob {
            Knob::SocketBuffer { local, inode, .. } => socket_buffer::is_closed(*local, *inode),
            Knob::Sysctl { name } => sysctl::is_absent(self, name),
            Knob::InterruptAffinity { interrupt } => gone(interrupt::path(&self.root, *interrupt)),
            Knob::ModuleParameter { module, .. } => gone(Path::new("/sys/module").join(module)),
            knob => knob.interface().is_some_and(|name| {
                let all = self.root.join("sys/class/net");
                let own = all.join(name.as_str());
                let file = knob.attribute().unwrap_or_default();
                all.exists() && gone(own.join(file))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_exist_or_cannot_be_turned_says_so() {
        let knobs = Knobs::default();
        let said = |knob: &Knob| knobs.read(knob).unwrap_err().to_string();
        let lo = || "lo".into();
        let ring = Knob::Ring {
            interface: lo(),
            side: hawser_model::knob::Side::Rx,
        };
        assert!(
            said(&ring).contains("ETHTOOL_GRINGPARAM lo"),
            "{}",
            said(&ring)
        );
        let foreign = Knob::Sysctl {
            name: "kernel.core_pattern".into(),
        };
        assert!(said(&foreign).contains("only net.*"));
        let escape = Knob::Sysctl {
            name: "net.ipv4.../../kernel/hostname".into(),
        };
        assert!(knobs.read(&escape).is_err());
        let plain = Knob::Interrupts { interface: lo() };
        assert!(said(&plain).contains("no message-signalled interrupts"));
        let outside = Knob::Interrupts {
            interface: "..".into(),
        };
        assert!(knobs.read(&outside).is_err());
        let boot = Knob::BootParameter {
            parameter: "hawser.absent=1".into(),
        };
        let setting = knobs.read(&boot).unwrap();
        assert_eq!((setting.value.as_str(), setting.at_boot), ("absent", true));
        assert!(knobs.write(&boot, "present").is_err());
        let nowhere = Knob::Mtu {
            interface: "../lo".into(),
        };
        assert!(knobs.read(&nowhere).is_err());
    }

    #[test]
    fn values_are_read_as_the_kernel_prints_them() {
        let knobs = Knobs::default();
        let read = |knob| knobs.read(&knob).unwrap();
        let mtu = read(Knob::Mtu {
            interface: "lo".into(),
        });
        assert_eq!((mtu.value.as_str(), mtu.scope), ("65536", Scope::Interface));
        let default = read(Knob::Sysctl {
            name: "net.core.rmem_default".into(),
        });
        assert!(default.value.parse::<u64>().is_ok());
        assert_eq!(default.scope, Scope::Machine);
        let igmp = read(Knob::Sysctl {
            name: "net.ipv4.conf.all.force_igmp_version".into(),
        });
        assert_eq!(igmp.scope, Scope::Namespace);
        let gro = read(Knob::Offload {
            interface: "lo".into(),
            feature: "rx-gro".into(),
        });
        assert!(["on", "off"].contains(&gro.value.as_str()));
    }
}
