//! Waiting until machines are up.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::folder;
use crate::error::LabError;
use crate::paths::LabDir;
use crate::process::ProcessId;
use crate::spec::LabSpec;

/// A machine of user-mode Linux is up in 4 s on an idle host, one that is emulated in 40; more than this, so many times as they
/// are slower than a namespace, is a hang, however busy the host is.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOKS: Duration = Duration::from_millis(50);

/// How much of a console is shown.
const LINES: usize = 6;

/// Waits until each of these nodes, if they are machines, says that it is up.
///
/// # Errors
/// One has ended, or does not come up; what `stop` says.
pub(crate) fn wait_until_up(
    dir: &LabDir,
    spec: &LabSpec,
    nodes: &[(&str, ProcessId)],
    stop: &dyn Fn() -> Result<(), LabError>,
) -> Result<(), LabError> {
    if !spec.kind.is_machine() {
        return Ok(());
    }
    let patience = PATIENCE * spec.slowness();
    let deadline = Instant::now() + patience;
    let failed = |node: &str, what: String| LabError::Start {
        node: node.to_owned(),
        what: format!(
            "{what}; its console says:\n{}",
            last_lines(&dir.console(node))
        ),
    };
    for (node, case) in nodes {
        while !has_booted(dir, node) {
            stop()?;
            if !case.is_alive() {
                return Err(failed(
                    node,
                    "its power is off, or its kernel has ended".to_owned(),
                ));
            }
            if Instant::now() >= deadline {
                return Err(failed(
                    node,
                    format!("not up after {} s", patience.as_secs()),
                ));
            }
            thread::sleep(LOOKS);
        }
    }
    Ok(())
}

/// Whether a machine has said that it is up since it has its power.
pub(crate) fn has_booted(dir: &LabDir, node: &str) -> bool {
    folder::ready(dir, node).exists()
}

fn last_lines(console: &Path) -> String {
    let bytes = fs::read(console).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
