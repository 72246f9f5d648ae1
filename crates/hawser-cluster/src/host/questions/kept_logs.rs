//! What is asked about incidents that a watch has kept.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::kept_logs::{self, KeptLogs};

/// Keeps the lines of an incident on this head; those of the same name are replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeepLogs {
    /// The incident.
    pub logs: KeptLogs,
}

impl Ask for KeepLogs {
    type Answer = ();
    const NAME: &'static str = "keep an incident";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for KeepLogs {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<(), Declined> {
        static LASTS: AtomicBool = AtomicBool::new(false);
        aside(&LASTS, LIMIT, move || kept_logs::keep(&self.logs))
            .ok_or("the disk has not taken an incident yet: it hangs")?
            .map_err(Into::into)
    }
}

/// How long the disk may take for an incident before the watch goes on without it.
const LIMIT: Duration = Duration::from_secs(5);

/// Does this on a thread of its own and waits so long; `None`: it lasts longer, or an earlier one still lasts.
fn aside<T: Send + 'static>(
    lasts: &'static AtomicBool,
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if lasts.swap(true, Ordering::AcqRel) {
        return None;
    }
    let (end, ended) = channel();
    let work = move || {
        let outcome = work();
        lasts.store(false, Ordering::Release);
        let _nobody_waits = end.send(outcome);
    };
    if thread::Builder::new().spawn(work).is_err() {
        lasts.store(false, Ordering::Release);
    }
    ended.recv_timeout(limit).ok()
}

/// The incidents that are kept, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadKeptLogs;

impl Ask for ReadKeptLogs {
    type Answer = Vec<KeptLogs>;
    const NAME: &'static str = "read the incidents that are kept";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ReadKeptLogs {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Vec<KeptLogs>, Declined> {
        Ok(kept_logs::kept()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_waited_for_once_and_by_nobody_else() {
        static LASTS: AtomicBool = AtomicBool::new(false);
        let (go, goes) = channel::<()>();
        let (end, ended) = channel();
        let hangs = move || {
            let _ended = goes.recv();
            let _nobody = end.send(());
        };
        assert_eq!(aside(&LASTS, Duration::from_millis(10), hangs), None);
        assert_eq!(aside(&LASTS, Duration::from_secs(3600), || ()), None);
        drop(go);
        ended.recv().unwrap();
        while LASTS.load(Ordering::Acquire) {
            thread::yield_now();
        }
        assert_eq!(aside(&LASTS, Duration::from_secs(3600), || 7), Some(7));
    }
}
