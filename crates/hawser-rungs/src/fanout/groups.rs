//! Many groups for one receiver: how many a socket may be in, and how many the bridge can tell apart.
//!
//! A bridge that filters remembers each group (`br_multicast_new_group`, net/bridge/br_multicast.c). At `hash_max` of them it
//! stops filtering altogether: from then on every group goes to every port, and no counter tells. A second guest, which
//! joins nothing, shows that.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::thread;
use std::time::Duration;

use hawser_model::fanout::GroupsMeasured;
use serde::{Deserialize, Serialize};

use super::Fanout;
use super::namespace::{Namespace, with_sysfs, write};
use super::stage::{SENDER, Stage, guest};
use crate::RungError;

/// The most groups that are tried: sockets of 20 groups each fit into a process' 1 024 descriptors.
pub const MOST_GROUPS: u32 = 10_000;

/// What is asked of the bridge and of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupsStep {
    /// How many groups are joined.
    pub groups: u32,
    /// `net.ipv4.igmp_max_memberships` of the receiver; absent: as the kernel makes it.
    pub max_memberships: Option<u32>,
    /// How many groups the bridge may remember (`mcast_hash_max`); absent: as the kernel makes it.
    pub hash_max: Option<u32>,
}

/// How long a bridge that asks for members waits for their answers, in hundredths of a second: before that it does not
/// filter.
const RESPONSE: &str = "10";

/// A bridge that asks filters, and a join is known, after this time.
const SETTLED: Duration = Duration::from_millis(500);

/// Packets in flight at once: what a receive buffer of any size takes.
const AT_ONCE: usize = 32;

/// What is under way between two namespaces arrives within this time.
const ARRIVES: Duration = Duration::from_millis(50);

const SYSCTL: &str = "/proc/sys/net/ipv4/igmp_max_memberships";

/// The bridge's own settings.
const BRIDGE: &str = "/sys/class/net/br0/bridge";

/// The group of a number.
fn group(number: u32) -> Ipv4Addr {
    let [.., high, low] = (number + 1).to_be_bytes();
    Ipv4Addr::new(239, 195, high, low)
}

impl Fanout {
    /// Joins groups until it is refused, sends to each, and sees what arrives where.
    ///
    /// # Errors
    /// [`RungError`] names what was refused; a join that was is in the answer.
    pub fn groups(&mut self, step: &GroupsStep) -> Result<GroupsMeasured, RungError> {
        if !(1..=MOST_GROUPS).contains(&step.groups) {
            return Err(RungError::Absent(format!(
                "{} groups: from 1 to {MOST_GROUPS} can be joined",
                step.groups
            )));
        }
        self.stage.attach(2)?;
        let measured = self.measure_groups(step);
        // What follows on this stage floods, as before.
        let back = setting(
            self.stage.bridge(),
            &[("multicast_querier", "0"), ("multicast_snooping", "0")],
        );
        measured.and_then(|measured| back.map(|()| measured))
    }

    fn measure_groups(&self, step: &GroupsStep) -> Result<GroupsMeasured, RungError> {
        let (receiver, bystander) = two(&self.stage)?;
        let hash_max = step.hash_max.map(|n| n.to_string());
        let hash_max = hash_max.as_deref().map(|n| ("hash_max", n));
        let filter = [
            ("multicast_snooping", "1"),
            ("multicast_igmp_version", "3"),
            ("multicast_query_response_interval", RESPONSE),
            ("multicast_querier", "1"),
        ];
        let settings: Vec<_> = hash_max.into_iter().chain(filter).collect();
        setting(self.stage.bridge(), &settings)?;
        thread::sleep(SETTLED);
        let filtered_before = flag(self.stage.bridge(), "multicast_snooping")?;
        let (max_memberships, members) = receiver.within(|| {
            if let Some(limit) = step.max_memberships {
                write(SYSCTL, &limit.to_string())?;
            }
            let limit = fs::read_to_string(SYSCTL).map_err(RungError::call("read", SYSCTL))?;
            Ok((limit.trim().parse().ok(), join(step.groups)?))
        })?;
        thread::sleep(SETTLED);
        let filters_after = flag(self.stage.bridge(), "multicast_snooping")?;
        let before = received(bystander)?;
        let sender = self
            .stage
            .sender()
            .within(|| socket(SENDER, "the sender's"))?;
        let inbox = receiver.within(|| socket(Ipv4Addr::UNSPECIFIED, "the receiver's"))?;
        let arrived = deliver(&sender, &inbox, members.joined, self.key.0)?;
        let strayed = received(bystander)?.saturating_sub(before);
        Ok(GroupsMeasured {
            asked: step.groups,
            one_socket: members.one_socket,
            refused: members.refused,
            joined: members.joined,
            max_memberships,
            hash_max: read(self.stage.bridge(), &format!("{BRIDGE}/hash_max"))?
                .parse()
                .ok(),
            filtered_before,
            filters_after,
            arrived,
            strayed,
        })
    }
}

