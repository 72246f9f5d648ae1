//! Answers to HTTP requests. Nothing that is asked changes anything.
//!
//! One thread a request and few at a time, each with an end: a client that is slow, or sends much, waits for itself. A
//! connection that stays open is handed on and needs no thread.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hawser_host::Clock;
use hawser_report::LIVE_POLICY;
use hawser_tool::Deadline;

use crate::request::{Asked, Request, request};
use crate::web::{Connection, Door, Doors, Verdict, WebError};

/// Requests that are answered at the same time.
const AT_ONCE: usize = 24;

/// One more waits so long for another to end, and those behind it in the kernel's queue; then it is turned away.
const WAITS: Duration = Duration::from_millis(500);

/// How long a handshake, a request and its answer may take together.
const LIMIT: Duration = Duration::from_secs(5);

/// After a connection that could not be taken, since there are no descriptors or it is gone already.
const PAUSE: Duration = Duration::from_millis(100);

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status line's number.
    pub status: u16,
    /// The media type.
    pub media_type: &'static str,
    /// The body.
    pub body: String,
}

impl Answer {
    /// Plain text.
    pub fn text(status: u16, body: &str) -> Self {
        Self {
            status,
            media_type: "text/plain; charset=utf-8",
            body: body.to_owned(),
        }
    }
}

/// What is behind an address.
pub trait Serves: Send + Sync + 'static {
    /// The answer to a request for this.
    fn answer(&self, path: &str) -> Answer;

    /// Takes the whole connection, if it is for something that goes on; else gives it back.
    fn take(&self, path: &str, connection: Connection) -> Option<Connection>;
}

/// Why nothing listens.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// What is asked of whoever comes is not known, or not enough.
    #[error(transparent)]
    Web(#[from] WebError),
    /// The address cannot be listened on.
    #[error("listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
}

/// Listens, and answers on a thread of its own from then on, behind these doors. Gives the address, with the port that the
/// kernel chose for 0.
///
/// # Errors
/// It cannot be listened on.
pub fn serve(
    address: SocketAddr,
    doors: Arc<Doors>,
    site: impl Serves,
) -> Result<SocketAddr, ServeError> {
    let failed = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let site = Arc::new(site);
    let busy = Arc::new(Busy::default());
    let accept = move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                Clock::default().sleep(PAUSE);
                continue;
            };
            let seat = Seat::take(&busy);
            let Some(seat) = seat else {
                drop(stream);
                continue;
            };
            let (site, doors) = (Arc::clone(&site), Arc::clone(&doors));
            let serve = move || {
                let _gone = respond(stream, site.as_ref(), &doors.now());
                drop(seat);
            };
            // Without a thread the client sees its connection end.
            let _none = thread::Builder::new().name("request".into()).spawn(serve);
        }
    };
    let started = thread::Builder::new().name("listener".into()).spawn(accept);
    started.map_err(failed)?;
    Ok(bound)
}

