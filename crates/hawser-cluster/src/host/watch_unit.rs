//! The unit of the watch on a node.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Content, NodeError, OwnedFile, engine, files, run};
use crate::plan::{WatchFacts, WatchUnitFile};
use crate::units::{APPLY_MARK, WATCH_FILE, WATCH_PROGRAM, WATCH_UNIT, watch_unit};

/// What is to become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchAction {
    /// It is installed, starts at boot, and runs.
    Install,
    /// It is gone.
    Withdraw,
}

const UNIT: &str = "hawser-watch.service";

/// systemd waits 90 s for a unit to be ready or to end.
const LIMIT: Duration = Duration::from_secs(120);

/// What a plan must know of it; none where systemd does not run.
pub(super) fn look() -> Option<WatchFacts> {
    let properties = [
        "show",
        "-p",
        "ActiveState,SubState,UnitFileState,MainPID",
        UNIT,
    ];
    let said = engine::by_systemd().then(|| run::tool("systemctl", &properties, None))?;
    let said = said.unwrap_or_default();
    let program = Path::new(WATCH_PROGRAM);
    Some(WatchFacts {
        program: program.is_file(),
        unit: whose(Path::new(WATCH_UNIT)),
        file: None,
        replaced: replaced(&said, program),
        ..state(&said)
    })
}

/// What systemd says of it.
fn state(said: &str) -> WatchFacts {
    let said = properties(said);
    let is = |name, value| said.get(name) == Some(&value);
    WatchFacts {
        enabled: is("UnitFileState", "enabled"),
        // One that ended is started again and again; one that starts for the first time is not ready yet.
        running: is("ActiveState", "active")
            || (is("ActiveState", "activating") && !is("SubState", "auto-restart")),
        ..WatchFacts::default()
    }
}

fn properties(said: &str) -> BTreeMap<&str, &str> {
    let pairs = said.lines().filter_map(|line| line.split_once('='));
    pairs.collect()
}

/// Whether the program that runs is another file than the one that is there: a package was upgraded.
fn replaced(said: &str, program: &Path) -> bool {
    let pid = properties(said)
        .get("MainPID")
        .and_then(|pid| pid.parse::<u32>().ok());
    let file = |path: &Path| fs::metadata(path).map(|it| (it.dev(), it.ino())).ok();
    let runs = pid.filter(|pid| *pid > 0);
    let runs = runs.and_then(|pid| file(Path::new(&format!("/proc/{pid}/exe"))));
    matches!((runs, file(program)), (Some(runs), Some(there)) if runs != there)
}

/// Whose unit stands there.
fn whose(unit: &Path) -> WatchUnitFile {
    if fs::read_link(unit).is_ok_and(|to| to == Path::new("/dev/null")) {
        return WatchUnitFile::Masked;
    }
    match fs::read_to_string(unit) {
        Ok(text) if text == watch_unit() => WatchUnitFile::Ours,
        Ok(text) if text.starts_with(APPLY_MARK) => WatchUnitFile::Outdated,
        Err(e) if e.kind() == ErrorKind::NotFound => WatchUnitFile::None,
        Ok(_) | Err(_) => WatchUnitFile::Theirs,
    }
}

/// Installs it and starts it, with this cluster file. It ends first: one that is killed in between leaves a watch that does not
/// run, which the next plan sees, and none that judges by what was.
pub(super) fn install(file: Content) -> Result<(), NodeError> {
    let there = files::read(WATCH_FILE)?;
    // Whom it tells may be a secret, and its reader is root.
    let file = OwnedFile {
        mode: 0o600,
        content: file,
    };
    let unit = whose(Path::new(WATCH_UNIT));
    let _was_not_there = systemctl(&["stop", UNIT]);
    if there.as_ref() != Some(&file) {
        if let Some(other) = there.filter(|there| there.content != file.content) {
            let mode = file.mode;
            let old = OwnedFile { mode, ..other };
            files::place(Path::new(&format!("{WATCH_FILE}.old")), &old)?;
        }
        files::write(WATCH_FILE, &file)?;
    }
    if matches!(unit, WatchUnitFile::None | WatchUnitFile::Outdated) {
        let content = Content(watch_unit().into_bytes());
        files::place(
            Path::new(WATCH_UNIT),
            &OwnedFile {
                mode: 0o644,
                content,
            },
        )?;
    }
    engine::reload_units()?;
    systemctl(&["enable", UNIT])?;
    // One that ended too often is started all the same.
    systemctl(&["reset-failed", UNIT])?;
    systemctl(&["start", UNIT]).map_err(|error| with_own_words(error, &journal()))
}

