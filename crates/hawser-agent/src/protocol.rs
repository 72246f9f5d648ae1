//! What coordinator and agent say to each other.
//!
//! The coordinator sends a [`Request`], the agent answers it with exactly one [`Response`], in
//! order. Two messages have no answer and may come while a request is being worked on:
//! [`Request::Alive`] and [`Request::Stop`].

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use hawser_cluster::host::{Answer, Order};
use hawser_copy::{Now, ReceiveSpec, SendSpec};
use hawser_model::copy::CopyEnd;
use hawser_model::fanout::FanoutWindow;
use hawser_model::host::{CorosyncFacts, HostFacts, HostWindow};
use hawser_model::knob::{Change, Knob, RecordedChanges, Setting, Undone};
use hawser_model::ladder::{Hardware, HostUsage, Rung};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::probe::{AddressClaim, HelloHeard, MulticastHeard, PathMtu};
use hawser_model::sockets::SocketFacts;
use hawser_model::traffic::{FlowId, FlowSpec, ReceiverReport, RunKey, SenderReport, WatchedFlow};
use hawser_model::units::{Mtu, Nanos, Packets};
use hawser_rungs::RungSpec;
use hawser_rungs::fanout::FanoutStep;

/// Version of the protocol. Any change to a message raises it: coordinator and agent are the
/// same binary unless somebody started another one by hand.
pub const VERSION: u32 = 11;

/// How often the coordinator says [`Request::Alive`].
pub const ALIVE_EVERY: Duration = Duration::from_secs(5);

/// An agent that heard nothing for so long ends: a cut network does not close its stdin (sshd
/// notices after its TCP keepalive, two hours by default). The coordinator's own ssh has given up
/// after 15 s; until then what an agent has turned on the link between them may be what cuts it.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(20);

