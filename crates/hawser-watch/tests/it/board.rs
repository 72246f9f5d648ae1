//! What a watch shows over its socket: the page and what it is sent, with many pages open, some of which take nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::pictures::{dead_link, file, healthy, incidents};
use hawser_host::Clock;
use hawser_watch::board::Board;
use hawser_watch::metrics::Health;
use hawser_watch::pages::PAGES;
use hawser_watch::serve::serve;
use hawser_watch::threads::Threads;
use hawser_watch::web::Doors;
use serde_json::Value;

/// For whatever must come at last, on a machine that is busy with something else.
const PATIENCE: Duration = Duration::from_secs(60);

fn served() -> (Board, SocketAddr) {
    let board = Board::new(file(), "head1".into(), Clock::default());
    let here: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let doors = Arc::new(Doors::new(here.ip(), None).unwrap());
    let address = serve(&mut Threads::default(), here, doors, board.clone()).unwrap();
    (board, address)
}

fn asked(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    stream
}

fn got(address: SocketAddr, path: &str) -> String {
    let mut text = String::new();
    asked(address, path).read_to_string(&mut text).unwrap();
    text
}

/// An open page, as its browser hears it.
struct Open(BufReader<TcpStream>);

impl Open {
    fn at(address: SocketAddr) -> Self {
        let mut open = Self(BufReader::new(asked(address, "/events")));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(open.0.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(
            head.contains("Content-Type: text/event-stream\r\n"),
            "{head}"
        );
        open
    }

    /// The next event.
    fn event(&mut self) -> Value {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "it has ended");
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }

    /// Reads on until an event says this.
    fn until(&mut self, words: &str) -> Value {
        loop {
            let event = self.event();
            if event.to_string().contains(words) {
                return event;
            }
        }
    }
}

fn ids(event: &Value) -> Vec<&str> {
    let parts = event["parts"].as_array().unwrap().iter();
    parts.map(|part| part[0].as_str().unwrap()).collect()
}

#[test]
fn a_page_is_whole_asks_for_nothing_outside_and_links_each_alarm_to_its_cause() {
    let (board, address) = served();
    let unread = got(address, "/");
    assert!(unread.contains("Not known yet"), "{unread}");
    board.show(dead_link(), Health::default(), None);
    board.incidents(incidents());
    let page = got(address, "/");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"));
    assert!(page.contains("\r\nContent-Security-Policy: default-src 'none'; script-src 'self';"));
    for elsewhere in ["http:", "https:", "style=", " onload", "<form", "<button"] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
    for own in page
        .split("href=\"")
        .skip(1)
        .chain(page.split("src=\"").skip(1))
    {
        let own = own.split('"').next().unwrap();
        assert!(own.starts_with('/'), "{own}");
        assert!(got(address, own).starts_with("HTTP/1.1 200 OK"), "{own}");
    }
    let cause = got(address, "/explain/link-down");
    assert!(cause.contains("hawser explain link-down") && cause.contains("<pre>"));
    let sign = got(address, "/explain/head-lost");
    assert!(
        sign.contains("A head is gone and not known to be off"),
        "{sign}"
    );
    for none in ["/explain/no-such", "/explain/", "/explain/../metrics", "/x"] {
        assert!(got(address, none).starts_with("HTTP/1.1 404"), "{none}");
    }
}

fn said(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn it_answers_what_is_asked_and_changes_nothing() {
    let (board, address) = served();
    board.show(healthy(), Health::default(), None);
    let got = said(
        address,
        "GET /metrics?x HTTP/1.1\r\nHost: [::1]:9967\r\n\r\n",
    );
    assert!(got.starts_with("HTTP/1.1 200 OK\r\n"), "{got}");
    assert!(got.ends_with("# EOF\n"), "{got}");
    let head = said(address, "HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(
        head.contains("\r\nContent-Length: ") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    for (request, status) in [
        ("GET /none HTTP/1.0\r\n\r\n", "404"),
        ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
        ("rubbish\r\n\r\n", "400"),
        (
            "GET / HTTP/1.1\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n",
            "400",
        ),
    ] {
        let got = said(address, request);
        assert_eq!(got.split(' ').nth(1), Some(status), "{request}: {got}");
    }
    // One request a connection: what follows it is not answered.
    let two = said(
        address,
        &"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(2),
    );
    assert_eq!(two.matches("HTTP/1.1").count(), 1, "{two}");
}

#[test]
fn what_is_no_request_or_too_much_of_one_is_not_held() {
    let (_board, address) = served();
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(9_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65));
    for request in [long, many] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let _refused_early = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _reset = stream.read_to_end(&mut bytes);
        let got = String::from_utf8_lossy(&bytes);
        assert!(got.is_empty() || got.starts_with("HTTP/1.1 4"), "{got}");
    }
}

