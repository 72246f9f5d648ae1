//! Drop events counted in the kernel by `drop_reasons.bpf.c`.

use std::collections::{BTreeMap, btree_map};
use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;

use aya::Ebpf;
use aya::maps::{Array, HashMap, MapData, PerCpuHashMap};
use aya::programs::RawTracePoint;
use hawser_model::drops::{DropRecord, DropScope, DropSubject, is_vague};
use hawser_model::names::InterfaceName;
use hawser_model::traffic::FlowId;
use hawser_model::units::Packets;
use nix::net::if_::if_indextoname;

use super::Seen;
use super::names::Names;
use super::symbols::Symbols;
use super::totals::Totals;
use crate::KernelError;
use crate::collectors::ebpf;
use crate::collectors::flows::{FlowMap, Role, Watched};
use crate::netlink::{u16_at, u32_at, u64_at};

const OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/drop_reasons.bpf.o"));

/// With the receiving socket as fourth argument (Linux 6.11), and without.
const PROGRAMS: [&str; 2] = ["dropped_with_socket", "dropped_with_reason"];

/// `struct drop_key`.
type Key = [u8; 24];

/// Places in the map `state`.
const WINDOW: u32 = 0;
const MISSED: u32 = 1;
const EPOCH: u32 = 2;

/// Entries of the map `drops`.
const ROOM: u32 = 1024;

/// Of which drops the function is named: to look for a new one takes some 50 ms.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Functions {
    /// Of all.
    All,
    /// Of those whose reason says nothing.
    ForVague,
}

/// The loaded program, attached for as long as this lives.
pub(crate) struct Events {
    drops: PerCpuHashMap<MapData, Key, [u64; 1]>,
    state: Array<MapData, u64>,
    flows: FlowMap,
    names: Names,
    symbols: Symbols,
    functions: Functions,
    /// Interfaces by their numbers, as they were called when they first dropped something: what was counted keeps its name when one is
    /// renamed or gone.
    interfaces: BTreeMap<u32, InterfaceName>,
    watched: Vec<FlowId>,
    /// Entries of the map.
    room: usize,
    /// Which of them are counted in.
    epoch: u16,
    /// What was counted in those that are gone.
    totals: Totals,
    /// Events that met the program already running on their CPU, up to the window's start.
    nested: u64,
    program: &'static str,
    /// Last: the program is detached when it goes.
    ebpf: Ebpf,
}

impl Events {
    pub(crate) fn start(functions: Functions) -> Result<Self, KernelError> {
        Self::start_with(functions, ROOM)
    }

    fn start_with(functions: Functions, room: u32) -> Result<Self, KernelError> {
        let names = Names::read()?;
        let globals = [("this_namespace", namespace()?)];
        let mut ebpf = ebpf::load("drop_reasons", OBJECT, &globals, &[("drops", room)])?;
        let program = attach(&mut ebpf)?;
        let flows: HashMap<_, _, _> = ebpf::map(&mut ebpf, "flows")?;
        Ok(Self {
            drops: ebpf::map(&mut ebpf, "drops")?,
            state: ebpf::map(&mut ebpf, "state")?,
            flows: FlowMap::new(flows),
            names,
            symbols: Symbols::default(),
            functions,
            interfaces: BTreeMap::new(),
            watched: Vec::new(),
            room: room as usize,
            epoch: 0,
            totals: Totals::default(),
            nested: 0,
            program,
            ebpf,
        })
    }

    pub(crate) fn open(&mut self, flows: &[Watched]) -> Result<(), KernelError> {
        self.clear()?;
        self.flows.watch(flows)?;
        self.watched = flows.iter().map(|watched| watched.flow.flow).collect();
        self.nested = self.nested();
        self.set(MISSED, 0)?;
        self.set(WINDOW, 1)
    }

    pub(super) fn stop(&mut self) -> Result<(), KernelError> {
        self.set(WINDOW, 0)
    }

