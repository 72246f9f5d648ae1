//! A program that speaks in lines, started here or on a host: the verifying client of a drill.

use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::client::{Arrived, Input, Opening, Pipes, last_words, send};
use crate::error::Failure;
use crate::marker::Marker;

/// How long a program that is here already may take to announce itself.
const ANNOUNCES: Duration = Duration::from_secs(15);

/// Longest line.
const LINE: usize = 1 << 20;

/// How long a pipe may refuse a line.
const PATIENCE: Duration = Duration::from_secs(2);

/// A program and its pipes. When it is dropped its standard input closes; one that does not end by that is
/// killed.
#[derive(Debug)]
pub struct Program {
    pipes: Pipes,
    /// What came after the last whole line.
    rest: Vec<u8>,
}

/// What came out of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Whole lines.
    Lines(Vec<String>),
    /// Nothing, until the deadline.
    Nothing,
    /// It has ended: how, and its last words on standard error.
    End(String),
}

/// Says lines to a program, from any thread.
#[derive(Clone, Debug)]
pub struct Teller(Input);

impl Program {
    /// Starts a program and waits until it announces itself in this version of its language.
    ///
    /// # Errors
    /// Why it did not.
    pub fn start(command: &mut Command, version: u32) -> Result<Self, Failure> {
        let mut opening = Opening::start(command)?;
        match opening.marker(ANNOUNCES) {
            Ok(marker) => Self::of(opening, marker, version),
            Err(silence) => Err(opening.no_agent(silence)),
        }
    }

    pub(crate) fn of(opening: Opening, marker: Marker, version: u32) -> Result<Self, Failure> {
        if marker != Marker::Client(version) {
            return Err(Failure::OtherVersion {
                theirs: marker.to_string(),
                ours: version,
            });
        }
        let (pipes, rest) = opening.into_parts();
        Ok(Self { pipes, rest })
    }

    /// Who says lines to it.
    pub fn teller(&self) -> Teller {
        Teller(self.pipes.input())
    }

    /// Waits for lines.
    ///
    /// # Errors
    /// A pipe failed.
    pub fn hear(&mut self, within: Duration) -> io::Result<Heard> {
        let deadline = Instant::now() + within;
        loop {
            let lines = whole_lines(&mut self.rest);
            if !lines.is_empty() {
                return Ok(Heard::Lines(lines));
            }
            if self.rest.len() > LINE {
                let what = format!("a line of more than {LINE} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            match self.pipes.receive(deadline)? {
                Arrived::Bytes(bytes) => self.rest.extend_from_slice(&bytes),
                Arrived::Nothing => return Ok(Heard::Nothing),
                Arrived::End => {
                    let how = self.pipes.end()?.to_string();
                    return Ok(Heard::End(last_words(&self.pipes.said(), &how)));
                }
            }
        }
    }
}

impl Teller {
    /// Says a line.
    ///
    /// # Errors
    /// It has ended, or does not read.
    pub fn say(&self, line: &str) -> io::Result<()> {
        send(
            &self.0,
            format!("{line}\n").as_bytes(),
            Instant::now() + PATIENCE,
        )
    }
}

/// Takes the whole lines from the front.
fn whole_lines(bytes: &mut Vec<u8>) -> Vec<String> {
    let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
        return Vec::new();
    };
    let whole: Vec<u8> = bytes.drain(..=end).collect();
    let text = String::from_utf8_lossy(&whole);
    text.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn lines_go_both_ways_and_the_end_has_words() {
        let script = "echo hello; echo '<<hawser client 3>>'; printf 'one\ntw'; read line; echo \"o $line\"; \
                      echo gone >&2; exit 4";
        let mut program = Program::start(&mut shell(script), 3).unwrap();
        let soon = Duration::from_secs(10);
        assert_eq!(
            program.hear(soon).unwrap(),
            Heard::Lines(vec!["one".into()])
        );
        program.teller().say("there").unwrap();
        assert_eq!(
            program.hear(soon).unwrap(),
            Heard::Lines(vec!["two there".into()])
        );
        let Heard::End(words) = program.hear(soon).unwrap() else {
            panic!("it goes on");
        };
        assert!(
            words.contains("exit status: 4") && words.contains("gone"),
            "{words}"
        );
    }

    #[test]
    fn another_version_and_a_program_that_cannot_start_are_told_apart() {
        let other = Program::start(&mut shell("echo '<<hawser client 2>>'"), 3).unwrap_err();
        assert!(
            matches!(other, Failure::OtherVersion { ours: 3, .. }),
            "{other}"
        );
        let none = Program::start(&mut shell("echo 'no libiscsi' >&2; exit 127"), 3).unwrap_err();
        assert!(none.to_string().contains("no libiscsi"), "{none}");
    }
}
