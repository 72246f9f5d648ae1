//! The way into a machine: ssh from its case, over the cable that only the two have.

use std::path::Path;
use std::time::Duration;

use hawser_model::shell;

use super::{folder, plan};
use crate::paths::LabDir;
use crate::spec::LabSpec;

/// Whether a command in a machine has a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// It has the caller's.
    Yes,
    /// It has streams.
    No,
}

/// How long a machine may take to let itself be connected, so many times as it is slower than a namespace.
const CONNECTS: Duration = Duration::from_secs(2);

/// How long a machine of this lab may take to let itself be connected.
pub(crate) fn connects(spec: &LabSpec) -> Duration {
    CONNECTS * spec.slowness()
}

/// What runs, in its case, a command in a machine that lets itself be connected in time.
pub(crate) fn ssh<S: AsRef<str>>(
    dir: &LabDir,
    terminal: Terminal,
    connects: Duration,
    argv: impl IntoIterator<Item = S>,
) -> Vec<String> {
    let mut words: Vec<String> = ["ssh", "-F", "none", "-i"].map(str::to_owned).into();
    words.push(folder::door_key(dir).display().to_string());
    // 0 would be no limit at all.
    let connects = format!("ConnectTimeout={}", connects.as_secs().max(1));
    let known = format!("UserKnownHostsFile={}", one_word(&folder::known_hosts(dir)));
    for option in [
        known.as_str(),
        "GlobalKnownHostsFile=/dev/null",
        "StrictHostKeyChecking=yes",
        "IdentitiesOnly=yes",
        "IdentityAgent=none",
        "BatchMode=yes",
        connects.as_str(),
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
    words.extend([format!("root@{}", plan::MACHINE), shell::line(argv)]);
    words
}

/// A path as one word of ssh_config(5), which expands what stands behind a percent sign.
fn one_word(path: &Path) -> String {
    let mut word = String::from("\"");
    for c in path.display().to_string().chars() {
        match c {
            '"' | '\\' => word.extend(['\\', c]),
            '%' => word.push_str("%%"),
            c => word.push(c),
        }
    }
    word + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_blanks_is_one_word() {
        let word = |path: &str| one_word(Path::new(path));
        assert_eq!(word("/a b/known_hosts"), r#""/a b/known_hosts""#);
        assert_eq!(word(r#"/a"b\c%d"#), r#""/a\"b\\c%%d""#);
    }
}
