//! The one place that runs `ip`, `tc`, `nft` and `nsenter`, and says which command failed.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

use crate::error::LabError;
use crate::process::ProcessId;

/// Runs one command in the network and mount namespaces of `place` and returns its output.
///
/// # Errors
/// [`LabError::Tool`] with the command and what it wrote to stderr.
pub(crate) fn run<S: AsRef<OsStr>>(place: ProcessId, argv: &[S]) -> Result<String, LabError> {
    let mut command = enter(place);
    command.args(argv);
    let output = finish(command, None)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words: Vec<_> = argv.iter().map(|w| w.as_ref().to_string_lossy()).collect();
    Err(failed(&words.join(" "), &output))
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
    let mut command = Command::new("nsenter");
    command
        .arg(format!("--net=/proc/{}/ns/net", network.pid))
        .arg(format!("--mount=/proc/{}/ns/mnt", mounts.pid))
        .arg("--")
        .env("LC_ALL", "C")
        .args(argv);
    let output = finish(command, None)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(failed(&argv.join(" "), &output))
}

/// Runs `lines` through one `ip -batch` (`tc -batch` for `tool` = `tc`), stopping at the first
/// that fails.
///
/// # Errors
/// [`LabError::Tool`] with the very line that failed.
pub(crate) fn batch(place: ProcessId, tool: &str, lines: &[String]) -> Result<(), LabError> {
    batch_by(enter(place), tool, lines)
}

/// One `ip -batch` in the network namespace of `place` alone, so that lines may name another one
/// by a process of the machine (`netns PID`): newer versions (6.15) look that up in the /proc
/// they see, which in a node's mount namespace is the node's own.
///
/// # Errors
/// [`LabError::Tool`] with the very line that failed.
pub(crate) fn batch_across(place: ProcessId, lines: &[String]) -> Result<(), LabError> {
    batch_by(nsenter(place, &["--net"]), "ip", lines)
}

fn batch_by(mut command: Command, tool: &str, lines: &[String]) -> Result<(), LabError> {
    if lines.is_empty() {
        return Ok(());
    }
    command.args([tool, "-batch", "-"]);
    let output = finish(command, Some(&(lines.join("\n") + "\n")))?;
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
    let mut command = enter(place);
    command.args(argv);
    let output = finish(command, Some(text))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(failed(&argv.join(" "), &output))
}

/// A command to be completed with a program and its arguments, run in the network and mount
/// namespaces of `place`.
pub(crate) fn enter(place: ProcessId) -> Command {
    nsenter(place, &["--net", "--mount"])
}

fn nsenter(place: ProcessId, namespaces: &[&str]) -> Command {
    let mut command = Command::new("nsenter");
    command
        .arg(format!("--target={}", place.pid))
        .args(namespaces)
        .arg("--")
        .env("LC_ALL", "C");
    command
}

fn finish(mut command: Command, input: Option<&str>) -> Result<Output, LabError> {
    let missing = |e: std::io::Error| LabError::io("run", "nsenter", e);
    command
        // Ctrl-C is for the command that runs the tools: it decides between two of them.
        .process_group(0)
        .stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(missing)?;
    if let (Some(text), Some(mut stdin)) = (input, child.stdin.take()) {
        // A tool that stopped reading has failed; its own words say why.
        let _broken_pipe = stdin.write_all(text.as_bytes());
    }
    child.wait_with_output().map_err(missing)
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
