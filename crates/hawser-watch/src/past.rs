//! What happened before, as the head's own logs and what its watch has kept tell it: read when there is news, on a thread
//! of its own. What was read around an incident is kept with it there, before the ring of readings is written over.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_host::{Clock, Host};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::output::incident::IncidentsReport;
use hawser_model::output::live::LiveIncidents;

use crate::board::Board;
use crate::freeze::Freezer;
use crate::history::own_history;
use crate::live::newest;
use crate::locked::locked;
use crate::threads::Threads;

/// What was read around an incident is kept so long after it, and tried again so often.
const LATER: Duration = Duration::from_secs(60);

/// Who reads it.
#[derive(Clone)]
pub struct Past {
    news: SyncSender<()>,
    cib: Arc<Mutex<Option<String>>>,
}

impl Past {
    /// For this board, from this head.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(
        threads: &mut Threads,
        mut host: Box<dyn Host>,
        file: ClusterFile,
        board: Board,
        clock: Clock,
    ) -> io::Result<Self> {
        let (news, told) = sync_channel::<()>(1);
        let cib = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&cib);
        let work = move || {
            let mut freezer = Freezer::new(board.pool_folders());
            let mut report: Option<IncidentsReport> = None;
            loop {
                match told.recv_timeout(LATER) {
                    Ok(()) => {
                        let cib = locked(&seen).clone();
                        let now = clock.time_of_day().0 / 1_000_000;
                        match own_history(host.as_mut(), cib.as_deref(), &file, now) {
                            Ok(read) => {
                                board.incidents(newest(&read));
                                report = Some(read);
                            }
                            Err(e) => board.incidents(LiveIncidents {
                                read: true,
                                gaps: vec![e.to_string()],
                                ..LiveIncidents::default()
                            }),
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                // What could not be kept now is tried again.
                if let Some(report) = &report {
                    let _later = freezer.freeze(host.as_mut(), report);
                }
            }
        };
        threads.start("past", work)?;
        Ok(Self { news, cib })
    }

    /// Has it read again, with the CIB as it was seen last.
    pub fn read(&self, cib: Option<&str>) {
        *locked(&self.cib) = cib.map(str::to_owned);
        self.news();
    }

    /// Has it read again. One reading that waits is enough: it has all that is new.
    pub fn news(&self) {
        let _one_waits = self.news.try_send(());
    }
}
