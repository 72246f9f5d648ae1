//! What is shown of a watch to whoever asks it: metrics, the reading, and the live page with what it is sent.
//!
//! The reading loop puts its newest here and goes on: whatever is made of it, and whoever takes it slowly, is the business
//! of other threads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::body::Bytes;
use hawser_host::Clock;
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::output::live::{LiveIncidents, LivePage};
use hawser_report::{LiveParts, live_parts};
use tokio::sync::watch;

use crate::join::{Other, joined, seen};
use crate::live::{LiveInput, live_page};
use crate::locked::locked;
use crate::metrics::{self, Health};
use crate::pages::News;
use crate::run::Watch;
use crate::shown::Shown;
use crate::turns::OtherWatches;

/// A watch whose last reading is older hangs.
const ALIVE: Duration = Duration::from_secs(10);

/// What is shown, for all threads that show it.
#[derive(Clone)]
pub struct Board(Arc<Inner>);

struct Inner {
    file: ClusterFile,
    /// The head that watches; absent: all heads are asked.
    own: Option<HostName>,
    clock: Clock,
    state: Mutex<State>,
    /// How often anything was put here.
    versions: watch::Sender<u64>,
    sent: Mutex<Sent>,
}

#[derive(Default)]
struct State {
    posted: Option<Arc<Posted>>,
    incidents: Option<Arc<LiveIncidents>>,
    /// What the watches of the other heads show.
    others: BTreeMap<HostName, Other>,
}

struct Posted {
    shown: Arc<Shown>,
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
            versions: watch::Sender::new(0),
            sent: Mutex::default(),
        }))
    }

    /// Where the pools of the file have their own files.
    pub(crate) fn pool_folders(&self) -> Vec<String> {
        self.0.file.pool_folders()
    }

    /// Shows what the watch has from now on.
    pub fn post(&self, watch: &Watch) {
        let (shown, health) = watch.shown();
        self.show(shown, health, watch.problem());
    }

    /// Shows this from now on; `problem` is why the last look at the cluster failed.
    pub fn show(&self, shown: Shown, health: Health, problem: Option<&str>) {
        let tells = health.tells;
        let posted = Posted {
            shown: Arc::new(Shown { tells, ..shown }),
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

    /// Shows this of another head's watch from now on.
    pub fn other(&self, head: &HostName, other: Other) {
        self.put(|state| drop(state.others.insert(head.clone(), other)));
    }

    /// What the watches of the other heads tell people of.
    pub fn seen(&self) -> OtherWatches {
        let (posted, others) = {
            let state = self.lock();
            (state.posted.clone(), state.others.clone())
        };
        match (&self.0.own, posted) {
            (Some(own), Some(posted)) => seen(&self.0.file, own, &posted.shown, &others),
            _ => OtherWatches::default(),
        }
    }

    /// What this watch shows, for those of the other heads. Absent: it has read nothing yet, or hangs.
    pub fn newest(&self) -> Option<Arc<Shown>> {
        let posted = self.lock().posted.clone();
        let posted = posted.filter(|posted| self.0.clock.since(posted.at) < ALIVE);
        posted.map(|posted| Arc::clone(&posted.shown))
    }

    /// Whether pages are open.
    pub fn is_looked_at(&self) -> bool {
        self.0.versions.receiver_count() > 0
    }

    fn put(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.0.versions.send_modify(|version| *version += 1);
    }

    /// The model of the page at this moment.
    pub fn page(&self) -> LivePage {
        let (posted, incidents, others) = {
            let state = self.lock();
            let posted = state.posted.clone();
            (posted, state.incidents.clone(), state.others.clone())
        };
        let posted = posted.as_deref();
        let mine = posted.map(|posted| posted.shown.as_ref());
        let alone = others.is_empty();
        let all = mine.filter(|_| !alone);
        let all = all.map(|mine| joined(&self.0.file, mine, &others));
        let old = posted.map(|posted| self.0.clock.since(posted.at));
        let known = LiveInput {
            own: self.0.own.as_ref().filter(|_| alone),
            shown: all.as_ref().or(mine),
            problem: posted.and_then(|posted| posted.problem.as_deref()),
            old_s: old.filter(|old| *old >= ALIVE).map(|old| old.as_secs()),
            incidents: incidents.as_deref(),
        };
        live_page(&self.0.file, known)
    }

    /// Changes when anything was put here.
    pub fn versions(&self) -> watch::Receiver<u64> {
        self.0.versions.subscribe()
    }

    /// What open pages are sent now. What nobody looks at is not made, and what all look at is made once.
    pub fn news(&self) -> News {
        let mut sent = locked(&self.0.sent);
        let version = *self.0.versions.borrow();
        if sent.version != Some(version) {
            sent.make(live_parts(&self.page()));
            sent.version = Some(version);
        }
        sent.news.clone()
    }

    /// Whether the watch has read something lately.
    pub fn is_alive(&self) -> bool {
        let posted = self.lock().posted.clone();
        posted.is_some_and(|posted| self.0.clock.since(posted.at) < ALIVE)
    }

    /// The metrics, once something was read ([`metrics::MEDIA_TYPE`]).
    pub fn metrics(&self) -> Option<String> {
        let posted = self.lock().posted.clone()?;
        Some(metrics::text(&posted.shown, posted.health))
    }

    /// The reading as JSON, once there is one.
    pub fn reading(&self) -> Option<String> {
        let posted = self.lock().posted.clone()?;
        let json = serde_json::to_string_pretty(&posted.shown.reading);
        Some(json.unwrap_or_default() + "\n")
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        locked(&self.0.state)
    }
}

/// What pages are sent.
#[derive(Default)]
struct Sent {
    /// Of what was put here so often.
    version: Option<u64>,
    news: News,
    parts: BTreeMap<&'static str, String>,
}

impl Sent {
    fn make(&mut self, now: LiveParts) {
        let parts = now.parts.iter();
        let is_new = |(id, text): &&(&'static str, String)| self.parts.get(id) != Some(text);
        let new: Vec<_> = parts.filter(is_new).collect();
        self.news = News {
            number: self.news.number + 1,
            whole: event(&now.title, &now.parts.iter().collect::<Vec<_>>()),
            change: event(&now.title, &new),
        };
        self.parts = now.parts.into_iter().collect();
    }
}

/// An event of a stream (the HTML standard, 9.2): JSON has no line end in it.
fn event(title: &str, parts: &[&(&'static str, String)]) -> Bytes {
    let data = serde_json::json!({ "title": title, "parts": parts });
    Bytes::from(format!("event: page\ndata: {data}\n\n"))
}
