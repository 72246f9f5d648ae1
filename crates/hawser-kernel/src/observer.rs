//! A window on a host: what its counters, drops and interfaces did while it was open.

use std::collections::BTreeMap;
use std::time::Instant;

use hawser_model::counters::Counters;
use hawser_model::host::{AnswerRoute, Collector, HostWindow};
use hawser_model::sockets::SocketFacts;
use hawser_model::traffic::WatchedFlow;
use hawser_model::units::Nanos;

use crate::KernelError;
use crate::collectors::answers;
use crate::collectors::counters::{self, Source};
use crate::collectors::drop_reasons::{DropReasons, Seen};
use crate::collectors::flows::Watched;
use crate::collectors::neighbours::Neighbours;
use crate::collectors::sockets::{self, SocketDiag};
use crate::collectors::tap::Tap;
use crate::processors::Processors;

/// Every collector that can run on this host, and of the others why they cannot.
pub struct Observer {
    sources: Vec<Box<dyn Source>>,
    socket_diag: Option<SocketDiag>,
    drop_reasons: DropReasons,
    tap: Option<Tap>,
    collectors: Vec<Collector>,
    window: Option<Window>,
}

struct Window {
    opened: Instant,
    /// By source; a source that failed to read when the window was opened has none.
    before: Vec<Option<Counters>>,
    sockets: Option<BTreeMap<u64, SocketFacts>>,
    neighbours: Neighbours,
    answers: Vec<AnswerRoute>,
    processors: Option<Processors>,
}

impl Observer {
    /// Tries every collector and keeps those that work. It cannot fail as a whole.
    pub fn start() -> Self {
        let mut collectors = Vec::new();
        let mut sources = counters::all();
        sources.retain_mut(|source| {
            let read = source.read(&mut Counters::default());
            collectors.push(Collector {
                name: source.name().to_owned(),
                unavailable: read.as_ref().err().map(ToString::to_string),
            });
            read.is_ok()
        });
        let mut socket_diag = None;
        let diag = SocketDiag::open().and_then(|mut diag| diag.dump().map(|_| diag));
        collectors.push(Collector {
            name: "sock-diag".to_owned(),
            unavailable: diag.as_ref().err().map(ToString::to_string),
        });
        if let Ok(diag) = diag {
            socket_diag = Some(diag);
        }
        let (drop_reasons, tried) = DropReasons::start();
        collectors.extend(tried);
        let tap = Tap::start();
        collectors.push(Collector {
            name: "tap".to_owned(),
            unavailable: tap.as_ref().err().map(ToString::to_string),
        });
        Self {
            sources,
            socket_diag,
            drop_reasons,
            tap: tap.ok(),
            collectors,
            window: None,
        }
    }

    /// The collectors, each with the reason if it cannot run here.
    pub fn collectors(&self) -> Vec<Collector> {
        self.collectors.clone()
    }

    /// Opens a window; packets of `flows` are told apart from others while it is open.
    ///
    /// # Errors
    /// When a window is open already, a flow's interface is not on this host, or there are more
    /// flows than a window can watch. A collector that fails now is given up, and
    /// [`Self::collectors`] says why from then on.
    pub fn open(&mut self, flows: &[WatchedFlow]) -> Result<(), KernelError> {
        if self.window.is_some() {
            return Err(KernelError::Window("a window is open already"));
        }
        let watched = Watched::resolve(flows)?;
        if let Some(Err(error)) = self.tap.as_mut().map(|tap| tap.open(&watched)) {
            self.give_up_tap(&error);
        }
        if let Err(error) = self.drop_reasons.open(&watched) {
            self.give_up_drop_reasons(&error);
        }
        self.window = Some(Window {
            opened: Instant::now(),
            before: counters::read(&mut self.sources),
            sockets: self.sockets(),
            neighbours: Neighbours::before(&watched),
            answers: answers::read(&watched),
            // Last, and first when it is closed: what reading costs is not the traffic's.
            processors: Processors::read().ok(),
        });
        Ok(())
    }

    /// Closes the window and returns what happened in it. A collector that fails now is given up
    /// and missing from the window.
    ///
    /// # Errors
    /// When no window is open.
    pub fn close(&mut self) -> Result<HostWindow, KernelError> {
        let window = self
            .window
            .take()
            .ok_or(KernelError::Window("no window is open"))?;
        let processors = window.processors.zip(Processors::read().ok());
        let usage = processors.map(|(before, after)| after.since(&before));
        let usage = usage.unwrap_or_default();
        // All stop together; what takes time comes after.
        let stopped = self.drop_reasons.stop();
        let taps = self.tap.as_mut().map(Tap::close).transpose();
        let elapsed = Nanos(u64::try_from(window.opened.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let after = counters::read(&mut self.sources);
        let mut counters = counters::gained(&window.before, &after);
        let sockets = match (window.sockets, self.sockets()) {
            (Some(before), Some(after)) => sockets::dropped_between(&before, after),
            _ => Vec::new(),
        };
        let taps = taps.unwrap_or_else(|error| {
            self.give_up_tap(&error);
            None
        });
        let seen = stopped.and_then(|()| self.drop_reasons.read());
        let seen = seen.unwrap_or_else(|error| {
            self.give_up_drop_reasons(&error);
            Seen::default()
        });
        counters.0.extend(seen.counters.0);
        Ok(HostWindow {
            elapsed,
            counters,
            drops: seen.drops,
            drops_missed: seen.missed,
            taps,
            sockets,
            served: Vec::new(),
            processors: usage.processors,
            busy: usage.busy,
            neighbours: window.neighbours.after(),
            answers: window.answers,
        })
    }

    fn give_up_tap(&mut self, error: &KernelError) {
        self.tap = None;
        self.unavailable("tap", error);
    }

    fn give_up_drop_reasons(&mut self, error: &KernelError) {
        let name = self.drop_reasons.name();
        self.drop_reasons = DropReasons::None;
        self.unavailable(name, error);
    }

    fn unavailable(&mut self, name: &str, error: &KernelError) {
        for collector in self.collectors.iter_mut().filter(|c| c.name == name) {
            collector.unavailable = Some(error.to_string());
        }
    }

    fn sockets(&mut self) -> Option<BTreeMap<u64, SocketFacts>> {
        self.socket_diag.as_mut()?.dump().ok()
    }
}
