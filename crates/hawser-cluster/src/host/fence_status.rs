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
    let lines = said.lines().filter_map(|line| {
        // `2026-01-01 12:00:00,123 ERROR: Failed: Unable to obtain …`
        let line = line
            .split_once("ERROR: ")
            .map_or(line, |(_, rest)| rest)
            .trim();
        (!line.is_empty() && !line.starts_with("Please use '-h'")).then_some(line)
    });
    let mut lines: Vec<&str> = lines.collect();
    lines.dedup();
    match lines.is_empty() {
        true => "it ended without a word".into(),
        false => lines.join("; "),
    }
}
