//! Sending the probes of a search and collecting their confirmations.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use hawser_model::probe::PathMtu;
use hawser_model::traffic::RunKey;
use hawser_model::units::{Mtu, Nanos};
use nix::errno::Errno;
use socket2::{SockAddr, Socket};

use super::end::End;
use super::icmp::{self, Message, Said};
use super::strategy::Strategy;
use super::{PROBES, holes, hops};
use crate::clock;
use crate::error::WireError;
use crate::packet::{HEADER_BYTES, Template};
use crate::socket::{self, Discovery};
use crate::thread::errno;
use crate::udp::read::{Reader, Reading};
use crate::waiting::Stop;

/// How often a size is tried before it is given up. At a loss of 10 % each way all four of a
/// size that fits fail once in 770 times, and then the search still looks above it again.
const TRIES: u32 = 4;

/// Between tries: at least this, since a busy host answers late…
const SHORTEST: Nanos = Nanos::from_millis(15);

/// …at most this, and this while no answer has told how long the path is.
const LONGEST: Nanos = Nanos::from_millis(60);

/// What a search looks into after it has found the size takes this much longer at most.
const LONGER: Nanos = Nanos::from_millis(1_000);

/// Smallest MTU of IPv4 hosts (RFC 791: every host takes datagrams of 576 bytes).
const FLOOR_V4: u32 = 576;

/// Smallest MTU of IPv6 links (RFC 8200, section 5).
const FLOOR_V6: u32 = 1_280;

/// Searches the largest IP packet that arrives at the responder on `port` of `destination`.
///
/// Begins with the full size, so that a healthy path takes one round trip; a smaller hop
/// takes a few rounds of at most a quarter of a second. What is known when `deadline` has
/// passed is returned. Smaller sizes that do not arrive are looked for after that, and how far
/// silent packets come: each takes [`LONGER`] at most.
///
/// # Errors
/// [`WireError::Call`] when the socket cannot be opened. Probes that fail are not errors.
pub fn search_path_mtu(
    source: IpAddr,
    destination: IpAddr,
    port: u16,
    key: RunKey,
    interface_mtu: Mtu,
    deadline: Duration,
) -> Result<PathMtu, WireError> {
    let to = End::Responder(port);
    let end = clock::now() + nanos(deadline);
    let mut probing = Probing::open(source, destination, to, key, interface_mtu, end)?;
    let found = probing.largest(source, destination, interface_mtu)?;
    let floor = floor(source);
    let smallest = probing.headers + HEADER_BYTES as u32;
    let open = || {
        let end = clock::now() + LONGER;
        Probing::open(source, destination, to, key, interface_mtu, end)
    };
    let is_smaller = found.passed < Some(interface_mtu);
    let unsaid = found
        .silent
        .filter(|_| !found.denied && found.told.is_none() && is_smaller);
    let vanishes = match (found.passed, unsaid) {
        (Some(passed), Some(silent)) => {
            hops::vanishes(open, destination, [passed.0.min(floor), silent.0])?
        }
        _ => None,
    };
    let holes = match found.passed {
        Some(passed) => {
            probing.end = clock::now() + LONGER;
            holes::search(&mut probing, smallest, passed.0, key)?
        }
        None => None,
    };
    Ok(PathMtu {
        vanishes,
        holes,
        ..found
    })
}

/// Searches the largest IP packet that the kernel of `destination` answers (ICMP echo, RFC 792 and RFC 4443): it needs nobody
/// there, its answers are as large as what they answer, so it tells of both ways at once. Its run key is to be a random one.
///
/// Begins with the full size as [`search_path_mtu`] does, so that a healthy path costs one packet each way. Needs
/// `CAP_NET_RAW`.
///
/// # Errors
/// [`WireError::Call`] when the socket cannot be opened. Probes that fail are not errors.
pub fn search_echoed_mtu(
    source: IpAddr,
    destination: IpAddr,
    key: RunKey,
    interface_mtu: Mtu,
    deadline: Duration,
) -> Result<PathMtu, WireError> {
    let end = clock::now() + nanos(deadline);
    Probing::open(source, destination, End::Kernel, key, interface_mtu, end)?.largest(
        source,
        destination,
        interface_mtu,
    )
}

fn nanos(span: Duration) -> Nanos {
    Nanos(span.as_nanos().try_into().unwrap_or(u64::MAX / 2))
}

/// The smallest MTU that a path of this family can have.
fn floor(source: IpAddr) -> u32 {
    if source.is_ipv4() { FLOOR_V4 } else { FLOOR_V6 }
}

