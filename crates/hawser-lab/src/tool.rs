//! The one place that runs `ip`, `tc`, `nft` and `nsenter`, and says which command failed.

use std::ffi::OsStr;
use std::process::Output;
use std::time::Duration;

use hawser_tool::{Launch, Tool};

use crate::error::LabError;
use crate::process::ProcessId;

/// Runs one command in the network and mount namespaces of `place` and returns its output.
///
/// # Errors
/// [`LabError::Tool`] with the command and what it wrote to stderr.
pub(crate) fn run<S: AsRef<OsStr>>(place: ProcessId, argv: &[S]) -> Result<String, LabError> {
    finish(Tool::new(NSENTER).args(into(place, &BOTH)), argv)
}

/// Runs one command in the network namespace of one process and the mount namespace of another.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_mixed(
    network: ProcessId,
    mounts: ProcessId,
    argv: &[&str],
) -> Result<String, LabError> {
    let namespaces = [
        format!("--net=/proc/{}/ns/net", network.pid),
        format!("--mount=/proc/{}/ns/mnt", mounts.pid),
        "--".to_owned(),
    ];
    finish(Tool::new(NSENTER).args(namespaces), argv)
}

/// Runs `lines` through one `ip -batch` (`tc -batch` for `tool` = `tc`), stopping at the first
/// that fails.
///
/// # Errors
/// [`LabError::Tool`] with the very line that failed.
pub(crate) fn batch(place: ProcessId, tool: &str, lines: &[String]) -> Result<(), LabError> {
    batch_by(into(place, &BOTH), tool, lines)
}

/// One `ip -batch` in the network namespace of `place` alone, so that lines may name another one
/// by a process of the machine (`netns PID`): newer versions (6.15) look that up in the /proc
/// they see, which in a node's mount namespace is the node's own.
///
/// # Errors
/// [`LabError::Tool`] with the very line that failed.
pub(crate) fn batch_across(place: ProcessId, lines: &[String]) -> Result<(), LabError> {
    batch_by(into(place, &["--net"]), "ip", lines)
}

fn batch_by(into: Vec<String>, tool: &str, lines: &[String]) -> Result<(), LabError> {
    if lines.is_empty() {
        return Ok(());
    }
    let batch = Tool::new(NSENTER).args(into).args([tool, "-batch", "-"]);
    let output = answer(batch.input(lines.join("\n") + "\n"))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let line = failing_line(&stderr)
        .and_then(|number| lines.get(number.checked_sub(1)?))
        .map_or("-batch", String::as_str);
    Err(failed(&format!("{tool} {line}"), &output))
}

/// Feeds `text` to one command's standard input.
///
/// # Errors
/// [`LabError::Tool`] with the command and what it wrote to stderr.
pub(crate) fn feed(place: ProcessId, argv: &[&str], text: &str) -> Result<String, LabError> {
    finish(
        Tool::new(NSENTER).args(into(place, &BOTH)).input(text),
        argv,
    )
}

/// The same, for so long at most.
///
/// # Errors
/// As [`feed`]; it takes longer.
pub(crate) fn feed_within(
    place: ProcessId,
    argv: &[String],
    text: &str,
    limit: Duration,
) -> Result<String, LabError> {
    let tool = Tool::new(NSENTER).args(into(place, &BOTH));
    finish(tool.input(text).limit(limit), argv)
}

/// A command to be completed with a program and its arguments, run in the network and mount
/// namespaces of `place`, for what goes on beside this program.
pub(crate) fn enter(place: ProcessId) -> Launch {
    Launch::new(NSENTER).args(into(place, &BOTH))
}

const NSENTER: &str = "nsenter";

const BOTH: [&str; 2] = ["--net", "--mount"];

fn into(place: ProcessId, namespaces: &[&str]) -> Vec<String> {
    let target = format!("--target={}", place.pid);
    let namespaces = namespaces.iter().map(|&n| n.to_owned());
    [target]
        .into_iter()
        .chain(namespaces)
        .chain(["--".to_owned()])
        .collect()
}

/// Runs it to its end, and gives what it printed.
fn finish<S: AsRef<OsStr>>(tool: Tool, argv: &[S]) -> Result<String, LabError> {
    let output = answer(tool.args(argv))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words: Vec<_> = argv.iter().map(|w| w.as_ref().to_string_lossy()).collect();
    Err(failed(&words.join(" "), &output))
}

fn answer(tool: Tool) -> Result<Output, LabError> {
    tool.output().map_err(|e| LabError::Tool {
        command: NSENTER.to_owned(),
        what: e.reason(),
    })
}

fn failed(command: &str, output: &Output) -> LabError {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let words: Vec<&str> = stderr
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("Command failed"))
        .collect();
    let what = if words.is_empty() {
        output.status.to_string()
    } else {
        words.join("; ")
    };
    LabError::Tool {
        command: command.to_owned(),
        what,
    }
}

/// The number in `Command failed -:3`, which iproute2 prints after the error itself.
fn failing_line(stderr: &str) -> Option<usize> {
    stderr
        .lines()
        .find_map(|line| line.strip_prefix("Command failed -:"))?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_batch_that_failed_is_found() {
        let said = "RTNETLINK answers: File exists\nCommand failed -:3\n";
        assert_eq!(failing_line(said), Some(3));
        assert_eq!(failing_line("Cannot open -batch"), None);
    }
}
