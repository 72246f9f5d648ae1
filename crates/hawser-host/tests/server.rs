//! The server's loop against a coordinator that behaves, one that vanishes, and one that does
//! not speak the protocol; in one process, over real pipes.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use hawser_host::frame::{self, Decoder, FrameError, encode};
use hawser_host::marker::{Marker, Scanner};
use hawser_host::protocol::{Message, Ping, Reply, VERSION};
use hawser_host::server::{Patience, ServeError, Work, serve};
use hawser_host::{Ask, Progress, Stop};
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

/// Takes a minute, unless it is stopped.
const LONG: &str = "long";
/// Takes a minute.
const DEAF: &str = "deaf";
/// Panics.
const BUG: &str = "bug";

/// Answers pings, and the three above.
struct Fake {
    told: mpsc::Sender<&'static str>,
}

impl Work for Fake {
    fn work(
        &mut self,
        question: &str,
        _: &RawValue,
        stop: &Stop,
    ) -> Option<Result<Vec<u8>, FrameError>> {
        Some(match question {
            LONG => {
                self.told.send("busy").unwrap();
                let stopped = stop.wait(Duration::from_secs(60)) == Progress::Stopped;
                self.told.send("stopped").unwrap();
                encode(&Reply::Answer(stopped.then_some("stopped")))
            }
            DEAF => {
                self.told.send("busy").unwrap();
                thread::sleep(Duration::from_secs(60));
                encode(&Reply::Answer(()))
            }
            BUG => panic!("planted"),
            Ping::NAME => encode(&Reply::Answer(())),
            _ => return None,
        })
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = self.told.send("dropped");
    }
}

struct Served {
    pipe: UnixStream,
    decoder: Decoder,
    told: Receiver<&'static str>,
    ended: Receiver<Result<(), ServeError>>,
}

const PATIENCE: Patience = Patience {
    silence: Duration::from_millis(400),
    grace: Duration::from_millis(300),
};

impl Served {
    fn start(patience: Patience) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (telling, told) = mpsc::channel();
        let (ending, ended) = mpsc::channel();
        let writer = theirs.try_clone().unwrap();
        thread::spawn(move || {
            let how = serve(theirs, writer, move || Fake { told: telling }, patience);
            let _ = ending.send(how);
        });
        let mut served = Self {
            pipe: ours,
            decoder: Decoder::default(),
            told,
            ended,
        };
        served
            .pipe
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        let mut scanner = Scanner::default();
        let mut byte = [0];
        let marker = loop {
            served.pipe.read_exact(&mut byte).unwrap();
            if let Some((marker, rest)) = scanner.push(&byte).unwrap() {
                assert!(rest.is_empty());
                break marker;
            }
        };
        assert_eq!(marker, Marker::Agent(VERSION));
        served
    }

    fn say(&mut self, message: &Message) {
        frame::write(&mut self.pipe, message).unwrap();
    }

    fn answer<T: DeserializeOwned>(&mut self) -> Option<Reply<T>> {
        frame::read(&mut self.pipe, &mut self.decoder).unwrap()
    }

    fn told(&self, what: &str) {
        assert_eq!(self.told.recv_timeout(Duration::from_secs(5)), Ok(what));
    }

    fn end(&self) -> Result<(), ServeError> {
        self.ended
            .recv_timeout(Duration::from_secs(5))
            .expect("serve goes on")
    }
}

fn asked(question: &str) -> Message {
    Message::Ask {
        question: question.to_owned(),
        body: to_raw_value(&()).unwrap(),
    }
}

#[test]
fn questions_are_answered_in_order_and_a_closed_pipe_ends_the_agent() {
    let mut served = Served::start(PATIENCE);
    for _ in 0..3 {
        served.say(&asked(Ping::NAME));
        assert_eq!(served.answer(), Some(Reply::Answer(())));
    }
    served.pipe.shutdown(Shutdown::Write).unwrap();
    served.end().unwrap();
    served.told("dropped");
}

#[test]
fn a_question_that_nobody_answers_is_declined_and_the_next_one_is_not() {
    let mut served = Served::start(PATIENCE);
    served.say(&asked("weather"));
    let declined = Reply::<()>::Declined("no agent answers \"weather\"".into());
    assert_eq!(served.answer(), Some(declined));
    served.say(&asked(Ping::NAME));
    assert_eq!(served.answer(), Some(Reply::Answer(())));
}

#[test]
fn stop_ends_the_running_request_and_only_that_one() {
    let mut served = Served::start(PATIENCE);
    served.say(&asked(LONG));
    served.told("busy");
    served.say(&Message::Stop);
    served.told("stopped");
    assert_eq!(
        served.answer(),
        Some(Reply::Answer(Some("stopped".to_owned())))
    );
    // A stop that comes too late belongs to nothing.
    served.say(&Message::Stop);
    served.say(&asked(LONG));
    served.told("busy");
    assert!(
        served
            .told
            .recv_timeout(Duration::from_millis(150))
            .is_err()
    );
    served.say(&Message::Stop);
    served.told("stopped");
}

#[test]
fn a_closed_pipe_ends_a_long_request_and_drops_what_was_open() {
    let mut served = Served::start(PATIENCE);
    served.say(&asked(LONG));
    served.told("busy");
    served.pipe.shutdown(Shutdown::Both).unwrap();
    served.told("stopped");
    served.told("dropped");
    served.end().unwrap();
}

#[test]
fn a_request_that_does_not_mind_the_stop_does_not_hold_the_agent_up() {
    let mut served = Served::start(PATIENCE);
    served.say(&asked(DEAF));
    served.told("busy");
    let closed = Instant::now();
    served.pipe.shutdown(Shutdown::Both).unwrap();
    served.end().unwrap();
    assert!(closed.elapsed() >= PATIENCE.grace);
}

#[test]
fn a_coordinator_that_is_silent_is_taken_for_gone_and_one_that_is_alive_is_not() {
    let mut served = Served::start(PATIENCE);
    for _ in 0..4 {
        thread::sleep(PATIENCE.silence / 2);
        served.say(&Message::Alive);
    }
    assert!(served.ended.try_recv().is_err());
    assert!(matches!(served.end(), Err(ServeError::Silence(_))));
}

#[test]
fn garbage_on_stdin_ends_the_agent_with_the_reason() {
    let mut served = Served::start(PATIENCE);
    served.pipe.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let error = served.end().unwrap_err();
    assert!(error.to_string().contains("GET / HTTP"), "{error}");
}

#[test]
fn a_panic_in_the_work_ends_the_agent_instead_of_hanging_it() {
    // To draw a backtrace takes a while; a silence that ends first would be the other error.
    let silence = Duration::from_secs(60);
    let mut served = Served::start(Patience {
        silence,
        ..PATIENCE
    });
    served.say(&asked(BUG));
    assert!(matches!(served.end(), Err(ServeError::Panicked)));
    served.told("dropped");
}

#[test]
fn requests_that_do_not_wait_for_answers_are_not_hoarded() {
    let mut served = Served::start(PATIENCE);
    served.say(&asked(LONG));
    served.told("busy");
    for _ in 0..16 {
        if frame::write(&mut served.pipe, &asked(Ping::NAME)).is_err() {
            break;
        }
    }
    assert!(matches!(served.end(), Err(ServeError::Impatient)));
}
