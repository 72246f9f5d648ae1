//! Answers to HTTP requests. Nothing that is asked changes anything.
//!
//! One thread a request and few at a time, each with an end: a client that is slow, or sends much, waits for itself. A
//! connection that stays open is handed on and needs no thread.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hawser_host::Clock;
use hawser_report::LIVE_POLICY;
use hawser_tool::Deadline;

/// Requests that are answered at the same time.
const AT_ONCE: usize = 24;

/// One more waits so long for another to end, and those behind it in the kernel's queue; then it is turned away.
const WAITS: Duration = Duration::from_millis(500);

/// A request is no longer, in bytes.
const REQUEST: usize = 8 << 10;

/// Headers of a request.
const HEADERS: usize = 64;

/// How long a request may take to come, and its answer to go.
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
    fn take(&self, path: &str, socket: TcpStream) -> Option<TcpStream>;
}

/// Why nothing listens.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Everybody could read what is for few.
    #[error(
        "{0} is not a loopback address: other machines could read the cluster's state without a credential, and TLS \
         is not there yet; listen on 127.0.0.1 and let a proxy with TLS and a credential stand before it"
    )]
    Open(IpAddr),
    /// The address cannot be listened on.
    #[error("listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
}

/// Listens, and answers on a thread of its own from then on. Gives the address, with the port that the kernel chose for 0.
///
/// # Errors
/// The address is not this machine's alone; it cannot be listened on.
pub fn serve(address: SocketAddr, site: impl Serves) -> Result<SocketAddr, ServeError> {
    if !address.ip().to_canonical().is_loopback() {
        return Err(ServeError::Open(address.ip()));
    }
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
            let site = Arc::clone(&site);
            let serve = move || {
                let _gone = respond(stream, site.as_ref());
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

fn respond(mut stream: TcpStream, site: &dyn Serves) -> io::Result<()> {
    let until = Deadline::after(LIMIT);
    let asked = request(&mut stream, until)?;
    let (answer, with_body) = match asked {
        Asked::Get(path) => match site.take(&path, stream) {
            None => return Ok(()),
            Some(back) => {
                stream = back;
                (site.answer(&path), true)
            }
        },
        Asked::Head(path) => (site.answer(&path), false),
        Asked::Other => (Answer::text(405, "only GET and HEAD\n"), true),
        Asked::Elsewhere => (Answer::text(403, ELSEWHERE), true),
        Asked::Bad => (Answer::text(400, "not a request\n"), true),
    };
    let mut text = head(&answer);
    if with_body {
        text.push_str(&answer.body);
    }
    stream.set_write_timeout(Some(LIMIT))?;
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        if until.left().is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let went = stream.write(rest)?;
        if went == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        rest = &rest[went..];
    }
    stream.flush()
}

fn head(answer: &Answer) -> String {
    let reason = match answer.status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Service Unavailable",
    };
    let length = format!("Content-Length: {}\r\n", answer.body.len());
    fields(answer.status, reason, answer.media_type, &length)
}

/// What stands before events that go on.
pub fn events_head() -> String {
    fields(200, "OK", "text/event-stream", "")
}

fn fields(status: u16, reason: &str, media_type: &str, length: &str) -> String {
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {media_type}\r\n{length}Cache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nContent-Security-Policy: {LIVE_POLICY}\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n"
    )
}

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Get(String),
    Head(String),
    Other,
    /// Something of another name than this machine's own.
    Elsewhere,
    Bad,
}

fn request(stream: &mut TcpStream, until: Deadline) -> io::Result<Asked> {
    let mut bytes = Vec::new();
    let mut part = [0; 1024];
    loop {
        let left = until.left();
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let came = stream.read(&mut part)?;
        if came == 0 {
            return Ok(Asked::Bad);
        }
        bytes.extend_from_slice(&part[..came]);
        if let Some(asked) = parsed(&bytes) {
            return Ok(asked);
        }
        if bytes.len() > REQUEST {
            return Ok(Asked::Bad);
        }
    }
}

/// The request, once its head is whole. Absent: more has to come.
fn parsed(bytes: &[u8]) -> Option<Asked> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(status) if status.is_partial() => None,
        Ok(_) => {
            let path = request.path.unwrap_or_default();
            let path = path.split('?').next().unwrap_or_default().to_owned();
            Some(match request.method {
                _ if !request.headers.iter().all(is_ours) => Asked::Elsewhere,
                Some("GET") => Asked::Get(path),
                Some("HEAD") => Asked::Head(path),
                _ => Asked::Other,
            })
        }
        Err(_) => Some(Asked::Bad),
    }
}

/// What a name that is not this machine's own gets.
const ELSEWHERE: &str =
    "this is asked for by an address or as localhost; a proxy before it sends such a Host\n";

/// Whether a header names no other host. A page from elsewhere can have its own name lead to this machine, and its
/// reader's browser ask here in that name (DNS rebinding); it cannot have an address for a name.
fn is_ours(header: &httparse::Header<'_>) -> bool {
    if !header.name.eq_ignore_ascii_case("host") {
        return true;
    }
    let Ok(host) = std::str::from_utf8(header.value) else {
        return false;
    };
    let host = host.trim();
    let without_port = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let bare = |text: &str| {
        text.trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned()
    };
    [host, without_port]
        .iter()
        .any(|name| name.eq_ignore_ascii_case("localhost") || bare(name).parse::<IpAddr>().is_ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Up;

    impl Serves for Up {
        fn answer(&self, path: &str) -> Answer {
            match path {
                "/metrics" => Answer::text(200, "up 1\n"),
                _ => Answer::text(404, "no\n"),
            }
        }

        fn take(&self, _: &str, socket: TcpStream) -> Option<TcpStream> {
            Some(socket)
        }
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
        let here = "127.0.0.1:0".parse().unwrap();
        let address = serve(here, Up).unwrap();
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
        let address = serve("127.0.0.1:0".parse().unwrap(), Up).unwrap();
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

    #[test]
    fn no_other_machine_can_ask() {
        for open in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            let refused = serve(open.parse().unwrap(), Up);
            assert!(matches!(refused, Err(ServeError::Open(_))), "{open}");
        }
        for own in ["127.0.0.1:0", "[::ffff:127.0.0.1]:0"] {
            let address: SocketAddr = own.parse().unwrap();
            assert!(address.ip().to_canonical().is_loopback(), "{own}");
        }
    }

    proptest! {
        #[test]
        fn no_request_makes_it_fall(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
            let _asked = parsed(&bytes);
        }
    }
}
