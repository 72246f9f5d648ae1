//! Asking what fences a node whether it would: its status, through the very agent that Pacemaker
//! would use, before the day it is needed.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Content, HostError, OwnedFile, files, run};

/// Where the files that parameters name lie once they are installed.
const FOLDER: &str = "/etc/hawser/";

/// Asks; `None` when the agent answered with a status (exit 0: on, 2: off, fence-agents' API).
///
/// The files are used from a folder that only root can enter, so that a password is tried without
/// being installed.
pub(super) fn ask(
    agent: &str,
    parameters: &BTreeMap<String, String>,
    wanted: &BTreeMap<String, OwnedFile>,
) -> Result<Option<String>, HostError> {
    if !agent.starts_with("fence_") || agent.contains('/') {
        return Err(HostError::NotOurs(agent.to_owned()));
    }
    let folder = tempfile::tempdir().map_err(|source| HostError::File {
        call: "create",
        path: "a temporary folder".into(),
        source,
    })?;
    let private = format!("{}/", folder.path().display());
    let moved = |text: &str| text.replace(FOLDER, &private);
    for (path, file) in wanted {
        let Some(rest) = path.strip_prefix(FOLDER) else {
            continue;
        };
        let content = match std::str::from_utf8(&file.content.0) {
            Ok(text) => Content(moved(text).into_bytes()),
            Err(_) => file.content.clone(),
        };
        let mode = file.mode;
        files::place(
            &Path::new(&private).join(rest),
            &OwnedFile { mode, content },
        )?;
    }
    let mut input = String::from("action=status\n");
    for (name, value) in parameters {
        // Those are the fencer's own.
        if !name.starts_with("pcmk_") {
            input += &format!("{name}={}\n", moved(value));
        }
    }
    let output = run::output(agent, &[], Some(&input))?;
    Ok(match output.status.code() {
        Some(0 | 2) => None,
        _ => Some(words(&output.stderr)),
    })
}

/// The agent's own words, without its time stamps.
fn words(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    // `2026-01-01 12:00:00,123 ERROR: Failed: Unable to obtain …`, among Python's own warnings.
    let errors = said
        .lines()
        .filter_map(|line| Some(line.split_once("ERROR: ")?.1.trim()));
    let errors = errors.filter(|line| !line.is_empty() && !line.starts_with("Please use '-h'"));
    let mut lines: Vec<&str> = errors.collect();
    if lines.is_empty() {
        lines.extend(said.lines().map(str::trim).filter(|line| !line.is_empty()));
    }
    lines.dedup();
    match lines.is_empty() {
        true => "it ended without a word".into(),
        false => lines.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agents_error_is_told_without_the_noise_around_it() {
        let said = "/usr/sbin/fence_ipmilan:5: DeprecationWarning: 'pipes' is deprecated\n\
            2026-01-01 12:00:00,123 ERROR: Failed: Unable to obtain correct plug status\n\n\
            2026-01-01 12:00:00,124 ERROR: Please use '-h' for usage\n";
        assert_eq!(
            words(said.as_bytes()),
            "Failed: Unable to obtain correct plug status"
        );
        assert_eq!(words(b"Traceback\n"), "Traceback");
        assert_eq!(words(b""), "it ended without a word");
    }
}
