//! The requests as methods. Each blocks until its answer or its deadline.
//!
//! All of them fail alike: with [`Failure::Declined`](crate::error::Failure) when the agent says
//! no and goes on, with anything else when it is lost.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use hawser_cluster::host::{Answer, Order};
use hawser_copy::{Now, ReceiveSpec, SendSpec};
use hawser_model::copy::CopyEnd;
use hawser_model::fanout::FanoutWindow;
use hawser_model::host::{CorosyncFacts, HostFacts, HostWindow};
use hawser_model::knob::{Change, Knob, RecordedChanges, Setting, Undone};
use hawser_model::ladder::{Hardware, HostUsage, Rung};
use hawser_model::names::{InterfaceName, LinkName};
use hawser_model::probe::{AddressClaim, HelloHeard, MulticastHeard, PathMtu};
use hawser_model::sockets::SocketFacts;
use hawser_model::traffic::{FlowId, FlowSpec, ReceiverReport, SenderReport, WatchedFlow};
use hawser_model::units::{Mtu, Nanos, Packets};
use hawser_rungs::RungSpec;
use hawser_rungs::fanout::FanoutStep;

use crate::client::{Agent, SOON};
use crate::error::AgentError;
use crate::protocol::{Care, Request, Response, Sent};

/// Loading and verifying kernel programs takes a second or two on a busy host.
const SLOW: Duration = Duration::from_secs(60);

/// Makes the function that takes one variant's value out of a response.
macro_rules! value {
    ($variant:ident) => {
        |answer| match answer {
            Response::$variant(value) => Ok(value),
            other => Err(other),
        }
    };
}

fn done(answer: Response) -> Result<(), Response> {
    match answer {
        Response::Done => Ok(()),
        other => Err(other),
    }
}

fn duration(time: Nanos) -> Duration {
    Duration::from_nanos(time.get())
}

impl Agent {
    /// Asks whether it is there.
    ///
    /// # Errors
    /// It is not.
    pub fn ping(&mut self) -> Result<(), AgentError> {
        self.ask(&Request::Ping, SOON, done)
    }