/// What the coordinator asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// The first request. Answer: [`Response::Welcome`].
    Hello {
        /// [`VERSION`] of the coordinator.
        version: u32,
        /// The run's key: travels here and not in an argument list, which anybody can read.
        run_key: RunKey,
        /// What the coordinator calls this host.
        host: HostName,
    },
    /// Answer: [`Response::Done`].
    Ping,
    /// The coordinator is there. No answer.
    Alive,
    /// End the running [`Request::RunSender`] or [`Request::WatchCluster`] now; it answers as
    /// usual. Without one, nothing happens. No answer.
    Stop,
    /// Answer: [`Response::Facts`].
    HostFacts,
    /// Answer: [`Response::Sockets`].
    Sockets,
    /// Answer: [`Response::Corosync`].
    Corosync,
    /// Binds a receiver and starts reading. Answer: [`Response::Port`].
    OpenReceiver(FlowSpec),
    /// Binds a sender. Answer: [`Response::Port`], its local port.
    OpenSender(FlowSpec),
    /// Tells an open receiver its sender's port. Answer: [`Response::Done`].
    ExpectFrom {
        /// The receiver's flow.
        flow: FlowId,
        /// The sender's local port.
        port: u16,
    },
    /// Starts observing. Answer: [`Response::Done`].
    OpenWindow(Vec<WatchedFlow>),
    /// Sends the flow to its end. Answer, after the flow's duration: [`Response::Sent`].
    RunSender {
        /// The flow of an open sender.
        flow: FlowId,
        /// The receiver's port.
        peer_port: u16,
        /// Whether to stop by itself when a Corosync on this host reports trouble.
        care: Care,
    },
    /// Watches the host's Corosync while another host sends. Answer, at trouble, at
    /// [`Request::Stop`] or after `at_most`: [`Response::Watched`].
    WatchCluster {
        /// How long to watch.
        at_most: Nanos,
    },
    /// Drains, closes and reports a receiver. Answer: [`Response::Received`].
    FinishReceiver {
        /// The flow.
        flow: FlowId,
        /// What its sender sent.
        sent: Packets,
        /// How long the queue must stay empty.
        settle: Nanos,
    },
    /// Drops whatever is open of a flow, because its other end could not be opened. Answer:
    /// [`Response::Done`], also when nothing was open.
    DropFlow(FlowId),
    /// Ends observing. Answer: [`Response::Window`].
    CloseWindow,
    /// Opens the answering end of a path-MTU search on this address, instead of any that was
    /// open before. Answer: [`Response::Port`].
    OpenPathMtuResponder {
        /// The host's own address on the link.
        address: IpAddr,
    },
    /// Closes it. Answer: [`Response::Done`].
    ClosePathMtuResponder,
    /// Searches the path MTU. Answer: [`Response::PathMtu`].
    SearchPathMtu {
        /// The host's own address on the link.
        source: IpAddr,
        /// The responder's address.
        destination: IpAddr,
        /// The responder's port.
        port: u16,
        /// MTU of the sending interface.
        interface_mtu: Mtu,
        /// How long the search may take.
        deadline: Nanos,
    },
    /// Starts to listen for layer-2 hellos. Answer: [`Response::Done`].
    ListenHello(Vec<(InterfaceName, LinkName)>),
    /// Sends a layer-2 hello. Answer: [`Response::Done`].
    AnnounceHello {
        /// Out of this interface.
        interface: InterfaceName,
        /// Which carries this link.
        link: LinkName,
    },
    /// Ends listening. Answer: [`Response::Hellos`].
    HellosHeard,
    /// Asks for the host's own addresses. Answer: [`Response::Claims`].
    AskForOwn(Vec<(InterfaceName, LinkName, Ipv4Addr)>),
    /// Starts to listen to multicast control on an interface. Answer: [`Response::Done`].
    ListenMulticast {
        /// The interface.
        interface: InterfaceName,
        /// A group that nobody joins.
        unjoined: IpAddr,
    },
    /// Sends packets to a group that nobody joins. Answer: [`Response::SentTo`].
    SendUnjoined {
        /// The host's own address on the link.
        source: IpAddr,
        /// The group.
        group: IpAddr,
    },
    /// Ends listening, at the first query or after so long. Answer: [`Response::Multicast`].
    MulticastHeard {
        /// How long to listen on.
        wait: Nanos,
    },
    /// Opens the receiving end of a copy, instead of any copy before. It works by itself from
    /// then on. Answer: [`Response::Port`].
    OpenCopyReceiver(ReceiveSpec),
    /// Starts the sending end of a copy, instead of any copy before. Answer: [`Response::Done`].
    StartCopySender(SendSpec),
    /// Asks how far the copy is. Answer: [`Response::CopyNow`].
    CopyNow,
    /// Ends the copy if it has not ended, and asks for its report. Answer:
    /// [`Response::Copied`].
    FinishCopy,
    /// Something is done for the cluster that the host belongs to. Answer: [`Response::Cluster`].
    Cluster(Box<Order>),
    /// Answer: [`Response::Hardware`].
    Hardware,
    /// Measures a rung of this host alone. Answer: [`Response::Rung`], also when it cannot run.
    MeasureRung(RungSpec),
    /// Starts to watch processors and counters. Answer: [`Response::Done`].
    OpenUsage,
    /// Ends it. Answer: [`Response::Usage`].
    CloseUsage,
    /// Sends the flows of several open senders at once, each to its receiver's port, to their
    /// ends. Answer: [`Response::AllSent`], in the order of the flows.
    RunSenders(Vec<(FlowId, u16)>),
    /// Builds so many receivers of one flow, as guests behind a bridge, instead of any before. Answer:
    /// [`Response::Processors`], those that the measurement may use.
    OpenFanout {
        /// The most that will receive.
        receivers: u32,
    },
    /// Measures a window. Answer: [`Response::Fanout`].
    MeasureFanout(FanoutStep),
    /// Takes the receivers down. Answer: [`Response::Done`].
    CloseFanout,
    /// Reads a knob. Answer: [`Response::Setting`].
    ReadKnob(Knob),
    /// Turns a knob as a trial: undone when the agent ends, however it ends. Answer:
    /// [`Response::Changed`].
    TryKnob {
        /// Which.
        knob: Knob,
        /// The value to try.
        value: String,
    },
    /// Turns the knob of a trial to the value before, or to the value after. Answer:
    /// [`Response::Done`].
    TurnKnob {
        /// The change's number.
        change: u64,
        /// To the value after.
        after: bool,
    },
    /// Keeps a trial's change. Answer: [`Response::Changed`].
    KeepChange {
        /// The change's number.
        change: u64,
        /// Ids of the changes that are one with it.
        together: Vec<String>,
    },
    /// All changes in the host's journal. Answer: [`Response::Changes`].
    Changes,
    /// Undoes a change. Answer: [`Response::Undone`].
    UndoChange(u64),
    /// The last request. Answer: [`Response::Done`]; then the agent ends.
    Bye,
}

/// Whether a sender minds the cluster on its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Care {
    /// Stop when Corosync reports trouble: a live cluster.
    Gentle,
    /// Go on: a maintenance window.
    None,
}

