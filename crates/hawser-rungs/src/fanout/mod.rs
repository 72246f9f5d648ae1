//! Many receivers of one multicast flow on one host, as guests behind a bridge.
//!
//! ```text
//! sender ── in0 ┤bridge├ g1 ── receiver 1
//!                      ├ g2 ── receiver 2
//!                      └ …
//! ```
//!
//! Everything is a namespace without a name that only this process holds: when it ends, in whichever
//! way, all of it is gone. Nothing of the host's own network is touched.

mod groups;
mod namespace;
mod stage;

use std::thread;
use std::time::Duration;

use hawser_model::fanout::{ReceiverSetting, Spread};
use hawser_model::names::InterfaceName;
use hawser_model::traffic::{FlowId, FlowSpec, Membership, Rate, RunKey, SenderReport, Transport};
use hawser_model::units::{Bytes, Nanos, Packets, PacketsPerSec};
use hawser_wire::{CountingReceiver, Receiver, Sender};
use nix::sched::sched_getaffinity;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::RungError;
pub use groups::{GroupsStep, MOST_GROUPS};
use stage::{GROUP, SENDER, Stage, guest};

/// The most guests that are made: their addresses are one octet's.
pub const MOST: u32 = 200;

/// Receivers ask for this much, so that what their programs do not get to read at once is no loss of
/// the context that copies.
const BUFFER: Bytes = Bytes(4 << 20);

/// And read so often, however much has come: a program that is woken for every packet uses up the
/// processors by itself, and what the host can deliver would not show.
const NAP: Nanos = Nanos::from_millis(4);

/// What is under way when the sender is done arrives within this time.
const SETTLE: Duration = Duration::from_millis(100);

/// One window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FanoutStep {
    /// How many receive.
    pub receivers: u32,
    /// Where the copies are worked off.
    pub spread: Spread,
    /// The bridge whose receivers' settings [`Spread::AsSet`] copies.
    pub bridge: Option<InterfaceName>,
    /// Packets a second.
    pub rate: PacketsPerSec,
    /// UDP payload, bytes.
    pub payload: u32,
    /// Packets back to back.
    pub burst: u32,
    /// How long.
    pub duration: Nanos,
    /// Receivers count in the kernel and read nothing.
    pub count_only: bool,
    /// Its number, one after the other: late packets of one window are foreign to the next.
    pub number: u32,
}

/// The stage, as long as it is held.
pub struct Fanout {
    stage: Stage,
    processors: Vec<u32>,
    key: RunKey,
}

impl Fanout {
    /// Builds sender, bridge and guests; the guests are not on the bridge yet.
    ///
    /// # Errors
    /// [`RungError`] names what this host refused: namespaces, veth, `ip`.
    pub fn build(guests: u32, key: RunKey) -> Result<Self, RungError> {
        if !(1..=MOST).contains(&guests) {
            return Err(RungError::Absent(format!(
                "{guests} receivers: from 1 to {MOST} can be made"
            )));
        }
        Ok(Self {
            stage: Stage::build(guests)?,
            processors: processors()?,
            key,
        })
    }

    /// The processors that the measurement may use.
    pub fn processors(&self) -> &[u32] {
        &self.processors
    }

    /// Brings as many guests to the bridge as are to receive, spreads the work, opens the sockets.
    /// `as_set` are the settings that [`Spread::AsSet`] copies; where there are none, a guest stays as
    /// the kernel makes it.
    ///
    /// # Errors
    /// [`RungError`] names what was refused.
    pub fn prepare(
        &mut self,
        step: &FanoutStep,
        as_set: &[ReceiverSetting],
    ) -> Result<Prepared, RungError> {
        self.stage.attach(step.receivers)?;
        self.stage.spread(step.spread, &self.processors, as_set)?;
        let mut receivers: Vec<End> = Vec::new();
        let mut port = 0;
        for (number, namespace) in self.stage.guests(step.receivers).enumerate() {
            let spec = self.flow(step, guest(number as u32));
            let receiver = namespace.within(|| End::open(step, &spec, self.key, port))?;
            port = receiver.port();
            receivers.push(receiver);
        }
        let spec = FlowSpec {
            // As a feeder of many receivers would: a late sender is not what is measured.
            realtime: true,
            receive_buffer: None,
            sender_cpu: self.processors.first().copied(),
            ..self.flow(step, guest(0))
        };
        let sender = self
            .stage
            .sender()
            .within(|| Ok(Sender::open(&spec, self.key)?))?;
        Ok(Prepared {
            receivers,
            sender,
            port,
        })
    }

