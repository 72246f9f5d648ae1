//! The way of readings to a disk that may not answer: one that hangs holds up who writes to it, and no watch.

use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TryRecvError, channel, sync_channel,
};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hawser_files::FileError;
use hawser_model::kept_alarms::{FoundAlarms, KeptAlarms};
use hawser_model::readings::{AllNoted, Reading};

use super::{FOLDER, RingError, RingOfReadings};

/// How long the disk may take for one reading before the watch goes on without it.
const LIMIT: Duration = Duration::from_secs(1);

/// And for the opening, for which the whole ring is read.
const OPENING: Duration = Duration::from_secs(20);

/// What is written.
#[derive(Debug)]
enum Work {
    Reading(Reading),
    Alarms(KeptAlarms),
}

/// What became of it; of the opening, what was found.
type Done = Result<Option<FoundAlarms>, RingError>;

/// Who writes a ring, on a thread of its own.
#[derive(Debug)]
pub(crate) struct Writer {
    to: Option<SyncSender<Work>>,
    from: Receiver<Done>,
    thread: Option<JoinHandle<()>>,
    limit: Duration,
    known: AllNoted,
    opened: bool,
    /// The disk has not said yet what became of the last one.
    awaits: bool,
    /// Some were not given to it since the last one that was.
    missed: bool,
}

impl Writer {
    /// Begins to open this head's ring, of so many bytes, unless that is below one of these folders of pools.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub(crate) fn start(bytes: u64, pools: Vec<String>) -> Result<Self, RingError> {
        Self::of(LIMIT, move || {
            let mut ring = RingOfReadings::open(bytes, &pools)?;
            let found = ring.alarms();
            let keep = move |work: &Work| match work {
                Work::Reading(reading) => ring.keep(reading),
                Work::Alarms(alarms) => ring.keep_alarms(alarms),
            };
            Ok((keep, found))
        })
    }

    fn of<K>(
        limit: Duration,
        open: impl FnOnce() -> Result<(K, FoundAlarms), RingError> + Send + 'static,
    ) -> Result<Self, RingError>
    where
        K: FnMut(&Work) -> Result<(), RingError>,
    {
        let (to, all) = sync_channel::<Work>(1);
        let (answer, from) = channel();
        let work = move || {
            let (mut keep, found) = match open() {
                Ok(open) => open,
                Err(e) => {
                    let _nobody_waits = answer.send(Err(e));
                    return;
                }
            };
            let mut outcome = Ok(Some(found));
            while answer.send(outcome).is_ok() {
                match all.recv() {
                    Ok(work) => outcome = keep(&work).map(|()| None),
                    Err(_) => return,
                }
            }
        };
        let thread = thread::Builder::new().name("readings".into()).spawn(work);
        Ok(Self {
            to: Some(to),
            from,
            thread: Some(thread.map_err(FileError::io("write", FOLDER))?),
            limit,
            known: AllNoted::new(),
            opened: false,
            awaits: true,
            missed: false,
        })
    }

    /// Whether the opening lasts.
    pub(crate) fn opens(&self) -> bool {
        !self.opened
    }

    /// Waits until it is open: what the watch before this one kept.
    ///
    /// # Errors
    /// It cannot be, or the disk does not answer: then it can be waited for again.
    pub(crate) fn open(&mut self) -> Result<FoundAlarms, RingError> {
        let found = self.wait(OPENING)?;
        self.opened = true;
        Ok(found.unwrap_or_default())
    }

    /// Keeps a reading. It is on the disk when this returns.
    ///
    /// # Errors
    /// The disk does not take it, or has not taken the one before. The next one that it takes tells all that is known by then.
    pub(crate) fn keep(&mut self, reading: Reading) -> Result<(), RingError> {
        reading.apply(&mut self.known);
        if let Err(e) = self.ready() {
            self.missed = true;
            return Err(e);
        }
        let reading = match std::mem::take(&mut self.missed) {
            false => reading,
            true => Reading {
                stepped_us: reading.stepped_us,
                ..Reading::whole(reading.at, &self.known)
            },
        };
        self.write(Work::Reading(reading))
    }

    /// Keeps the alarms of this watch. They are on the disk when this returns.
    ///
    /// # Errors
    /// The disk does not take them, or has not taken what came before.
    pub(crate) fn keep_alarms(&mut self, alarms: KeptAlarms) -> Result<(), RingError> {
        self.ready()?;
        self.write(Work::Alarms(alarms))
    }

    /// Whether the disk has said what became of the last one.
    fn ready(&mut self) -> Result<(), RingError> {
        if self.awaits {
            match self.from.try_recv() {
                // What became of that one was said when it was late.
                Ok(_late) => self.awaits = false,
                Err(TryRecvError::Empty) => return Err(RingError::Hangs),
                Err(TryRecvError::Disconnected) => return Err(RingError::Closed),
            }
        }
        Ok(())
    }

    fn write(&mut self, work: Work) -> Result<(), RingError> {
        let to = self.to.as_ref().ok_or(RingError::Closed)?;
        to.send(work).map_err(|_| RingError::Closed)?;
        self.awaits = true;
        self.wait(self.limit).map(|_found| ())
    }

    fn wait(&mut self, limit: Duration) -> Done {
        let outcome = self.from.recv_timeout(limit);
        self.awaits = matches!(outcome, Err(RecvTimeoutError::Timeout));
        match outcome {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout) => Err(RingError::Hangs),
            Err(RecvTimeoutError::Disconnected) => Err(RingError::Closed),
        }
    }
}