    pub(crate) fn read(&mut self) -> Result<Seen, KernelError> {
        let mut counted = Vec::new();
        for entry in self.drops.iter() {
            let (key, values) = entry.map_err(|e| ebpf::error("drops", e))?;
            let [packets] = ebpf::sum(&values);
            counted.push((key, Entry::decode(&key), packets));
        }
        let named = counted.iter().map(|(_, entry, _)| entry);
        let named = named.filter(|entry| {
            let reason = || self.names.of(entry.reason);
            self.functions == Functions::All || reason().is_some_and(|it| is_vague(&it))
        });
        self.symbols.find(named.map(|entry| entry.location));
        let numbers = counted.iter().map(|(_, entry, _)| entry.ifindex);
        for number in numbers.filter(|number| *number != 0) {
            if let btree_map::Entry::Vacant(place) = self.interfaces.entry(number) {
                // One that is gone already has no name.
                if let Ok(name) = if_indextoname(number) {
                    place.insert(InterfaceName(name.to_string_lossy().into_owned()));
                }
            }
        }
        let mut live = Vec::new();
        for (key, entry, packets) in &counted {
            let record = self.record(entry, *packets);
            if entry.epoch == self.epoch {
                live.extend(record);
                continue;
            }
            // Its epoch ended before the last reading: nobody has been counting in it since.
            self.totals.add(record);
            self.drops
                .remove(key)
                .map_err(|e| ebpf::error("drops", e))?;
        }
        // One function may drop in several places for the same reason.
        let mut drops = self.totals.with(live);
        self.keep_room(
            &counted
                .into_iter()
                .map(|(_, entry, _)| entry)
                .collect::<Vec<_>>(),
        )?;
        drops.sort_by(|a, b| b.packets.cmp(&a.packets).then(a.reason.cmp(&b.reason)));
        let missed = self
            .state
            .get(&MISSED, 0)
            .map_err(|e| ebpf::error("state", e))?;
        Ok(Seen {
            drops: Some(drops),
            missed: missed + self.nested().saturating_sub(self.nested),
            ..Seen::default()
        })
    }

    /// Begins another epoch before the map is full. A program that was just then counting may do so in the old one for a moment,
    /// so its entries stay until the next reading.
    fn keep_room(&mut self, entries: &[Entry]) -> Result<(), KernelError> {
        self.interfaces
            .retain(|number, _| entries.iter().any(|entry| entry.ifindex == *number));
        let live = entries.iter().filter(|entry| entry.epoch == self.epoch);
        if live.count() > self.room / 2 {
            let next = self.epoch.wrapping_add(1);
            self.set(EPOCH, next.into())?;
            self.epoch = next;
        }
        Ok(())
    }

    fn record(&self, entry: &Entry, packets: u64) -> Option<DropRecord> {
        let reason = self.names.of(entry.reason)?;
        let flow = self.watched.get(entry.slot as usize).copied();
        let scope = match entry.scope {
            1 => DropScope::ThisHost,
            _ => DropScope::Unknown,
        };
        let subject = match (entry.role, flow) {
            (Role::Flow, Some(flow)) => DropSubject::Flow(flow),
            (Role::Fragment, Some(flow)) => DropSubject::FlowFragment(flow),
            (Role::Echo, Some(flow)) => DropSubject::FlowEcho(flow),
            // What was dropped for its checksum may be damaged in the very magic.
            (Role::Damaged, Some(flow)) if reason.ends_with("_CSUM") => DropSubject::Flow(flow),
            _ if scope == DropScope::Unknown => return None,
            _ => DropSubject::Other,
        };
        Some(DropRecord {
            location: self.symbols.name(entry.location),
            interface: self.interfaces.get(&entry.ifindex).cloned(),
            reason,
            scope,
            subject,
            packets: Packets(packets),
        })
    }

    fn clear(&mut self) -> Result<(), KernelError> {
        self.stop()?;
        self.totals = Totals::default();
        let keys: Vec<Key> = self.drops.keys().filter_map(Result::ok).collect();
        for key in keys {
            self.drops
                .remove(&key)
                .map_err(|e| ebpf::error("drops", e))?;
        }
        Ok(())
    }

    fn set(&mut self, place: u32, value: u64) -> Result<(), KernelError> {
        self.state
            .set(place, value, 0)
            .map_err(|e| ebpf::error("state", e))
    }

    /// `recursion_misses` of the program: the kernel does not run it inside itself, as when a
    /// softirq that drops interrupts a task that drops.
    fn nested(&self) -> u64 {
        let read = || {
            let program: &aya::programs::Program = self.ebpf.program(self.program)?;
            let fd = program.fd().ok()?.as_fd().as_raw_fd();
            let info = fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
            let line = info.lines().find(|l| l.starts_with("recursion_misses"))?;
            line.split_whitespace().nth(1)?.parse().ok()
        };
        read().unwrap_or(0)
    }
}

