//! Flows: their open ends on this node, and sending one with an eye on the cluster.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use hawser_model::traffic::{FlowId, FlowSpec, RunKey};
use hawser_model::units::Packets;
use hawser_wire::{Receiver, Sender};

use super::{Answer, words};
use crate::protocol::{Care, Response, Sent, StopReason};
use crate::server::cluster_watch::{ClusterWatch, Watched};
use crate::server::stop::{Progress, Stop};

/// How long a watch beside a sender may last: the sender ends it.
const FLOW_AT_MOST: Duration = Duration::from_secs(24 * 3600);

/// The ends of flows that are open.
#[derive(Default)]
pub(super) struct Flows {
    receivers: BTreeMap<FlowId, Receiver>,
    senders: BTreeMap<FlowId, Sender>,
}

impl Flows {
    pub(super) fn open_receiver(&mut self, spec: &FlowSpec, key: RunKey) -> Answer {
        let receiver = Receiver::open(spec, key).map_err(words)?;
        let port = receiver.port();
        self.receivers.insert(spec.flow, receiver);
        Ok(Response::Port(port))
    }

    pub(super) fn open_sender(&mut self, spec: &FlowSpec, key: RunKey) -> Answer {
        let sender = Sender::open(spec, key).map_err(words)?;
        let port = sender.port();
        self.senders.insert(spec.flow, sender);
        Ok(Response::Port(port))
    }

    pub(super) fn expect_from(&mut self, flow: FlowId, port: u16) -> Answer {
        let receiver = self.receivers.get_mut(&flow);
        receiver
            .ok_or_else(|| none_open("receiver", flow))?
            .expect_from(port);
        Ok(Response::Done)
    }

    pub(super) fn run_sender(
        &mut self,
        flow: FlowId,
        peer_port: u16,
        care: Care,
        stop: &Stop,
    ) -> Answer {
        let sender = self.senders.remove(&flow);
        let sender = sender.ok_or_else(|| none_open("sender", flow))?;
        let watch = match care {
            Care::Gentle => ClusterWatch::start()?,
            Care::None => None,
        };
        let sent = send(sender, peer_port, watch.as_ref(), stop)?;
        Ok(Response::Sent(Box::new(sent)))
    }

    /// Sends several flows at once, each from a thread of its own, to their ends.
    pub(super) fn run_senders(&mut self, flows: &[(FlowId, u16)]) -> Answer {
        let mut senders = Vec::new();
        for &(flow, port) in flows {
            let sender = self.senders.remove(&flow);
            senders.push((sender.ok_or_else(|| none_open("sender", flow))?, port));
        }
        let reports = thread::scope(|scope| {
            let running: Vec<_> = senders
                .into_iter()
                .map(|(sender, port)| scope.spawn(move || sender.run(port).map_err(words)))
                .collect();
            running
                .into_iter()
                .map(|r| r.join().map_err(|_| "a sender panicked".to_owned())?)
                .collect::<Result<Vec<_>, String>>()
        })?;
        Ok(Response::AllSent(reports))
    }

    pub(super) fn finish_receiver(
        &mut self,
        flow: FlowId,
        sent: Packets,
        settle: Duration,
    ) -> Answer {
        let receiver = self.receivers.remove(&flow);
        let receiver = receiver.ok_or_else(|| none_open("receiver", flow))?;
        let report = receiver.finish(sent, settle).map_err(words)?;
        Ok(Response::Received(Box::new(report)))
    }

    pub(super) fn drop_flow(&mut self, flow: FlowId) -> Response {
        self.senders.remove(&flow);
        self.receivers.remove(&flow);
        Response::Done
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
        let report = sender.run(peer_port).map_err(words);
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
