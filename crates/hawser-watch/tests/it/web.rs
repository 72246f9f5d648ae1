//! A watch that listens where others are: TLS and a credential, and that neither of them holds anybody up.
#![cfg(feature = "aws-lc")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::certificates::{self, Pair, client, connected, put};
use crate::pictures::{dead_link, file, healthy};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hawser_agent::questions::Pulse;
use hawser_host::Clock;
use hawser_model::finding::Severity;
use hawser_watch::board::Board;
use hawser_watch::metrics::Health;
use hawser_watch::resident::Resident;
use hawser_watch::serve::serve;
use hawser_watch::threads::Threads;
use hawser_watch::web::Doors;
use openssl::ssl::{SslConnector, SslStream, SslVersion};

/// For whatever must come at last, on a machine that is busy with something else.
const PATIENCE: Duration = Duration::from_secs(60);

const TLS: &str = "tls_server_config: {cert_file: web.crt, key_file: web.key}\n";

/// A watch behind a configuration.
struct Served {
    folder: tempfile::TempDir,
    server: Pair,
    doors: Arc<Doors>,
    board: Board,
    address: SocketAddr,
}

fn with_user(password: &str) -> String {
    let hash = bcrypt::hash(password, 4).unwrap();
    format!("{TLS}basic_auth_users: {{prometheus: {hash}}}\n")
}

fn configured(folder: &Path, text: &str, mode: u32) -> PathBuf {
    let path = folder.join("web.yml");
    put(&path, text.as_bytes(), mode);
    path
}

impl Served {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Pair::new("head1.example", None);
        server.put(folder.path());
        let path = configured(folder.path(), text, 0o640);
        let here: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let doors = Doors::new(here.ip(), Some(&path)).unwrap_or_else(|e| panic!("{e}"));
        let doors = Arc::new(doors);
        let board = Board::new(file(), "head1".into(), Clock::default());
        board.show(healthy(), Health::default(), None);
        let address = serve(
            &mut Threads::default(),
            here,
            Arc::clone(&doors),
            board.clone(),
        )
        .unwrap();
        Self {
            folder,
            server,
            doors,
            board,
            address,
        }
    }

    fn client(&self) -> SslConnector {
        client(&self.server, None, None)
    }

    /// The whole answer to one who is this.
    fn got(&self, client: &SslConnector, path: &str, authorization: &str) -> String {
        let mut stream = connected(client, self.address, "head1.example").unwrap();
        ask(&mut stream, path, authorization);
        let mut text = String::new();
        // The server says that it has ended: nothing was cut off.
        stream.read_to_string(&mut text).unwrap();
        text
    }
}

fn ask(stream: &mut impl Write, path: &str, authorization: &str) {
    let host = "Host: head1.example:9967";
    // At once: who is refused at the first word closes the connection, and a second could not be written.
    let whole = format!("GET {path} HTTP/1.1\r\n{host}\r\n{authorization}\r\n");
    stream.write_all(whole.as_bytes()).unwrap();
}

fn basic(user: &str, password: &str) -> String {
    let both = STANDARD.encode(format!("{user}:{password}"));
    format!("Authorization: Basic {both}\r\n")
}

fn refused(address: &str, text: Option<(&str, u32)>) -> String {
    let folder = tempfile::tempdir().unwrap();
    Pair::new("head1.example", None).put(folder.path());
    let path = text.map(|(text, mode)| configured(folder.path(), text, mode));
    let address: IpAddr = address.parse().unwrap();
    let Err(error) = Doors::new(address, path.as_deref()) else {
        return "nothing".into();
    };
    let error = error.to_string();
    assert!(!error.contains('\n'), "{error}");
    error.replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn an_address_that_others_reach_needs_tls_and_a_credential() {
    let user = with_user("secret");
    let only_user = user.replace(TLS, "");
    for address in ["0.0.0.0", "::", "192.0.2.1", "::ffff:192.0.2.1"] {
        assert!(
            refused(address, None).contains("is not a loopback address: other machines could read")
        );
        assert_eq!(refused(address, Some((&user, 0o600))), "nothing");
    }
    assert_eq!(
        refused("192.0.2.1", Some((TLS, 0o600))),
        "web.yml: 192.0.2.1 is not a loopback address and needs a credential: basic_auth_users, or client_auth_type: \
         RequireAndVerifyClientCert"
    );
    assert_eq!(
        refused("192.0.2.1", Some((&only_user, 0o600))),
        "web.yml: 192.0.2.1 is not a loopback address and needs tls_server_config with a certificate and its key"
    );
    for own in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
        for text in [TLS, &only_user, ""] {
            assert_eq!(
                refused(own, Some((text, 0o600))),
                "nothing",
                "{own}, {text}"
            );
        }
        assert_eq!(refused(own, None), "nothing");
    }
}

