//! Who asks the watches of the other heads: what they show now, and what they have kept of incidents.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hawser_cluster::host::KeptName;
use hawser_cluster::host::questions::{KeepLogs, ListKeptLogs, ReadKeptLog};
use hawser_host::{Clock, Host, HostError};
use hawser_model::names::HostName;

use super::peer::Peer;
use super::{ReadWatched, Ring};
use crate::board::Board;
use crate::join::Other;
use crate::past::Past;
use crate::shown::Shown;
use crate::threads::Threads;

/// Another watch is asked so often while somebody looks, or something is wrong.
const SOON: Duration = Duration::from_secs(2);

/// And so often when all is quiet.
const QUIET: Duration = Duration::from_secs(10);

/// How often it is asked for the incidents that it has kept.
const KEPT: Duration = Duration::from_secs(60);

/// It is seen so often whether somebody looks.
const STEP: Duration = Duration::from_secs(1);

/// Incidents that are taken at a time.
const AT_ONCE: usize = 100;

/// Asks the watch of each other head from then on, each on a thread of its own.
///
/// # Errors
/// There is no thread to be had.
pub fn ask(
    threads: &mut Threads,
    ring: &Arc<Ring>,
    board: &Board,
    past: &Past,
    clock: &Clock,
) -> io::Result<()> {
    for name in ring.others.keys() {
        let mut asking = Asking {
            ring: Arc::clone(ring),
            name: name.clone(),
            peer: None,
            last: None,
            own: hawser_agent::own(ring.own.clone()),
            known: TakenLogs::default(),
        };
        let (board, past, clock) = (board.clone(), past.clone(), clock.clone());
        let work = move || {
            let mut asked = None;
            loop {
                let soon = board.is_looked_at()
                    || board.newest().is_some_and(|it| !it.troubles.is_empty());
                let every = if soon { SOON } else { QUIET };
                if asked.is_none_or(|asked| clock.since(asked) >= every) {
                    asking.once(&board, &past, &clock);
                    asked = Some(clock.now());
                }
                clock.sleep(STEP);
            }
        };
        threads.start("other", work)?;
    }
    Ok(())
}

struct Asking {
    ring: Arc<Ring>,
    name: HostName,
    peer: Option<Peer>,
    /// What it showed last.
    last: Option<Arc<Shown>>,
    own: Box<dyn Host>,
    known: TakenLogs,
}

impl Asking {
    fn once(&mut self, board: &Board, past: &Past, clock: &Clock) {
        let why = match self.shown() {
            Ok(Some(shown)) => {
                self.last = Some(Arc::new(shown));
                None
            }
            Ok(None) => Some("it has read nothing lately".to_owned()),
            Err(e) => Some(e.failure.to_string()),
        };
        let shown = self.last.clone();
        board.other(&self.name, Other { shown, why });
        let Some(peer) = &mut self.peer else {
            return;
        };
        if self.known.is_due(clock.now()) {
            // What could not be had now is asked for the next time.
            let taken = self
                .known
                .take(&self.name, peer, self.own.as_mut(), &self.ring.pools);
            if taken.is_ok_and(|taken| taken > 0) {
                past.news();
            }
        }
    }

    fn shown(&mut self) -> Result<Option<Shown>, HostError> {
        let lost = self.peer.as_mut().is_none_or(|peer| peer.is_lost());
        if lost {
            self.peer = None;
            self.peer = Some(Peer::connect(&self.ring, &self.name)?);
            self.known.asked = None;
        }
        let peer = self.peer.as_mut().expect("it is connected");
        let answer = (peer as &mut dyn Host).ask(&ReadWatched);
        if answer.as_ref().is_err_and(|e| !e.host_goes_on()) {
            self.peer = None;
        }
        answer
    }
}

/// What was taken of what another head has kept.
#[derive(Debug, Default)]
pub struct TakenLogs {
    taken: BTreeSet<KeptName>,
    asked: Option<Duration>,
}

impl TakenLogs {
    fn is_due(&mut self, now: Duration) -> bool {
        let due = self
            .asked
            .is_none_or(|asked| now.saturating_sub(asked) >= KEPT);
        if due {
            self.asked = Some(now);
        }
        due
    }

    /// Takes what that head has kept and is not known, or is another than it was, the oldest first, and keeps it here, below
    /// none of these folders of pools. Gives how
    /// many.
    ///
    /// # Errors
    /// One of the two does not answer.
    pub fn take(
        &mut self,
        head: &HostName,
        peer: &mut dyn Host,
        own: &mut dyn Host,
        pools: &[String],
    ) -> Result<usize, HostError> {
        let listed: BTreeSet<KeptName> =
            peer.ask(&ListKeptLogs)?.into_iter().take(AT_ONCE).collect();
        self.taken.retain(|name| listed.contains(name));
        let mut taken = 0;
        for name in listed {
            if self.taken.contains(&name) {
                continue;
            }
            let id = name.id.clone();
            if let Some(mut logs) = peer.ask(&ReadKeptLog { id })? {
                // It speaks of itself alone, and under the name that it was asked for.
                logs.id.clone_from(&name.id);
                logs.head = Some(head.clone());
                let pools = pools.to_vec();
                match own.ask(&KeepLogs { logs, pools }) {
                    Ok(()) => taken += 1,
                    // The disk takes it another time.
                    Err(e) if e.host_goes_on() => continue,
                    Err(e) => return Err(e),
                }
            }
            self.taken.insert(name);
        }
        Ok(taken)
    }
}
