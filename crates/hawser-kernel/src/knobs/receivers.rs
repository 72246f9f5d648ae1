//! The interfaces of those who receive behind a bridge of this host: the other ends of its ports' veth
//! pairs, in namespaces of their own (containers). All of a bridge are one knob, since to spread their
//! work is one decision, and its value says what each port's is: `veth1=1 veth2=2`.
//!
//! A container that ends takes its interface with it, and with that the setting: what is not there any
//! more counts as put back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use hawser_model::fanout::ReceiverSetting;
use hawser_model::knob::{Knob, Side};
use hawser_model::names::InterfaceName;
use nix::net::if_::if_indextoname;
use nix::sys::socket::SockProtocol;

use super::namespace::with_sysfs;
use super::parts::items;
use super::{interface_file, offload};
use crate::KernelError;
use crate::netlink::{Netlink, attribute, find, text, u32_at};

const RTM_GETLINK: u16 = 18;
const RTM_GETNSID: u16 = 90;
const LINK_MESSAGE: usize = 16;
/// `struct rtgenmsg`, padded.
const GENERAL_MESSAGE: usize = 4;
const IFLA_IFNAME: u16 = 3;
const IFLA_LINK: u16 = 5;
const IFLA_MASTER: u16 = 10;
const IFLA_LINK_NETNSID: u16 = 37;
const NETNSA_NSID: u16 = 1;
const NETNSA_FD: u16 = 3;

/// Where namespaces are kept by name: iproute2's folder and Docker's.
const NAMED: [&str; 2] = ["/run/netns", "/run/docker/netns"];

const GRO: &str = "rx-gro";

/// A receiver's interface, as the host sees it.
struct Receiver {
    /// The bridge's port towards it.
    port: InterfaceName,
    /// The number of its namespace, as seen from here.
    namespace: u32,
    /// Its index there.
    index: u32,
}

/// How the receivers behind a bridge are set, in the order of its ports.
///
/// # Errors
/// There is no such bridge, or a namespace cannot be entered.
pub fn receivers(bridge: &InterfaceName) -> Result<Vec<ReceiverSetting>, KernelError> {
    each(bridge, |_, interface| {
        let masks = masks(interface)?;
        let cpus = masks.into_iter().next();
        let (gro, threaded) = threads(interface)?;
        Ok(ReceiverSetting {
            cpus: cpus.unwrap_or_else(|| "0".to_owned()),
            gro: gro == "on",
            threaded: threaded != "0",
        })
    })
}

pub(super) fn read(knob: &Knob) -> Result<String, KernelError> {
    let values = each(bridge(knob)?, |receiver, interface| {
        let value = match knob {
            Knob::ReceiverSteering { .. } => masks(interface)?.join("/"),
            _ => {
                let (gro, threaded) = threads(interface)?;
                format!("{gro},{threaded}")
            }
        };
        Ok(format!("{}={value}", receiver.port))
    })?;
    Ok(values.join(" "))
}

pub(super) fn write(knob: &Knob, value: &str) -> Result<(), KernelError> {
    let wanted: BTreeMap<&str, &str> = items(value).collect();
    each(bridge(knob)?, |receiver, interface| {
        let Some(value) = wanted.get(receiver.port.as_str()) else {
            return Ok(());
        };
        match knob {
            Knob::ReceiverSteering { .. } => {
                for (queue, mask) in queues(interface)?.iter().zip(value.split('/')) {
                    interface_file::write(queue, mask)?;
                }
                Ok(())
            }
            _ => {
                let (gro, threaded) = value.split_once(',').ok_or_else(|| {
                    KernelError::Absent(format!("{knob}: `{value}` is not like off,0"))
                })?;
                set_threads(interface, gro, threaded)
            }
        }
    })?;
    Ok(())
}

fn bridge(knob: &Knob) -> Result<&InterfaceName, KernelError> {
    knob.interface()
        .ok_or_else(|| KernelError::Absent(format!("{knob}: it has no bridge")))
}

/// Does something for each receiver behind a bridge, in its namespace, with its name there.
fn each<T: Send>(
    bridge: &InterfaceName,
    mut work: impl FnMut(&Receiver, &InterfaceName) -> Result<T, KernelError> + Send,
) -> Result<Vec<T>, KernelError> {
    let found = behind(bridge)?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let namespaces = namespaces(&found)?;
    let mut done = Vec::new();
    for receiver in &found {
        // A namespace that nothing can be found of belongs to somebody out of reach.
        let Some(namespace) = namespaces.get(&receiver.namespace) else {
            continue;
        };
        let one = with_sysfs(namespace, || {
            let name = if_indextoname(receiver.index)
                .map_err(|e| KernelError::call("if_indextoname", receiver.index, e))?;
            work(
                receiver,
                &InterfaceName(name.to_string_lossy().into_owned()),
            )
        })?;
        done.push(one);
    }
    Ok(done)
}

/// The ports of a bridge whose other end is in another namespace, shortest name first, so that 10
/// comes after 9.
fn behind(bridge: &InterfaceName) -> Result<Vec<Receiver>, KernelError> {
    let index = nix::net::if_::if_nametoindex(bridge.as_str())
        .map_err(|e| KernelError::call("if_nametoindex", bridge, e))?;
    let mut netlink = Netlink::open(SockProtocol::NetlinkRoute)?;
    let mut found = netlink.dump(
        "RTM_GETLINK",
        RTM_GETLINK,
        &[0; LINK_MESSAGE],
        Vec::new,
        |found, message| found.extend(receiver(message, index)),
    )?;
    found.sort_by(|a, b| {
        let key = |r: &Receiver| (r.port.as_str().len(), r.port.clone());
        key(a).cmp(&key(b))
    });
    Ok(found)
}

