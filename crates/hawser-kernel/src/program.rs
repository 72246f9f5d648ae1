//! Running another program for its answer, never for longer than it is worth.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::KernelError;

/// What `program` prints, if it ends with success within `limit`; it is killed otherwise.
///
/// Standard input is empty: an agent's own carries its protocol.
pub(crate) fn run(
    program: &'static str,
    arguments: &[&str],
    limit: Duration,
) -> Result<String, KernelError> {
    let fail = |what: String| KernelError::Program { program, what };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| fail(e.to_string()))?;
    let mut output = child
        .stdout
        .take()
        .ok_or_else(|| fail("no pipe".to_owned()))?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let read = output.read_to_end(&mut text).map(|_| text);
        // Nobody listens any more when the limit has passed.
        let _ = sender.send(read);
    });
    let text = receiver.recv_timeout(limit);
    if text.is_err() {
        // It may have ended by itself in this moment, and then there is nothing to kill.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|e| fail(e.to_string()))?;
    match text {
        Err(_) => Err(fail(format!("no answer within {limit:?}"))),
        Ok(Err(e)) => Err(fail(e.to_string())),
        Ok(Ok(_)) if !status.success() => Err(fail(status.to_string())),
        Ok(Ok(text)) => Ok(String::from_utf8_lossy(&text).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_a_failure_and_a_program_that_hangs() {
        let second = Duration::from_secs(1);
        assert_eq!(
            run("echo", &["two", "words"], second).unwrap(),
            "two words\n"
        );
        assert_eq!(
            run("false", &[], second).unwrap_err().to_string(),
            "false: exit status: 1"
        );
        let started = std::time::Instant::now();
        let error = run("sleep", &["30"], Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.to_string(), "sleep: no answer within 50ms");
        assert!(started.elapsed() < second);
    }
}
