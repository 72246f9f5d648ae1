//! Running the cluster's own tools, always with arguments of their own: no shell in between.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use super::HostError;

/// Administration needs more than some users' `PATH` has.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A command in a known environment.
pub(super) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("PATH", PATH)
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    command
}

/// Runs a tool and gives its output; what it says on stderr when it fails is the error.
pub(super) fn tool(
    program: &str,
    arguments: &[&str],
    input: Option<&str>,
) -> Result<String, HostError> {
    let output = output(program, arguments, input)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failed(program, arguments, &output)),
    }
}

/// Runs a tool to its end, whatever that is.
pub(super) fn output(
    program: &str,
    arguments: &[&str],
    input: Option<&str>,
) -> Result<Output, HostError> {
    let cannot = |source: std::io::Error| HostError::Tool {
        command: line(program, arguments),
        said: source.to_string(),
    };
    let mut command = command(program);
    command
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().map_err(cannot)?;
    // All of these read their input whole before they answer.
    if let (Some(text), Some(mut stdin)) = (input, child.stdin.take()) {
        // A tool that stopped reading has failed; its own words say why.
        let _broken_pipe = stdin.write_all(text.as_bytes());
    }
    child.wait_with_output().map_err(cannot)
}

/// The error of a tool that failed.
pub(super) fn failed(program: &str, arguments: &[&str], output: &Output) -> HostError {
    let said = [&output.stderr[..], &output.stdout[..]].concat();
    let said = String::from_utf8_lossy(&said);
    let words: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let tail = words.len().saturating_sub(4);
    HostError::Tool {
        command: line(program, arguments),
        said: match words.is_empty() {
            true => output.status.to_string(),
            false => words[tail..].join("; "),
        },
    }
}

fn line(program: &str, arguments: &[&str]) -> String {
    [&[program], arguments].concat().join(" ")
}
