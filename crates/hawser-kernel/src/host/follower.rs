//! A program that is left running, for what it tells line by line.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin};
use std::thread::{self, JoinHandle};

use hawser_tool::{Launch, TIED};

/// No line that means something is longer; what is longer comes in parts.
const LINE: u64 = 4096;

/// The program, which ends when this is dropped and with the process that started it.
#[derive(Debug)]
pub(super) struct Follower {
    child: Child,
    _input: ChildStdin,
    reads: JoinHandle<()>,
}

impl Follower {
    /// Starts it, and has each of its lines taken on a thread of this name; none if it cannot be started.
    pub(super) fn start<'a>(
        name: &str,
        words: impl IntoIterator<Item = &'a str>,
        take: impl FnMut(&str) + Send + 'static,
    ) -> Option<Self> {
        let [program, options @ ..] = TIED;
        let launch = Launch::new(program).args(options).args(words);
        let piped = launch.log(File::create("/dev/null").ok()?).piped();
        let piped = piped.ok()?;
        let output = BufReader::new(piped.output);
        let reads = thread::Builder::new().name(name.to_owned());
        let reads = reads.spawn(move || each_line(output, take)).ok()?;
        Some(Self {
            child: piped.child,
            _input: piped.input,
            reads,
        })
    }

    /// Whether it tells nothing any more.
    pub(super) fn has_ended(&self) -> bool {
        self.reads.is_finished()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // One that has ended already is merely waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Takes each line until there are no more.
pub(super) fn each_line(mut lines: impl BufRead, mut take: impl FnMut(&str)) {
    let mut line = Vec::new();
    loop {
        line.clear();
        match Read::take(&mut lines, LINE).read_until(b'\n', &mut line) {
            Ok(1..) => take(&String::from_utf8_lossy(&line)),
            Ok(0) | Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_an_end_is_taken_in_parts_and_ends() {
        let mut parts = Vec::new();
        let text = format!("one\n{}", "x".repeat(10_000));
        each_line(text.as_bytes(), |part| parts.push(part.len()));
        assert_eq!(parts, [4, 4096, 4096, 1808]);
    }
}