/// What the agent answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// To [`Request::Hello`].
    Welcome {
        /// [`VERSION`] of the agent.
        version: u32,
        /// The agent's process id on its host.
        pid: u32,
    },
    /// Done; there is nothing to report.
    Done,
    /// The host's facts.
    Facts(Box<HostFacts>),
    /// Its UDP sockets.
    Sockets(Vec<SocketFacts>),
    /// Its Corosync, when one runs.
    Corosync(Option<CorosyncFacts>),
    /// The local port of what was opened.
    Port(u16),
    /// A flow was sent.
    Sent(Box<Sent>),
    /// What [`Request::WatchCluster`] saw: the statistic that moved.
    Watched(Option<String>),
    /// A flow was received.
    Received(Box<ReceiverReport>),
    /// What happened on the host meanwhile.
    Window(Box<HostWindow>),
    /// What the search found.
    PathMtu(PathMtu),
    /// The hellos heard.
    Hellos(Vec<HelloHeard>),
    /// Who answered for the host's own addresses.
    Claims(Vec<AddressClaim>),
    /// What was heard of multicast control.
    Multicast(MulticastHeard),
    /// So many packets were sent.
    SentTo(Packets),
    /// How far the copy is.
    CopyNow(Now),
    /// What this end of a copy did.
    Copied(Box<CopyEnd>),
    /// The order was obeyed.
    Cluster(Box<Answer>),
    /// To [`Request::Hardware`].
    Hardware(Hardware),
    /// A rung, or why it cannot run.
    Rung(Box<Rung>),
    /// What processors and counters did.
    Usage(Box<HostUsage>),
    /// Several flows were sent.
    AllSent(Vec<SenderReport>),
    /// Numbers of processors.
    Processors(Vec<u32>),
    /// A window of a fan-out.
    Fanout(Box<FanoutWindow>),
    /// A knob as it stands.
    Setting(Setting),
    /// A change as the journal has it.
    Changed(Box<Change>),
    /// All changes.
    Changes(RecordedChanges),
    /// What became of a change.
    Undone(Box<Undone>),
    /// The request could not be done; the agent goes on.
    Failed {
        /// The call and the object, in the words of who failed.
        error: String,
    },
}

/// How a flow was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// The sender's report; of what was sent until then when it stopped early.
    pub report: SenderReport,
    /// Why it stopped early; absent when it ran to its end.
    pub stopped: Option<StopReason>,
}

/// Why a flow ended early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The coordinator asked for it.
    Asked,
    /// Corosync on this host reported trouble: the statistic that moved.
    Cluster(String),
}

impl Request {
    /// What it is called in error messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hello { .. } => "hello",
            Self::Ping => "ping",
            Self::Alive => "alive",
            Self::Stop => "stop",
            Self::HostFacts => "host facts",
            Self::Sockets => "sockets",
            Self::Corosync => "corosync",
            Self::OpenReceiver(_) => "open receiver",
            Self::OpenSender(_) => "open sender",
            Self::ExpectFrom { .. } => "expect from",
            Self::OpenWindow(_) => "open window",
            Self::RunSender { .. } => "run sender",
            Self::WatchCluster { .. } => "watch cluster",
            Self::FinishReceiver { .. } => "finish receiver",
            Self::DropFlow(_) => "drop flow",
            Self::CloseWindow => "close window",
            Self::OpenPathMtuResponder { .. } => "open path-MTU responder",
            Self::ClosePathMtuResponder => "close path-MTU responder",
            Self::SearchPathMtu { .. } => "search path MTU",
            Self::ListenHello(_) => "listen for hellos",
            Self::AnnounceHello { .. } => "announce hello",
            Self::HellosHeard => "hellos heard",
            Self::AskForOwn(_) => "ask for own addresses",
            Self::ListenMulticast { .. } => "listen to multicast control",
            Self::SendUnjoined { .. } => "send to a group nobody joins",
            Self::MulticastHeard { .. } => "multicast control heard",
            Self::OpenCopyReceiver(_) => "open copy receiver",
            Self::StartCopySender(_) => "start copy sender",
            Self::CopyNow => "copy now",
            Self::FinishCopy => "finish copy",
            Self::Cluster(order) => order.name(),
            Self::Hardware => "hardware",
            Self::MeasureRung(_) => "measure rung",
            Self::OpenUsage => "open usage",
            Self::CloseUsage => "close usage",
            Self::RunSenders(_) => "run senders",
            Self::OpenFanout { .. } => "open fan-out",
            Self::MeasureFanout(_) => "measure fan-out",
            Self::CloseFanout => "close fan-out",
            Self::ReadKnob(_) => "read knob",
            Self::TryKnob { .. } => "try knob",
            Self::TurnKnob { .. } => "turn knob",
            Self::KeepChange { .. } => "keep change",
            Self::Changes => "changes",
            Self::UndoChange(_) => "undo change",
            Self::Bye => "bye",
        }
    }
}
