//! The work of requests: what is open on this node, and the calls that open it.

mod copy;
mod fanout;
mod flows;
pub(super) mod knobs;
mod ladder;
mod probes;

use std::fmt::Display;
use std::time::Duration;

use hawser_kernel::{Observer, corosync_facts, hardware, host_facts, udp_sockets};
use hawser_model::names::HostName;
use hawser_model::traffic::{RunKey, WatchedFlow};
use hawser_model::units::Nanos;
use hawser_wire::own_address;

use crate::protocol::{Request, Response, VERSION};
use crate::server::Work;
use crate::server::cluster_watch::{ClusterWatch, Watched};
use crate::server::stop::Stop;

use copy::Copy;
use fanout::FanoutStage;
use flows::Flows;
use knobs::{Changes, Place};
use ladder::Ladder;
use probes::Probes;

/// This node, for one coordinator.
#[derive(Default)]
pub struct Node {
    session: Option<Session>,
    /// Started with the first question it is needed for: it loads kernel programs.
    observer: Option<Observer>,
    flows: Flows,
    probes: Probes,
    copy: Option<Copy>,
    ladder: Ladder,
    fanout: FanoutStage,
    changes: Changes,
}

/// What the coordinator said of itself.
#[derive(Clone, Debug)]
struct Session {
    run_key: RunKey,
    host: HostName,
}

/// An answer, or the words of what failed.
type Answer = Result<Response, String>;

impl Work for Node {
    fn work(&mut self, request: Request, stop: &Stop) -> Response {
        self.answer(request, stop)
            .unwrap_or_else(|error| Response::Failed { error })
    }
}

impl Node {
    /// A node at that place.
    pub(super) fn new(place: Place) -> Self {
        Self {
            changes: Changes::new(place),
            ..Self::default()
        }
    }

