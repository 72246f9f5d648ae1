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
use hawser_host::{Host, Hosts};
use hawser_model::case::Case;
use hawser_model::copy::{CopyEnd, RateSample};
use hawser_model::host::HostWindow;
use hawser_model::ladder::{Hardware, HostUsage, Rung, RungKind, Sample};
use hawser_model::names::HostName;
use hawser_model::probe::{OwnAddresses, PathMtu};
use hawser_model::setup::HostSetup;
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
    slices: Vec<Bytes>,
    window: bool,
}

/// The hosts of a case, on one wire.
pub fn hosts(case: &Case, wire: &Wire) -> Hosts {
    receiving(case, wire, &[Bytes(1 << 20); 10])
}

/// The same, at which so much of a stream arrives in each slice.
pub fn receiving(case: &Case, wire: &Wire, slices: &[Bytes]) -> Hosts {
    let case = Arc::new(case.clone());
    let host = |name: &HostName| -> (HostName, Box<dyn Host>) {
        let node = Node {
            host: name.clone(),
            case: case.clone(),
            flows: BTreeMap::new(),
            slices: slices.to_vec(),
            window: false,
        };
        let host = Simulated::new(name.clone(), node, QUESTIONS, wire);
        (name.clone(), Box::new(host))
    };
    case.hosts.keys().map(host).collect()
}

hawser_host::answers! {
    Node;
    ReadSetup: |_, _| HostSetup::default();
    ReadSockets: |_, node| {
        node.case.sockets.get(&node.host).cloned().unwrap_or_default()
    };
    ReadHardware: |_, _| Hardware::default();
    ListenHello: |_, _| ();
    AnnounceHello: |_, _| ();
    HearHellos: |_, _| Vec::new();
    AskForOwn: |_, _| OwnAddresses::default();
    OpenPathMtuResponder: |_, _| 7000;
    SearchPathMtu: |ask, _| passes(ask.interface_mtu);
    ClosePathMtuResponder: |_, _| ();
    OpenReceiver: |ask, node| {
        node.flows.insert(ask.0.flow, ask.0);
        5000
    };
    OpenSender: |ask, node| {
        node.flows.insert(ask.0.flow, ask.0);
        6000
    };
    ExpectFrom: |_, _| ();
    OpenWindow: |_, node| {
        if std::mem::replace(&mut node.window, true) {
            return Err("a window is open already".into());
        }
    };
    RunSender: |ask, node| Sent {
        report: sent(&node.flows[&ask.flow]),
        stopped: None,
    };
    RunSenders: |ask, node| {
        ask.flows.iter().map(|(flow, _)| sent(&node.flows[flow])).collect()
    };
    FinishReceiver: |ask, node| ReceiverReport {
        received: ask.sent,
        elapsed: node.flows[&ask.flow].duration,
        stream_bytes: node.slices.iter().copied().sum(),
        slices: node.slices.clone(),
        ..ReceiverReport::default()
    };
    CloseWindow: |_, node| {
        if !std::mem::take(&mut node.window) {
            return Err("no window is open".into());
        }
        HostWindow::default()
    };
    DropFlow: |ask, node| drop(node.flows.remove(&ask.0));
    OpenUsage: |_, _| ();
    CloseUsage: |_, _| HostUsage::default();
    MeasureRung: |ask, _| rung(&ask.0);
    OpenCopyReceiver: |_, _| 8000;
    StartCopySender: |_, _| ();
    CopyNow: |_, _| Now { finished: true, ..Now::default() };
    FinishCopy: |_, _| CopyEnd {
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
