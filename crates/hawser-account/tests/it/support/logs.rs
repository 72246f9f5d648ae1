//! The logs of a lab's heads as they were recorded, in folders of `cases/` and in drills.

use std::fs;
use std::path::Path;

use hawser_account::incident::{LogFile, LogKind, Names, incidents};
use hawser_model::drill::DrillCase;
use hawser_model::output::incident::IncidentsReport;

/// Those of head1 and head2 that lie in a folder.
pub fn logs(below: &str) -> Vec<LogFile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../cases/{below}"));
    let mut files = Vec::new();
    for head in ["head1", "head2"] {
        for (kind, log) in [
            (LogKind::Corosync, "corosync.log"),
            (LogKind::Pacemaker, "pacemaker.log"),
        ] {
            let text = fs::read_to_string(folder.join(head).join(log)).ok();
            let folder = head.to_owned();
            files.extend(text.map(|text| LogFile { kind, folder, text }));
        }
    }
    assert!(!files.is_empty(), "no logs in {below}");
    files
}

/// Of the lab's two heads and two heartbeat links.
pub fn lab() -> Names {
    Names {
        nodes: [(1, "head1".into()), (2, "head2".into())].into(),
        links: [(0, "ring0".into()), (1, "ring1".into())].into(),
    }
}

/// A recorded drill.
pub fn drill(name: &str) -> DrillCase {
    hawser_cases::read(&format!("drill/{name}"))
}

/// The logs of a drill's heads as they would lie in a folder.
pub fn of_drill(case: &DrillCase) -> Vec<LogFile> {
    let heads = case.logs.iter();
    let both = heads.flat_map(|(host, logs)| {
        [
            (LogKind::Corosync, &logs.corosync),
            (LogKind::Pacemaker, &logs.pacemaker),
        ]
        .map(|(kind, lines)| LogFile {
            kind,
            folder: host.to_string(),
            text: lines.join("\n"),
        })
    });
    both.collect()
}

/// What logs tell of a drill's cluster.
pub fn told(case: &DrillCase, files: &[LogFile]) -> IncidentsReport {
    incidents(files, &case.cluster.pools, &Names::default(), case.recorded)
}
