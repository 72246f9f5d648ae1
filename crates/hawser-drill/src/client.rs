//! The verifying client at work: in the lab's client machine, or on the operator's own.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use hawser_client::history::{self, Record};
use hawser_model::drill::Moment;

use crate::error::DrillError;
use crate::follow::Follower;
use crate::stage::{Stage, now};

/// Its history, in memory of its machine's own.
const HISTORY: &str = "/tmp/hawser-drill.history";

/// How many write at the same time: one begins on each of two SANs.
const WRITERS: usize = 2;

/// The pool must let the client begin within so long.
const BEGINS: Duration = Duration::from_secs(60);

/// To read everything back.
const READS_BACK: Duration = Duration::from_secs(120);

/// The last words of a program that has ended arrive within so long.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A client that writes.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    said: Receiver<String>,
    complained: Receiver<String>,
    follower: Follower,
    path: std::path::PathBuf,
}

impl Client {
    /// Starts it and waits until every writer has been acknowledged something.
    ///
    /// # Errors
    /// It is not there, or the pool does not let it write.
    pub fn start(stage: &Stage<'_>) -> Result<Self, DrillError> {
        let client = stage.client.as_str();
        let (program, history) = match stage.real() {
            None => ("hawser-client".to_owned(), HISTORY.to_owned()),
            Some(_) => (
                beside(),
                stage.folder()?.join("history").display().to_string(),
            ),
        };
        let mut words = vec![program, "run".to_owned()];
        let writers = WRITERS.to_string();
        let target = stage.target();
        let options = [
            ("--history", history.as_str()),
            ("--writers", &writers),
            ("--target", &target),
            ("--patience", "90s"),
        ];
        words.extend(
            options
                .iter()
                .flat_map(|(option, value)| [(*option).to_owned(), (*value).to_owned()]),
        );
        for portal in stage.portals() {
            words.extend(["--portal".to_owned(), portal.to_string()]);
        }
        let (mut command, path) = match stage.real() {
            None => {
                stage.shell(client, &format!("rm -f {HISTORY}"))?;
                let lab = stage.lab()?;
                let path = format!("/proc/{}/root{HISTORY}", lab.process(client)?);
                // Dies with this process' child, and that with this process' pipe.
                (lab.tied_command(client, &words)?, path)
            }
            // It ends with its standard input, which is a pipe from here.
            Some(_) => {
                let _none_before = std::fs::remove_file(&history);
                let mut command = std::process::Command::new(&words[0]);
                command.args(&words[1..]);
                (command, history.clone())
            }
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|e| DrillError::io("run", &words[0], e))?;
        let said = lines(child.stdout.take());
        let complained = lines(child.stderr.take());
        let mut begun = Beginning {
            stdin: child.stdin.take(),
            child: Some(child),
        };
        let deadline = Instant::now() + BEGINS;
        loop {
            match said.try_recv() {
                Ok(line) if line == "writing" => break,
                Ok(_) => {}
                Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                    let why: Vec<String> = complained.iter().collect();
                    return Err(DrillError::CouldNot(format!(
                        "hawser-client on {client} ended: {} (it must lie beside hawser, in a lab when that is \
                         brought up)",
                        why.join("; ")
                    )));
                }
                Err(std::sync::mpsc::TryRecvError::Empty) if Instant::now() >= deadline => {
                    let why: Vec<String> = complained.try_iter().collect();
                    return Err(DrillError::CouldNot(format!(
                        "the client was not acknowledged anything within {} s: {}",
                        BEGINS.as_secs(),
                        why.last().map_or("it says nothing", String::as_str)
                    )));
                }
                Err(std::sync::mpsc::TryRecvError::Empty) if (stage.interrupted)() => {
                    return Err(DrillError::Interrupted);
                }
                Err(std::sync::mpsc::TryRecvError::Empty) => {
                    std::thread::sleep(Duration::from_millis(10))
                }
            }
        }
        let file = std::fs::File::open(&path).map_err(|e| DrillError::io("open", &path, e))?;
        let (child, stdin) = begun.done();
        let Some(child) = child else {
            return Err(DrillError::CouldNot("the client has no process".into()));
        };
        Ok(Self {
            child,
            stdin,
            said,
            complained,
            follower: Follower::new(file),
            path: path.into(),
        })
    }

    /// Waits until each writer has been acknowledged something in every half second of `length`,
    /// which begins not before `from`. False: it did not come to that within `patience`.
    ///
    /// # Errors
    /// Ctrl-C; the client has ended.
    pub fn wait_steady(
        &mut self,
        stage: &Stage<'_>,
        from: Moment,
        length: Duration,
        patience: Duration,
    ) -> Result<bool, DrillError> {
        let length_us = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        stage.wait(patience, || {
            self.follow()?;
            let now = now().0;
            let begin = now.saturating_sub(length_us);
            Ok(begin >= from.0 && self.follower.steady(WRITERS, begin, now))
        })
    }

    fn follow(&mut self) -> Result<(), DrillError> {
        if let Ok(Some(status)) = self.child.try_wait() {
            let why: Vec<String> = self.complained.try_iter().collect();
            return Err(DrillError::CouldNot(format!(
                "the client ended by itself ({status}): {}",
                why.join("; ")
            )));
        }
        self.follower
            .read_on()
            .map_err(|e| DrillError::io("read", self.path.display(), e))
    }

    /// Tells it to stop, waits until it has read everything back (or could not), and answers its
    /// history, and what it complained of.
    ///
    /// # Errors
    /// Ctrl-C; it does not end; its history cannot be read.
    pub fn stop(mut self, stage: &Stage<'_>) -> Result<(Vec<Record>, Vec<String>), DrillError> {
        drop(self.stdin.take());
        let child = &mut self.child;
        let ended = stage.wait(READS_BACK, || Ok(matches!(child.try_wait(), Ok(Some(_)))))?;
        if !ended {
            return Err(DrillError::CouldNot(format!(
                "the client did not end within {} s",
                READS_BACK.as_secs()
            )));
        }
        let said = rest(&self.said).pop();
        let history = history::load(&self.path).map_err(|e| DrillError::CouldNot(e.to_string()))?;
        let complaints = rest(&self.complained);
        match said.as_deref() {
            // What could not be read back is in the history; the judge sees it there.
            Some("read back" | "not read back") => Ok((history, complaints)),
            _ => Err(DrillError::CouldNot(format!(
                "the client broke off: {}",
                complaints.join("; ")
            ))),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        end(&mut self.child);
        let _gone_with_its_machine = std::fs::remove_file(&self.path);
    }
}

/// A client that has not said yet that it writes.
struct Beginning {
    child: Option<Child>,
    stdin: Option<ChildStdin>,
}

impl Beginning {
    fn done(&mut self) -> (Option<Child>, Option<ChildStdin>) {
        (self.child.take(), self.stdin.take())
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            end(child);
        }
    }
}

/// The client beside this very program, else by its name alone.
fn beside() -> String {
    let own = std::env::current_exe().ok();
    let beside = own.map(|own| own.with_file_name("hawser-client"));
    let beside = beside.filter(|path| path.exists());
    beside.map_or("hawser-client".to_owned(), |path| {
        path.display().to_string()
    })
}

fn end(child: &mut Child) {
    let _ended_already = child.kill();
    let _reaped = child.wait();
}

/// What is left of the lines of a program that has ended: its last ones may still be on their way.
fn rest(lines: &Receiver<String>) -> Vec<String> {
    let mut all = Vec::new();
    while let Ok(line) = lines.recv_timeout(LAST_WORDS) {
        all.push(line);
    }
    all
}

/// The lines of a pipe, as they come.
fn lines(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (put, take) = channel();
    if let Some(pipe) = pipe {
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                if put.send(line).is_err() {
                    break;
                }
            }
        });
    }
    take
}
