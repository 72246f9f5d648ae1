//! Running the cluster's own tools, always with arguments of their own: no shell in between.

use std::process::Output;
use std::time::Duration;

use hawser_tool::{Tool, ToolError};

use super::NodeError;

/// How long a tool may take for which an order says nothing: less than whoever gave the order waits
/// ([`super::Order::patience`]).
pub(super) const USUAL: Duration = Duration::from_secs(40);

/// Runs a tool and gives its output; what it says on stderr when it fails is the error.
pub(super) fn tool(
    program: &str,
    arguments: &[&str],
    input: Option<&str>,
) -> Result<String, NodeError> {
    let output = output(program, arguments, input)?;
    text(program, arguments, &output)
}

/// The same, for at most so long.
pub(super) fn tool_within(
    limit: Duration,
    program: &str,
    arguments: &[&str],
) -> Result<String, NodeError> {
    let output = within(limit, program, arguments, None);
    text(
        program,
        arguments,
        &output.map_err(cannot(program, arguments))?,
    )
}

/// Runs a tool to its end, whatever that is.
pub(super) fn output(
    program: &str,
    arguments: &[&str],
    input: Option<&str>,
) -> Result<Output, NodeError> {
    within(USUAL, program, arguments, input).map_err(cannot(program, arguments))
}

/// The same, for at most so long.
pub(super) fn within(
    limit: Duration,
    program: &str,
    arguments: &[&str],
    input: Option<&str>,
) -> Result<Output, ToolError> {
    let mut tool = Tool::new(program).args(arguments).limit(limit);
    // Debian's enables a service that has an init script beside its unit by four more programs, each of which has systemd read
    // all its files again. What they do is for another init alone (docs/ENVIRONMENT.md of systemd).
    if program == "systemctl" {
        tool = tool.variable("SYSTEMCTL_SKIP_SYSV", "1");
    }
    match input {
        Some(input) => tool.input(input).output(),
        None => tool.output(),
    }
}

/// The error of a tool that gave no output.
pub(super) fn cannot(program: &str, arguments: &[&str]) -> impl FnOnce(ToolError) -> NodeError {
    let command = line(program, arguments);
    move |error| NodeError::Tool {
        command,
        said: error.reason(),
    }
}

fn text(program: &str, arguments: &[&str], output: &Output) -> Result<String, NodeError> {
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failed(program, arguments, output)),
    }
}

/// The error of a tool that failed.
pub(super) fn failed(program: &str, arguments: &[&str], output: &Output) -> NodeError {
    let said = [&output.stderr[..], &output.stdout[..]].concat();
    let said = String::from_utf8_lossy(&said);
    let words: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let tail = words.len().saturating_sub(4);
    NodeError::Tool {
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
