//! Asking what fences a node whether it would: its status, through the very agent that Pacemaker
//! would use, before the day it is needed.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Content, FenceQuestion, HostError, OwnedFile, files, run};
use crate::cib::secrets::{PACEMAKER_MAGIC, PACEMAKER_SECRETS};

/// Where the files that parameters name lie once they are installed.
const FOLDER: &str = "/etc/hawser/";

/// What `timeout` ends with when it had to end the command (coreutils).
const ENDED: [i32; 2] = [124, 137];

/// Asks; `None` when the agent answered with a status (exit 0: on, 2: off, fence-agents' API).
///
/// The files are used from a folder that only root can enter, so that a password is tried without
/// being installed. Without files, those that are installed are used: what Pacemaker would use.
pub(super) fn ask(
    device: &FenceQuestion,
    wanted: &BTreeMap<String, OwnedFile>,
    seconds: u32,
) -> Result<Option<String>, HostError> {
    let agent = device.agent.as_str();
    if !agent.starts_with("fence_") || agent.contains('/') {
        return Err(HostError::NotOurs(agent.to_owned()));
    }
    let folder = tempfile::tempdir().map_err(|source| HostError::File {
        call: "create",
        path: "a temporary folder".into(),
        source,
    })?;
    let private = format!("{}/", folder.path().display());
    let moved = |text: &str| match wanted.is_empty() {
        true => text.to_owned(),
        false => text.replace(FOLDER, &private),
    };
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
    let mut input = format!("action={}\n", action(device));
    for (name, value) in &device.parameters {
        // Those are the fencer's own.
        if name.starts_with("pcmk_") {
            continue;
        }
        let value = match value.as_str() {
            PACEMAKER_MAGIC => pacemakers_secret(&device.name, name, wanted)?,
            value => moved(value),
        };
        input += &format!("{name}={value}\n");
    }
    let limit = seconds.to_string();
    let output = run::output("timeout", &["-k", "1", &limit, agent], Some(&input))?;
    Ok(match output.status.code() {
        Some(0 | 2) => None,
        Some(code) if ENDED.contains(&code) => Some(format!("no answer within {seconds} s")),
        _ => Some(words(&output.stderr)),
    })
}

/// A device of one node has a status; one of several plugs is asked whether it is well itself.
fn action(device: &FenceQuestion) -> &'static str {
    match device.parameters.contains_key("pcmk_host_map") {
        true => "monitor",
        false => "status",
    }
}

/// The secret that Pacemaker puts in the place of [`PACEMAKER_MAGIC`].
fn pacemakers_secret(
    device: &str,
    parameter: &str,
    wanted: &BTreeMap<String, OwnedFile>,
) -> Result<String, HostError> {
    let path = format!("{PACEMAKER_SECRETS}/{device}/{parameter}");
    let file = match wanted.get(&path) {
        Some(file) => Some(file.clone()),
        None => files::read(&path)?,
    };
    let content = file.map(|file| file.content.0).unwrap_or_default();
    let text = String::from_utf8_lossy(&content);
    Ok(text.trim_end().to_owned())
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

    fn device(parameters: &[(&str, &str)]) -> FenceQuestion {
        let pairs = parameters.iter();
        FenceQuestion {
            name: "pdu".into(),
            agent: "fence_apc_snmp".into(),
            parameters: pairs.map(|(n, v)| ((*n).into(), (*v).into())).collect(),
        }
    }

    #[test]
    fn a_device_of_several_plugs_is_asked_for_itself() {
        assert_eq!(action(&device(&[("ip", "10.0.0.1")])), "status");
        assert_eq!(action(&device(&[("pcmk_host_map", "a:1;b:2")])), "monitor");
    }

    #[test]
    fn a_secret_of_pacemakers_own_is_put_in_its_place() {
        let path = format!("{PACEMAKER_SECRETS}/pdu/community");
        let file = OwnedFile {
            mode: 0o600,
            content: Content(b"hunter2\n".to_vec()),
        };
        let wanted = BTreeMap::from([(path, file)]);
        let secret = pacemakers_secret("pdu", "community", &wanted).unwrap();
        assert_eq!(secret, "hunter2");
    }

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
