//! Nodes that do not keep to the protocol: each is an error that names the node, and soon.

use std::fs;
use std::io;

use hawser_host::frame::encode;
use hawser_host::marker::preamble;
use hawser_host::protocol::{Ping, Reply, VERSION, Welcome};
use hawser_host::transport::Command;
use hawser_host::{Agent, Ask, Host, HostError};
use hawser_model::names::HostName;
use hawser_model::traffic::RunKey;
use hawser_tool::Launch;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

/// Which hosts speak.
#[derive(Debug, Serialize, Deserialize)]
struct Speakers;

impl Ask for Speakers {
    type Answer = Vec<HostName>;
    const NAME: &'static str = "speakers";

    fn may_say(speakers: &Vec<HostName>, host: &HostName) -> bool {
        speakers.iter().all(|speaker| speaker == host)
    }
}

/// What a node says: the first piece at once, each other one after it has read something.
struct Node {
    pieces: Vec<Vec<u8>>,
    folder: TempDir,
}

impl Node {
    /// One that greets as an agent does.
    fn greeting() -> Self {
        let welcome = Welcome {
            version: VERSION,
            pid: 7,
        };
        Self::silent().then(Reply::Answer(welcome))
    }

    /// One that announces itself and nothing more.
    fn silent() -> Self {
        Self {
            pieces: vec![preamble().into_bytes()],
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn then(self, answer: Reply<impl Serialize>) -> Self {
        self.then_bytes(encode(&answer).unwrap())
    }

    fn then_bytes(mut self, bytes: Vec<u8>) -> Self {
        self.pieces.push(bytes);
        self
    }

    /// The last two pieces come together.
    fn at_once(mut self) -> Self {
        let last = self.pieces.pop().unwrap();
        self.pieces.last_mut().unwrap().extend(last);
        self
    }

    fn connect(&self) -> Result<Box<dyn Host>, HostError> {
        let mut script = String::new();
        for (number, piece) in self.pieces.iter().enumerate() {
            let file = self.folder.path().join(number.to_string());
            fs::write(&file, piece).unwrap();
            if number > 0 {
                script.push_str("dd bs=64k count=1 2>/dev/null >/dev/null; ");
            }
            script.push_str(&format!("cat {}; ", file.display()));
        }
        script.push_str("exec cat >/dev/null");
        let transport = Command::new("head2".into(), move || {
            Ok::<_, io::Error>(Launch::new("sh").args(["-c", &script]))
        });
        Ok(Box::new(Agent::connect(&transport, RunKey(1))?))
    }
}

fn is_said(error: &HostError, parts: &[&str]) {
    let text = error.to_string();
    assert!(text.starts_with("head2: "), "{text}");
    for part in parts {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(!error.host_goes_on(), "{text}");
}

#[test]
fn an_answer_that_was_not_asked_for_is_not_taken_for_one_that_will_be() {
    let error = Node::greeting().at_once().connect().err().unwrap();
    is_said(&error, &["answered before hello was asked"]);

    let node = Node::greeting().then(Reply::Answer(())).at_once();
    let mut host = node.connect().unwrap();
    let error = host.ask(&Ping).unwrap_err();
    is_said(&error, &["answered before ping was asked"]);
    let error = host.ask(&Ping).unwrap_err();
    is_said(&error, &["ended by an earlier error ("]);
}

#[test]
fn an_answer_of_another_kind_is_named() {
    let node = Node::greeting().then(Reply::Answer(1));
    let mut host = node.connect().unwrap();
    let not_one = "answer to ping: frame is not a message of this protocol: ";
    let error = host.ask(&Ping).unwrap_err();
    is_said(&error, &[not_one, "integer `1`", "expected unit"]);
    let error = host.ask(&Ping).unwrap_err();
    is_said(&error, &["ended by an earlier error"]);
}

#[test]
fn a_host_speaks_for_itself_alone() {
    let speakers = |other: &str| Reply::Answer(["head2".to_owned(), other.to_owned()]);
    let node = Node::greeting().then(speakers("head2"));
    let mut host = node.connect().unwrap();
    assert_eq!(host.ask(&Speakers).unwrap().len(), 2);
    let node = Node::greeting().then(speakers("head3"));
    let mut host = node.connect().unwrap();
    let error = host.ask(&Speakers).unwrap_err();
    is_said(&error, &["answer to speakers is", "head3"]);
}

#[test]
fn an_answer_is_no_larger_than_its_request_explains() {
    let announced = (1_u32 << 20).to_be_bytes().to_vec();
    let node = Node::greeting().then_bytes(announced);
    let mut host = node.connect().unwrap();
    let error = host.ask(&Ping).unwrap_err();
    is_said(
        &error,
        &["answer to ping", "1048576 bytes announced, 262144 allowed"],
    );
}

#[test]
fn words_of_a_node_do_not_pass_for_lines_of_ours() {
    let error = "no\ncluster lab: redundant".to_owned();
    let node = Node::greeting().then(Reply::<()>::Declined(error));
    let mut host = node.connect().unwrap();
    let text = host.ask(&Ping).unwrap_err().to_string();
    assert_eq!(text, "head2: no\n  cluster lab: redundant");
}

#[test]
fn words_without_end_are_cut() {
    let error = "x".repeat(200 << 10);
    let node = Node::greeting().then(Reply::<()>::Declined(error));
    let mut host = node.connect().unwrap();
    let text = host.ask(&Ping).unwrap_err().to_string();
    assert!(text.len() < 20 << 10, "{} bytes", text.len());
}