#[test]
fn a_page_from_elsewhere_cannot_ask_in_its_own_name() {
    let (board, address) = served();
    board.show(healthy(), Health::default(), None);
    let status = |request: &str| said(address, request).split(' ').nth(1).map(str::to_owned);
    let named = |host: &str| status(&format!("GET /metrics HTTP/1.1\r\nhOsT: {host}\r\n\r\n"));
    for own in [
        "127.0.0.1:9967",
        "127.0.0.1",
        "localhost:9967",
        "LOCALHOST",
        "[::1]:80",
        "::1",
    ] {
        assert_eq!(named(own).as_deref(), Some("200"), "{own}");
    }
    for other in [
        "evil.example",
        "evil.example:9967",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "",
        "\u{e9}",
    ] {
        assert_eq!(named(other).as_deref(), Some("403"), "{other}");
    }
    let other = "GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(status(other).as_deref(), Some("403"));
}

#[test]
fn an_open_page_is_sent_what_is_new_and_no_more() {
    let (board, address) = served();
    board.show(healthy(), Health::default(), None);
    let mut open = Open::at(address);
    let first = open.until("No alarm");
    assert_eq!(ids(&first).len(), 7, "{first}");
    let mut later = healthy();
    later.reading.read_at += 1;
    board.show(later, Health::default(), None);
    let second = open.until("18:30:01");
    assert_eq!(ids(&second), ["read"]);
    board.show(dead_link(), Health::default(), None);
    let third = open.until("link-down");
    assert_eq!(third["title"], "lab: 2 alarms");
    assert!(ids(&third).contains(&"cluster") && !ids(&third).contains(&"lost"));
}

#[test]
fn two_hundred_open_pages_and_clients_that_take_nothing_hold_nobody_up() {
    let (board, address) = served();
    board.show(healthy(), Health::default(), None);
    let mut open: Vec<Open> = (0..200).map(|_| Open::at(address)).collect();
    // Some take nothing more from now on, and some never end their request.
    let silent = open.split_off(150);
    let unasked: Vec<TcpStream> = (0..20)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    for second in 1..50 {
        let mut shown = dead_link();
        shown.reading.read_at += second;
        // Never waits for a socket: it only puts it there.
        board.show(shown, Health::default(), None);
    }
    let mut last = healthy();
    last.reading.read_at += 50;
    board.show(last, Health::default(), None);
    for page in &mut open {
        page.until("18:30:50");
    }
    assert!(got(address, "/metrics").contains("hawser_corosync_up 1.0"));
    drop((silent, unasked));
}

#[test]
fn more_pages_than_there_is_room_for_are_turned_away_and_come_again() {
    let (board, address) = served();
    board.show(healthy(), Health::default(), None);
    let mut open: Vec<Open> = (0..PAGES).map(|_| Open::at(address)).collect();
    let refused = got(address, "/events");
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.ends_with("too many pages are open\n"), "{refused}");
    drop(open.pop());
    let begun = std::time::Instant::now();
    while got_head(address).starts_with("HTTP/1.1 503") {
        assert!(begun.elapsed() < PATIENCE, "no room has become free");
    }
}

fn got_head(address: SocketAddr) -> String {
    let mut line = String::new();
    let mut stream = BufReader::new(asked(address, "/events"));
    stream.read_line(&mut line).unwrap();
    line
}