/// The receiver and the guest that joins nothing.
fn two(stage: &Stage) -> Result<(&Namespace, &Namespace), RungError> {
    let mut guests = stage.guests(2);
    let both = guests.next().zip(guests.next());
    both.ok_or_else(|| RungError::Absent("two guests are needed, and fewer were made".to_owned()))
}

/// Memberships, as long as they are held.
struct Members {
    _sockets: Vec<UdpSocket>,
    one_socket: u32,
    refused: Option<String>,
    joined: u32,
}

/// Joins so many groups in the namespace of the calling thread: with one socket until that is refused, then with more.
fn join(groups: u32) -> Result<Members, RungError> {
    let mut members = Members {
        _sockets: Vec::new(),
        one_socket: 0,
        refused: None,
        joined: 0,
    };
    let interface = guest(0);
    while members.joined < groups {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
            .map_err(RungError::call("bind", "a socket for groups"))?;
        let first = members._sockets.is_empty();
        let before = members.joined;
        while members.joined < groups {
            match socket.join_multicast_v4(&group(members.joined), &interface) {
                Ok(()) => members.joined += 1,
                Err(error) => {
                    if first {
                        members.refused = Some(error.to_string());
                    }
                    break;
                }
            }
        }
        if first {
            members.one_socket = members.joined;
        }
        members._sockets.push(socket);
        // A socket that joins nothing at all is refused for another reason than its own groups.
        if members.joined == before {
            break;
        }
    }
    Ok(members)
}

/// A socket of the calling thread's namespace.
fn socket(address: Ipv4Addr, whose: &str) -> Result<UdpSocket, RungError> {
    let socket = UdpSocket::bind((address, 0)).map_err(RungError::call("bind", whose))?;
    socket
        .set_read_timeout(Some(ARRIVES))
        .map_err(RungError::call("setsockopt SO_RCVTIMEO", whose))?;
    Ok(socket)
}

/// Sends one packet to each group; of how many one arrived. A socket gets what any socket of its host has joined
/// (`IP_MULTICAST_ALL`, ip(7)).
fn deliver(from: &UdpSocket, to: &UdpSocket, groups: u32, key: u64) -> Result<u32, RungError> {
    let port = to
        .local_addr()
        .map_err(RungError::call("getsockname", "the receiver's"))?
        .port();
    let numbers: Vec<u32> = (0..groups).collect();
    let mut arrived = 0;
    for some in numbers.chunks(AT_ONCE) {
        let mut missing: Vec<u32> = some.to_vec();
        for &number in some {
            let mut packet = key.to_be_bytes().to_vec();
            packet.extend(number.to_be_bytes());
            from.send_to(&packet, (group(number), port))
                .map_err(RungError::call("sendto", group(number)))?;
        }
        let mut packet = [0; 64];
        while !missing.is_empty() {
            // The time is up, or the socket is of no use: what is missing has not arrived.
            let Ok(length) = to.recv(&mut packet) else {
                break;
            };
            let Some((told, number)) = packet[..length].split_first_chunk::<8>() else {
                continue;
            };
            let number = number.first_chunk::<4>().map(|n| u32::from_be_bytes(*n));
            if *told == key.to_be_bytes() {
                missing.retain(|wanted| Some(*wanted) != number);
            }
        }
        arrived += (some.len() - missing.len()) as u32;
    }
    Ok(arrived)
}

/// Writes settings of the bridge, in order.
fn setting(bridge: &Namespace, settings: &[(&str, &str)]) -> Result<(), RungError> {
    with_sysfs(std::iter::once(bridge), |_| {
        let mut all = settings.iter();
        all.try_for_each(|(name, value)| write(&format!("{BRIDGE}/{name}"), value))
    })
}

fn flag(bridge: &Namespace, name: &str) -> Result<bool, RungError> {
    Ok(read(bridge, &format!("{BRIDGE}/{name}"))? == "1")
}

/// Packets that a guest's interface received.
fn received(guest: &Namespace) -> Result<u64, RungError> {
    let path = "/sys/class/net/eth0/statistics/rx_packets";
    let text = read(guest, path)?;
    text.parse()
        .map_err(|_| RungError::Absent(format!("{path}: `{text}` is no number")))
}

fn read(namespace: &Namespace, path: &str) -> Result<String, RungError> {
    let mut found = String::new();
    with_sysfs(std::iter::once(namespace), |_| {
        let text = fs::read_to_string(path).map_err(RungError::call("read", path))?;
        found = text.trim().to_owned();
        Ok(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_an_address_of_its_own() {
        assert_eq!(group(0), Ipv4Addr::new(239, 195, 0, 1));
        assert_eq!(group(255), Ipv4Addr::new(239, 195, 1, 0));
        let last = group(MOST_GROUPS - 1);
        assert!(last.is_multicast() && last == Ipv4Addr::new(239, 195, 39, 16));
    }
}
