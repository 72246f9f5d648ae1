//! Work that ends in time, or is given up.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use hawser_tool::{Deadline, ToolError};

use super::told::Told;
use crate::host::run;

/// Work that was begun. What does not end in time is left to the end of the agent: a thread in a call that hangs
/// cannot be ended.
pub(crate) struct Begun<T> {
    result: Result<Receiver<T>, NotBegun>,
    until: Deadline,
    seconds: u32,
}

/// Why work was not begun.
enum NotBegun {
    /// There is no thread to be had.
    NoThread(String),
    /// As much of the same lasts as may.
    Lasts,
}

/// How much work lasts, by what it is about.
static LASTING: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// So much about the same may last: two who look at the same moment do not hold each other up.
const MAY_LAST: usize = 2;

/// A part of what lasts, until it is dropped.
struct Lasting(String);

impl Lasting {
    fn begin(about: String) -> Option<Self> {
        let mut all = lasting();
        let count = all.entry(about.clone()).or_default();
        if *count >= MAY_LAST {
            return None;
        }
        *count += 1;
        Some(Self(about))
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        let mut all = lasting();
        if let Some(count) = all.get_mut(&self.0) {
            *count -= 1;
        }
        all.retain(|_, count| *count > 0);
    }
}

fn lasting() -> MutexGuard<'static, BTreeMap<String, usize>> {
    LASTING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Send + 'static> Begun<T> {
    /// Begins it, unless as much about the same hangs as may: then this is as silent as that. What hangs for days, as a disk does,
    /// takes so many threads and no more.
    pub fn about(about: String, seconds: u32, work: impl FnOnce() -> T + Send + 'static) -> Self {
        let Some(lasting) = Lasting::begin(about) else {
            return Self {
                result: Err(NotBegun::Lasts),
                until: Deadline::after(Duration::ZERO),
                seconds,
            };
        };
        Self::work(seconds, move || {
            let result = work();
            // Whoever has the result may begin the next one.
            drop(lasting);
            result
        })
    }

    /// Begins it.
    pub fn work(seconds: u32, work: impl FnOnce() -> T + Send + 'static) -> Self {
        let until = Deadline::after(Duration::from_secs(u64::from(seconds)));
        Self::until(until, seconds, work)
    }

    /// The same when it is a part of what has so many seconds until then.
    pub fn until(until: Deadline, seconds: u32, work: impl FnOnce() -> T + Send + 'static) -> Self {
        let (send, receive) = channel();
        let started = thread::Builder::new().spawn(move || {
            // Nobody waits any more when it is late.
            let _late = send.send(work());
        });
        Self {
            result: started
                .map(|_| receive)
                .map_err(|e| NotBegun::NoThread(e.to_string())),
            until,
            seconds,
        }
    }

    /// Its result.
    pub fn end(self) -> Told<T> {
        let receive = match self.result {
            Ok(receive) => receive,
            Err(NotBegun::NoThread(why)) => {
                return Told::Failed(format!("start a thread: {why}"));
            }
            Err(NotBegun::Lasts) => return Told::Silent(self.seconds),
        };
        match receive.recv_timeout(self.until.left()) {
            Ok(result) => Told::Said(result),
            Err(RecvTimeoutError::Timeout) => Told::Silent(self.seconds),
            Err(RecvTimeoutError::Disconnected) => Told::Failed("it ended in a panic".into()),
        }
    }
}

impl<T: Send + 'static> Begun<Told<T>> {
    /// The result of work that may itself have been given up.
    pub fn end_told(self) -> Told<T> {
        match self.end() {
            Told::Said(told) => told,
            Told::Silent(seconds) => Told::Silent(seconds),
            Told::Failed(said) => Told::Failed(said),
        }
    }
}

/// How a tool ended.
pub(in crate::host) struct End {
    /// Whether without an error.
    pub well: bool,
    /// What it said on standard error.
    pub complaint: String,
}

/// Runs a tool for so many seconds at most and gives what it prints, whatever it ends with; `judge` tells an answer from an error.
pub(in crate::host) fn tool<T>(
    seconds: u32,
    program: &str,
    arguments: &[&str],
    judge: impl FnOnce(&str, &End) -> Option<T>,
) -> Told<T> {
    let limit = Duration::from_secs(seconds.into());
    let output = match run::within(limit, program, arguments, None) {
        Ok(output) => output,
        Err(ToolError::Silent { .. }) => return Told::Silent(seconds),
        Err(e) => return Told::Failed(run::cannot(program, arguments)(e).to_string()),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let end = End {
        well: output.status.success(),
        complaint: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    };
    match judge(&said, &end) {
        Some(answer) => Told::Said(answer),
        None => Told::Failed(run::failed(program, arguments, &output).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn what_hangs_takes_two_threads_however_often_it_is_asked() {
        static HANGS: Mutex<()> = Mutex::new(());
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let about = || "a folder that hangs".to_owned();
        let hangs = HANGS.lock().unwrap();
        for _ in 0..20 {
            let asked = Begun::about(about(), 0, || {
                ASKED.fetch_add(1, Ordering::Relaxed);
                drop(HANGS.lock());
            });
            assert_eq!(asked.end(), Told::Silent(0));
        }
        let another = Begun::about("another folder".to_owned(), 60, || 7);
        assert_eq!(another.end(), Told::Said(7));
        drop(hangs);
        // Its end lets the next one in.
        while Begun::about(about(), 60, || 8).end() != Told::Said(8) {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(ASKED.load(Ordering::Relaxed) <= MAY_LAST);
    }

    #[test]
    fn what_hangs_is_given_up_and_what_fails_is_told() {
        let hangs = Begun::work(0, || thread::sleep(Duration::from_secs(600)));
        assert_eq!(hangs.end(), Told::Silent(0));
        let works = Begun::work(60, || 7);
        assert_eq!(works.end(), Told::Said(7));
        let text = |said: &str, end: &End| end.well.then(|| said.trim().to_owned());
        assert_eq!(tool(60, "echo", &["well"], text), Told::Said("well".into()));
        assert!(
            matches!(tool(60, "false", &[], text), Told::Failed(said) if said.contains("false"))
        );
    }
}