#[test]
fn files_that_others_may_read_or_that_are_something_else_are_refused() {
    let user = with_user("secret");
    assert_eq!(
        refused("127.0.0.1", Some((&user, 0o644))),
        "web.yml: it has hashes of passwords, and others may read or write it (mode 0644); `chmod o= web.yml` ends that"
    );
    // Without hashes it is nobody's secret.
    assert_eq!(refused("127.0.0.1", Some((TLS, 0o644))), "nothing");
    let folder = tempfile::tempdir().unwrap();
    let pair = Pair::new("head1.example", None);
    let path = configured(folder.path(), TLS, 0o640);
    let said = |what: &str| {
        let here = "127.0.0.1".parse().unwrap();
        let error = Doors::new(here, Some(&path)).err().map(|e| e.to_string());
        let error = error.unwrap_or_else(|| panic!("{what} is taken"));
        error.replace(&format!("{}/", folder.path().display()), "")
    };
    let missing = said("no key");
    assert!(
        missing.contains("web.key") && missing.contains("No such file"),
        "{missing}"
    );
    pair.put(folder.path());
    let key = pair.key.private_key_to_pem_pkcs8().unwrap();
    put(&folder.path().join("web.key"), &key, 0o644);
    assert!(
        said("open key").starts_with(
            "web.key: it has a private key, and others may read or write it (mode 0644)"
        )
    );
    put(&folder.path().join("web.key"), b"rubbish", 0o600);
    assert_eq!(
        said("rubbish"),
        "web.key: no private key in PEM without a passphrase"
    );
    let other = Pair::new("other", None)
        .key
        .private_key_to_pem_pkcs8()
        .unwrap();
    put(&folder.path().join("web.key"), &other, 0o600);
    assert!(said("another key").starts_with("web.key: does not go with the certificate: "));
    put(&folder.path().join("web.key"), &key, 0o600);
    put(&folder.path().join("web.crt"), b"", 0o644);
    assert_eq!(said("no certificate"), "web.crt: no certificate in PEM");
}

#[test]
fn who_has_the_password_is_answered_by_any_name_and_nobody_else_is() {
    let served = Served::new(&with_user("secret"));
    let client = served.client();
    let right = basic("prometheus", "secret");
    for _ in 0..3 {
        let metrics = served.got(&client, "/metrics", &right);
        assert!(
            metrics.starts_with("HTTP/1.1 200 OK\r\n")
                && metrics.contains("hawser_corosync_up 1.0")
        );
    }
    for wrong in [
        String::new(),
        basic("prometheus", "Secret"),
        basic("prometheus", ""),
        basic("nobody", "secret"),
        "Authorization: Bearer secret\r\n".into(),
        "Authorization: Basic !\r\n".into(),
    ] {
        for path in ["/metrics", "/", "/events", "/-/healthy", "/nothing"] {
            let answer = served.got(&client, path, &wrong);
            assert!(
                answer.starts_with("HTTP/1.1 401 Unauthorized\r\n"),
                "{path} {wrong} {answer}"
            );
            assert!(
                answer.contains("\r\nWww-Authenticate: Basic realm=\"hawser watch\""),
                "{answer}"
            );
            assert!(!answer.contains("hawser_"), "{answer}");
        }
    }
    // Without TLS there is no answer at all, and no password is asked for.
    let mut plain = TcpStream::connect(served.address).unwrap();
    ask(&mut plain, "/metrics", &right);
    let mut bytes = Vec::new();
    let _reset = plain.read_to_end(&mut bytes);
    assert!(
        !String::from_utf8_lossy(&bytes).contains("HTTP"),
        "{bytes:?}"
    );
    // TLS 1.2 is spoken, and 1.1 is not.
    let older = certificates::client(&served.server, None, Some(SslVersion::TLS1_2));
    assert!(
        served
            .got(&older, "/metrics", &right)
            .starts_with("HTTP/1.1 200")
    );
    let oldest = certificates::client(&served.server, None, Some(SslVersion::TLS1_1));
    assert!(connected(&oldest, served.address, "head1.example").is_err());
}

#[test]
fn with_a_client_certificate_no_password_is_needed_and_without_one_there_is_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let signer = Pair::new("clients", None);
    let ca = folder.path().join("clients.crt");
    put(&ca, &signer.certificate.to_pem().unwrap(), 0o644);
    let served = Served::new(&format!(
        "tls_server_config:\n  cert_file: web.crt\n  key_file: web.key\n  client_auth_type: RequireAndVerifyClientCert\n  \
         client_ca_file: {}\n",
        ca.display()
    ));
    let own = Pair::new("prometheus", Some(&signer));
    let known = client(&served.server, Some(&own), None);
    assert!(
        served
            .got(&known, "/metrics", "")
            .starts_with("HTTP/1.1 200 OK\r\n")
    );
    let stranger = Pair::new("prometheus", Some(&Pair::new("clients", None)));
    for other in [Some(&stranger), None] {
        // With TLS 1.3 the client learns of it when it reads.
        let refused = connected(
            &client(&served.server, other, None),
            served.address,
            "head1.example",
        );
        let answer = refused.map(|mut stream| {
            let _gone = write!(stream, "GET /metrics HTTP/1.1\r\n\r\n");
            let mut bytes = Vec::new();
            let _alert = stream.read_to_end(&mut bytes);
            bytes
        });
        assert!(answer.unwrap_or_default().is_empty());
    }
}

