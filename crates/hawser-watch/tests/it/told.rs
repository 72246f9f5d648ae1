//! What is told of an incident whose logs a drill has recorded.

use hawser_account::incident::{LogFile, LogKind, Names, incidents};
use hawser_model::drill::DrillCase;
use hawser_model::output::incident::IncidentsReport;

/// What the logs of a power cut tell; head2 is the first whose log is read.
pub fn told() -> IncidentsReport {
    let case: DrillCase = hawser_cases::read("drill/power-cut");
    let of = |kind, host: &str, lines: &[String]| LogFile {
        kind,
        folder: host.to_owned(),
        text: lines.join("\n"),
    };
    let files = case.logs.iter().flat_map(|(host, logs)| {
        [
            of(LogKind::Corosync, host.as_str(), &logs.corosync),
            of(LogKind::Pacemaker, host.as_str(), &logs.pacemaker),
        ]
    });
    let files: Vec<LogFile> = files.collect();
    let pools = &case.cluster.pools;
    incidents(&files, pools, &Names::default(), case.recorded)
}
