//! Flows: their open ends on this node, and sending one with an eye on the cluster.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use hawser_host::{Declined, Progress, Stop};
use hawser_model::traffic::{FlowId, FlowSpec, ReceiverReport, RunKey, SenderReport};
use hawser_model::units::Packets;
use hawser_wire::{Receiver, Sender};

use super::{ClusterWatch, Watched};
use crate::questions::{Care, Sent, StopReason};

/// How long a watch beside a sender may last: the sender ends it.
const FLOW_AT_MOST: Duration = Duration::from_secs(24 * 3600);

/// The ends of flows that are open.
#[derive(Default)]
pub(crate) struct Flows {
    receivers: BTreeMap<FlowId, Receiver>,
    senders: BTreeMap<FlowId, Sender>,
}

impl Flows {
    pub(crate) fn open_receiver(&mut self, spec: &FlowSpec, key: RunKey) -> Result<u16, Declined> {
        let receiver = Receiver::open(spec, key)?;
        let port = receiver.port();
        self.receivers.insert(spec.flow, receiver);
        Ok(port)
    }

    pub(crate) fn open_sender(&mut self, spec: &FlowSpec, key: RunKey) -> Result<u16, Declined> {
        let sender = Sender::open(spec, key)?;
        let port = sender.port();
        self.senders.insert(spec.flow, sender);
        Ok(port)
    }

    pub(crate) fn expect_from(&mut self, flow: FlowId, port: u16) -> Result<(), Declined> {
        let receiver = self.receivers.get_mut(&flow);
        receiver
            .ok_or_else(|| none_open("receiver", flow))?
            .expect_from(port);
        Ok(())
    }

    pub(crate) fn run_sender(
        &mut self,
        flow: FlowId,
        peer_port: u16,
        care: Care,
        stop: &Stop,
    ) -> Result<Sent, Declined> {
        let sender = self.senders.remove(&flow);
        let sender = sender.ok_or_else(|| none_open("sender", flow))?;
        let watch = match care {
            Care::Gentle => ClusterWatch::start()?,
            Care::None => None,
        };
        Ok(send(sender, peer_port, watch.as_ref(), stop)?)
    }

    /// Sends several flows at once, each from a thread of its own, to their ends.
    pub(crate) fn run_senders(
        &mut self,
        flows: &[(FlowId, u16)],
    ) -> Result<Vec<SenderReport>, Declined> {
        let mut senders = Vec::new();
        for &(flow, port) in flows {
            let sender = self.senders.remove(&flow);
            senders.push((sender.ok_or_else(|| none_open("sender", flow))?, port));
        }
        Ok(thread::scope(|scope| {
            let running: Vec<_> = senders
                .into_iter()
                .map(|(sender, port)| {
                    scope.spawn(move || sender.run(port).map_err(|e| e.to_string()))
                })
                .collect();
            running
                .into_iter()
                .map(|r| r.join().map_err(|_| "a sender panicked".to_owned())?)
                .collect::<Result<Vec<_>, String>>()
        })?)
    }

    pub(crate) fn finish_receiver(
        &mut self,
        flow: FlowId,
        sent: Packets,
        settle: Duration,
    ) -> Result<ReceiverReport, Declined> {
        let receiver = self.receivers.remove(&flow);
        let receiver = receiver.ok_or_else(|| none_open("receiver", flow))?;
        Ok(receiver.finish(sent, settle)?)
    }

    pub(crate) fn drop_flow(&mut self, flow: FlowId) {
        self.senders.remove(&flow);
        self.receivers.remove(&flow);
    }
}

/// Sends to the end, or until the coordinator or the cluster wants it to stop.
fn send(
    sender: Sender,
    peer_port: u16,
    watch: Option<&ClusterWatch>,
    stop: &Stop,
) -> Result<Sent, String> {
    let handle = sender.stop_handle();
    thread::scope(|scope| {
        let guard = scope.spawn(|| {
            let watched = match watch {
                Some(watch) => watch.watch(stop, FLOW_AT_MOST),
                None => Watched::Quiet(stop.wait(FLOW_AT_MOST)),
            };
            handle.store(true, Ordering::Relaxed);
            watched
        });
        let report = sender.run(peer_port).map_err(|e| e.to_string());
        stop.over();
        let stopped = match guard.join() {
            Ok(Watched::Trouble(what)) => Some(StopReason::Cluster(what)),
            Ok(Watched::Quiet(Progress::Stopped)) => Some(StopReason::Asked),
            Ok(Watched::Quiet(Progress::Running | Progress::Over)) => None,
            Err(_) => return Err("the guard of the flow panicked".to_owned()),
        };
        Ok(Sent {
            report: report?,
            stopped,
        })
    })
}

fn none_open(what: &str, flow: FlowId) -> String {
    format!("no {what} of flow {flow} is open")
}