    fn flow(&self, step: &FanoutStep, receiver: std::net::Ipv4Addr) -> FlowSpec {
        FlowSpec {
            receiver: receiver.into(),
            membership: Some(Membership {
                source: None,
                ttl: 1,
            }),
            burst: step.burst,
            receive_buffer: Some(BUFFER),
            ..FlowSpec::plain(
                FlowId(step.number),
                Transport::Udp,
                (SENDER.into(), GROUP.into()),
                step.payload,
                Rate::PerSecond(step.rate),
                step.duration,
            )
        }
    }
}

/// A receiver of either kind.
enum End {
    Reading(Box<Receiver>),
    Counting(CountingReceiver),
}

impl End {
    /// In the network namespace of the calling thread.
    fn open(step: &FanoutStep, spec: &FlowSpec, key: RunKey, port: u16) -> Result<Self, RungError> {
        Ok(match step.count_only {
            true => Self::Counting(CountingReceiver::open(spec, key, port)?),
            false => Self::Reading(Box::new(Receiver::open_napping(spec, key, port, NAP)?)),
        })
    }

    fn port(&self) -> u16 {
        match self {
            Self::Reading(receiver) => receiver.port(),
            Self::Counting(receiver) => receiver.port(),
        }
    }

    fn finish(self, sent: Packets) -> Result<Got, RungError> {
        Ok(match self {
            Self::Reading(receiver) => {
                let report = receiver.finish(sent, SETTLE)?;
                Got {
                    received: report.received,
                    socket_drops: report.socket_drops,
                }
            }
            Self::Counting(receiver) => {
                thread::sleep(SETTLE);
                Got {
                    received: receiver.counted()?,
                    socket_drops: Packets::ZERO,
                }
            }
        })
    }
}

/// What a receiver got of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Got {
    /// Packets, each once; counted in the kernel, as often as they came.
    pub received: Packets,
    /// Dropped at its socket, since its program did not get to read.
    pub socket_drops: Packets,
}

/// A window that is ready to be measured.
pub struct Prepared {
    receivers: Vec<End>,
    sender: Sender,
    port: u16,
}

impl Prepared {
    /// Sends to the end.
    ///
    /// # Errors
    /// [`RungError`] when the sending thread cannot run.
    pub fn send(self) -> Result<(SenderReport, Sent), RungError> {
        let (sender, port) = (self.sender, self.port);
        // A thread of its own, since it is bound to a processor and runs before others.
        let report = thread::spawn(move || sender.run(port))
            .join()
            .map_err(|_| RungError::Panicked("sending"))??;
        let sent = report.sent;
        Ok((
            report,
            Sent {
                receivers: self.receivers,
                sent,
            },
        ))
    }
}

/// A window whose sender is done.
pub struct Sent {
    receivers: Vec<End>,
    sent: Packets,
}

impl Sent {
    /// Lets what is under way arrive and asks every receiver.
    ///
    /// # Errors
    /// [`RungError`] when reading failed.
    pub fn finish(self) -> Result<Vec<Got>, RungError> {
        let sent = self.sent;
        thread::scope(|scope| {
            let asked: Vec<_> = self
                .receivers
                .into_iter()
                .map(|receiver| scope.spawn(move || receiver.finish(sent)))
                .collect();
            asked
                .into_iter()
                .map(|a| a.join().map_err(|_| RungError::Panicked("receiving"))?)
                .collect()
        })
    }
}

/// The processors that this process may use.
fn processors() -> Result<Vec<u32>, RungError> {
    let set = sched_getaffinity(Pid::from_raw(0))
        .map_err(RungError::call("sched_getaffinity", "this process"))?;
    Ok((0..nix::sched::CpuSet::count())
        .filter(|&cpu| set.is_set(cpu).unwrap_or(false))
        .map(|cpu| cpu as u32)
        .collect())
}
