//! A copy between two hosts: opened, started, watched, and both ends' reports put together.

use std::net::IpAddr;
use std::time::Duration;

use hawser_agent::questions::{CopyNow, FinishCopy, OpenCopyReceiver, StartCopySender};
use hawser_copy::{CopyKey, Now, ReceiveSpec, SendSpec};
use hawser_host::{Host, HostError};
use hawser_model::copy::{
    COPY_FORMAT, CopyCase, CopyEnd, CopyFailure, CopyOptions, CopySink, CopySource,
};
use hawser_model::names::LinkName;

/// How often both ends are asked how far they are.
const ASK: Duration = Duration::from_millis(100);

/// An end that broke is noticed by the other within a round trip; one that is done has nothing
/// more to wait for. Longer than that the other end does not know.
const OTHER_END: Duration = Duration::from_secs(2);

/// Which way the data goes.
#[derive(Clone, Debug)]
pub struct Route {
    /// The link.
    pub link: LinkName,
    /// The sender's address on it.
    pub from: IpAddr,
    /// The receiver's.
    pub to: IpAddr,
}

/// What is copied, and how.
#[derive(Clone, Debug)]
pub struct Task {
    /// The source, on the sending host.
    pub source: CopySource,
    /// The destination, on the receiving one.
    pub sink: CopySink,
    /// How.
    pub options: CopyOptions,
}

impl Task {
    /// Whether either end goes past the page cache.
    fn aligned(&self) -> bool {
        let source = matches!(&self.source, CopySource::Repeated { storage, .. } if storage.direct);
        source || matches!(&self.sink, CopySink::Scratch(storage) if storage.direct)
    }
}

/// Told how far a copy is, and asked whether to go on.
pub trait Watcher {
    /// How far the receiver is. False ends the copy.
    fn at(&mut self, now: Now) -> bool;
}

/// Copies. `now` is the time to record, in seconds since 1970.
///
/// # Errors
/// The copy could not begin, or a host is lost. One that began and failed is a case with a
/// failure in one of its ends.
pub fn copy(
    from: &mut dyn Host,
    to: &mut dyn Host,
    route: &Route,
    task: Task,
    key: CopyKey,
    watcher: &mut dyn Watcher,
    now: u64,
) -> Result<CopyCase, HostError> {
    let aligned = task.aligned();
    let Task {
        source,
        sink,
        options,
    } = task;
    let port = to.ask(&OpenCopyReceiver(ReceiveSpec {
        sink: sink.clone(),
        at: route.to,
        key: key.clone(),
        options,
    }))?;
    let started = from.ask(&StartCopySender(SendSpec {
        source: source.clone(),
        from: route.from,
        to: route.to,
        port,
        aligned,
        key,
        options,
    }));
    if let Err(error) = started {
        // It waits for a sender that will not come.
        to.ask(&FinishCopy)?;
        return Err(error);
    }
    let watched = watch(from, to, watcher);
    let (sender, receiver) = (end(from, &watched), end(to, &watched));
    let (sender, receiver) = (sender?, receiver?);
    Ok(CopyCase {
        format: COPY_FORMAT.to_owned(),
        hawser: env!("CARGO_PKG_VERSION").to_owned(),
        recorded: now,
        from: from.name().clone(),
        to: to.name().clone(),
        link: route.link.clone(),
        source,
        sink,
        options,
        sender,
        receiver,
    })
}

/// Waits until both ends are done, or one has been for long enough, or the watcher has enough.
fn watch(
    from: &mut dyn Host,
    to: &mut dyn Host,
    watcher: &mut dyn Watcher,
) -> Result<(), HostError> {
    let clock = to.clock();
    let mut half = None;
    loop {
        let (sender, receiver) = (from.ask(&CopyNow)?, to.ask(&CopyNow)?);
        if !watcher.at(receiver) || (sender.finished && receiver.finished) {
            return Ok(());
        }
        if sender.finished || receiver.finished {
            let since = *half.get_or_insert_with(|| clock.now());
            // The receiver may still be told to sync its disk; the sender waits for that.
            if clock.since(since) > OTHER_END {
                return Ok(());
            }
        }
        clock.sleep(ASK);
    }
}

/// An end's report; an agent that is gone is a failure of its end as long as the other one can
/// tell how far the copy came.
fn end(agent: &mut dyn Host, watched: &Result<(), HostError>) -> Result<CopyEnd, HostError> {
    match agent.ask(&FinishCopy) {
        Err(error) if watched.is_err() && !error.host_goes_on() => Ok(CopyEnd {
            failure: Some(CopyFailure {
                error: match watched {
                    Err(first) if first.host == error.host => first.failure.to_string(),
                    _ => error.failure.to_string(),
                },
                connection: false,
            }),
            ..CopyEnd::default()
        }),
        other => other,
    }
}
