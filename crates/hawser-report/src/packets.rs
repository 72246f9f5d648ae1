//! The packets account: where the packets went, along their way, and each direction by itself.

use hawser_model::account::{Account, FlowAccount, PacketsAccount};
use hawser_model::case::{Case, PhaseKind};
use hawser_model::output::CheckReport;
use hawser_model::output::tune::TuneReport;
use hawser_model::units::{Packets, counted};

use crate::bars::{Bar, bars};
use crate::page::Page;
use crate::table::{Column, table};
use crate::topology::{Drawing, Wire, draw};

/// More directions than this are not listed when they lost nothing.
const FEW: usize = 24;

/// The whole run in two sentences.
pub fn summary(page: &mut Page, case: &Case, report: &CheckReport, tuned: Option<&TuneReport>) {
    let total = &report.packets.total;
    let found = match report.findings.len() {
        0 => "Nothing wrong was seen".to_owned(),
        1 => "One finding".to_owned(),
        n => format!("{n} findings"),
    };
    page.lead(format_args!("{found}: {}.", lost_of(total)));
    if let Some(tuned) = tuned {
        let kept = tuned.trials.iter().filter(|t| t.kept).count();
        page.lead(format_args!(
            "{} tried, {kept} proven and kept; after that, {}.",
            counted(
                tuned.trials.iter().filter(|t| t.windows > 0).count() as u64,
                "fix"
            ),
            lost_of(&tuned.after.packets.total)
        ));
    }
    for absent in &case.absent {
        page.lead(format_args!(
            "Not measured: {}: {}.",
            absent.host, absent.reason
        ));
    }
    if let Some(stopped) = &case.stopped {
        page.lead(format_args!(
            "Stopped early by {}: {}. What follows is what was measured until then.",
            stopped.host, stopped.what
        ));
    }
}

fn lost_of(account: &Account) -> String {
    match (account.sent.is_zero(), account.lost.is_zero()) {
        (true, _) => "no packet was sent".to_owned(),
        (_, true) => format!("none of {} was lost", counted(account.sent.get(), "packet")),
        _ => format!(
            "{} of {} lost ({})",
            account.lost,
            counted(account.sent.get(), "packet"),
            share_text(account)
        ),
    }
}

fn share(account: &Account) -> f64 {
    match account.sent.0 {
        0 => 0.0,
        sent => account.lost.0 as f64 / sent as f64,
    }
}

fn share_text(account: &Account) -> String {
    match share(account) * 100.0 {
        p if p > 0.0 && p < 0.01 => "less than 0.01 %".to_owned(),
        p => format!("{p:.2} %"),
    }
}

/// The nodes and the links between them.
pub fn topology(page: &mut Page, case: &Case, packets: &PacketsAccount) {
    let topology = &case.topology;
    let links = topology.links.iter().map(|link| {
        let flows: Vec<&FlowAccount> = packets
            .flows
            .iter()
            .filter(|f| f.link == link.name)
            .collect();
        let ports = topology.nodes.iter().enumerate();
        let ports = ports.filter(|(_, node)| node.addresses.contains_key(&link.name));
        let ports = ports.map(|(index, node)| {
            let lossy = |f: &&FlowAccount| {
                !f.account.lost.is_zero() && (f.from == node.name || f.to == node.name)
            };
            (index, flows.iter().any(lossy))
        });
        let sent = flows.iter().map(|f| f.account.sent).sum::<Packets>().0;
        let lost = flows.iter().map(|f| f.account.lost).sum::<Packets>().0;
        let loss = match (sent, lost) {
            (0, _) if link.serial => "null-modem cable, not measured".to_owned(),
            (0, _) => "not measured".to_owned(),
            (_, 0) => "nothing lost".to_owned(),
            _ => format!("{:.2} % lost", lost as f64 * 100.0 / sent as f64),
        };
        Wire {
            name: link.name.to_string(),
            note: match &link.switch {
                Some(switch) => format!("{switch}, {loss}"),
                None => loss,
            },
            ports: ports.collect(),
        }
    });
    let drawing = Drawing {
        nodes: topology.nodes.iter().map(|n| n.name.to_string()).collect(),
        links: links.collect(),
    };
    page.section("The cluster", |s| {
        draw(s, &drawing);
        let rows: Vec<Vec<String>> = topology
            .nodes
            .iter()
            .flat_map(|node| {
                node.addresses.iter().map(|(link, address)| {
                    vec![node.name.to_string(), link.to_string(), address.to_string()]
                })
            })
            .collect();
        use Column::Text;
        let heads = [Text("node"), Text("link"), Text("address")];
        table(s, "Addresses", &heads, &rows);
    });
}