/// Ends it and removes it, if an apply installed it.
pub(super) fn withdraw() -> Result<(), NodeError> {
    match whose(Path::new(WATCH_UNIT)) {
        WatchUnitFile::Ours | WatchUnitFile::Outdated => {}
        WatchUnitFile::None | WatchUnitFile::Theirs | WatchUnitFile::Masked => return Ok(()),
    }
    systemctl(&["disable", "--now", UNIT])?;
    match fs::remove_file(WATCH_UNIT) {
        Err(e) if e.kind() != ErrorKind::NotFound => {
            return Err(NodeError::file("remove", WATCH_UNIT)(e));
        }
        _ => {}
    }
    engine::reload_units()
}

fn systemctl(arguments: &[&str]) -> Result<(), NodeError> {
    run::tool_within(LIMIT, "systemctl", arguments).map(drop)
}

/// What the watch itself said last.
fn journal() -> String {
    let arguments = [
        "-u",
        UNIT,
        "-n",
        "8",
        "-o",
        "cat",
        "--no-pager",
        "_COMM=hawser",
    ];
    run::tool("journalctl", &arguments, None).unwrap_or_default()
}

/// systemd says that it failed; the watch says why.
fn with_own_words(error: NodeError, journal: &str) -> NodeError {
    let lines = journal
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    match error {
        NodeError::Tool { command, said } if !lines.is_empty() => NodeError::Tool {
            command,
            said: format!("{said}; the watch said: {}", lines.join(" ")),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_known_by_its_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let unit = folder.path().join("hawser-watch.service");
        assert_eq!(whose(&unit), WatchUnitFile::None);
        for (text, who) in [
            (watch_unit(), WatchUnitFile::Ours),
            (
                format!("{APPLY_MARK} of old\n[Service]\n"),
                WatchUnitFile::Outdated,
            ),
            (
                "[Service]\nExecStart=/opt/watch\n".into(),
                WatchUnitFile::Theirs,
            ),
            (String::new(), WatchUnitFile::Theirs),
        ] {
            fs::write(&unit, text).unwrap();
            assert_eq!(whose(&unit), who);
        }
        fs::remove_file(&unit).unwrap();
        std::os::unix::fs::symlink("/dev/null", &unit).unwrap();
        assert_eq!(whose(&unit), WatchUnitFile::Masked);
    }

    #[test]
    fn a_unit_that_starts_again_and_again_does_not_run() {
        let facts = |active: &str, file: &str| {
            let (active, sub) = active.split_once('/').unwrap_or((active, ""));
            let said =
                format!("MainPID=0\nActiveState={active}\nSubState={sub}\nUnitFileState={file}\n");
            let facts = state(&said);
            (facts.running, facts.enabled)
        };
        assert_eq!(facts("active/running", "enabled"), (true, true));
        assert_eq!(facts("activating/start", "enabled"), (true, true));
        assert_eq!(facts("activating/auto-restart", "enabled"), (false, true));
        assert_eq!(facts("failed", "disabled"), (false, false));
        assert_eq!(facts("inactive", ""), (false, false));
    }

    #[test]
    fn a_program_that_was_replaced_under_a_running_watch_is_seen() {
        let own = format!("ActiveState=active\nMainPID={}\n", std::process::id());
        let exe = std::env::current_exe().unwrap();
        assert!(!replaced(&own, &exe));
        assert!(replaced(&own, Path::new("/proc/self/status")));
        assert!(!replaced("MainPID=0\n", &exe));
        assert!(!replaced(&own, Path::new("/none")));
    }

    #[test]
    fn why_it_does_not_start_is_said_in_its_own_words() {
        let error = NodeError::Tool {
            command: "systemctl start hawser-watch.service".into(),
            said: "Job for hawser-watch.service failed".into(),
        };
        let said = with_own_words(error, "\n× h3 is not a head\n\n").to_string();
        assert_eq!(
            said,
            "systemctl start hawser-watch.service: Job for hawser-watch.service failed; the watch said: × h3 is not a head"
        );
    }
}