    fn answer(&mut self, request: Request, stop: &Stop) -> Answer {
        match request {
            Request::Hello {
                version,
                run_key,
                host,
            } => {
                // Another version understands nothing further; it reads ours and says so.
                self.session = (version == VERSION).then_some(Session { run_key, host });
                Ok(Response::Welcome {
                    version: VERSION,
                    pid: std::process::id(),
                })
            }
            Request::Ping | Request::Alive | Request::Stop | Request::Bye => Ok(Response::Done),
            Request::HostFacts => Ok(self.facts()),
            Request::Sockets => udp_sockets().map(Response::Sockets).map_err(words),
            Request::Corosync => Ok(Response::Corosync(corosync_facts())),
            Request::OpenWindow(flows) => self.open_window(&flows),
            Request::CloseWindow => self.close_window(),
            Request::WatchCluster { at_most } => watch_cluster(at_most, stop),
            Request::OpenReceiver(spec) => self.flows.open_receiver(&spec, self.session()?.run_key),
            Request::OpenSender(spec) => self.flows.open_sender(&spec, self.session()?.run_key),
            Request::ExpectFrom { flow, port } => self.flows.expect_from(flow, port),
            Request::RunSender {
                flow,
                peer_port,
                care,
            } => self.flows.run_sender(flow, peer_port, care, stop),
            Request::FinishReceiver { flow, sent, settle } => {
                self.flows.finish_receiver(flow, sent, span(settle))
            }
            Request::DropFlow(flow) => Ok(self.flows.drop_flow(flow)),
            Request::OpenPathMtuResponder { address } => {
                self.probes.open_responder(address, self.session()?.run_key)
            }
            Request::ClosePathMtuResponder => Ok(self.probes.close_responder()),
            Request::SearchPathMtu {
                source,
                destination,
                port,
                interface_mtu,
                deadline,
            } => {
                let key = self.session()?.run_key;
                probes::search(
                    source,
                    destination,
                    port,
                    key,
                    interface_mtu,
                    span(deadline),
                )
            }
            Request::ListenHello(interfaces) => {
                self.probes.listen(&interfaces, self.session()?.run_key)
            }
            Request::AnnounceHello { interface, link } => {
                let session = self.session()?;
                probes::announce(&interface, &session.host, &link, session.run_key)
            }
            Request::AskForOwn(addresses) => {
                let claims = own_address::claims(&addresses, &self.session()?.host);
                claims.map(Response::Claims).map_err(words)
            }
            Request::ListenMulticast {
                interface,
                unjoined,
            } => {
                let key = self.session()?.run_key;
                self.probes.listen_multicast(&interface, unjoined, key)
            }
            Request::SendUnjoined { source, group } => {
                probes::send_unjoined(source, group, self.session()?.run_key)
            }
            Request::MulticastHeard { wait } => self.probes.multicast_heard(span(wait)),
            Request::OpenCopyReceiver(spec) => {
                // The one before goes first: it may hold the lock of the same destination.
                self.copy = None;
                let (copy, port) = Copy::receive(spec)?;
                self.copy = Some(copy);
                Ok(Response::Port(port))
            }
            Request::StartCopySender(spec) => {
                self.copy = None;
                self.copy = Some(Copy::send(spec)?);
                Ok(Response::Done)
            }
            Request::CopyNow => {
                let copy = self.copy.as_ref().ok_or(copy::NONE)?;
                Ok(Response::CopyNow(copy.now()))
            }
            Request::FinishCopy => {
                let copy = self.copy.take().ok_or(copy::NONE)?;
                Ok(Response::Copied(Box::new(copy.finish())))
            }
            Request::Cluster(order) => {
                let answer = hawser_cluster::host::obey(&order).map_err(words)?;
                Ok(Response::Cluster(Box::new(answer)))
            }
            Request::Hardware => Ok(Response::Hardware(hardware())),
            Request::MeasureRung(spec) => Ok(ladder::measure(&spec)),
            Request::OpenUsage => {
                let observer = self.observer.get_or_insert_with(Observer::start);
                self.ladder.open_usage(observer)
            }
            Request::CloseUsage => {
                let observer = self.observer.get_or_insert_with(Observer::start);
                self.ladder.close_usage(observer)
            }
            Request::RunSenders(flows) => self.flows.run_senders(&flows),
            Request::OpenFanout { receivers } => {
                self.fanout.open(receivers, self.session()?.run_key)
            }
            Request::MeasureFanout(step) => self.fanout.measure(&step),
            Request::CloseFanout => Ok(self.fanout.close()),
            Request::ReadKnob(knob) => self.changes.read(&knob),
            Request::TryKnob { knob, value } => self.changes.begin(&knob, &value),
            Request::TurnKnob { change, after } => self.changes.turn(change, after),
            Request::KeepChange { change, together } => self.changes.keep(change, together),
            Request::Changes => self.changes.list(),
            Request::UndoChange(change) => self.changes.undo(change),
            Request::HellosHeard => {
                let host = self.session()?.host.clone();
                self.probes.heard(&host)
            }
        }
    }

    fn session(&self) -> Result<&Session, String> {
        self.session
            .as_ref()
            .ok_or_else(|| format!("hello with protocol version {VERSION} must come first"))
    }

    fn observer(&mut self) -> &mut Observer {
        self.observer.get_or_insert_with(Observer::start)
    }

    fn facts(&mut self) -> Response {
        let mut facts = host_facts();
        facts.collectors = self.observer().collectors();
        Response::Facts(Box::new(facts))
    }

    fn open_window(&mut self, flows: &[WatchedFlow]) -> Answer {
        self.observer().open(flows).map_err(words)?;
        Ok(Response::Done)
    }

    fn close_window(&mut self) -> Answer {
        let window = self.observer().close().map_err(words)?;
        Ok(Response::Window(Box::new(window)))
    }
}

fn watch_cluster(at_most: Nanos, stop: &Stop) -> Answer {
    let Some(watch) = ClusterWatch::start()? else {
        return Ok(Response::Watched(None));
    };
    Ok(Response::Watched(match watch.watch(stop, span(at_most)) {
        Watched::Trouble(what) => Some(what),
        Watched::Quiet(_) => None,
    }))
}

fn words(error: impl Display) -> String {
    error.to_string()
}

fn span(time: Nanos) -> Duration {
    Duration::from_nanos(time.get())
}