/// How many places are taken.
#[derive(Default)]
struct Busy {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// One of the places of those that are answered at the same time.
struct Seat(Arc<Busy>);

impl Seat {
    fn take(busy: &Arc<Busy>) -> Option<Self> {
        let taken = busy.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |taken: &mut usize| *taken >= AT_ONCE;
        let waited = busy.freed.wait_timeout_while(taken, WAITS, full);
        let (mut taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *taken >= AT_ONCE {
            return None;
        }
        *taken += 1;
        Some(Self(Arc::clone(busy)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.0.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken -= 1;
        self.0.freed.notify_one();
    }
}

fn respond(stream: TcpStream, site: &dyn Serves, door: &Door) -> io::Result<()> {
    let mut connection = Connection::new(stream, door.tls.as_ref(), Deadline::after(LIMIT))?;
    let asked = request(&mut connection)?;
    let (answer, with_body) = match (refusal(&asked, door), asked.asked) {
        (Some(refusal), _) => (refusal, true),
        (None, Asked::Get(path)) => match site.take(&path, connection) {
            None => return Ok(()),
            Some(back) => {
                connection = back;
                (site.answer(&path), true)
            }
        },
        (None, Asked::Head(path)) => (site.answer(&path), false),
        (None, Asked::Other) => (Answer::text(405, "only GET and HEAD\n"), true),
        (None, Asked::Bad) => (Answer::text(400, "not a request\n"), true),
    };
    let mut text = head(&answer);
    if with_body {
        text.push_str(&answer.body);
    }
    connection.write_all(text.as_bytes())?;
    connection.end()
}

/// Why a request is not answered, if it is not for whoever asks.
fn refusal(request: &Request, door: &Door) -> Option<Answer> {
    let credentials = door.credentials.as_ref();
    let verdict = credentials.map(|all| all.check(request.authorization.as_deref()));
    match verdict {
        Some(Verdict::Wrong) => Some(Answer::text(401, "a user and a password are wanted\n")),
        Some(Verdict::Busy) => Some(Answer::text(429, "too many passwords are being checked\n")),
        Some(Verdict::Right) | None if door.guarded => None,
        Some(Verdict::Right) | None => request.elsewhere.then(|| Answer::text(403, ELSEWHERE)),
    }
}

/// What a name that is not this machine's own gets.
const ELSEWHERE: &str = "this is asked for by an address or as localhost; a proxy before it sends such a Host, and with TLS \
                         and a credential any name is one\n";

fn head(answer: &Answer) -> String {
    let reason = match answer.status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        429 => "Too Many Requests",
        _ => "Service Unavailable",
    };
    let mut more = format!("Content-Length: {}\r\n", answer.body.len());
    match answer.status {
        401 => {
            more.push_str("WWW-Authenticate: Basic realm=\"hawser watch\", charset=\"UTF-8\"\r\n")
        }
        429 => more.push_str("Retry-After: 1\r\n"),
        _ => {}
    }
    fields(answer.status, reason, answer.media_type, &more)
}

/// What stands before events that go on.
pub fn events_head() -> String {
    fields(200, "OK", "text/event-stream", "")
}

fn fields(status: u16, reason: &str, media_type: &str, more: &str) -> String {
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {media_type}\r\n{more}Cache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nContent-Security-Policy: {LIVE_POLICY}\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    struct Up;

    impl Serves for Up {
        fn answer(&self, path: &str) -> Answer {
            match path {
                "/metrics" => Answer::text(200, "up 1\n"),
                _ => Answer::text(404, "no\n"),
            }
        }

        fn take(&self, _: &str, connection: Connection) -> Option<Connection> {
            Some(connection)
        }
    }

    fn served() -> SocketAddr {
        let here: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let doors = Arc::new(Doors::new(here.ip(), None).unwrap());
        serve(here, doors, Up).unwrap()
    }

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn it_answers_what_is_asked_and_changes_nothing() {
        let address = served();
        let got = ask(
            address,
            "GET /metrics?x HTTP/1.1\r\nHost: [::1]:9967\r\n\r\n",
        );
        assert!(got.starts_with("HTTP/1.1 200 OK\r\n"), "{got}");
        assert!(got.ends_with("\r\n\r\nup 1\n"), "{got}");
        let head = ask(address, "HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(head.contains("Content-Length: 5\r\n") && head.ends_with("\r\n\r\n"));
        assert!(ask(address, "GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        assert!(ask(address, "rubbish\r\n\r\n").starts_with("HTTP/1.1 400"));
    }

    #[test]
    fn a_page_from_elsewhere_cannot_ask_in_its_own_name() {
        let address = served();
        let named = |host: &str| {
            let got = ask(
                address,
                &format!("GET /metrics HTTP/1.1\r\nhOsT: {host}\r\n\r\n"),
            );
            got.split(' ').nth(1).unwrap().to_owned()
        };
        for own in [
            "127.0.0.1:9967",
            "127.0.0.1",
            "localhost:9967",
            "LOCALHOST",
            "[::1]:80",
            "::1",
        ] {
            assert_eq!(named(own), "200", "{own}");
        }
        for other in [
            "evil.example",
            "evil.example:9967",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "",
            "\u{e9}",
        ] {
            assert_eq!(named(other), "403", "{other}");
        }
    }
}
