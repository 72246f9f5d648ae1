//! The watches of two heads among themselves: who is answered, and what.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use hawser_cluster::host::questions::{KeepLogs, ListKeptLogs, ReadKeptLog};
use hawser_cluster::host::{KeptLogs, KeptName};
use hawser_host::sim::{Simulated, Wire};
use hawser_host::{Ask, Clock, Host};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_watch::board::Board;
use hawser_watch::metrics::Health;
use hawser_watch::peers::channel::{Channel, ChannelError};
use hawser_watch::peers::listen::{Own, listen};
use hawser_watch::peers::peer::Peer;
use hawser_watch::peers::{Answering, ReadWatched, Ring};
use hawser_watch::shown::{Shown, ShownHead};
use hawser_watch::threads::Threads;
use proptest::prelude::*;

const FILE: &str = r#"
[cluster]
name = "c"

[[node]]
name = "head1"
addresses = { ring0 = "127.0.0.1" }

[[node]]
name = "head2"
addresses = { ring0 = "127.0.0.2" }

[[link]]
name = "ring0"
"#;

/// A head that has kept one incident.
struct Head;

hawser_host::answers! {
    Head;
    ListKeptLogs: |_, _| vec![KeptName { id: "20261127-010203".into(), bytes: 1, written_ns: 1 }];
    ReadKeptLog: |ask, _| Some(KeptLogs { id: ask.id, ..KeptLogs::default() });
    KeepLogs: |_, _| unasked();
}

/// What is not let through to the head.
fn unasked() {
    panic!("it was asked to keep something");
}

fn file() -> ClusterFile {
    hawser_model::cluster_file::parse(FILE, "hawser.toml").unwrap()
}

