//! Simulated hosts that measure: all that is sent arrives, at a steady rate.

use std::collections::BTreeMap;
use std::sync::Arc;

use hawser_agent::questions::{
    AnnounceHello, AskForOwn, ClosePathMtuResponder, CloseUsage, CloseWindow, CopyNow, DropFlow,
    ExpectFrom, FinishCopy, FinishReceiver, HearHellos, ListenHello, MeasureRung, OpenCopyReceiver,
    OpenPathMtuResponder, OpenReceiver, OpenSender, OpenUsage, OpenWindow, ReadHardware, ReadSetup,
    ReadSockets, RunSender, RunSenders, SearchPathMtu, Sent, StartCopySender,
};
use hawser_copy::Now;
use hawser_host::sim::{Simulated, Wire};
use hawser_host::{Answers, Declined, Entry, Host, Hosts, Stop};
use hawser_model::case::Case;
use hawser_model::copy::{CopyEnd, RateSample};
use hawser_model::host::HostWindow;
use hawser_model::ladder::{Hardware, HostUsage, Rung, RungKind, Sample};
use hawser_model::names::HostName;
use hawser_model::probe::{AddressClaim, HelloHeard, PathMtu};
use hawser_model::setup::HostSetup;
use hawser_model::sockets::SocketFacts;
use hawser_model::traffic::{FlowId, FlowSpec, ReceiverReport, SenderReport, StreamState};
use hawser_model::units::{Bytes, Mtu, Nanos, Packets};
use hawser_rungs::RungSpec;

/// Packets of every flow.
pub const SENT: Packets = Packets(1_000);

/// A host that measures.
pub struct Node {
    host: HostName,
    case: Arc<Case>,
    flows: BTreeMap<FlowId, FlowSpec>,
}

/// The hosts of a case, on one wire.
pub fn hosts(case: &Case, wire: &Wire) -> Hosts {
    let case = Arc::new(case.clone());
    let host = |name: &HostName| -> (HostName, Box<dyn Host>) {
        let node = Node {
            host: name.clone(),
            case: case.clone(),
            flows: BTreeMap::new(),
        };
        let host = Simulated::new(name.clone(), node, QUESTIONS, wire);
        (name.clone(), Box::new(host))
    };
    case.hosts.keys().map(host).collect()
}

const QUESTIONS: &[Entry<Node>] = &[
    Entry::of::<ReadSetup>(),
    Entry::of::<ReadSockets>(),
    Entry::of::<ReadHardware>(),
    Entry::of::<ListenHello>(),
    Entry::of::<AnnounceHello>(),
    Entry::of::<HearHellos>(),
    Entry::of::<AskForOwn>(),
    Entry::of::<OpenPathMtuResponder>(),
    Entry::of::<SearchPathMtu>(),
    Entry::of::<ClosePathMtuResponder>(),
    Entry::of::<OpenReceiver>(),
    Entry::of::<OpenSender>(),
    Entry::of::<ExpectFrom>(),
    Entry::of::<OpenWindow>(),
    Entry::of::<RunSender>(),
    Entry::of::<RunSenders>(),
    Entry::of::<FinishReceiver>(),
    Entry::of::<CloseWindow>(),
    Entry::of::<DropFlow>(),
    Entry::of::<OpenUsage>(),
    Entry::of::<CloseUsage>(),
    Entry::of::<MeasureRung>(),
    Entry::of::<OpenCopyReceiver>(),
    Entry::of::<StartCopySender>(),
    Entry::of::<CopyNow>(),
    Entry::of::<FinishCopy>(),
];

/// Answers a question by a function of it and the node.
macro_rules! answers {
    ($($ask:ident -> $answer:ty: |$it:pat_param, $node:ident| $by:expr;)*) => {
        $(impl Answers<Node> for $ask {
            fn answer(self, $node: &mut Node, _: &Stop) -> Result<$answer, Declined> {
                let $it = self;
                Ok($by)
            }
        })*
    };
}

answers! {
    ReadSetup -> HostSetup: |_, _node| HostSetup::default();
    ReadSockets -> Vec<SocketFacts>: |_, node| {
        node.case.sockets.get(&node.host).cloned().unwrap_or_default()
    };
    ReadHardware -> Hardware: |_, _node| Hardware::default();
    ListenHello -> (): |_, _node| ();
    AnnounceHello -> (): |_, _node| ();
    HearHellos -> Vec<HelloHeard>: |_, _node| Vec::new();
    AskForOwn -> Vec<AddressClaim>: |_, _node| Vec::new();
    OpenPathMtuResponder -> u16: |_, _node| 7000;
    SearchPathMtu -> PathMtu: |ask, _node| passes(ask.interface_mtu);
    ClosePathMtuResponder -> (): |_, _node| ();
    OpenReceiver -> u16: |ask, node| {
        node.flows.insert(ask.0.flow, ask.0);
        5000
    };
    OpenSender -> u16: |ask, node| {
        node.flows.insert(ask.0.flow, ask.0);
        6000
    };
    ExpectFrom -> (): |_, _node| ();
    OpenWindow -> (): |_, _node| ();
    RunSender -> Sent: |ask, node| Sent {
        report: sent(&node.flows[&ask.flow]),
        stopped: None,
    };
    RunSenders -> Vec<SenderReport>: |ask, node| {
        ask.flows.iter().map(|(flow, _)| sent(&node.flows[flow])).collect()
    };
    FinishReceiver -> ReceiverReport: |ask, node| ReceiverReport {
        received: ask.sent,
        elapsed: node.flows[&ask.flow].duration,
        slices: vec![Bytes(1 << 20); 10],
        ..ReceiverReport::default()
    };
    CloseWindow -> HostWindow: |_, _node| HostWindow::default();
    DropFlow -> (): |ask, node| drop(node.flows.remove(&ask.0));
    OpenUsage -> (): |_, _node| ();
    CloseUsage -> HostUsage: |_, _node| HostUsage::default();
    MeasureRung -> Rung: |ask, _node| rung(&ask.0);
    OpenCopyReceiver -> u16: |_, _node| 8000;
    StartCopySender -> (): |_, _node| ();
    CopyNow -> Now: |_, _node| Now { finished: true, ..Now::default() };
    FinishCopy -> CopyEnd: |_, _node| CopyEnd {
        samples: (0..20).map(moment).collect(),
        ..CopyEnd::default()
    };
}

fn passes(mtu: Mtu) -> PathMtu {
    let mut found: PathMtu = hawser_cases::read::<Case>("bases/pair").measurements[0]
        .path_mtu
        .clone()
        .expect("the base has one");
    found.passed = Some(mtu);
    found
}

fn sent(spec: &FlowSpec) -> SenderReport {
    SenderReport {
        sent: SENT,
        elapsed: spec.duration,
        stream: Some(StreamState::default()),
        ..SenderReport::default()
    }
}

fn rung(spec: &RungSpec) -> Rung {
    let sample = Sample {
        elapsed: Nanos::from_millis(100),
        bytes: Bytes(1 << 20),
    };
    Rung {
        kind: RungKind::MemoryCopy,
        host: None,
        how: format!("{spec:?}"),
        depth: None,
        unavailable: None,
        samples: vec![sample; 5],
        usage: BTreeMap::new(),
        streams: Vec::new(),
        stages: Vec::new(),
    }
}

fn moment(number: u64) -> RateSample {
    RateSample {
        at: Nanos::from_millis(50 * number),
        bytes: Bytes(number << 20),
        ..RateSample::default()
    }
}
