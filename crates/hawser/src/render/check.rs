//! A check as text: the links, the packets account, the findings.

use std::fmt::Write as _;

use hawser_account::stream;
use hawser_model::account::{Account, FlowAccount, PacketsAccount};
use hawser_model::case::{Absent, Case, Intensity, Measurement, Phase, PhaseKind};
use hawser_model::output::CheckReport;
use hawser_model::probe::PathMtu;
use hawser_model::traffic::Rate;
use hawser_model::units::{BitsPerSec, Bytes, Packets, counted, grouped};

use super::findings::{self, findings, wrap};
use super::looked_at::{left_out, looked_at};
use super::table::{Align, Table};
use crate::output::paint::{Style, style};

/// The whole report.
pub fn report(case: &Case, report: &CheckReport) -> String {
    let mut out = String::new();
    out.push_str(&absent(&report.absent));
    out.push_str(&heading(case));
    out.push_str(&links(case, &report.packets));
    out.push_str(&block(report));
    out.push_str(&streams(case));
    out.push_str(&account(&report.packets.total));
    out.push_str(&set_aside(case));
    out.push_str(&collectors(case));
    out.push_str(&fencing(case));
    out.push_str(&findings(&report.findings));
    wrap(&mut out, "", &left_out(case, &report.findings));
    if report.findings.is_empty() {
        wrap(&mut out, "", &looked_at(case));
        out.push('\n');
    }
    let _ = writeln!(out, "Case file: {}", report.case);
    out
}

