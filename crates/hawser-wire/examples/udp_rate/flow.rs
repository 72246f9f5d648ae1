//! Hawser's own ends of the measured flow, each a process of its own like the others'.

use std::io::{BufRead, Write};
use std::time::Duration;

use hawser_model::traffic::{Batching, FlowSpec, Rate, SenderReport};
use hawser_model::units::{Bytes, Nanos};
use hawser_wire::{Receiver, Sender};

use crate::common::{self, KEY};

/// The flow: as fast as possible, in batches the kernel cuts before the wire and joins after.
pub fn spec(payload: u32, length: Duration, batching: Batching) -> FlowSpec {
    FlowSpec {
        payload,
        rate: Rate::Max,
        duration: Nanos(length.as_nanos() as u64),
        receive_buffer: Some(Bytes(4 << 20)),
        batching,
        ..common::flow()
    }
}

/// Sends what the argument specifies, to the port it names; prints the report.
pub fn send(argument: &str) {
    let (spec, port): (FlowSpec, u16) = serde_json::from_str(argument).expect("a flow and a port");
    let sender = Sender::open(&spec, KEY).expect("the sender opens");
    let report = sender.run(port).expect("the sender runs");
    println!(
        "{}",
        serde_json::to_string(&report).expect("a report is JSON")
    );
}

/// Receives it: prints the port, reads the sender's report, prints its own.
pub fn receive(argument: &str) {
    let spec: FlowSpec = serde_json::from_str(argument).expect("a flow");
    let receiver = Receiver::open(&spec, KEY).expect("the receiver opens");
    println!("{}", receiver.port());
    std::io::stdout().flush().expect("somebody reads the port");
    let mut line = String::new();
    let told = std::io::stdin().lock().read_line(&mut line);
    told.expect("the sender's report comes");
    let sent: SenderReport = serde_json::from_str(&line).expect("a sender's report");
    let settle = Duration::from_millis(100);
    let report = receiver
        .finish(sent.sent, settle)
        .expect("the receiver ends");
    println!(
        "{}",
        serde_json::to_string(&report).expect("a report is JSON")
    );
}
