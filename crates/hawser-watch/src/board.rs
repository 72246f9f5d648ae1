//! What is shown of a watch to whoever asks it: metrics, the reading, and the live page with what it is sent.
//!
//! The reading loop puts its newest here and goes on: whatever is made of it, and whoever takes it slowly, is the business
//! of other threads.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use hawser_host::Clock;
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::live::{LiveIncidents, LivePage};
use hawser_report::{
    CAUSE_PATH, EVENTS_PATH, ICON_PATH, LIVE_ICON, LIVE_SCRIPT, LIVE_STYLE, LiveParts, SCRIPT_PATH,
    STYLE_PATH, live_cause, live_page as page_text, live_parts,
};
use nix::sys::socket::{setsockopt, sockopt};

use crate::group;
use crate::live::{Known, live_page};
use crate::metrics::{self, Health};
use crate::pages::{News, Pages};
use crate::run::Watch;
use crate::serve::{Answer, Serves, events_head};
use crate::shown::Shown;
use crate::web::Connection;

/// A watch whose last reading is older hangs.
const ALIVE: Duration = Duration::from_secs(10);

/// Pages that are open at the same time; more are turned away, and come again.
pub const PAGES: usize = 256;

/// Pages that have something left to take are asked again after this.
const SOON: Duration = Duration::from_millis(250);

/// And those that have nothing left: who of them is gone is seen by then.
const LATER: Duration = Duration::from_secs(5);

/// What the kernel holds for one page, in bytes, beside what is held for all and for its TLS.
const KERNEL: usize = 64 << 10;

/// What is shown, for all threads that show it.
#[derive(Clone)]
pub struct Board(Arc<Inner>);

struct Inner {
    file: ClusterFile,
    /// The head that watches; absent: all heads are asked.
    own: Option<HostName>,
    clock: Clock,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    posted: Option<Arc<Posted>>,
    incidents: Option<Arc<LiveIncidents>>,
    /// How often anything was put here.
    version: u64,
    /// Pages that were opened, and that nobody has taken yet.
    opened: Vec<Connection>,
    /// How many are open, these among them.
    open: usize,
}

struct Posted {
    shown: Shown,
    health: Health,
    problem: Option<String>,
    at: Duration,
}

impl Board {
    /// For the head of this name in the file; nothing is shown yet.
    pub fn new(file: ClusterFile, own: HostName, clock: Clock) -> Self {
        Self::of(file, Some(own), clock)
    }

    /// For all heads of the file; nothing is shown yet.
    pub fn whole(file: ClusterFile, clock: Clock) -> Self {
        Self::of(file, None, clock)
    }