/// The hosts of which nothing is known, before anything is said of the others.
fn absent(hosts: &[Absent]) -> String {
    let mut out = String::new();
    findings::absent(&mut out, "Not measured:", hosts);
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn heading(case: &Case) -> String {
    let topology = &case.topology;
    let manner = match case.intensity {
        Intensity::Gentle => "gentle",
        Intensity::Full => "full",
    };
    let rates: Vec<u64> = case
        .measurements
        .iter()
        .flat_map(|m| &m.phases)
        .filter(|p| p.kind == PhaseKind::Bulk)
        .filter_map(|p| match p.spec.rate {
            Rate::PerSecond(rate) => Some(rate.0),
            Rate::Max => None,
        })
        .collect();
    let press = match (rates.iter().min(), rates.iter().max()) {
        (Some(low), Some(high)) if low == high => format!(", {} pkt/s", grouped(*low)),
        (Some(low), Some(high)) => format!(", {} to {} pkt/s", grouped(*low), grouped(*high)),
        _ => ", as fast as it goes".to_owned(),
    };
    let mut out = format!(
        "{} {}: {}, {}, {} ({manner}{press})\n\n",
        style("Cluster").bold(),
        topology.cluster,
        counted(topology.nodes.len() as u64, "node"),
        counted(topology.links.len() as u64, "link"),
        counted(case.measurements.len() as u64, "direction"),
    );
    for link in topology.links.iter().filter(|link| link.serial) {
        let _ = writeln!(
            out,
            "{} is a null-modem cable and not measured.\n",
            link.name
        );
    }
    if let Some(stopped) = &case.stopped {
        let _ = writeln!(
            out,
            "{} {}: {}\nWhat follows is what was measured until then.\n",
            style("Stopped early by").yellow().bold(),
            stopped.host,
            stopped.what
        );
    }
    out
}

/// The fence devices that answered; those that did not are findings.
fn fencing(case: &Case) -> String {
    let answered = case.fencing.iter().filter(|a| a.failure.is_none());
    let names: Vec<&str> = answered.map(|a| a.device.as_str()).collect();
    match names[..] {
        [] => String::new(),
        _ => format!(
            "Fence devices that answered: {} of {} ({})\n\n",
            names.len(),
            case.fencing.len(),
            names.join(", ")
        ),
    }
}

/// More directions than this are summed up a link, and only those with losses are listed.
const FEW: usize = 16;

fn links(case: &Case, packets: &PacketsAccount) -> String {
    use Align::{Left, Right};
    let mut table = Table::new(&[Left, Left, Left, Right, Right, Right, Right, Right]);
    let heads = [
        "link",
        "from",
        "to",
        "sent",
        "lost",
        "round trip",
        "99 %",
        "path MTU",
    ];
    table.row(heads.map(|h| style(h).dim().to_string()));
    let mut flows: Vec<&FlowAccount> = packets.flows.iter().collect();
    flows.sort_by(|a, b| (&a.link, &a.from, &a.to).cmp(&(&b.link, &b.from, &b.to)));
    let mut clean = 0;
    for flow in &flows {
        if flows.len() > FEW && flow.account.lost.is_zero() {
            clean += 1;
            continue;
        }
        let measured = case
            .measurements
            .iter()
            .find(|m| m.from == flow.from && m.to == flow.to && m.link == flow.link);
        table.row(link_row(flow, measured));
    }
    let mut out = String::new();
    if clean < flows.len() {
        for line in table.lines("  ") {
            let _ = writeln!(out, "{line}");
        }
    }
    if clean > 0 {
        let _ = writeln!(out, "  {clean} of {} directions lost nothing", flows.len());
    }
    out.push('\n');
    out
}

/// In how many frames the named block goes, beside 8 KiB.
fn block(report: &CheckReport) -> String {
    let Some(block) = &report.block else {
        return String::new();
    };
    let links = block.frames.iter();
    let links: Vec<String> = links.map(|(link, n)| format!("{n} on {link}")).collect();
    let mut out = String::new();
    let said = match links[..] {
        [] => "not known: no path MTU was found".to_owned(),
        _ => links.join(", "),
    };
    wrap(
        &mut out,
        "  ",
        &format!("Frames of a block of {}: {said}", block.bytes),
    );
    out.push('\n');
    out
}

/// How fast each TCP stream was at its best and at its end.
fn streams(case: &Case) -> String {
    use Align::{Left, Right};
    let mut table = Table::new(&[Left, Left, Left, Right, Right, Right, Right]);
    let heads = [
        "stream",
        "from",
        "to",
        "fastest quarter",
        "second half",
        "sent again",
    ];
    let blocks = case
        .block
        .map(|block| format!("blocks of {block} a second"));
    let heads = heads.into_iter().chain(blocks.as_deref());
    table.row(heads.map(|h| style(h).dim().to_string()));
    let mut any = false;
    for measured in &case.measurements {
        let of_kind = |p: &&Phase| p.kind == PhaseKind::Stream;
        for phase in measured.phases.iter().filter(of_kind) {
            let rates = stream::rates(phase);
            let bits = |bytes: Bytes| BitsPerSec(bytes.0.saturating_mul(8)).to_string();
            let again = phase.sender.stream.as_ref();
            any = true;
            let mut row = vec![
                measured.link.to_string(),
                measured.from.to_string(),
                measured.to.to_string(),
                bits(rates.fastest),
                bits(rates.late),
                again.map_or("–".to_owned(), |s| s.retransmits.to_string()),
            ];
            let blocks = case.block.filter(|block| !block.is_zero());
            row.extend(blocks.map(|block| Packets(rates.late.0 / block.0).to_string()));
            table.row(row);
        }
    }
    match any {
        true => table.lines("  ").join("\n") + "\n\n",
        false => String::new(),
    }
}

/// The largest IP packet that was seen to arrive.
fn passed(found: &PathMtu) -> String {
    match found.passed {
        Some(mtu) => mtu.to_string(),
        None => "none".to_owned(),
    }
}

fn link_row(flow: &FlowAccount, measured: Option<&Measurement>) -> Vec<String> {
    let round_trip = measured
        .and_then(|m| m.phases.iter().find(|p| p.kind == PhaseKind::Heartbeat))
        .and_then(|p| p.sender.round_trip.as_ref())
        .filter(|q| q.count > 0);
    let mtu = measured.and_then(|m| m.path_mtu.as_ref()).map(passed);
    let other = measured.and_then(|m| m.path_mtu_other.as_ref()).map(passed);
    // One number says it, unless the families differ.
    let mtu = match (mtu, other) {
        (Some(own), Some(other)) if own != other => Some(format!("{own}, other family {other}")),
        (own, _) => own,
    };
    let lost = if flow.account.lost.is_zero() {
        "0".to_owned()
    } else {
        style(flow.account.lost).red().to_string()
    };
    let missing = || "–".to_owned();
    vec![
        flow.link.to_string(),
        flow.from.to_string(),
        flow.to.to_string(),
        flow.account.sent.to_string(),
        lost,
        round_trip.map_or_else(missing, |q| q.p50.to_string()),
        round_trip.map_or_else(missing, |q| q.p99.to_string()),
        mtu.unwrap_or_else(missing),
    ]
}

fn account(total: &Account) -> String {
    use Align::{Left, Right};
    let mut out = format!("{}\n", style("Packets account").bold());
    let mut table = Table::new(&[Left, Left, Left, Right, Left]);
    table.row(["sent", "", "", &total.sent.to_string()]);
    table.row(["received", "", "", &total.received.to_string()]);
    table.row(["lost", "", "", &total.lost.to_string(), &share(total)]);
    for loss in &total.layers {
        let host = loss.host.as_ref().map_or("–", |h| h.as_str());
        table.row([
            &format!("  {host}"),
            loss.layer.word(),
            &loss.reason,
            &loss.packets.to_string(),
            &style(loss.basis.word()).dim().to_string(),
        ]);
    }
    if !total.lost.is_zero() {
        let tell = if total.unattributed.is_zero() {
            Style::new()
        } else {
            Style::new().yellow()
        };
        table.row([
            tell.apply_to("  unattributed").to_string(),
            String::new(),
            String::new(),
            tell.apply_to(total.unattributed).to_string(),
        ]);
    }
    for line in table.lines("  ") {
        out.push_str(&line);
        out.push('\n');
    }
    let verdict = match (total.lost.is_zero(), total.unattributed.is_zero()) {
        (true, _) => "Nothing was lost.".to_owned(),
        (false, true) => "The account balances: every lost packet has a place.".to_owned(),
        (false, false) => {
            format!(
                "The account is {} short of balancing.",
                counted(total.unattributed.get(), "packet")
            )
        }
    };
    let _ = writeln!(out, "  {verdict}\n");
    out
}

fn share(total: &Account) -> String {
    if total.lost.is_zero() || total.sent.is_zero() {
        return String::new();
    }
    let percent = total.lost.0 as f64 * 100.0 / total.sent.0 as f64;
    format!("{percent:.2} %")
}

/// Which flows were measured again, and why.
fn set_aside(case: &Case) -> String {
    let mut out = String::new();
    for measurement in case.measurements.iter().filter(|m| !m.set_aside.is_empty()) {
        let Measurement { from, to, link, .. } = measurement;
        let lost: Packets = measurement
            .set_aside
            .iter()
            .map(|phase| phase.receiver.socket_drops)
            .sum();
        let said = format!(
            "Measured again: {link} {from} → {to}. The socket of Hawser's own reader on {to} dropped {lost} packets \
             that it takes with ease: a host was late. Those flows are in the case file, not in the account.",
        );
        wrap(&mut out, "  ", &said);
        out.push('\n');
    }
    out
}

/// One line when some host could not use the strongest evidence; nothing when all could.
fn collectors(case: &Case) -> String {
    let mut out = String::new();
    for (host, facts) in &case.hosts {
        let mut all = facts.collectors.iter();
        let has_reasons =
            all.any(|it| it.name.starts_with("drop-reasons") && it.unavailable.is_none());
        for collector in &facts.collectors {
            let instead = match collector.name.as_str() {
                "drop-reasons" if !has_reasons => {
                    "; counters and taps alone place what is lost there"
                }
                _ => "",
            };
            let matters = ["drop-reasons", "tap"].contains(&collector.name.as_str());
            if let (true, Some(why)) = (matters, &collector.unavailable) {
                let _ = writeln!(
                    out,
                    "  {} {host}: {} not available: {why}{instead}",
                    style("note:").yellow(),
                    collector.name
                );
            }
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}