/// The probing socket and what it knows of the path.
pub(super) struct Probing {
    pub(super) socket: Socket,
    stop: Stop,
    reader: Reader,
    key: RunKey,
    to: End,
    /// Bytes of the headers of IP and UDP, or of IP and ICMP, which are as many.
    headers: u32,
    end: Nanos,
    round_trip: Option<Nanos>,
    probes: u32,
    /// The smallest size that a router said, and which one.
    too_big: Option<(Mtu, IpAddr)>,
    /// Sizes that a packet filter of this host refused.
    denied: BTreeSet<u32>,
}

/// What became of one size in one round.
#[derive(Clone, Copy, Default)]
struct Tried {
    taken: bool,
    refused: bool,
    arrived: bool,
}

impl Probing {
    pub(super) fn open(
        source: IpAddr,
        destination: IpAddr,
        to: End,
        key: RunKey,
        interface_mtu: Mtu,
        end: Nanos,
    ) -> Result<Self, WireError> {
        if source.is_ipv4() != destination.is_ipv4() {
            return Err(WireError::Families(source, destination));
        }
        let socket = to.socket(source)?;
        socket::set_discovery(&socket, source.is_ipv4(), Discovery::Probe)
            .map_err(WireError::call("setsockopt MTU_DISCOVER", source))?;
        icmp::keep(&socket, source.is_ipv4())
            .map_err(WireError::call("setsockopt RECVERR", source))?;
        let address = socket::scoped(destination, to.port(), source)?;
        socket
            .connect(&SockAddr::from(address))
            .map_err(WireError::call("connect", address))?;
        Ok(Self {
            socket,
            stop: Stop::new()?,
            reader: Reader::new(Reading::Batched, to.longest_answer(interface_mtu)),
            key,
            to,
            headers: if source.is_ipv4() { 28 } else { 48 },
            end,
            round_trip: None,
            probes: 0,
            too_big: None,
            denied: BTreeSet::new(),
        })
    }

    /// The largest packet that arrives, as far as the time allows.
    fn largest(
        &mut self,
        source: IpAddr,
        destination: IpAddr,
        interface_mtu: Mtu,
    ) -> Result<PathMtu, WireError> {
        let mut strategy = Strategy::new(floor(source), interface_mtu.0);
        let mut told = None;
        loop {
            let sizes = strategy.round();
            if sizes.is_empty() || self.time_is_over() {
                break;
            }
            self.round(&sizes, &mut strategy)?;
            let known = socket::known_mtu(&self.socket, source.is_ipv4()).unwrap_or(0);
            if known > 0 && known < interface_mtu.0 {
                strategy.hint(known);
                told = Some(Mtu(known));
            }
        }
        let silent = strategy.silent();
        Ok(PathMtu {
            source,
            destination,
            interface_mtu,
            passed: strategy.passed().map(Mtu),
            silent: silent.map(Mtu),
            denied: silent.is_some_and(|size| self.denied.contains(&size)),
            told,
            told_by: self
                .too_big
                .map(|(_, from)| from)
                .filter(|_| told.is_some()),
            vanishes: None,
            holes: None,
        })
    }

    /// Lets packets pass so many hops.
    pub(super) fn limit_hops(&self, hops: u32) -> Result<(), WireError> {
        let set = match self.headers {
            28 => self.socket.set_ttl_v4(hops),
            _ => self.socket.set_unicast_hops_v6(hops),
        };
        set.map_err(WireError::call("setsockopt TTL", hops))
    }

    /// Sends one packet, whatever becomes of it.
    pub(super) fn send_one(&mut self, size: u32) {
        self.send(size, &mut Tried::default());
    }

    /// Sends one packet of each size, and says which are confirmed within the patience of the path.
    pub(super) fn ask(&mut self, sizes: &[u32]) -> Result<BTreeSet<u32>, WireError> {
        let mut tried: BTreeMap<u32, Tried> =
            sizes.iter().map(|size| (*size, Tried::default())).collect();
        for size in sizes {
            self.send(*size, tried.entry(*size).or_default());
        }
        self.listen(&mut tried, |tried| tried.values().all(|t| t.arrived))?;
        let arrived = tried.into_iter().filter(|(_, tried)| tried.arrived);
        Ok(arrived.map(|(size, _)| size).collect())
    }

    pub(super) fn time_is_over(&self) -> bool {
        clock::now() >= self.end
    }

    /// What came meanwhile, without waiting: messages of routers, and whether a probe was confirmed.
    pub(super) fn take(&mut self) -> (Vec<Message>, bool) {
        let messages = icmp::take(self.socket.as_fd());
        let (key, to, mut confirmed) = (self.key, self.to, false);
        // An error is an ICMP message that was taken before.
        let _ = self.reader.read(self.socket.as_fd(), |datagram, _| {
            confirmed |= to.confirmation(datagram, key).is_some();
            false
        });
        (messages, confirmed)
    }

