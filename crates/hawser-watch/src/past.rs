//! What happened before, as the head's own logs and what its watch has kept tell it: read when there is news, on a thread
//! of its own.

use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use hawser_host::{Clock, Host};
use hawser_model::output::live::LiveIncidents;

use crate::board::Board;
use crate::history::own_history;
use crate::live::newest;

/// Who reads it.
pub struct Past(SyncSender<Option<String>>);

impl Past {
    /// For this board, from this head.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(mut host: Box<dyn Host>, board: Board, clock: Clock) -> io::Result<Self> {
        let (ask, asked) = sync_channel::<Option<String>>(1);
        let work = move || {
            while let Ok(cib) = asked.recv() {
                let now = clock.time_of_day().0 / 1_000_000;
                board.incidents(read(host.as_mut(), cib.as_deref(), now));
            }
        };
        thread::Builder::new().name("past".into()).spawn(work)?;
        Ok(Self(ask))
    }

    /// Has it read again, with the CIB as it was seen last. One reading that waits is enough: it has all that is new.
    pub fn read(&self, cib: Option<&str>) {
        let _one_waits = self.0.try_send(cib.map(str::to_owned));
    }
}

fn read(host: &mut dyn Host, cib: Option<&str>, now: u64) -> LiveIncidents {
    match own_history(host, cib, now) {
        Ok(report) => newest(&report),
        Err(e) => LiveIncidents {
            read: true,
            gaps: vec![e.to_string()],
            ..LiveIncidents::default()
        },
    }
}
