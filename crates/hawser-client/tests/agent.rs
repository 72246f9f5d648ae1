//! The client as a coordinator has it: the program itself, asked over its pipes, which writes to a file.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use hawser_client::check::{Rules, check};
use hawser_client::history::Record;
use hawser_client::job::{Destination, Job};
use hawser_client::load::Load;
use hawser_client::questions::{ReadClock, StartWriting, StopWriting, TakeWords};
use hawser_client::target::Target;
use hawser_client::word::Word;
use hawser_host::protocol::Message;
use hawser_host::transport::Command;
use hawser_host::{Agent, Ask, Host, frame};
use hawser_model::traffic::RunKey;
use hawser_tool::Launch;
use serde_json::value::to_raw_value;
use tempfile::NamedTempFile;

/// A word comes within so long.
const SOON: Duration = Duration::from_secs(60);

/// A client, and what it has said.
struct Served {
    pid: u32,
    host: Box<dyn Host>,
    history: Vec<Record>,
    /// All else.
    words: VecDeque<Word>,
}

impl Served {
    fn start() -> Self {
        let transport = Command::new("client1".into(), || {
            Ok::<_, io::Error>(Launch::new(PROGRAM).arg("agent"))
        });
        let agent = Agent::connect(&transport, RunKey(0)).unwrap();
        Self {
            pid: agent.pid(),
            host: Box::new(agent),
            history: Vec::new(),
            words: VecDeque::new(),
        }
    }

    /// The next thing it says that is no record.
    fn word(&mut self) -> Option<Word> {
        let deadline = Instant::now() + SOON;
        while self.words.is_empty() && Instant::now() < deadline {
            for word in self.host.ask(&TakeWords).unwrap() {
                match word {
                    Word::Record(record) => self.history.push(record),
                    word => self.words.push_back(word),
                }
            }
            thread::sleep(Duration::from_millis(10));
        }
        self.words.pop_front()
    }
}

/// The client's program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_hawser-client");

/// A file with room for what a job writes.
fn file() -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    file.as_file().set_len(4 << 20).unwrap();
    file
}

fn job(destination: Destination) -> StartWriting {
    StartWriting(Job {
        destination,
        load: Load::USUAL,
        create: false,
        patience: SOON,
    })
}

fn to(path: &Path) -> StartWriting {
    job(Destination::Path(path.to_owned()))
}

#[test]
fn what_a_client_wrote_for_a_coordinator_is_in_the_history_that_it_answers() {
    let file = file();
    let mut client = Served::start();
    client.host.ask(&to(file.path())).unwrap();
    assert_eq!(client.word(), Some(Word::Writing));
    let before = client.host.ask(&ReadClock).unwrap();
    let again = client.host.ask(&to(file.path())).unwrap_err();
    assert!(again.host_goes_on(), "{again}");
    client.host.ask(&StopWriting).unwrap();
    assert_eq!(client.word(), Some(Word::Ended));
    assert_eq!(client.host.ask(&TakeWords).unwrap(), []);

    let verdict = check(&client.history, Rules::default());
    assert!(verdict.is_clean(), "{verdict:?}");
    assert!(verdict.acknowledged > 0 && verdict.read_back > 0);
    let last = client.history.last().unwrap();
    assert!(client.history[0].at_us < before && before < last.at_us);
    // Its end is that of the connection.
    let process = Path::new("/proc").join(client.pid.to_string());
    assert!(process.exists());
    drop(client);
    assert!(!process.exists());
}

#[test]
fn a_client_whose_coordinator_was_killed_ends_by_itself_while_it_writes() {
    let file = file();
    let mut client = process::Command::new(PROGRAM)
        .arg("agent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = client.stdin.take().unwrap();
    let message = Message::Ask {
        question: StartWriting::NAME.to_owned(),
        body: to_raw_value(&to(file.path())).unwrap(),
    };
    frame::write(&mut pipe, &message).unwrap();
    let held = || fs::read(file.path()).unwrap();
    while held().iter().all(|byte| *byte == 0) {
        thread::sleep(Duration::from_millis(10));
    }
    drop(pipe);
    assert!(client.wait().unwrap().success());
}

#[test]
fn one_that_cannot_write_says_why_and_one_that_was_told_nothing_declines() {
    let mut client = Served::start();
    let early = client.host.ask(&StopWriting).unwrap_err();
    let words = "client1: this client has not begun to write";
    assert_eq!(early.to_string(), words);
    client.host.ask(&to(Path::new("/nonexistent"))).unwrap();
    let Some(Word::Failed(why)) = client.word() else {
        panic!("it goes on");
    };
    assert!(why.starts_with("/nonexistent: No such file"), "{why}");
}

#[test]
fn a_file_that_is_too_short_and_a_target_without_an_address_are_refused() {
    let short = NamedTempFile::new().unwrap();
    File::create(short.path())
        .unwrap()
        .set_len(1 << 20)
        .unwrap();
    let nowhere = Target {
        portals: Vec::new(),
        name: "iqn.2026-01.io.hawser:nowhere".into(),
        lun: 1,
        initiator: hawser_client::INITIATOR.into(),
        chap: None,
    };
    let path: PathBuf = short.path().into();
    for (destination, wanted) in [
        (
            Destination::Path(path),
            "256 blocks of 4 KiB, and 1024 are needed (4 MiB)",
        ),
        (
            Destination::Unit(nowhere),
            "no address of the target is named",
        ),
    ] {
        let mut client = Served::start();
        client.host.ask(&job(destination)).unwrap();
        let Some(Word::Failed(why)) = client.word() else {
            panic!("it goes on");
        };
        assert!(why.ends_with(wanted), "{why}");
    }
}