    /// Takes what routers said of the probes.
    fn hear_routers(&mut self) {
        for message in icmp::take(self.socket.as_fd()) {
            if let Said::TooBig(mtu) = message.said {
                let smallest = self.too_big.is_none_or(|(known, _)| mtu < known);
                if smallest {
                    self.too_big = Some((mtu, message.from));
                }
            }
        }
    }

    /// Tries all sizes, those that are not confirmed again and again, and tells the strategy.
    fn round(&mut self, sizes: &[u32], strategy: &mut Strategy) -> Result<(), WireError> {
        let mut tried: BTreeMap<u32, Tried> =
            sizes.iter().map(|size| (*size, Tried::default())).collect();
        for _ in 0..TRIES {
            for size in sizes {
                let below = tried.range(size..).any(|(_, tried)| tried.arrived);
                if !below && !tried[size].refused {
                    self.send(*size, tried.entry(*size).or_default());
                }
            }
            let largest = sizes.last().copied().unwrap_or(0);
            let done = |tried: &BTreeMap<u32, Tried>| {
                tried.get(&largest).is_some_and(|t| t.arrived)
                    || tried.values().all(|t| t.arrived || t.refused)
            };
            self.listen(&mut tried, done)?;
            if done(&tried) || clock::now() >= self.end {
                break;
            }
        }
        let complete = clock::now() < self.end;
        for (size, tried) in tried {
            if tried.arrived {
                strategy.arrived(size);
            } else if tried.refused {
                strategy.refused(size);
            } else if tried.taken && complete {
                strategy.vanished(size);
            }
        }
        Ok(())
    }

    /// Sends one probe of `size`.
    fn send(&mut self, size: u32, tried: &mut Tried) {
        let payload = size.saturating_sub(self.headers) as usize;
        let template = Template::new(self.key, PROBES, payload);
        self.probes += 1;
        let sequence = u64::from(size) << 32 | u64::from(self.probes);
        let packet = template.packet(sequence, clock::now());
        let packet = self.to.question(packet, self.headers == 28);
        // The first error may be that of an earlier probe, come back as an ICMP message.
        let result = self
            .socket
            .send(&packet)
            .or_else(|_| self.socket.send(&packet));
        match result {
            Ok(_) => tried.taken = true,
            Err(error) if errno(&error) == Errno::EMSGSIZE => tried.refused = true,
            // Dropped below IP on this host, which only a socket with an error queue is told (`udp_send_skb`).
            Err(error) if errno(&error) == Errno::ENOBUFS => tried.taken = true,
            // A packet filter of this host: it does not arrive, and not for the way's sake.
            Err(error) if errno(&error) == Errno::EPERM => {
                tried.taken = true;
                self.denied.insert(size);
            }
            // No route, nobody listens: nothing arrives, which is what will show.
            Err(_) => {}
        }
    }

    /// Hears confirmations until `done`, or long enough.
    fn listen(
        &mut self,
        tried: &mut BTreeMap<u32, Tried>,
        done: impl Fn(&BTreeMap<u32, Tried>) -> bool,
    ) -> Result<(), WireError> {
        let patience = self.round_trip.map_or(LONGEST, |time| {
            Nanos(time.0.saturating_mul(4)).clamp(SHORTEST, LONGEST)
        });
        let mut until = (clock::now() + patience).min(self.end);
        while clock::now() < until && !done(tried) {
            if !self.stop.wait(self.socket.as_fd(), Some(until)) {
                continue;
            }
            self.hear_routers();
            let now = clock::now();
            let (key, to, mut slowest) = (self.key, self.to, self.round_trip);
            // An error is an ICMP message for a probe: that one did not arrive.
            let _ = self.reader.read(self.socket.as_fd(), |datagram, _| {
                if let Some(probe) = to.confirmation(datagram, key) {
                    let size = (probe.sequence >> 32) as u32;
                    tried.entry(size).or_default().arrived = true;
                    slowest = slowest.max(Some(now.saturating_sub(probe.sent_at)));
                }
                false
            });
            if self.round_trip.is_none() && slowest.is_some() {
                // Only now is it known how long is long enough.
                let patience = slowest.map_or(LONGEST, |t| Nanos(t.0.saturating_mul(4)));
                until = (now + patience.clamp(SHORTEST, LONGEST)).min(until);
            }
            self.round_trip = slowest;
        }
        Ok(())
    }
}
