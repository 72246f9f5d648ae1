//! What a pool offers, for people.

use std::fmt::Write;

use hawser_model::output::exports::ExportsReport;

/// Whose report it is.
pub struct Of<'a> {
    /// What the host is called.
    pub host: &'a str,
    /// The words of a command line that name it.
    pub command: &'a str,
}

/// How much was done.
pub fn changes(number: usize) -> String {
    match number {
        0 => "nothing to do".into(),
        1 => "1 change".into(),
        n => format!("{n} changes"),
    }
}

/// Targets, units and sessions; directories and who may mount them.
pub fn shown(report: &ExportsReport, of: &Of<'_>) -> String {
    let mut out = String::new();
    if !report.pool_is_here {
        let _infallible = writeln!(
            out,
            "pool {} is not on {}; what its last start there offered:",
            report.pool, of.host
        );
    }
    for target in &report.targets {
        let who = match &target.hosts {
            None => "everybody".to_owned(),
            Some(hosts) => hosts.join(", "),
        };
        let proof = match (&target.chap_user, &target.mutual_chap_user) {
            (None, _) => String::new(),
            (Some(user), None) => format!(", CHAP as {user}"),
            (Some(user), Some(mutual)) => format!(", CHAP as {user}, and itself as {mutual}"),
        };
        let portals = match target.portals.is_empty() {
            true => "all addresses".to_owned(),
            false => target.portals.join(", "),
        };
        let _infallible = writeln!(out, "{}\n  on {portals}; for {who}{proof}", target.iqn);
        for unit in &target.units {
            let how = match (unit.read_only, unit.write_cache) {
                (true, _) => ", read only",
                (false, false) => "",
                (false, true) => ", with a write cache",
            };
            let _infallible = writeln!(
                out,
                "  LUN {:<5} {:<24} {:>10}  naa.{}{how}",
                unit.lun,
                unit.volume,
                size(unit.bytes),
                unit.naa,
            );
        }
        for session in &target.sessions {
            let _infallible = writeln!(out, "  {session} is logged in");
        }
    }
    for directory in &report.nfs {
        let _infallible = writeln!(
            out,
            "{}\n  by NFS, fsid {}",
            directory.directory, directory.fsid
        );
        for to in &directory.clients {
            let not = if to.exported {
                ""
            } else {
                ", not exported now"
            };
            let _infallible = writeln!(out, "  for {} ({}){not}", to.client, to.options);
        }
    }
    out + &verified(report, of)
}

/// Whether all is offered as the pool says.
pub fn verified(report: &ExportsReport, of: &Of<'_>) -> String {
    let pool = &report.pool;
    if !report.running {
        return format!("pool {pool}: nothing is offered on {}\n", of.host);
    }
    if report.pending.is_empty() {
        return format!("pool {pool}: all is offered as the pool says\n");
    }
    let mut out = format!(
        "pool {pool}: `hawser exports start {pool}{}` would do:\n",
        of.command
    );
    for what in &report.pending {
        let _infallible = writeln!(out, "  {what}");
    }
    out
}

/// With binary prefixes, as volumes are made.
fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    match value.fract() == 0.0 {
        true => format!("{value} {}", units[unit]),
        false => format!("{value:.1} {}", units[unit]),
    }
}
