//! The sockets of what a watch shows: who comes, in what order, and for how long.
//!
//! All of it on one thread. A connection costs a few kilobytes and has an end ([`Until`]): a client that is slow, or sends
//! much, waits for itself.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use nix::sys::socket::{setsockopt, sockopt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::board::Board;
use crate::pages::PAGES;
use crate::site::site;
use crate::threads::Threads;
use crate::until::Until;
use crate::web::{Door, Doors, WebError};

/// Connections at the same time, open pages among them. One more waits in the kernel's queue for another to end.
const AT_ONCE: usize = PAGES + 256;

/// How long a handshake, a request and its answer may take together.
const LIMIT: Duration = Duration::from_secs(5);

/// How often a connection's end is looked at.
const LOOKS: Duration = Duration::from_secs(1);

/// After a connection that could not be taken, since there are no descriptors or it is gone already.
const PAUSE: Duration = Duration::from_millis(100);

/// A request's head is no longer, in bytes, and no more of an answer waits in this process beside the message that is sent.
const BUFFER: usize = 8 << 10;

/// Headers of a request.
const HEADERS: usize = 64;

/// What the kernel holds for one connection, in bytes.
const KERNEL: usize = 64 << 10;

/// Threads that check passwords; few of those who ask wait for it.
const BLOCKING: usize = 8;

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

/// A visit: by what door, and until when what is under way may take.
#[derive(Clone)]
pub struct Visit {
    /// The door as it was when the connection came.
    pub door: Arc<Door>,
    /// The end of what is under way.
    pub until: Arc<Until>,
}

/// Listens, and shows the board on a thread of its own from then on, behind these doors. Gives the address, with the port
/// that the kernel chose for 0.
///
/// # Errors
/// It cannot be listened on.
pub fn serve(
    threads: &mut Threads,
    address: SocketAddr,
    doors: Arc<Doors>,
    board: Board,
) -> Result<SocketAddr, ServeError> {
    let failed = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    // What is accepted has it from its listener.
    setsockopt(&listener, sockopt::SndBuf, &KERNEL).map_err(|e| failed(e.into()))?;
    listener.set_nonblocking(true).map_err(failed)?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(BLOCKING)
        .build()
        .map_err(failed)?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener).map_err(failed)?
    };
    let work = move || runtime.block_on(accept(listener, &doors, site(board)));
    threads.start("listener", work).map_err(failed)?;
    Ok(bound)
}

async fn accept(listener: tokio::net::TcpListener, doors: &Doors, site: Router) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let (site, door) = (site.clone(), doors.now());
                tokio::spawn(async move {
                    respond(stream, door, site).await;
                    drop(place);
                });
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}

async fn respond(stream: TcpStream, door: Arc<Door>, site: Router) {
    let until = Arc::new(Until::default());
    until.within(LIMIT);
    let visit = Visit {
        door: Arc::clone(&door),
        until: Arc::clone(&until),
    };
    let work = async {
        match &door.tls {
            Some(tls) => {
                if let Ok(stream) = tls.accept(stream).await {
                    converse(stream, visit, site).await;
                }
            }
            None => converse(stream, visit, site).await,
        }
    };
    until.or_over(LOOKS, work).await;
}

/// One request of a connection, and its answer.
async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, visit: Visit, site: Router) {
    let site = TowerToHyperService::new(site);
    let answer = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut request: Request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(visit.clone());
        hyper::service::Service::call(&site, request)
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_headers(HEADERS)
        .max_buf_size(BUFFER)
        .title_case_headers(true)
        .serve_connection(TokioIo::new(stream), answer);
    // Whoever is gone, or asks what is no request, has what he gets.
    let _gone = connection.await;
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use proptest::prelude::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::Instant;

    use super::*;

    /// A client of a site with a large answer. It takes what fits into its buffer, until it reads.
    fn client() -> (DuplexStream, impl Future<Output = ()>) {
        let (client, server) = duplex(1_000);
        let site = Router::new().route("/", get(|| async { "x".repeat(100_000) }));
        let until = Arc::new(Until::default());
        until.within(LIMIT);
        let visit = Visit {
            door: Arc::new(Door::open()),
            until: Arc::clone(&until),
        };
        let serving = async move { until.or_over(LOOKS, converse(server, visit, site)).await };
        (client, serving)
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_says_nothing_or_takes_nothing_or_both_slowly_has_the_same_end() {
        let begun = Instant::now();
        let (mut client, serving) = client();
        client.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
        serving.await;
        assert_eq!(begun.elapsed(), LIMIT);
        for takes in [false, true] {
            let begun = Instant::now();
            let (mut client, serving) = self::client();
            client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
            let slow = async {
                let mut byte = [0];
                while takes && client.read(&mut byte).await.is_ok_and(|came| came > 0) {
                    sleep(Duration::from_millis(10)).await;
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = serving => {}
                () = slow => {}
            }
            assert_eq!(begun.elapsed(), LIMIT, "{takes}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_it_has_all_of_it() {
        let (mut client, serving) = client();
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut text = String::new();
        let (_, came) = tokio::join!(serving, client.read_to_string(&mut text));
        assert!(came.is_ok() && text.ends_with("xxx"));
        assert!(text.contains("\r\nConnection: close\r\n"), "{text}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn whatever_comes_has_an_end(
            start in prop::sample::select(vec!["", "GET / HTTP/1.1\r\n", "GET /"]),
            bytes in prop::collection::vec(any::<u8>(), 0..512),
        ) {
            let mut runtime = runtime::Builder::new_current_thread();
            let runtime = runtime.enable_time().start_paused(true).build().unwrap();
            runtime.block_on(async {
                let begun = Instant::now();
                let (mut client, serving) = client();
                client.write_all(start.as_bytes()).await.unwrap();
                client.write_all(&bytes).await.unwrap();
                serving.await;
                assert!(begun.elapsed() <= LIMIT);
            });
        }
    }
}