    fn of(file: ClusterFile, own: Option<HostName>, clock: Clock) -> Self {
        Self(Arc::new(Inner {
            file,
            own,
            clock,
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// Shows what the watch has from now on.
    pub fn post(&self, watch: &Watch) {
        let (shown, health) = watch.shown();
        self.show(shown, health, watch.problem());
    }

    /// Shows this from now on; `problem` is why the last look at the cluster failed.
    pub fn show(&self, shown: Shown, health: Health, problem: Option<&str>) {
        let posted = Posted {
            shown,
            health,
            problem: problem.map(str::to_owned),
            at: self.0.clock.now(),
        };
        self.put(|state| state.posted = Some(Arc::new(posted)));
    }

    /// Shows these incidents from now on.
    pub fn incidents(&self, incidents: LiveIncidents) {
        self.put(|state| state.incidents = Some(Arc::new(incidents)));
    }

    fn put(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        state.version += 1;
        if state.open > 0 {
            self.0.changed.notify_all();
        }
    }

    /// The model of the page at this moment.
    pub fn page(&self) -> LivePage {
        let (posted, incidents) = {
            let state = self.lock();
            (state.posted.clone(), state.incidents.clone())
        };
        let posted = posted.as_deref();
        let old = posted.map(|posted| self.0.clock.since(posted.at));
        let known = Known {
            own: self.0.own.as_ref(),
            shown: posted.map(|posted| &posted.shown),
            problem: posted.and_then(|posted| posted.problem.as_deref()),
            old_s: old.filter(|old| *old >= ALIVE).map(|old| old.as_secs()),
            incidents: incidents.as_deref(),
        };
        live_page(&self.0.file, known)
    }

    /// Sends open pages what is new, on a thread of its own from now on.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn send_pages(&self) -> io::Result<()> {
        let board = self.clone();
        let work = move || board.send();
        thread::Builder::new().name("pages".into()).spawn(work)?;
        Ok(())
    }

    fn send(&self) {
        let mut pages = Pages::default();
        let mut sent = Sent::default();
        let mut seen = None;
        let mut patience = LATER;
        loop {
            let (opened, version) = self.next(pages.len(), seen, patience);
            let now = self.0.clock.now();
            for socket in opened {
                pages.join(socket, now);
            }
            // What nobody looks at is not made.
            if !pages.is_empty() && seen != Some(version) {
                pages.news(sent.news(live_parts(&self.page())));
                seen = Some(version);
            }
            patience = match pages.push(now) {
                true => SOON,
                false => LATER,
            };
        }
    }

    /// Waits until a page is opened or, if some are open, something is new; for those no longer than this.
    fn next(&self, open: usize, seen: Option<u64>, patience: Duration) -> (Vec<Connection>, u64) {
        let mut state = self.lock();
        state.open = open + state.opened.len();
        let waits = |state: &mut State| {
            state.opened.is_empty() && (state.open == 0 || seen == Some(state.version))
        };
        let changed = &self.0.changed;
        state = match state.open {
            0 => changed
                .wait_while(state, waits)
                .unwrap_or_else(PoisonError::into_inner),
            _ => {
                let waited = changed.wait_timeout_while(state, patience, waits);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        (std::mem::take(&mut state.opened), state.version)
    }

    /// Takes the connection of a page that was opened, if there is room.
    fn open(&self, mut page: Connection) {
        let Ok(socket) = page.stay_open() else {
            return;
        };
        let bounded = setsockopt(&socket.as_fd(), sockopt::SndBuf, &KERNEL);
        let mut state = self.lock();
        if bounded.is_ok() && state.open < PAGES {
            state.open += 1;
            state.opened.push(page);
            self.0.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Serves for Board {
    fn answer(&self, path: &str) -> Answer {
        let posted = self.lock().posted.clone();
        let alive = posted
            .as_ref()
            .is_some_and(|posted| self.0.clock.since(posted.at) < ALIVE);
        let whole = |media_type, body: String| Answer {
            status: 200,
            media_type,
            body,
        };
        match (path, posted) {
            ("/-/healthy", _) if alive => Answer::text(200, "the watch reads\n"),
            ("/-/healthy", _) => Answer::text(503, "the last reading is too old\n"),
            ("/", _) => whole("text/html; charset=utf-8", page_text(&self.page())),
            (STYLE_PATH, _) => whole("text/css; charset=utf-8", LIVE_STYLE.to_owned()),
            (ICON_PATH, _) => whole("image/svg+xml", LIVE_ICON.to_owned()),
            (SCRIPT_PATH, _) => whole("text/javascript; charset=utf-8", LIVE_SCRIPT.to_owned()),
            ("/metrics" | "/reading.json", None) => Answer::text(503, "nothing was read yet\n"),
            ("/metrics", Some(posted)) => whole(
                metrics::MEDIA_TYPE,
                metrics::text(&posted.shown, posted.health),
            ),
            ("/reading.json", Some(posted)) => {
                let json = serde_json::to_string_pretty(&posted.shown.reading);
                whole("application/json", json.unwrap_or_default() + "\n")
            }
            // Who asks for events is answered here only if he cannot have them.
            (EVENTS_PATH, _) => Answer::text(503, "too many pages are open\n"),
            (path, _) => match path.strip_prefix(CAUSE_PATH).and_then(cause) {
                Some(page) => whole("text/html; charset=utf-8", page),
                None => Answer::text(404, "/, /metrics, /reading.json or /-/healthy\n"),
            },
        }
    }

    fn take(&self, path: &str, mut page: Connection) -> Option<Connection> {
        use std::io::Write;
        if path != EVENTS_PATH || self.lock().open >= PAGES {
            return Some(page);
        }
        // A few bytes, for which an empty socket has room.
        let head = events_head();
        let said = page.write_all(head.as_bytes()).and_then(|()| page.flush());
        if said.is_ok() {
            self.open(page);
        }
        None
    }
}

/// The page of a cause.
fn cause(code: &str) -> Option<String> {
    let text = match hawser_account::page(code) {
        Some(page) => hawser_account::plain(page),
        None => group::meaning(code)?.to_owned(),
    };
    Some(live_cause(code, &text))
}

/// What pages were sent last.
#[derive(Default)]
struct Sent(BTreeMap<&'static str, String>);

impl Sent {
    fn news(&mut self, now: LiveParts) -> News {
        let whole = event(&now.title, &now.parts.iter().collect::<Vec<_>>());
        let parts = now.parts.iter();
        let is_new = |(id, text): &&(&'static str, String)| self.0.get(id) != Some(text);
        let new: Vec<_> = parts.filter(is_new).collect();
        let change = event(&now.title, &new);
        self.0 = now.parts.into_iter().collect();
        News { whole, change }
    }
}

/// An event of a stream (the HTML standard, 9.2): JSON has no line end in it.
fn event(title: &str, parts: &[&(&'static str, String)]) -> Arc<[u8]> {
    let data = serde_json::json!({ "title": title, "parts": parts });
    Arc::from(format!("event: page\ndata: {data}\n\n").into_bytes())
}
