//! One TCP stream as fast as it goes, for benchmarks: `tcp_rate receive ADDRESS` prints its port, then
//! takes one stream; `tcp_rate send FROM TO PORT SECONDS` prints MB/s.

use std::io::{Read, Write};
use std::time::Duration;

use hawser_model::traffic::{FlowId, FlowSpec, Rate, RunKey, Transport};
use hawser_model::units::{Nanos, Packets};
use hawser_wire::{Receiver, Sender};

/// Bytes of one write, as `iperf3` has it.
const WRITE: u32 = 128 * 1024;

const KEY: RunKey = RunKey(0x6877_7372);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["receive", at] => {
            let spec = spec(at, at, 0.0)?;
            let receiver = Receiver::open(&spec, KEY)?;
            println!("{}", receiver.port());
            std::io::stdout().flush()?;
            // The benchmark closes stdin when the sender is done.
            std::io::stdin().read_to_end(&mut Vec::new())?;
            let report = receiver.finish(Packets(0), Duration::from_millis(100))?;
            let seconds = report.elapsed.as_secs_f64();
            println!("{:.1}", report.stream_bytes.0 as f64 / 1e6 / seconds);
        }
        ["send", from, to, port, seconds] => {
            let spec = spec(from, to, seconds.parse()?)?;
            Sender::open(&spec, KEY)?.run(port.parse()?)?;
        }
        _ => return Err("receive ADDRESS | send FROM TO PORT SECONDS".into()),
    }
    Ok(())
}

fn spec(from: &str, to: &str, seconds: f64) -> Result<FlowSpec, std::net::AddrParseError> {
    Ok(FlowSpec::plain(
        FlowId(1),
        Transport::Tcp,
        (from.parse()?, to.parse()?),
        WRITE,
        Rate::Max,
        Nanos((seconds * 1e9) as u64),
    ))
}
