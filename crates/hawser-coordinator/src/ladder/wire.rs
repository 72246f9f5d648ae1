//! Rungs between two hosts: TCP in one stream and several, UDP in large datagrams and small ones.

use hawser_agent::questions::{
    DropFlow, ExpectFrom, FinishReceiver, OpenReceiver, OpenSender, RunSenders,
};
use hawser_host::HostError;
use hawser_model::ladder::{Rung, RungKind, Sample};
use hawser_model::traffic::{
    FlowId, FlowSpec, ReceiverReport, SenderReport, StreamState, Transport,
};
use hawser_model::units::{Bytes, Nanos};
use hawser_rungs::loopback::{slices, stream};

use super::plan::{LadderOptions, Task};
use super::{Ends, blank};

/// A stream's or flow's last bytes may take this long.
const SETTLE: Nanos = Nanos::from_millis(60);

/// Datagrams go in so many flows, one after the other: their reports have no slices.
const ROUNDS: u64 = 4;

/// Receive buffer of the UDP rungs: what a program that wants the rate asks for.
const UDP_BUFFER: Bytes = Bytes(4 << 20);

/// Payload of the datagrams that show what a frame costs.
const SMALL: u32 = 64;

/// Measures one. `other` is the congestion control of the rung that has another one.
pub(super) fn measure(
    ends: &mut Ends<'_>,
    task: &Task,
    options: &LadderOptions,
    other: Option<&str>,
) -> Result<Rung, HostError> {
    match task.kind {
        RungKind::WireTcp => tcp(ends, task, 1, None),
        RungKind::WireTcpOther => tcp(ends, task, 1, other),
        RungKind::WireTcpMany => tcp(ends, task, options.streams.max(2), None),
        RungKind::WireUdpSmall => udp(ends, task, SMALL),
        _ => {
            let headers = if ends.path.destination.is_ipv4() {
                28
            } else {
                48
            };
            let payload = ends.path.mtu.0.saturating_sub(headers).clamp(64, 65_000);
            udp(ends, task, payload)
        }
    }
}

fn tcp(
    ends: &mut Ends<'_>,
    task: &Task,
    streams: u32,
    congestion: Option<&str>,
) -> Result<Rung, HostError> {
    let specs: Vec<FlowSpec> = (0..streams)
        .map(|_| {
            let flow = FlowId(ends.flow());
            let path = &ends.path;
            FlowSpec {
                congestion: congestion.map(str::to_owned),
                ..stream(flow, path.source, path.destination, task.duration)
            }
        })
        .collect();
    let (reports, usage) = ends.watched(|ends| run(ends, &specs))?;
    let lasted = |sent: &SenderReport| sent.elapsed.min(task.duration);
    let each: Vec<Vec<Sample>> = reports
        .iter()
        .map(|(sent, received)| slices(received, lasted(sent)))
        .collect();
    let how = match (streams, congestion) {
        (1, None) => "one stream, 128 KiB writes".to_owned(),
        (1, Some(name)) => format!("one stream, {name}, 128 KiB writes"),
        (n, _) => format!("{n} streams, 128 KiB writes"),
    };
    Ok(Rung {
        samples: together(&each),
        usage,
        streams: states(reports.into_iter().map(|(sent, _)| sent)),
        ..blank(task.kind, how)
    })
}

fn udp(ends: &mut Ends<'_>, task: &Task, payload: u32) -> Result<Rung, HostError> {
    let mut samples = Vec::new();
    let duration = Nanos(task.duration.0 / ROUNDS);
    let ((), usage) = ends.watched(|ends| {
        for _ in 0..ROUNDS {
            let flow = FlowId(ends.flow());
            let path = &ends.path;
            let spec = FlowSpec {
                transport: Transport::Udp,
                payload,
                receive_buffer: Some(UDP_BUFFER),
                ..stream(flow, path.source, path.destination, duration)
            };
            for (_, report) in run(ends, &[spec])? {
                samples.push(Sample {
                    elapsed: report.elapsed,
                    bytes: Bytes(report.received.0 * u64::from(payload)),
                });
            }
        }
        Ok(())
    })?;
    Ok(Rung {
        samples,
        usage,
        ..blank(task.kind, format!("{payload}-byte datagrams"))
    })
}

/// Sends flows at once and reports both ends of each.
fn run(
    ends: &mut Ends<'_>,
    specs: &[FlowSpec],
) -> Result<Vec<(SenderReport, ReceiverReport)>, HostError> {
    let lasts = specs.iter().map(|spec| spec.duration).max();
    let sent = open(ends, specs).and_then(|flows| {
        ends.sender.ask(&RunSenders {
            flows,
            lasts: lasts.unwrap_or_default(),
        })
    });
    let sent = match sent {
        Ok(sent) => sent,
        Err(error) => {
            for spec in specs {
                ends.sender.ask(&DropFlow(spec.flow))?;
                ends.receiver.ask(&DropFlow(spec.flow))?;
            }
            return Err(error);
        }
    };
    specs
        .iter()
        .zip(sent)
        .map(|(spec, sent)| {
            let received = ends.receiver.ask(&FinishReceiver {
                flow: spec.flow,
                sent: sent.sent,
                settle: SETTLE,
            })?;
            Ok((sent, received))
        })
        .collect()
}

/// Opens both ends of each; the receivers' ports.
fn open(ends: &mut Ends<'_>, specs: &[FlowSpec]) -> Result<Vec<(FlowId, u16)>, HostError> {
    specs
        .iter()
        .map(|spec| {
            let flow = spec.flow;
            let receiver = ends.receiver.ask(&OpenReceiver(spec.clone()))?;
            let port = ends.sender.ask(&OpenSender(spec.clone()))?;
            ends.receiver.ask(&ExpectFrom { flow, port })?;
            Ok((flow, receiver))
        })
        .collect()
}

fn states(reports: impl Iterator<Item = SenderReport>) -> Vec<StreamState> {
    reports.filter_map(|report| report.stream).collect()
}

/// Slices of several streams as those of one: what all of them did in the same slice.
fn together(each: &[Vec<Sample>]) -> Vec<Sample> {
    let most = each.iter().map(Vec::len).max().unwrap_or(0);
    (0..most)
        .map(|slice| {
            let of_all = each.iter().filter_map(|samples| samples.get(slice));
            Sample {
                elapsed: of_all.clone().map(|s| s.elapsed).max().unwrap_or_default(),
                bytes: of_all.map(|s| s.bytes).sum(),
            }
        })
        .collect()
}
