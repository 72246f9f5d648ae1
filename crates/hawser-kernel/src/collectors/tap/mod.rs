//! A passive tap: what passed an interface of each flow, counted by a packet socket's filter
//! (`tap.bpf.c`) that takes nothing in.
//!
//! On transmit it sits below the queueing discipline, in front of the driver; on receive above
//! driver, ring, XDP and backlog, in front of tc and netfilter. Two taps cut a path in three.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::thread::{self, JoinHandle};

use aya::Ebpf;
use aya::maps::{HashMap, MapData, PerCpuArray, PerCpuValues};
use aya::programs::SocketFilter;
use hawser_model::drops::{TapDirection, TapRecord};
use hawser_model::units::Packets;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use super::ebpf;
use super::flows::{FlowMap, MOST, Watched};
use crate::{KernelError, sys};

const OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/tap.bpf.o"));

const PROGRAM: &str = "tap";

/// `struct seen`: intact, damaged, later fragments.
type Counts = [u64; 3];

/// The loaded filter, and while a window is open the sockets it sits on.
pub(crate) struct Tap {
    ebpf: Ebpf,
    taps: PerCpuArray<MapData, Counts>,
    flows: FlowMap,
    watched: Vec<Watched>,
    sockets: Vec<OwnedFd>,
    /// Closes the sockets of the last window.
    closing: Option<JoinHandle<()>>,
}

impl Tap {
    pub(crate) fn start() -> Result<Self, KernelError> {
        packet_socket()?;
        let mut ebpf = ebpf::load(PROGRAM, OBJECT, &[], &[])?;
        filter(&mut ebpf)?
            .load()
            .map_err(|e| ebpf::error(PROGRAM, e))?;
        let flows: HashMap<_, _, _> = ebpf::map(&mut ebpf, "flows")?;
        Ok(Self {
            taps: ebpf::map(&mut ebpf, "taps")?,
            flows: FlowMap::new(flows),
            ebpf,
            watched: Vec::new(),
            sockets: Vec::new(),
            closing: None,
        })
    }

    /// Begins to count the flows, each on its own interface.
    pub(crate) fn open(&mut self, flows: &[Watched]) -> Result<(), KernelError> {
        // Those of the last window would count everything a second time.
        if let Some(closing) = self.closing.take() {
            // It does nothing that could panic.
            let _ = closing.join();
        }
        self.sockets.clear();
        let cpus = aya::util::nr_cpus()
            .map_err(|(file, e)| KernelError::call("possible CPUs", file, e))?;
        for index in 0..(MOST * 2) as u32 {
            let zero = PerCpuValues::try_from(vec![Counts::default(); cpus])
                .map_err(|e| KernelError::call("one value per CPU", "taps", e))?;
            self.taps
                .set(index, zero, 0)
                .map_err(|e| ebpf::error("taps", e))?;
        }
        self.flows.watch(flows)?;
        self.watched = flows.to_vec();
        let interfaces: BTreeSet<u32> = flows.iter().map(|watched| watched.index).collect();
        for interface in interfaces {
            // Bound only when the filter is on it, it has never a packet to take in.
            let socket = packet_socket()?;
            // The loader would keep the socket's number, to detach whatever has it later on;
            // the filter goes with the socket.
            let filter = filter(&mut self.ebpf)?;
            filter
                .attach(&socket)
                .and_then(|link| filter.take_link(link))
                .map_err(|e| ebpf::error(PROGRAM, e))?;
            sys::bind_packet_socket(&socket, interface, libc::ETH_P_ALL)
                .map_err(|e| KernelError::call("bind packet socket", interface, e))?;
            self.sockets.push(socket);
        }
        Ok(())
    }

    /// Ends counting; a record for each flow and direction that was seen.
    pub(crate) fn close(&mut self) -> Result<Vec<TapRecord>, KernelError> {
        let sockets = std::mem::take(&mut self.sockets);
        let mut records = Vec::new();
        for (slot, watched) in self.watched.iter().enumerate() {
            for (side, direction) in [TapDirection::Received, TapDirection::Sent]
                .into_iter()
                .enumerate()
            {
                let values = self
                    .taps
                    .get(&((slot * 2 + side) as u32), 0)
                    .map_err(|e| ebpf::error("taps", e))?;
                let [packets, damaged, fragments] = ebpf::sum(&values);
                if packets + damaged + fragments > 0 {
                    records.push(TapRecord {
                        flow: watched.flow.flow,
                        interface: watched.flow.interface.clone(),
                        direction,
                        packets: Packets(packets),
                        damaged: Packets(damaged),
                        later_fragments: Packets(fragments),
                    });
                }
            }
        }
        // Closing a packet socket waits until no CPU uses it (`synchronize_net`), some 10 ms in
        // which nobody needs to wait with it.
        self.closing = Some(thread::spawn(move || drop(sockets)));
        Ok(records)
    }
}

/// Without a protocol it receives nothing until it is bound. Packets begin with their network
/// header (`SOCK_DGRAM`).
fn packet_socket() -> Result<OwnedFd, KernelError> {
    socket(
        AddressFamily::Packet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )
    .map_err(|e| KernelError::call("socket", "AF_PACKET", e))
}

fn filter(ebpf: &mut Ebpf) -> Result<&mut SocketFilter, KernelError> {
    ebpf.program_mut(PROGRAM)
        .ok_or_else(|| KernelError::Ebpf {
            object: PROGRAM,
            what: "no such program".to_owned(),
        })?
        .try_into()
        .map_err(|e| ebpf::error(PROGRAM, e))
}
