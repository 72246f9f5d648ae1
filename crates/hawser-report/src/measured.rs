//! How a check was measured: on which hosts, through which ports, with what traffic. What somebody asks first to whom
//! the page was sent.

use std::collections::BTreeMap;

use hawser_model::case::{Case, Intensity, Phase, PhaseKind};
use hawser_model::host::Interface;
use hawser_model::names::InterfaceName;
use hawser_model::topology::Node;
use hawser_model::traffic::Rate;
use hawser_model::units::{Bytes, counted};

use crate::page::{Page, Section};
use crate::table::{Column, table};

/// The section.
pub fn section(page: &mut Page, case: &Case) {
    page.section("How it was measured", |s| {
        s.paragraph(format_args!(
            "{}, one at a time: no host takes part in two measurements. {}",
            counted(case.measurements.len() as u64, "direction"),
            match case.intensity {
                Intensity::Gentle =>
                    "Gentle: at most a fiftieth of each link, beside a cluster that is at work.",
                Intensity::Full => "Full: as fast as the hosts can send (--full).",
            }
        ));
        if let Some(command) = &case.command {
            s.paragraph(format_args!("Made by: {command}"));
        }
        phases(s, case);
        hosts(s, case);
        ports(s, case);
    });
}

/// Each kind of traffic, with all flows that were alike in one row.
fn phases(s: &mut Section<'_>, case: &Case) {
    let mut alike: BTreeMap<(PhaseKind, Vec<String>), (u64, u64)> = BTreeMap::new();
    for phase in case.measurements.iter().flat_map(|m| &m.phases) {
        let (flows, packets) = alike.entry((phase.kind, manner(phase))).or_default();
        *flows += 1;
        *packets = packets.saturating_add(phase.sender.sent.get());
    }
    let rows: Vec<Vec<String>> = alike
        .into_iter()
        .map(|((kind, manner), (flows, packets))| {
            let mut row = vec![kind.word().to_owned()];
            row.extend(manner);
            row.push(flows.to_string());
            row.push(match kind {
                PhaseKind::Stream => "–".to_owned(),
                _ => hawser_model::units::grouped(packets),
            });
            row
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    use Column::{Number, Text};
    let heads = [
        Text("phase"),
        Number("packets a second"),
        Number("payload"),
        Number("burst"),
        Number("time"),
        Number("flows"),
        Number("packets sent"),
    ];
    table(s, "Traffic", &heads, &rows);
}

/// Rate, payload, burst, time.
fn manner(phase: &Phase) -> Vec<String> {
    let spec = &phase.spec;
    let stream = phase.kind == PhaseKind::Stream;
    let unless_stream = |text: String| match stream {
        true => "–".to_owned(),
        false => text,
    };
    vec![
        match spec.rate {
            Rate::PerSecond(rate) => hawser_model::units::grouped(rate.get()),
            Rate::Max => "as fast as it goes".to_owned(),
        },
        unless_stream(Bytes(u64::from(spec.payload)).to_string()),
        unless_stream(spec.burst.to_string()),
        spec.duration.to_string(),
    ]
}

fn hosts(s: &mut Section<'_>, case: &Case) {
    let rows: Vec<Vec<String>> = case
        .hosts
        .iter()
        .map(|(name, facts)| {
            let missing = facts.collectors.iter();
            let missing: Vec<&str> = missing
                .filter(|collector| collector.unavailable.is_some())
                .map(|collector| collector.name.as_str())
                .collect();
            vec![
                name.to_string(),
                facts.kernel.clone(),
                facts.machine.clone(),
                facts.cpus.to_string(),
                facts.virtualization.clone().unwrap_or_default(),
                missing.join(", "),
            ]
        })
        .collect();
    use Column::{Number, Text};
    let heads = [
        Text("host"),
        Text("kernel"),
        Text("machine"),
        Number("processors"),
        Text("virtual"),
        Text("evidence that was not to be had"),
    ];
    table(s, "Hosts", &heads, &rows);
}

/// The port of each node on each link.
fn ports(s: &mut Section<'_>, case: &Case) {
    let nodes = case.topology.nodes.iter();
    let rows = nodes.flat_map(|node| {
        node.addresses.keys().filter_map(|link| {
            let (name, interface) = port(case, node, link)?;
            let dash = || "–".to_owned();
            Some(vec![
                node.name.to_string(),
                link.to_string(),
                name.to_string(),
                interface.driver.clone().unwrap_or_else(dash),
                interface.speed.map_or_else(dash, |speed| speed.to_string()),
                interface.mtu.map_or_else(dash, |mtu| mtu.to_string()),
            ])
        })
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return;
    }
    use Column::{Number, Text};
    let heads = [
        Text("host"),
        Text("link"),
        Text("interface"),
        Text("driver"),
        Number("speed"),
        Number("MTU"),
    ];
    table(s, "Ports", &heads, &rows);
}

/// The interface that has the node's address on a link.
fn port<'a>(
    case: &'a Case,
    node: &Node,
    link: &hawser_model::names::LinkName,
) -> Option<(&'a InterfaceName, &'a Interface)> {
    let address = node.addresses.get(link)?;
    case.hosts.get(&node.name)?.interface_with(*address)
}