/// Attaches the first of the programs that the kernel's tracepoint has the arguments for.
fn attach(ebpf: &mut Ebpf) -> Result<&'static str, KernelError> {
    let mut refused = None;
    for name in PROGRAMS {
        let program: &mut RawTracePoint = ebpf
            .program_mut(name)
            .ok_or_else(|| KernelError::Ebpf {
                object: name,
                what: "no such program".to_owned(),
            })?
            .try_into()
            .map_err(|e| ebpf::error(name, e))?;
        match program.load().and_then(|()| program.attach("kfree_skb")) {
            Ok(_) => return Ok(name),
            Err(e) => refused.get_or_insert(ebpf::error(name, e)),
        };
    }
    Err(refused.unwrap_or_else(|| KernelError::Absent("no program".to_owned())))
}

/// The number of the calling thread's network namespace.
fn namespace() -> Result<u32, KernelError> {
    let path = "/proc/thread-self/ns/net";
    let meta = fs::metadata(path).map_err(|source| KernelError::File {
        call: "stat",
        path: path.into(),
        source,
    })?;
    // `struct ns_common` keeps it as an unsigned int.
    Ok(meta.ino() as u32)
}

struct Entry {
    location: u64,
    reason: u32,
    ifindex: u32,
    slot: u32,
    role: Role,
    scope: u8,
    epoch: u16,
}

impl Entry {
    fn decode(key: &Key) -> Self {
        let word = |offset| u32_at(key, offset).unwrap_or(0);
        Self {
            location: u64_at(key, 0).unwrap_or(0),
            reason: word(8),
            ifindex: word(12),
            slot: word(16),
            role: Role::from_number(key[20].into()).unwrap_or(Role::None),
            scope: key[21],
            epoch: u16_at(key, 22).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpStream, UdpSocket};
    use std::process::Command;
    use std::thread;

    use nix::sched::{CloneFlags, unshare};

    use super::*;

    /// What it counted in a namespace of its own, where nobody else drops: packets of all kinds, kinds, those that were missed.
    fn counted(events: &mut Events) -> (u64, usize, u64) {
        let seen = events.read().unwrap();
        let drops = seen.drops.unwrap();
        let packets = drops.iter().map(|drop| drop.packets.0).sum();
        (packets, drops.len(), seen.missed)
    }

    fn to_nobody(address: &str) {
        let from = if address.contains('[') {
            "[::1]:0"
        } else {
            "127.0.0.1:0"
        };
        let socket = UdpSocket::bind(from).unwrap();
        socket.send_to(b"nobody", address).unwrap();
    }

    #[test]
    fn kinds_that_came_when_the_map_was_in_use_are_counted_too() {
        let work = || {
            if let Err(e) = unshare(CloneFlags::CLONE_NEWNET) {
                println!("skipped: a network namespace of its own: {e}");
                return;
            }
            let up = Command::new("ip")
                .args(["link", "set", "lo", "up"])
                .status();
            assert!(up.unwrap().success());
            let mut events = match Events::start_with(Functions::All, 3) {
                Ok(events) => events,
                Err(why) => {
                    println!("skipped: the kernel's drops cannot be counted here: {why}");
                    return;
                }
            };
            events.open(&[]).unwrap();
            let mut told = vec![counted(&mut events).0];
            // By UDP and TCP, of IPv4 and IPv6: each is dropped in a place of its own, and there is room for three.
            for _ in 0..2 {
                to_nobody("127.0.0.1:9");
                told.push(counted(&mut events).0);
                TcpStream::connect("127.0.0.1:9").unwrap_err();
                told.push(counted(&mut events).0);
                to_nobody("[::1]:9");
                told.push(counted(&mut events).0);
                TcpStream::connect("[::1]:9").unwrap_err();
                told.push(counted(&mut events).0);
            }
            let (packets, kinds, missed) = counted(&mut events);
            assert!(packets >= 8 && kinds >= 4, "{packets} of {kinds} kinds");
            assert_eq!(missed, 0, "{told:?}");
            assert!(told.is_sorted(), "a total fell: {told:?}");
            events.open(&[]).unwrap();
            assert!(counted(&mut events).0 < packets, "it begins again");
        };
        thread::spawn(work).join().unwrap();
    }
}
