//! Nodes that do not keep to the protocol: each is an error that names the node, and soon.

use std::fs;
use std::io;
use std::process;

use hawser_agent::frame::encode;
use hawser_agent::marker::preamble;
use hawser_agent::protocol::{Response, VERSION};
use hawser_agent::transport::Command;
use hawser_agent::{Agent, AgentError};
use hawser_model::probe::HelloHeard;
use hawser_model::traffic::RunKey;
use tempfile::TempDir;

/// What a node says: the first piece at once, each other one after it has read something.
struct Node {
    pieces: Vec<Vec<u8>>,
    folder: TempDir,
}

impl Node {
    /// One that greets as an agent does.
    fn greeting() -> Self {
        let welcome = Response::Welcome {
            version: VERSION,
            pid: 7,
        };
        Self::silent().then(welcome)
    }

    /// One that announces itself and nothing more.
    fn silent() -> Self {
        Self {
            pieces: vec![preamble().into_bytes()],
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn then(self, answer: Response) -> Self {
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

    fn connect(&self) -> Result<Agent, AgentError> {
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
            let mut command = process::Command::new("sh");
            command.args(["-c", &script]);
            Ok::<_, io::Error>(command)
        });
        Agent::connect(&transport, RunKey(1))
    }
}

fn is_said(error: &AgentError, parts: &[&str]) {
    let text = error.to_string();
    assert!(text.starts_with("head2: "), "{text}");
    for part in parts {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(!error.agent_goes_on(), "{text}");
}

#[test]
fn an_answer_that_was_not_asked_for_is_not_taken_for_one_that_will_be() {
    let error = Node::greeting().at_once().connect().unwrap_err();
    is_said(&error, &["answered before hello was asked"]);

    let node = Node::greeting().then(Response::Done).at_once();
    let mut agent = node.connect().unwrap();
    is_said(
        &agent.ping().unwrap_err(),
        &["answered before ping was asked"],
    );
    is_said(&agent.ping().unwrap_err(), &["ended by an earlier error"]);
}

#[test]
fn an_answer_of_another_kind_is_named() {
    let node = Node::greeting().then(Response::Port(1));
    let mut agent = node.connect().unwrap();
    is_said(&agent.ping().unwrap_err(), &["answer to ping is Port(1)"]);
}

#[test]
fn a_host_speaks_for_itself_alone() {
    let heard = |by: &str| HelloHeard {
        from: "head1".into(),
        from_link: "ring0".into(),
        by: by.into(),
        on_link: "ring0".into(),
        copies: 1,
    };
    let hellos = |by: &str| Response::Hellos(vec![heard("head2"), heard(by)]);
    let node = Node::greeting().then(hellos("head2"));
    let mut agent = node.connect().unwrap();
    assert_eq!(agent.hellos_heard().unwrap().len(), 2);
    let node = Node::greeting().then(hellos("head3"));
    let mut agent = node.connect().unwrap();
    is_said(
        &agent.hellos_heard().unwrap_err(),
        &["answer to hellos heard is"],
    );
}

#[test]
fn an_answer_is_no_larger_than_its_request_explains() {
    let announced = (1_u32 << 20).to_be_bytes().to_vec();
    let node = Node::greeting().then_bytes(announced);
    let mut agent = node.connect().unwrap();
    let error = agent.ping().unwrap_err();
    is_said(
        &error,
        &["answer to ping", "1048576 bytes announced, 262144 allowed"],
    );
}

#[test]
fn words_of_a_node_do_not_pass_for_lines_of_ours() {
    let error = "no\ncluster lab: redundant".to_owned();
    let node = Node::greeting().then(Response::Failed { error });
    let mut agent = node.connect().unwrap();
    let text = agent.ping().unwrap_err().to_string();
    assert_eq!(text, "head2: ping: no\n  cluster lab: redundant");
}

#[test]
fn words_without_end_are_cut() {
    let error = "x".repeat(200 << 10);
    let node = Node::greeting().then(Response::Failed { error });
    let mut agent = node.connect().unwrap();
    let text = agent.ping().unwrap_err().to_string();
    assert!(text.len() < 20 << 10, "{} bytes", text.len());
}
