//! What is answered to which request, and to whom. Nothing that is asked changes anything.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{StatusCode, Uri};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hawser_report::{
    CAUSE_PATH, EVENTS_PATH, ICON_PATH, LIVE_ICON, LIVE_POLICY, LIVE_SCRIPT, LIVE_STYLE,
    SCRIPT_PATH, STYLE_PATH, live_cause, live_page,
};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::board::Board;
use crate::group;
use crate::metrics;
use crate::pages::{PAGES, events};
use crate::serve::Visit;
use crate::web::{Door, PasswordVerdict};

/// What each answer says beside what it is.
const ALWAYS: [(HeaderName, HeaderValue); 5] = [
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    ),
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(LIVE_POLICY),
    ),
    (
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

const HTML: &str = "text/html; charset=utf-8";

/// What a name that is not this machine's own gets.
const ELSEWHERE: &str = "this is asked for by an address or as localhost; a proxy before it sends such a Host, and with TLS \
                         and a credential any name is one\n";

/// The answers to all requests.
pub(crate) fn site(board: Board) -> Router {
    let fixed =
        |media_type, text: &'static str| get(move || async move { typed(media_type, text) });
    let places = Arc::new(Semaphore::new(PAGES));
    let page = |State(board): State<Board>| async move { typed(HTML, live_page(&board.page())) };
    Router::new()
        .route("/", get(page))
        .route("/-/healthy", get(healthy))
        .route("/metrics", get(measured))
        .route("/reading.json", get(reading))
        .route(EVENTS_PATH, get(opened).layer(Extension(places)))
        .route(STYLE_PATH, fixed("text/css; charset=utf-8", LIVE_STYLE))
        .route(ICON_PATH, fixed("image/svg+xml", LIVE_ICON))
        .route(
            SCRIPT_PATH,
            fixed("text/javascript; charset=utf-8", LIVE_SCRIPT),
        )
        .route(&format!("{CAUSE_PATH}{{code}}"), get(cause))
        .fallback(|| async { nothing() })
        .method_not_allowed_fallback(|| async {
            said(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n")
        })
        .layer(from_fn(guarded))
        .with_state(board)
}

async fn healthy(State(board): State<Board>) -> Response {
    match board.is_alive() {
        true => said(StatusCode::OK, "the watch reads\n"),
        false => unavailable("the last reading is too old\n"),
    }
}

async fn measured(State(board): State<Board>) -> Response {
    match board.metrics() {
        Some(text) => typed(metrics::MEDIA_TYPE, text),
        None => unavailable("nothing was read yet\n"),
    }
}

async fn reading(State(board): State<Board>) -> Response {
    match board.reading() {
        Some(json) => typed("application/json", json),
        None => unavailable("nothing was read yet\n"),
    }
}

/// A page that stays open.
async fn opened(
    State(board): State<Board>,
    Extension(places): Extension<Arc<Semaphore>>,
    Extension(visit): Extension<Visit>,
) -> Response {
    let Ok(place) = places.try_acquire_owned() else {
        return unavailable("too many pages are open\n");
    };
    let versions = board.versions();
    let stream = events(versions, move || board.news(), visit.until, place);
    typed("text/event-stream", Body::from_stream(stream))
}

async fn cause(Path(code): Path<String>) -> Response {
    match cause_page(&code) {
        Some(page) => typed(HTML, page),
        None => nothing(),
    }
}

/// The page of a cause, or of what else an alarm can be.
pub fn cause_page(code: &str) -> Option<String> {
    let text = match hawser_account::page(code) {
        Some(page) => hawser_account::plain(page),
        None => group::meaning(code)?.to_owned(),
    };
    Some(live_cause(code, &text))
}

/// Answers whoever may ask, and says of each answer what a browser may do with it.
async fn guarded(Extension(visit): Extension<Visit>, request: Request, next: Next) -> Response {
    let mut answer = match refusal(&visit.door, request.uri(), request.headers()).await {
        Some(refusal) => refusal,
        None => next.run(request).await,
    };
    answer.headers_mut().extend(ALWAYS);
    answer
}

/// Why a request is not answered, if it is not for whoever asks.
async fn refusal(door: &Arc<Door>, uri: &Uri, headers: &HeaderMap) -> Option<Response> {
    let mut said_of_whom = headers.get_all(header::AUTHORIZATION).iter();
    let authorization = said_of_whom.next().map(|value| value.as_bytes().to_vec());
    if said_of_whom.next().is_some() {
        return Some(said(StatusCode::BAD_REQUEST, "who asks is said once\n"));
    }
    if door.credentials.is_some() {
        let door = Arc::clone(door);
        let check = move || {
            let credentials = door.credentials.as_ref();
            credentials.map(|all| all.check(authorization.as_deref()))
        };
        match spawn_blocking(check).await {
            Ok(Some(PasswordVerdict::Right)) => {}
            Ok(Some(PasswordVerdict::Busy)) => {
                let again = [(header::RETRY_AFTER, "1")];
                let words = "too many passwords are being checked\n";
                return Some((StatusCode::TOO_MANY_REQUESTS, again, words).into_response());
            }
            Ok(Some(PasswordVerdict::Wrong) | None) | Err(_) => {
                let wanted = [(
                    header::WWW_AUTHENTICATE,
                    "Basic realm=\"hawser watch\", charset=\"UTF-8\"",
                )];
                let words = "a user and a password are wanted\n";
                return Some((StatusCode::UNAUTHORIZED, wanted, words).into_response());
            }
        }
    }
    (!door.guarded && is_elsewhere(uri, headers)).then(|| said(StatusCode::FORBIDDEN, ELSEWHERE))
}

/// Whether it is asked in another name than this machine's own. A page from elsewhere can have its own name lead to this
/// machine, and its reader's browser ask here in that name (DNS rebinding); it cannot have an address for a name.
fn is_elsewhere(uri: &Uri, headers: &HeaderMap) -> bool {
    let hosts = headers.get_all(header::HOST).iter();
    let mut hosts = hosts.map(|host| host.to_str().unwrap_or_default());
    let named = uri.authority().is_some_and(|name| !is_ours(name.as_str()));
    named || !hosts.all(is_ours)
}

/// Whether a `Host` is an address or this machine by its own name for itself.
fn is_ours(host: &str) -> bool {
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

fn typed(media_type: &'static str, body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, media_type)], body.into()).into_response()
}

fn said(status: StatusCode, words: &'static str) -> Response {
    (status, words).into_response()
}

fn unavailable(words: &'static str) -> Response {
    said(StatusCode::SERVICE_UNAVAILABLE, words)
}

fn nothing() -> Response {
    said(
        StatusCode::NOT_FOUND,
        "/, /metrics, /reading.json or /-/healthy\n",
    )
}
