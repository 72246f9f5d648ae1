//! Rungs of one host.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hawser_agent::questions::{CloseUsage, MeasureRung, OpenUsage};
use hawser_host::{Host, HostError};
use hawser_model::ladder::{Rung, RungKind};
use hawser_model::names::HostName;
use hawser_rungs::{Direction, RungSpec};

use super::plan::{LadderOptions, Task};
use super::unavailable;

/// Measures one on its host.
pub(super) fn measure(
    host: &HostName,
    agent: &mut dyn Host,
    task: &Task,
    options: &LadderOptions,
    address: IpAddr,
) -> Result<Rung, HostError> {
    let mut rung = match spec(task, options, address) {
        Ok(spec) if of_one_processor(task.kind) => {
            agent.ask(&OpenUsage)?;
            let rung = agent.ask(&MeasureRung(spec));
            let usage = BTreeMap::from([(host.clone(), agent.ask(&CloseUsage)?)]);
            Rung { usage, ..rung? }
        }
        Ok(spec) => agent.ask(&MeasureRung(spec))?,
        Err(why) => unavailable(task.kind, why.to_owned()),
    };
    rung.host = Some(host.clone());
    Ok(rung)
}

/// Rungs that compare what one processor does: how much of one they had belongs to them.
fn of_one_processor(kind: RungKind) -> bool {
    use RungKind::{Decrypt, Encrypt, EncryptKernel};
    matches!(kind, Encrypt | EncryptKernel | Decrypt)
}

fn spec(task: &Task, options: &LadderOptions, address: IpAddr) -> Result<RungSpec, &'static str> {
    let duration = task.duration;
    let cipher = options.cipher.ok_or("the path is not encrypted");
    Ok(match task.kind {
        RungKind::MemoryCopy => RungSpec::MemoryCopy { duration },
        RungKind::SourceRead => RungSpec::SourceRead {
            storage: options.source.clone(),
            duration,
        },
        RungKind::SinkWrite => RungSpec::SinkWrite {
            storage: options.sink.clone(),
            duration,
        },
        RungKind::Checksum => RungSpec::Checksum { duration },
        RungKind::Encrypt => RungSpec::Cipher {
            cipher: cipher?,
            direction: Direction::Encrypt,
            duration,
        },
        RungKind::Decrypt => RungSpec::Cipher {
            cipher: cipher?,
            direction: Direction::Decrypt,
            duration,
        },
        RungKind::EncryptKernel => RungSpec::KernelCipher {
            cipher: cipher?,
            duration,
        },
        RungKind::ZfsChecksum => RungSpec::ZfsChecksum,
        RungKind::LoopbackTcp => RungSpec::Loopback { address, duration },
        RungKind::IscsiRead => RungSpec::IscsiRead {
            unit: options
                .iscsi
                .clone()
                .ok_or("no unit was named (--iscsi ADDRESS/IQN/LUN)")?,
            depth: task.depth,
            duration,
        },
        RungKind::WireTcp
        | RungKind::WireTcpOther
        | RungKind::WireTcpMany
        | RungKind::WireUdp
        | RungKind::WireUdpSmall
        | RungKind::Whole => return Err("it is measured between two hosts"),
    })
}
