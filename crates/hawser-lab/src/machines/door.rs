//! The way into a machine: ssh from its case, over the cable that only the two have.

use super::{folder, plan};
use crate::paths::LabDir;

/// Whether a command in a machine has a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// It has the caller's.
    Yes,
    /// It has streams.
    No,
}

/// The words before a command in a machine: what runs it there, in its case.
pub(crate) fn ssh(dir: &LabDir, terminal: Terminal) -> Vec<String> {
    let mut words: Vec<String> = ["ssh", "-F", "none", "-i"].map(str::to_owned).into();
    words.push(folder::door_key(dir).display().to_string());
    let known = format!("UserKnownHostsFile={}", folder::known_hosts(dir).display());
    for option in [
        known.as_str(),
        "GlobalKnownHostsFile=/dev/null",
        "StrictHostKeyChecking=yes",
        "IdentitiesOnly=yes",
        "IdentityAgent=none",
        "BatchMode=yes",
        "ConnectTimeout=10",
        // A machine that hangs is one that does not answer; a busy one may take its time.
        "ServerAliveInterval=10",
        "ServerAliveCountMax=6",
        "LogLevel=ERROR",
    ] {
        words.extend(["-o".to_owned(), option.to_owned()]);
    }
    if terminal == Terminal::Yes {
        words.push("-t".to_owned());
    }
    words.push(format!("root@{}", plan::MACHINE));
    words
}
