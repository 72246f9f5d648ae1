//! Bringing ports and switches into the state that the lab's impairments say.

use std::fs;

use serde_json::Value;

use super::fault::{Direction, Fault};
use super::merged::Merged;
use super::port::{Existing, Names, build};
use super::program::{Counts, Program};
use super::{filter, reorder_line};
use crate::error::LabError;
use crate::paths::LabDir;
use crate::process::{Known, ProcessId, hold_lines};
use crate::spec::{NodeSpec, SwitchSpec};
use crate::state::{Port, State};
use crate::wiring::interface;
use crate::{plan, tool};

/// Makes the faults of `port` as the state has them. A port that is not there, since its node
/// is off, gets them when the node is started.
pub(super) fn port(
    state: &State,
    dir: &LabDir,
    switches: ProcessId,
    port: &Port,
) -> Result<(), LabError> {
    let names = names(state, port);
    let wanted = state
        .impairments
        .ports
        .get(port)
        .copied()
        .unwrap_or_default();
    let programs = programs(switches, &names);
    // The helpers of a port outlive it.
    let now = if interface(switches, &names.port).exists() {
        wanted
    } else {
        Default::default()
    };
    stop_holding(state, &names)?;
    for (fault, program) in now.iter().zip(&programs) {
        if fault.needs_program() {
            program.load()?;
        }
    }
    let there = existing(switches, &names)?;
    let plan = build(&names, there, now, |direction| {
        let program = Program::of(switches, &names.key, direction);
        (program.pin(), program.release_pin())
    });
    tool::batch(switches, "tc", &plan.take_tc)?;
    tool::batch(switches, "ip", &plan.ip)?;
    for (direction, (fault, program)) in Direction::BOTH.into_iter().zip(now.iter().zip(&programs))
    {
        if fault.needs_program() {
            let line = match fault.reorder {
                Some(_) => hold_line(state, dir, switches, &names, direction, fault)?,
                None => 0,
            };
            program.configure(fault, line, index(switches, &names.port)?)?;
        }
    }
    tool::batch(switches, "tc", &plan.make_tc)?;
    // While the node is off, it has no interface.
    let node = state.nodes.get(&port.node).and_then(|n| n.running());
    let node = node.filter(|_| interface(switches, &names.port).exists());
    merged(switches, port, &names, node).apply(wanted[0].lose_merged_after)?;
    for (fault, program) in wanted.iter().zip(&programs) {
        if !fault.needs_program() {
            program.unload()?;
        }
    }
    Ok(())
}

/// The place of a node that loses what its interface merged.
fn merged<'a>(
    switches: ProcessId,
    port: &'a Port,
    names: &'a Names,
    node: Option<ProcessId>,
) -> Merged<'a> {
    Merged {
        switches,
        node,
        interface: port.link.as_str(),
        port: &names.port,
        key: &names.key,
    }
}

/// Makes a switch's multicast settings as the state has them.
pub(crate) fn switch(state: &State, switches: ProcessId, name: &str) -> Result<(), LabError> {
    let Some(spec) = state.spec.switch(name) else {
        return Ok(());
    };
    let over = state
        .impairments
        .switches
        .get(name)
        .copied()
        .unwrap_or_default();
    let wanted = SwitchSpec {
        name: spec.name.clone(),
        snooping: over.snooping.unwrap_or(spec.snooping),
        querier: over.querier.unwrap_or(spec.querier),
    };
    // MLD queries need an IPv6 address to come from; without them a bridge has none.
    let off = u8::from(!wanted.querier);
    let ipv6 = format!("net.ipv6.conf.{name}.disable_ipv6={off}");
    tool::run(switches, &["sysctl", "-qw", &ipv6])?;
    tool::batch(switches, "ip", &[plan::set_multicast(&wanted)])
}

/// Gives a node that was just plugged in its faults again.
pub(crate) fn reapply(
    state: &State,
    dir: &LabDir,
    switches: ProcessId,
    node: &NodeSpec,
    init: ProcessId,
) -> Result<(), LabError> {
    let theirs = state
        .impairments
        .ports
        .keys()
        .filter(|p| p.node == node.name);
    for it in theirs {
        port(state, dir, switches, it)?;
        // The state does not know the new process yet.
        let [to_node, _] = state.impairments.ports[it];
        let names = names(state, it);
        merged(switches, it, &names, Some(init)).apply(to_node.lose_merged_after)?;
    }
    match state.impairments.nodes.get(&node.name) {
        Some(share) => filter::apply(init, *share),
        None => Ok(()),
    }
}