#[test]
fn a_certificate_that_is_about_to_end_is_an_alarm_of_its_watch() {
    let served = Served::new(&with_user("correct horse"));
    let known = served.doors.now().certificates.clone();
    let [certificate] = &known[..] else {
        panic!("{known:?}")
    };
    assert!(certificate.file.ends_with("/web.crt"));
    assert_eq!(certificate.not_after - certificate.not_before, 86_400);
    let alarms = |left: u64| {
        let mut resident = Resident::new(file(), "head1".into());
        resident.pulse(
            Duration::ZERO,
            certificate.not_after - left,
            Pulse::default(),
        );
        resident.certificates(&known);
        resident.judge(Duration::ZERO, None);
        let alarms = resident.reading().alarms.into_iter();
        let alarms = alarms.filter(|alarm| alarm.code == "certificate-expires");
        alarms.map(|alarm| alarm.severity).collect::<Vec<_>>()
    };
    assert_eq!(alarms(30_000), []);
    assert_eq!(alarms(20_000), [Severity::Warning]);
    assert_eq!(alarms(0), [Severity::Error]);
}

#[test]
fn a_file_that_changes_is_read_again_and_one_that_breaks_changes_nothing() {
    let served = Served::new(&with_user("secret"));
    let client = served.client();
    let (old, new) = (basic("prometheus", "secret"), basic("prometheus", "newer"));
    assert!(
        served
            .got(&client, "/metrics", &old)
            .starts_with("HTTP/1.1 200")
    );
    configured(served.folder.path(), &with_user("newer"), 0o640);
    until(|| {
        served
            .got(&client, "/metrics", &new)
            .starts_with("HTTP/1.1 200")
    });
    assert!(
        served
            .got(&client, "/metrics", &old)
            .starts_with("HTTP/1.1 401")
    );
    let said = served.doors.said();
    assert!(said[0].ends_with("web.yml was read again"), "{said:?}");
    configured(served.folder.path(), "rate_limit: {}\n", 0o640);
    until(|| {
        let answer = served.got(&client, "/metrics", &new);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let said = served.doors.said();
        said.iter()
            .any(|said| said.contains("before stays in force: ") && said.contains("rate_limit"))
    });
    // A certificate that was renewed is taken without a change of the configuration.
    configured(served.folder.path(), &with_user("newer"), 0o640);
    let renewed = Pair::new("head1.example", None);
    renewed.put(served.folder.path());
    let client = certificates::client(&renewed, None, None);
    until(|| connected(&client, served.address, "head1.example").is_ok());
}

fn until(mut yes: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !yes() {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// An open page, as its browser hears it.
struct Open(BufReader<SslStream<TcpStream>>);

impl Open {
    fn at(served: &Served, client: &SslConnector) -> Self {
        let mut stream = connected(client, served.address, "head1.example").unwrap();
        ask(&mut stream, "/events", &basic("prometheus", "secret"));
        let mut open = Self(BufReader::new(stream));
        open.until("Content-Type: text/event-stream");
        open
    }

    /// Reads on until a line says this.
    fn until(&mut self, words: &str) {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "it has ended");
        }
    }
}

#[test]
fn two_hundred_open_pages_and_handshakes_that_stall_hold_nobody_up() {
    let served = Served::new(&with_user("secret"));
    let client = served.client();
    let mut open: Vec<Open> = (0..200).map(|_| Open::at(&served, &client)).collect();
    // Some take nothing more from now on. Some say nothing, and some half a hello.
    let silent = open.split_off(150);
    let stalled: Vec<TcpStream> = (0..20)
        .map(|n| {
            let mut stream = TcpStream::connect(served.address).unwrap();
            stream
                .write_all(&b"\x16\x03\x01\x02\x00\x01"[..n % 7])
                .unwrap();
            stream
        })
        .collect();
    for second in 1..50 {
        let mut shown = dead_link();
        shown.reading.read_at += second;
        // Never waits for a socket: it only puts it there.
        served.board.show(shown, Health::default(), None);
    }
    let mut last = healthy();
    last.reading.read_at += 50;
    served.board.show(last, Health::default(), None);
    for page in &mut open {
        page.until("18:30:50");
    }
    let right = basic("prometheus", "secret");
    assert!(
        served
            .got(&client, "/metrics", &right)
            .contains("hawser_corosync_up 1.0")
    );
    drop((silent, stalled));
}