fn receiver(message: &[u8], bridge: u32) -> Option<Receiver> {
    let link = message.get(LINK_MESSAGE..)?;
    let number = |kind| find(link, kind).and_then(|payload| u32_at(payload, 0));
    if number(IFLA_MASTER)? != bridge {
        return None;
    }
    Some(Receiver {
        port: InterfaceName(text(find(link, IFLA_IFNAME)?)),
        namespace: number(IFLA_LINK_NETNSID)?,
        index: number(IFLA_LINK)?,
    })
}

/// The namespaces of the receivers by number, of those that can be found: by name, or by a process
/// that is in one.
fn namespaces(of: &[Receiver]) -> Result<BTreeMap<u32, File>, KernelError> {
    let mut wanted: BTreeSet<u32> = of.iter().map(|r| r.namespace).collect();
    let mut netlink = Netlink::open(SockProtocol::NetlinkRoute)?;
    let mut seen = BTreeSet::new();
    let mut found = BTreeMap::new();
    for path in places() {
        if wanted.is_empty() {
            break;
        }
        // A process or a name may be gone by now.
        let Ok(handle) = File::open(&path) else {
            continue;
        };
        let Ok(meta) = handle.metadata() else {
            continue;
        };
        if !seen.insert((meta.dev(), meta.ino())) {
            continue;
        }
        if let Some(number) = number(&mut netlink, &handle)? {
            if wanted.remove(&number) {
                found.insert(number, handle);
            }
        }
    }
    Ok(found)
}

/// Handles of namespaces.
fn places() -> Vec<PathBuf> {
    let inside = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let mut places: Vec<PathBuf> = NAMED.into_iter().flat_map(inside).collect();
    let processes = inside("/proc").into_iter().filter(|path| {
        let name = path.file_name().and_then(|n| n.to_str());
        name.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
    });
    places.extend(processes.map(|path| path.join("ns/net")));
    places
}

/// The number that a namespace has, as seen from here; none when it has none.
fn number(netlink: &mut Netlink, handle: &File) -> Result<Option<u32>, KernelError> {
    let mut request = vec![0; GENERAL_MESSAGE];
    attribute(&mut request, NETNSA_FD, &handle.as_raw_fd().to_ne_bytes());
    let mut number = None;
    let asked = netlink.get("RTM_GETNSID", RTM_GETNSID, &request, |answer| {
        let attributes = answer.get(GENERAL_MESSAGE..).unwrap_or(&[]);
        number = find(attributes, NETNSA_NSID).and_then(|payload| u32_at(payload, 0));
    });
    match asked {
        // A name below /run/netns that is no namespace.
        Err(KernelError::Netlink { source, .. })
            if source.kind() == std::io::ErrorKind::InvalidInput =>
        {
            Ok(None)
        }
        other => other.map(|()| number.filter(|n| *n as i32 >= 0)),
    }
}

/// RPS of an interface, queue after queue.
fn queues(interface: &InterfaceName) -> Result<Vec<Knob>, KernelError> {
    let knobs = (0..).map(|queue| Knob::PacketSteering {
        interface: interface.clone(),
        side: Side::Rx,
        queue,
    });
    let knobs: Vec<Knob> = knobs.take_while(interface_file::exists).collect();
    match knobs.is_empty() {
        false => Ok(knobs),
        true => Err(KernelError::Absent(format!(
            "{interface}: it has no rx-0/rps_cpus"
        ))),
    }
}

fn masks(interface: &InterfaceName) -> Result<Vec<String>, KernelError> {
    let queues = queues(interface)?;
    let masks = queues.iter().map(interface_file::read);
    masks.map(|mask| Ok(plain(&mask?))).collect()
}

/// A mask without the zeros that a kernel for many processors puts before it.
fn plain(mask: &str) -> String {
    let mask = mask.trim_start_matches(['0', ',']).trim_end();
    match mask.is_empty() {
        true => "0".to_owned(),
        false => mask.to_owned(),
    }
}

/// GRO, and whether a thread polls.
fn threads(interface: &InterfaceName) -> Result<(String, String), KernelError> {
    let threaded = interface_file::read(&threaded(interface))?;
    Ok((offload::read(interface, GRO)?, threaded))
}

/// A veth has a NAPI while GRO is on, so that comes first and goes last.
fn set_threads(interface: &InterfaceName, gro: &str, value: &str) -> Result<(), KernelError> {
    let (gro_now, now) = threads(interface)?;
    if gro == "on" && gro_now != gro {
        offload::write(interface, GRO, gro)?;
    }
    if now != value {
        interface_file::write(&threaded(interface), value)?;
    }
    if gro != "on" && gro_now != gro {
        offload::write(interface, GRO, gro)?;
    }
    Ok(())
}

fn threaded(interface: &InterfaceName) -> Knob {
    Knob::ThreadedNapi {
        interface: interface.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_the_same_however_many_zeros_the_kernel_puts_before_it() {
        assert_eq!(plain("3\n"), "3");
        assert_eq!(plain("00000000,00000001\n"), "1");
        assert_eq!(plain("00000001,00000000\n"), "1,00000000");
        assert_eq!(plain("00000000,00000000\n"), "0");
    }
}
