//! Asking what fences a node whether it would: its status, through the very agent that Pacemaker
//! would use, before the day it is needed.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use hawser_tool::ToolError;

use super::{Content, FenceQuestion, NodeError, OwnedFile, files, registrations, run};
use crate::cib::fencing::is_by_reservation;
use crate::cib::secrets::{PACEMAKER_MAGIC, PACEMAKER_SECRETS, SECRET_DIRECTORY};

/// Where the files that parameters name lie once they are installed.
const FOLDER: &str = "/etc/hawser/";

/// How long an agent may take to say what it is, in seconds: it asks nobody.
const METADATA: Duration = Duration::from_secs(20);

/// Asks; `None` when the agent answered with a status (exit 0: on, 2: off, fence-agents' API). Of one that acts by reservations
/// the disks are asked instead.
///
/// The files are used from a folder that only root can enter, so that a password is tried without
/// being installed. Without files, those that are installed are used: what Pacemaker would use.
pub(super) fn ask(
    device: &FenceQuestion,
    wanted: &BTreeMap<String, OwnedFile>,
    seconds: u32,
) -> Result<Option<String>, NodeError> {
    known(&device.agent)?;
    if is_by_reservation(&device.agent) {
        let limit = Duration::from_secs(seconds.into());
        return Ok(registrations::why_not(device, limit));
    }
    let folder = tempfile::tempdir().map_err(NodeError::file("create", "a temporary folder"))?;
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
    let (output, secrets) = run_agent(device, wanted, action(device), &moved, seconds)?;
    Ok(match output {
        Err(silent) => Some(silent.reason()),
        Ok(output) => match output.status.code() {
            Some(0 | 2) => None,
            _ => Some(without(&words(&output.stderr), &secrets)),
        },
    })
}

/// Asks a device, with the files that are installed, whether what it fences has power; or switches it, and waits
/// as the agent does until that is so.
pub(super) fn power(
    device: &FenceQuestion,
    on: Option<bool>,
    seconds: u32,
) -> Result<bool, NodeError> {
    known(&device.agent)?;
    let action = match on {
        None => "status",
        Some(true) => "on",
        Some(false) => "off",
    };
    let nothing = BTreeMap::new();
    let (output, secrets) = run_agent(device, &nothing, action, &str::to_owned, seconds)?;
    let said = match output {
        Err(silent) => silent.reason(),
        Ok(output) => match (output.status.code(), on) {
            (Some(0), None) => return Ok(true),
            (Some(2), None) => return Ok(false),
            (Some(0), Some(on)) => return Ok(on),
            _ => without(&words(&output.stderr), &secrets),
        },
    };
    Err(NodeError::Tool {
        command: format!("{} ({action} by device {})", device.agent, device.name),
        said,
    })
}

/// What an agent says of itself.
pub(super) fn metadata(agent: &str) -> Result<String, NodeError> {
    known(agent)?;
    let output = run::within(METADATA, agent, &[], Some("action=metadata\n"))
        .map_err(run::cannot(agent, &["(metadata)"]))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(NodeError::Tool {
            command: format!("{agent} (metadata)"),
            said: words(&output.stderr),
        }),
    }
}

fn known(agent: &str) -> Result<(), NodeError> {
    match agent.starts_with("fence_") && !agent.contains('/') {
        true => Ok(()),
        false => Err(NodeError::NotOurs(agent.to_owned())),
    }
}

/// Runs the agent; what it was told, over its standard input, may be secret, and is answered to be left out of words.
fn run_agent(
    device: &FenceQuestion,
    wanted: &BTreeMap<String, OwnedFile>,
    action: &str,
    moved: &dyn Fn(&str) -> String,
    seconds: u32,
) -> Result<(Result<Output, ToolError>, Vec<String>), NodeError> {
    let mut secrets = secrets(wanted)?;
    let mut input = format!("action={action}\n");
    for (name, value) in &device.parameters {
        // Those are the fencer's own.
        if name.starts_with("pcmk_") {
            continue;
        }
        let value = match value.as_str() {
            PACEMAKER_MAGIC => {
                let secret = pacemakers_secret(&device.name, name, wanted)?;
                secrets.push(secret.clone());
                secret
            }
            value => moved(value),
        };
        input += &format!("{name}={value}\n");
    }
    let limit = Duration::from_secs(seconds.into());
    let output = run::within(limit, &device.agent, &[], Some(&input));
    Ok((output, secrets))
}

/// The secrets that an agent may have read and might repeat: those it was given, else those that are installed.
fn secrets(wanted: &BTreeMap<String, OwnedFile>) -> Result<Vec<String>, NodeError> {
    let text = |content: &[u8]| String::from_utf8_lossy(content).trim_end().to_owned();
    if !wanted.is_empty() {
        let kept = wanted
            .iter()
            .filter(|(path, _)| Path::new(path).starts_with(SECRET_DIRECTORY));
        return Ok(kept.map(|(_, file)| text(&file.content.0)).collect());
    }
    let failed = |source| NodeError::file("read", SECRET_DIRECTORY)(source);
    let mut all = Vec::new();
    match fs::read_dir(SECRET_DIRECTORY) {
        Err(e) if e.kind() == ErrorKind::NotFound => {}
        Err(e) => return Err(failed(e)),
        Ok(entries) => {
            for entry in entries {
                all.push(text(
                    &fs::read(entry.map_err(failed)?.path()).map_err(failed)?,
                ));
            }
        }
    }
    Ok(all)
}

/// Words without any of these secrets: an agent that fails may show the command line that it used.
fn without(words: &str, secrets: &[String]) -> String {
    let secrets = secrets.iter().filter(|secret| !secret.is_empty());
    secrets.fold(words.to_owned(), |words, secret| {
        words.replace(secret.as_str(), "(secret)")
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
) -> Result<String, NodeError> {
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
    fn an_agent_that_shows_its_command_line_shows_no_secret() {
        let files = [
            ("/etc/hawser/secrets/fence-head1", "hunter2\n"),
            ("/etc/hawser/secrets/empty", "\n"),
            ("/etc/hawser/ipmitool/fence-head1", "#!/bin/sh\n"),
        ];
        let owned = |content: &str| OwnedFile {
            mode: 0o600,
            content: Content(content.into()),
        };
        let wanted = files.map(|(path, content)| (path.to_owned(), owned(content)));
        let secrets = secrets(&BTreeMap::from(wanted)).unwrap();
        let said = "Failed: ipmitool -P hunter2 -H 10.0.0.1 (#!/bin/sh)";
        assert_eq!(
            without(said, &secrets),
            "Failed: ipmitool -P (secret) -H 10.0.0.1 (#!/bin/sh)"
        );
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