    /// Reads the host's facts, collectors included.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn host_facts(&mut self) -> Result<HostFacts, AgentError> {
        self.ask(&Request::HostFacts, SLOW, value!(Facts))
            .map(|facts| *facts)
    }

    /// Reads the host's UDP sockets.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn sockets(&mut self) -> Result<Vec<SocketFacts>, AgentError> {
        self.ask(&Request::Sockets, SOON, value!(Sockets))
    }

    /// Reads the host's Corosync, when one runs.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn corosync(&mut self) -> Result<Option<CorosyncFacts>, AgentError> {
        self.ask(&Request::Corosync, SOON, value!(Corosync))
    }

    /// Binds a receiver and starts reading; answers its port.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn open_receiver(&mut self, spec: &FlowSpec) -> Result<u16, AgentError> {
        self.ask(&Request::OpenReceiver(spec.clone()), SOON, value!(Port))
    }

    /// Binds a sender; answers its local port.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn open_sender(&mut self, spec: &FlowSpec) -> Result<u16, AgentError> {
        let port = self.ask(&Request::OpenSender(spec.clone()), SOON, value!(Port))?;
        self.durations.insert(spec.flow, duration(spec.duration));
        Ok(port)
    }

    /// Tells an open receiver its sender's port.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn expect_from(&mut self, flow: FlowId, port: u16) -> Result<(), AgentError> {
        self.ask(&Request::ExpectFrom { flow, port }, SOON, done)
    }

    /// Starts observing the host while these flows run.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn open_window(&mut self, flows: &[WatchedFlow]) -> Result<(), AgentError> {
        self.ask(&Request::OpenWindow(flows.to_vec()), SLOW, done)
    }

    /// Sends an open sender's flow to its end, or until it is stopped.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn run_sender(
        &mut self,
        flow: FlowId,
        peer_port: u16,
        care: Care,
    ) -> Result<Sent, AgentError> {
        let lasts = self.durations.remove(&flow).unwrap_or_default();
        let request = Request::RunSender {
            flow,
            peer_port,
            care,
        };
        self.ask(&request, lasts + SOON, value!(Sent))
            .map(|sent| *sent)
    }

    /// Watches the host's Corosync while another host sends: answers the statistic that moved,
    /// `None` when nothing did for `at_most` or until [`crate::Stopper::stop`].
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn watch_cluster(&mut self, at_most: Nanos) -> Result<Option<String>, AgentError> {
        let within = duration(at_most) + SOON;
        self.ask(&Request::WatchCluster { at_most }, within, value!(Watched))
    }

    /// Drains, closes and reports an open receiver, whose sender sent `sent`.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn finish_receiver(
        &mut self,
        flow: FlowId,
        sent: Packets,
        settle: Nanos,
    ) -> Result<ReceiverReport, AgentError> {
        let request = Request::FinishReceiver { flow, sent, settle };
        self.ask(&request, duration(settle) + SOON, value!(Received))
            .map(|report| *report)
    }

    /// Drops what is open of a flow whose other end could not be opened.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn drop_flow(&mut self, flow: FlowId) -> Result<(), AgentError> {
        self.durations.remove(&flow);
        self.ask(&Request::DropFlow(flow), SOON, done)
    }

    /// Ends observing.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn close_window(&mut self) -> Result<HostWindow, AgentError> {
        self.ask(&Request::CloseWindow, SLOW, value!(Window))
            .map(|window| *window)
    }

    /// Opens the answering end of a path-MTU search on the host's own `address`; answers its
    /// port.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn open_path_mtu_responder(&mut self, address: IpAddr) -> Result<u16, AgentError> {
        self.ask(
            &Request::OpenPathMtuResponder { address },
            SOON,
            value!(Port),
        )
    }

    /// Closes it.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn close_path_mtu_responder(&mut self) -> Result<(), AgentError> {
        self.ask(&Request::ClosePathMtuResponder, SOON, done)
    }

    /// Searches the path MTU from `source` to the responder.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn search_path_mtu(
        &mut self,
        source: IpAddr,
        destination: IpAddr,
        port: u16,
        interface_mtu: Mtu,
        deadline: Nanos,
    ) -> Result<PathMtu, AgentError> {
        let request = Request::SearchPathMtu {
            source,
            destination,
            port,
            interface_mtu,
            deadline,
        };
        self.ask(&request, duration(deadline) + SOON, value!(PathMtu))
    }

    /// Starts to listen for layer-2 hellos.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn listen_hello(
        &mut self,
        interfaces: &[(InterfaceName, LinkName)],
    ) -> Result<(), AgentError> {
        self.ask(&Request::ListenHello(interfaces.to_vec()), SOON, done)
    }

    /// Sends a layer-2 hello out of an interface.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn announce_hello(
        &mut self,
        interface: &InterfaceName,
        link: &LinkName,
    ) -> Result<(), AgentError> {
        let request = Request::AnnounceHello {
            interface: interface.clone(),
            link: link.clone(),
        };
        self.ask(&request, SOON, done)
    }

    /// Ends listening; answers what was heard.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn hellos_heard(&mut self) -> Result<Vec<HelloHeard>, AgentError> {
        let own = self.host().clone();
        self.ask(&Request::HellosHeard, SOON, |answer| match answer {
            // What another host heard is that host's to say.
            Response::Hellos(heard) if heard.iter().all(|hello| hello.by == own) => Ok(heard),
            other => Err(other),
        })
    }

    /// Asks for the host's own addresses; answers who else has them.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn ask_for_own(
        &mut self,
        addresses: &[(InterfaceName, LinkName, Ipv4Addr)],
    ) -> Result<Vec<AddressClaim>, AgentError> {
        let own = self.host().clone();
        let request = Request::AskForOwn(addresses.to_vec());
        self.ask(&request, SOON, |answer| match answer {
            Response::Claims(claims) if claims.iter().all(|claim| claim.host == own) => Ok(claims),
            other => Err(other),
        })
    }

    /// Starts to listen to multicast control on an interface.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn listen_multicast(
        &mut self,
        interface: &InterfaceName,
        unjoined: IpAddr,
    ) -> Result<(), AgentError> {
        let request = Request::ListenMulticast {
            interface: interface.clone(),
            unjoined,
        };
        self.ask(&request, SOON, done)
    }

    /// Sends packets to a group that nobody joins; answers how many.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn send_unjoined(&mut self, source: IpAddr, group: IpAddr) -> Result<Packets, AgentError> {
        self.ask(
            &Request::SendUnjoined { source, group },
            SOON,
            value!(SentTo),
        )
    }

    /// Ends listening at the first query or after so long; answers what was heard.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn multicast_heard(&mut self, wait: Nanos) -> Result<MulticastHeard, AgentError> {
        let request = Request::MulticastHeard { wait };
        self.ask(&request, duration(wait) + SOON, value!(Multicast))
    }

    /// Opens the receiving end of a copy, which works by itself from then on; answers its port.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn open_copy_receiver(&mut self, spec: &ReceiveSpec) -> Result<u16, AgentError> {
        let request = Request::OpenCopyReceiver(spec.clone());
        self.ask(&request, SOON, value!(Port))
    }

    /// Starts the sending end of a copy.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn start_copy_sender(&mut self, spec: &SendSpec) -> Result<(), AgentError> {
        self.ask(&Request::StartCopySender(spec.clone()), SOON, done)
    }

    /// Asks how far this end of the copy is.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn copy_now(&mut self) -> Result<Now, AgentError> {
        self.ask(&Request::CopyNow, SOON, value!(CopyNow))
    }

    /// Ends this end of the copy if it has not ended, and answers its report.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn finish_copy(&mut self) -> Result<CopyEnd, AgentError> {
        self.ask(&Request::FinishCopy, SLOW, value!(Copied))
            .map(|end| *end)
    }

    /// Has an order obeyed for the cluster that the host belongs to.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn order(&mut self, order: &Order) -> Result<Answer, AgentError> {
        let request = Request::Cluster(Box::new(order.clone()));
        self.ask(&request, order.patience(), value!(Cluster))
            .map(|answer| *answer)
    }

    /// Reads the host's hardware.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn hardware(&mut self) -> Result<Hardware, AgentError> {
        self.ask(&Request::Hardware, SOON, value!(Hardware))
    }

    /// Measures a rung of the host alone; one that cannot run says so in the answer.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn measure_rung(&mut self, spec: &RungSpec) -> Result<Rung, AgentError> {
        let within = duration(spec.duration()) + SLOW;
        self.ask(&Request::MeasureRung(spec.clone()), within, value!(Rung))
            .map(|rung| *rung)
    }

    /// Starts to watch the host's processors and counters.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn open_usage(&mut self) -> Result<(), AgentError> {
        self.ask(&Request::OpenUsage, SLOW, done)
    }

    /// Ends watching them.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn close_usage(&mut self) -> Result<HostUsage, AgentError> {
        self.ask(&Request::CloseUsage, SLOW, value!(Usage))
            .map(|usage| *usage)
    }

    /// Sends the flows of several open senders at once, to their ends.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn run_senders(
        &mut self,
        flows: &[(FlowId, u16)],
    ) -> Result<Vec<SenderReport>, AgentError> {
        let lasts = flows
            .iter()
            .filter_map(|(flow, _)| self.durations.remove(flow))
            .max();
        let within = lasts.unwrap_or_default() + SOON;
        self.ask(
            &Request::RunSenders(flows.to_vec()),
            within,
            value!(AllSent),
        )
    }

    /// Builds so many receivers of one flow on the host; answers the processors they may use.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn open_fanout(&mut self, receivers: u32) -> Result<Vec<u32>, AgentError> {
        let request = Request::OpenFanout { receivers };
        self.ask(&request, SLOW, value!(Processors))
    }

    /// Measures a window of a fan-out.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn measure_fanout(&mut self, step: &FanoutStep) -> Result<FanoutWindow, AgentError> {
        let within = duration(step.duration) + SLOW;
        let request = Request::MeasureFanout(step.clone());
        self.ask(&request, within, value!(Fanout)).map(|w| *w)
    }

    /// Takes the receivers of a fan-out down.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn close_fanout(&mut self) -> Result<(), AgentError> {
        self.ask(&Request::CloseFanout, SLOW, done)
    }

    /// Reads a knob.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn read_knob(&mut self, knob: &Knob) -> Result<Setting, AgentError> {
        self.ask(&Request::ReadKnob(knob.clone()), SOON, value!(Setting))
    }

    /// Turns a knob as a trial, which ends with the agent.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn try_knob(&mut self, knob: &Knob, value: &str) -> Result<Change, AgentError> {
        let request = Request::TryKnob {
            knob: knob.clone(),
            value: value.to_owned(),
        };
        self.ask(&request, SOON, value!(Changed)).map(|c| *c)
    }

    /// Turns a trial's knob to its value after, or back to the one before.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn turn_knob(&mut self, change: u64, after: bool) -> Result<(), AgentError> {
        self.ask(&Request::TurnKnob { change, after }, SOON, done)
    }

    /// Keeps a trial's change and persists it where the host can. `together` are the ids of the
    /// changes that are one with it.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn keep_change(
        &mut self,
        change: u64,
        together: Vec<String>,
    ) -> Result<Change, AgentError> {
        let request = Request::KeepChange { change, together };
        self.ask(&request, SOON, value!(Changed)).map(|c| *c)
    }

    /// Reads the host's journal of changes.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn changes(&mut self) -> Result<RecordedChanges, AgentError> {
        self.ask(&Request::Changes, SOON, value!(Changes))
    }

    /// Undoes a change.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn undo_change(&mut self, change: u64) -> Result<Undone, AgentError> {
        self.ask(&Request::UndoChange(change), SOON, value!(Undone))
            .map(|u| *u)
    }

    /// Ends the agent in good order.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn bye(mut self) -> Result<(), AgentError> {
        self.ask(&Request::Bye, SOON, done)
    }
}
