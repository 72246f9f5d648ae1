//! The kernel's own word on each dropped packet: the tracepoint `skb:kfree_skb`.
//!
//! First choice is an eBPF program, which tells this host's packets from those of others on the
//! same kernel and a flow's from other traffic ([`events`]). Second is the text of tracefs
//! ([`tracefs`]), which tells neither; so it ends as counters of the whole kernel and not as drop
//! records. Third are the counters alone.

mod events;
mod names;
mod symbols;
mod totals;
mod tracefs;

pub(crate) use events::{Events, Functions};

use hawser_model::counters::Counters;
use hawser_model::drops::DropRecord;
use hawser_model::host::Collector;

use crate::KernelError;
use crate::collectors::flows::Watched;

/// The collectors' names.
const EVENTS: &str = "drop-reasons";
const TEXT: &str = "drop-reasons-tracefs";

/// The better of the two ways that works here.
pub(crate) enum DropReasons {
    /// eBPF.
    Events(Box<events::Events>),
    /// tracefs.
    Text(tracefs::Text),
    /// Neither.
    None,
}

/// What was seen of drops in a window.
#[derive(Default)]
pub(crate) struct Seen {
    /// With eBPF only.
    pub(crate) drops: Option<Vec<DropRecord>>,
    /// Packets whose drop was not counted, for want of room or since events were nested.
    pub(crate) missed: u64,
    /// With tracefs only: `event/kfree_skb/REASON/LOCATION`.
    pub(crate) counters: Counters,
}

impl DropReasons {
    /// Tries eBPF, then tracefs, and says of each that was tried how it went.
    pub(crate) fn start() -> (Self, Vec<Collector>) {
        let mut tried = Vec::new();
        let mut report = |name: &str, error: Option<&KernelError>| {
            tried.push(Collector {
                name: name.to_owned(),
                unavailable: error.map(ToString::to_string),
            });
        };
        let events = events::Events::start(Functions::All);
        report(EVENTS, events.as_ref().err());
        if let Ok(events) = events {
            return (Self::Events(Box::new(events)), tried);
        }
        let text = tracefs::Text::start();
        report(TEXT, text.as_ref().err());
        match text {
            Ok(text) => (Self::Text(text), tried),
            Err(_) => (Self::None, tried),
        }
    }

    /// The collector's name.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Events(_) | Self::None => EVENTS,
            Self::Text(_) => TEXT,
        }
    }

    /// Begins to count.
    pub(crate) fn open(&mut self, flows: &[Watched]) -> Result<(), KernelError> {
        match self {
            Self::Events(events) => events.open(flows),
            Self::Text(text) => text.open(),
            Self::None => Ok(()),
        }
    }

    /// Ends counting.
    pub(crate) fn stop(&mut self) -> Result<(), KernelError> {
        match self {
            Self::Events(events) => events.stop(),
            Self::Text(text) => text.stop(),
            Self::None => Ok(()),
        }
    }

    /// What was seen between [`Self::open`] and [`Self::stop`]. Takes some 50 ms when the kernel
    /// dropped in a place that has no name yet.
    pub(crate) fn read(&mut self) -> Result<Seen, KernelError> {
        match self {
            Self::Events(events) => events.read(),
            Self::Text(text) => text.read(),
            Self::None => Ok(Seen::default()),
        }
    }
}
