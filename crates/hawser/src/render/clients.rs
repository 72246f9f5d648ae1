//! What the clients of the storage have, as text.

use std::fmt::Write as _;

use hawser_model::client::{LongestOutage, Wait};
use hawser_model::output::clients::{ClientDevice, ClientReport, ClientsReport};
use hawser_model::units::counted;

use super::findings::{absent, findings, wrap};
use super::table::{Align, Table};
use crate::output::paint::style;

/// The whole report.
pub fn report(report: &ClientsReport) -> String {
    let mut out = String::new();
    absent(&mut out, "Not asked:", &report.absent);
    wrap(
        &mut out,
        "",
        &format!(
            "{} {}",
            style("When a head dies,").bold(),
            outage(&report.outage)
        ),
    );
    for unread in &report.outage.unread {
        wrap(
            &mut out,
            "",
            &format!("{} {unread}", style("Logs not read:").yellow()),
        );
    }
    out.push('\n');
    out.push_str(&devices(&report.clients));
    for gap in &report.gaps {
        wrap(
            &mut out,
            "",
            &format!("{} {gap}", style("Not known:").yellow().bold()),
        );
    }
    if !report.gaps.is_empty() {
        out.push('\n');
    }
    if !report.clients.is_empty() {
        out.push_str(&findings(&report.findings));
    }
    let _ = writeln!(out, "Case file: {}", report.case);
    out
}

fn outage(outage: &LongestOutage) -> String {
    let mut said = match outage.without_start {
        false => format!(
            "clients are expected to be served again after {:.1} s at most.",
            outage.expected_s
        ),
        true => format!(
            "it is known to be off after {:.1} s at most; how long its pools then take to start is not known yet.",
            outage.expected_s
        ),
    };
    if let Some(seen) = &outage.seen {
        let _ = write!(
            said,
            " The longest outage in the heads' logs is {:.1} s (incident {}).",
            seen.seconds, seen.incident
        );
    }
    said
}

fn devices(clients: &[ClientReport]) -> String {
    let mut table = Table::new(&[
        Align::Left,
        Align::Left,
        Align::Left,
        Align::Left,
        Align::Left,
        Align::Left,
    ]);
    let heads = ["client", "device", "pool", "over", "paths", "gives up"];
    table.row(heads.map(|head| style(head).dim().to_string()));
    for client in clients {
        let name = client.client.to_string();
        if let Some(seconds) = client.gives_up_s {
            let stated = format!("after {seconds} s, says the cluster file");
            table.row([name.as_str(), "", "", "", "", &stated]);
        }
        for device in &client.devices {
            table.row([
                name.as_str(),
                &device.device,
                &device.pool,
                &device.over.join(", "),
                &paths(device),
                &gives_up(device.wait),
            ]);
        }
    }
    let mut out = String::new();
    let rows = clients
        .iter()
        .map(|it| it.devices.len() + usize::from(it.gives_up_s.is_some()));
    if rows.sum::<usize>() == 0 {
        return out;
    }
    for line in table.lines("  ") {
        let _ = writeln!(out, "{line}");
    }
    out.push('\n');
    out
}

fn paths(device: &ClientDevice) -> String {
    let all = counted(device.paths, "path");
    match device.paths - device.paths_up {
        0 => all,
        down => format!("{all}, {down} down"),
    }
}

fn gives_up(wait: Option<Wait>) -> String {
    match wait {
        None => "not known".to_owned(),
        Some(Wait::Forever) => "never".to_owned(),
        Some(Wait::Seconds(seconds)) => format!("after {seconds} s"),
    }
}