/// Where the packets went: each layer takes its part off, in path order.
pub fn account(page: &mut Page, total: &Account) {
    page.section("Where the packets went", |s| {
        if total.sent.is_zero() {
            return s.paragraph("No packet was sent.");
        }
        let received = total.received.0 as f64 / total.sent.0 as f64;
        let whole = |label: &str, value: String, to, class| Bar {
            label: label.to_owned(),
            value,
            to,
            class,
            ..Bar::default()
        };
        let mut rows = vec![
            whole("sent", total.sent.to_string(), 1.0, "whole"),
            whole("received", total.received.to_string(), received, "good"),
        ];
        rows.push(Bar {
            label: "lost".to_owned(),
            note: share_text(total),
            value: total.lost.to_string(),
            from: received,
            to: if total.lost.is_zero() { received } else { 1.0 },
            class: "bad",
            ..Bar::default()
        });
        bars(s, "Of all packets", ["", "packets"], &rows);
        if total.lost.is_zero() {
            return;
        }
        bars(
            s,
            "Lost packets, in path order",
            ["lost in", "packets"],
            &along_the_way(total),
        );
        s.paragraph(match total.unattributed.is_zero() {
            true => "The account balances: every lost packet has a place.".to_owned(),
            false => format!(
                "The account is {} short of balancing.",
                counted(total.unattributed.get(), "packet")
            ),
        });
    });
}

fn along_the_way(total: &Account) -> Vec<Bar> {
    let mut layers: Vec<_> = total.layers.iter().collect();
    layers.sort_by_key(|l| l.layer);
    let all = total.lost.0.max(1) as f64;
    let mut gone = 0.0;
    let mut next = |packets: u64| {
        let from = gone;
        gone += packets as f64 / all;
        (from, gone)
    };
    let mut rows: Vec<Bar> = layers
        .iter()
        .map(|loss| {
            let (from, to) = next(loss.packets.0);
            let host = loss.host.as_ref().map(|h| format!("{h}, "));
            Bar {
                label: format!("{}{}", host.unwrap_or_default(), loss.layer.word()),
                note: format!("{}, {}", loss.reason, loss.basis.word()),
                value: loss.packets.to_string(),
                from,
                to,
                class: "bad",
                ..Bar::default()
            }
        })
        .collect();
    let (from, to) = next(total.unattributed.0);
    rows.push(Bar {
        label: "unattributed".to_owned(),
        value: total.unattributed.to_string(),
        from,
        to,
        class: "unknown",
        ..Bar::default()
    });
    rows
}

/// Each direction of each link.
pub fn directions(page: &mut Page, case: &Case, packets: &PacketsAccount) {
    let mut flows: Vec<&FlowAccount> = packets.flows.iter().collect();
    if flows.is_empty() {
        return;
    }
    flows.sort_by(|a, b| (&a.link, &a.from, &a.to).cmp(&(&b.link, &b.from, &b.to)));
    let all = flows.len();
    if all > FEW {
        flows.retain(|f| !f.account.lost.is_zero());
    }
    page.section("Each direction", |s| {
        let rows: Vec<Vec<String>> = flows.iter().map(|f| direction(case, f)).collect();
        use Column::{Number, Text};
        let heads = [
            Text("link"),
            Text("from"),
            Text("to"),
            Number("sent"),
            Number("lost"),
            Number("share"),
            Number("round trip"),
            Number("99 %"),
            Number("path MTU"),
        ];
        if !rows.is_empty() {
            table(s, "Packets of each direction", &heads, &rows);
        }
        if flows.len() < all {
            s.remark(format_args!(
                "{} of {all} directions lost nothing.",
                all - flows.len()
            ));
        }
    });
}

fn direction(case: &Case, flow: &FlowAccount) -> Vec<String> {
    let mut measured = case.measurements.iter();
    let measured = measured.find(|m| m.from == flow.from && m.to == flow.to && m.link == flow.link);
    let round_trip = measured
        .and_then(|m| m.phases.iter().find(|p| p.kind == PhaseKind::Heartbeat))
        .and_then(|p| p.sender.round_trip.as_ref())
        .filter(|q| q.count > 0);
    let missing = || "–".to_owned();
    let mtu = measured.and_then(|m| m.path_mtu.as_ref()?.passed);
    vec![
        flow.link.to_string(),
        flow.from.to_string(),
        flow.to.to_string(),
        flow.account.sent.to_string(),
        flow.account.lost.to_string(),
        share_text(&flow.account),
        round_trip.map_or_else(missing, |q| q.p50.to_string()),
        round_trip.map_or_else(missing, |q| q.p99.to_string()),
        mtu.map_or_else(missing, |mtu| mtu.to_string()),
    ]
}
