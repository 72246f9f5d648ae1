//! What is open on this node, and the work of its answers.

mod cluster_watch;
mod copy;
pub mod corosync_trouble;
mod fanout;
mod flows;
mod knobs;

use hawser_host::Declined;
use hawser_kernel::{CertificateReader, LostPings, Observer, Processors, StorageReader, Tally};
use hawser_model::ladder::HostUsage;
use hawser_model::names::HostName;
use hawser_model::traffic::RunKey;
use hawser_rungs::fanout::Fanout;
use hawser_wire::PathMtuResponder;
use hawser_wire::frames::FrameListener;
use hawser_wire::hello::Listener;
use hawser_wire::multicast::MulticastListener;

pub(crate) use cluster_watch::{ClusterWatch, Watched};
pub(crate) use copy::Copy;
pub(crate) use fanout::measure_fanout;
pub(crate) use knobs::guard;

use crate::readings::Writer;
use flows::Flows;
use hawser_host::protocol::VERSION;
use knobs::Changes;

pub use knobs::AgentContext;

/// This node, for one coordinator.
#[derive(Default)]
pub struct Node {
    pub(crate) session: Option<Session>,
    /// Started with the first question it is needed for: it loads kernel programs.
    observer: Option<Observer>,
    pub(crate) flows: Flows,
    /// The answering end of a path-MTU search.
    pub(crate) responder: Option<PathMtuResponder>,
    /// Who listens for layer-2 hellos.
    pub(crate) hellos: Option<Listener>,
    /// Who listens for the frames of a layer-2 probe.
    pub(crate) frames: Option<FrameListener>,
    /// Who listens to multicast control.
    pub(crate) multicast: Option<MulticastListener>,
    pub(crate) copy: Option<Copy>,
    /// The processors as they stood when a ladder began to watch them.
    usage_since: Option<Processors>,
    pub(crate) fanout: Option<Fanout>,
    pub(crate) changes: Changes,
    /// The ring of readings, when this is the watch that keeps them.
    pub(crate) readings: Option<Writer>,
    pub(crate) storage: StorageReader,
    pub(crate) lost_pings: LostPings,
    pub(crate) certificates: CertificateReader,
    pub(crate) tally: Tally,
}

/// What the coordinator said of itself.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) run_key: RunKey,
    pub(crate) host: HostName,
}

impl Node {
    /// A node with that context.
    pub(crate) fn new(context: AgentContext) -> Self {
        Self {
            changes: Changes::new(context),
            ..Self::default()
        }
    }

    pub(crate) fn session(&self) -> Result<&Session, Declined> {
        let session = self.session.as_ref();
        session
            .ok_or_else(|| format!("hello with protocol version {VERSION} must come first").into())
    }

    pub(crate) fn observer(&mut self) -> &mut Observer {
        self.observer.get_or_insert_with(Observer::start)
    }

    pub(crate) fn open_usage(&mut self) -> Result<(), Declined> {
        self.observer().open(&[])?;
        self.usage_since = Some(Processors::read()?);
        Ok(())
    }

    pub(crate) fn close_usage(&mut self) -> Result<HostUsage, Declined> {
        let since = self.usage_since.take().ok_or("usage is not watched")?;
        let mut usage = Processors::read()?.since(&since);
        usage.counters = self.observer().close()?.counters;
        Ok(usage)
    }
}