/// What the faults of a direction of a port have done: the program's counts and the packets
/// dropped in front of the rate.
pub(crate) fn port_report(
    state: &State,
    switches: ProcessId,
    port: &Port,
    direction: Direction,
) -> Result<(Option<Counts>, Option<u64>), LabError> {
    let names = names(state, port);
    let counts = Program::of(switches, &names.key, direction).counts()?;
    let device = match direction {
        Direction::ToNode => names.port.clone(),
        Direction::FromNode => names.shaper(),
    };
    let dropped = if interface(switches, &device).exists() {
        let qdiscs = qdiscs(switches, &device)?;
        let mut tbf = qdiscs.iter().filter(|q| q["kind"] == "tbf");
        tbf.find_map(|q| q["drops"].as_u64())
    } else {
        None
    };
    Ok((counts, dropped))
}

fn programs(switches: ProcessId, names: &Names) -> [Program; 2] {
    Direction::BOTH.map(|direction| Program::of(switches, &names.key, direction))
}

fn names(state: &State, port: &Port) -> Names {
    let (node, link) = plan::numbers(&state.spec, &port.node, &port.link);
    let mtu = state.spec.link(port.link.as_str()).map(|l| l.mtu);
    Names {
        port: plan::port_name(&state.spec, &port.node, &port.link),
        key: format!("{node}_{link}"),
        mtu: mtu.unwrap_or(crate::spec::DEFAULT_MTU).0,
    }
}

fn existing(switches: ProcessId, names: &Names) -> Result<Existing, LabError> {
    let qdiscs = if interface(switches, &names.port).exists() {
        qdiscs(switches, &names.port)?
    } else {
        Vec::new()
    };
    let has = |kind: &str| qdiscs.iter().any(|q| q["kind"] == kind);
    let there = |name: String| interface(switches, &name).exists();
    Ok(Existing {
        clsact: has("clsact"),
        tbf: has("tbf"),
        shaper: there(names.shaper()),
        line: Direction::BOTH.map(|direction| there(names.line(direction))),
    })
}

fn qdiscs(switches: ProcessId, device: &str) -> Result<Vec<Value>, LabError> {
    let text = tool::run(
        switches,
        &["tc", "-s", "-j", "qdisc", "show", "dev", device],
    )?;
    serde_json::from_str(&text).map_err(|e| LabError::Tool {
        command: format!("tc -s -j qdisc show dev {device}"),
        what: e.to_string(),
    })
}

fn index(switches: ProcessId, name: &str) -> Result<u32, LabError> {
    let path = interface(switches, name).join("ifindex");
    let text = fs::read_to_string(&path).map_err(|e| LabError::io("read", &path, e))?;
    text.trim()
        .parse()
        .map_err(|_| LabError::io("read", &path, std::io::ErrorKind::InvalidData.into()))
}

/// Starts the process that holds packets; returns the index of the interface to send them to.
fn hold_line(
    state: &State,
    dir: &LabDir,
    switches: ProcessId,
    names: &Names,
    direction: Direction,
    fault: &Fault,
) -> Result<u32, LabError> {
    let line = names.line(direction);
    tool::run(
        switches,
        &[
            "ethtool", "-K", &line, "tx", "off", "tso", "off", "gso", "off",
        ],
    )?;
    let hold_ms = fault.hold_ms.unwrap_or(Fault::HOLD_MS);
    let holds = tool::enter(switches)
        .arg(dir.binary())
        .args(["lab", reorder_line::SUBCOMMAND, &state.token])
        .arg(dir.path())
        .args([names.line_end(direction), hold_ms.to_string()])
        .companion(reorder_line::READY);
    // It does not mind its input, and lives on.
    holds.map_err(|e| LabError::Tool {
        command: format!("hold packets on {line}"),
        what: e.reason(),
    })?;
    index(switches, &line)
}

fn stop_holding(state: &State, names: &Names) -> Result<(), LabError> {
    for direction in Direction::BOTH {
        for process in hold_lines(Known::Token(&state.token), &names.line_end(direction)) {
            process.kill()?;
        }
    }
    Ok(())
}