/// The ring is free for another when this has ended, unless its disk hangs.
impl Drop for Writer {
    fn drop(&mut self) {
        self.to = None;
        if let (false, Some(thread)) = (self.awaits, self.thread.take()) {
            let _panicked = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use hawser_model::drill::Moment;
    use hawser_model::readings::Noted;

    use super::*;

    fn reading(at: u64, now: Noted) -> Reading {
        Reading {
            at: Moment(at),
            now: vec![now],
            ..Reading::default()
        }
    }

    #[test]
    fn a_disk_that_hangs_holds_up_nobody_and_then_gets_all_that_is_known() {
        let (go, goes) = channel::<()>();
        let kept = Arc::<Mutex<Vec<Reading>>>::default();
        let disk = Arc::clone(&kept);
        let short = Duration::from_millis(10);
        let mut writer = Writer::of(short, || {
            let keep = move |work: &Work| {
                let _ended = goes.recv();
                if let Work::Reading(reading) = work {
                    disk.lock().unwrap().push(reading.clone());
                }
                Ok(())
            };
            Ok((keep, FoundAlarms::default()))
        })
        .unwrap();
        writer.open().unwrap();
        for (at, now) in [
            (1, Noted::Corosync(true)),
            (2, Noted::Pacemaker(true)),
            (3, Noted::Quorum(false)),
        ] {
            let late = writer.keep(reading(at, now));
            assert!(matches!(late, Err(RingError::Hangs)));
        }
        let late = writer.keep_alarms(KeptAlarms::default());
        assert!(matches!(late, Err(RingError::Hangs)));
        drop(go);
        while writer.keep(reading(4, Noted::Corosync(false))).is_err() {}
        let all = [
            Noted::Corosync(false),
            Noted::Pacemaker(true),
            Noted::Quorum(false),
        ];
        let kept = kept.lock().unwrap();
        let whole = kept.iter().find(|reading| reading.whole).unwrap();
        assert_eq!(
            (kept[0].at, whole.now.as_slice()),
            (Moment(1), all.as_slice())
        );
    }

    #[test]
    fn what_cannot_be_opened_says_why() {
        type Keep = fn(&Work) -> Result<(), RingError>;
        let failed = || Err::<(Keep, FoundAlarms), _>(RingError::Taken("/r".into()));
        let mut writer = Writer::of(LIMIT, failed).unwrap();
        assert!(matches!(writer.open(), Err(RingError::Taken(_))));
    }
}