fn secret(folder: &Path, byte: u8) -> PathBuf {
    let path = folder.join(format!("authkey{byte}"));
    fs::write(&path, [byte; 256]).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    path
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// What head2 shows.
fn shown() -> Shown {
    let mut shown = Shown::default();
    shown.heads.insert("head2".into(), ShownHead::default());
    shown
}

/// Head2 as it is asked: its ring, and what head1 has of it.
fn head2(folder: &Path) -> (Ring, Ring) {
    let port = free_port();
    let ring = |own: &str| Ring {
        secret: secret(folder, 7),
        ..Ring::of(&file(), &own.into(), port)
    };
    let (here, there) = (ring("head2"), ring("head1"));
    let board = Board::new(file(), "head2".into(), Clock::default());
    board.show(shown(), Health::default(), None);
    let own: Own = Arc::new(move || {
        let head = Simulated::new("head2".into(), Head, QUESTIONS, &Wire::default());
        Answering::new(board.clone(), Box::new(head))
    });
    listen(&mut Threads::default(), &Arc::new(here.clone()), &own).unwrap();
    (here, there)
}

fn reached(ring: &Ring) -> Peer {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        match Peer::connect(ring, &"head2".into()) {
            Ok(peer) => return peer,
            Err(e) if Instant::now() > until => panic!("{e}"),
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[test]
fn a_head_with_the_key_is_told_what_the_other_shows_and_has_kept_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (_, ring) = head2(folder.path());
    let mut peer = reached(&ring);
    let host: &mut dyn Host = &mut peer;
    let answer = host.ask(&ReadWatched).unwrap().unwrap();
    assert!(answer.heads.contains_key(&HostName::from("head2")));
    let id = "20261127-010203".to_owned();
    assert_eq!(
        host.ask(&ReadKeptLog { id: id.clone() })
            .unwrap()
            .unwrap()
            .id,
        id
    );
    let logs = KeptLogs::default();
    let refused = host
        .ask(&KeepLogs {
            logs,
            pools: Vec::new(),
        })
        .unwrap_err();
    assert!(
        refused.to_string().contains("answers no such question"),
        "{refused}"
    );
    assert!(host.ask(&ReadWatched).is_ok(), "the conversation goes on");
}

#[test]
fn another_key_another_cluster_and_another_head_are_not_answered() {
    let folder = tempfile::tempdir().unwrap();
    let (_, ring) = head2(folder.path());
    drop(reached(&ring));
    let mut others = vec![ring.clone(); 3];
    others[0].secret = secret(folder.path(), 8);
    others[1].cluster = "d".into();
    let of_head2 = others[2].others.remove(&HostName::from("head2")).unwrap();
    others[2].others.insert("head3".into(), of_head2);
    for (ring, name) in others.iter().zip(["head2", "head2", "head3"]) {
        let refused = Peer::connect(ring, &name.into()).err().unwrap();
        assert!(refused.to_string().contains("another key"), "{refused}");
    }
    fs::remove_file(&others[0].secret).unwrap();
    let refused = Peer::connect(&others[0], &"head2".into()).err().unwrap();
    assert!(refused.to_string().contains("has no key"), "{refused}");
}

#[test]
fn whoever_has_not_the_address_of_a_head_is_let_go_before_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let (mut here, _) = head2(folder.path());
    let port = free_port();
    here.listens = vec![SocketAddr::from(([127, 0, 0, 1], port))];
    here.others.clear();
    let key = here.secret.clone();
    let own: Own = Arc::new(|| panic!("nobody is answered"));
    listen(&mut Threads::default(), &Arc::new(here.clone()), &own).unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    // The very key does not help.
    let key = hawser_watch::peers::key::read(&key).unwrap();
    let meant = b"hawser watch 1\0c\0head2";
    let refused = loop {
        match Channel::connect(here.listens[0], &key, meant) {
            Ok(_) => panic!("a stranger was answered"),
            Err(ChannelError::Io { .. }) if Instant::now() < until => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(refused) => break refused,
        }
    };
    assert!(matches!(refused, ChannelError::Key), "{refused}");
}

#[test]
fn no_head_speaks_for_another() {
    let head2 = HostName::from("head2");
    assert!(ReadWatched::may_say(&Some(shown()), &head2));
    assert!(!ReadWatched::may_say(&Some(shown()), &"head1".into()));
}

/// Two ends of a conversation, of which the first is a plain socket.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

/// A conversation that has begun.
fn conversation() -> (Channel, Channel) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answers = thread::spawn(move || {
        let stream = listener.accept().unwrap().0;
        Channel::accept(stream, &[1; 32], b"c").unwrap()
    });
    let asks = Channel::connect(address, &[1; 32], b"c").unwrap();
    (asks, answers.join().unwrap())
}

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn a_message_of_any_length_comes_as_it_was_said_and_one_that_is_too_long_ends_it() {
    let (mut asks, mut answers) = conversation();
    for length in [0, 1, 65_518, 65_519, 200_000] {
        let message = vec![b'x'; length];
        asks.send(&message, LIMIT).unwrap();
        assert_eq!(answers.receive(200_000, LIMIT).unwrap(), message);
    }
    asks.send(&[0; 100], LIMIT).unwrap();
    let refused = answers.receive(99, LIMIT).unwrap_err();
    assert!(matches!(refused, ChannelError::TooLarge(99)), "{refused}");
    drop(answers);
    assert!(matches!(asks.receive(9, LIMIT), Err(ChannelError::Closed)));
    assert!(asks.is_closed());
}

#[test]
fn nobody_is_waited_for_without_end() {
    let (mut asks, _answers) = conversation();
    let soon = Duration::from_millis(50);
    let late = asks.receive(9, soon).unwrap_err();
    assert!(matches!(late, ChannelError::Late), "{late}");
    assert!(!asks.is_closed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn what_is_no_greeting_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (mut client, server) = pair();
        client.write_all(&bytes).unwrap();
        drop(client);
        let refused = Channel::accept(server, &[1; 32], b"c").err();
        let known = matches!(refused, Some(ChannelError::Key | ChannelError::Closed | ChannelError::Io { .. }));
        prop_assert!(known, "{refused:?}");
    }
}
