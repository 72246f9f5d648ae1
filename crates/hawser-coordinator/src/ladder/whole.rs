//! The whole path: a `hawser copy` of the path's storage, for a time instead of to an end, while
//! both hosts are watched.

use hawser_copy::{CopyKey, Now};
use hawser_host::HostError;
use hawser_model::copy::{
    self, CopyCase, CopyCipher, CopyEnd, CopyOptions, CopySink, CopySource, RateSample,
};
use hawser_model::ladder::{Rung, RungKind, Sample, Stage, StageKind};
use hawser_model::names::LinkName;
use hawser_model::traffic::SLICE;
use hawser_model::units::{Bytes, Nanos};

use super::plan::LadderOptions;
use super::{Ends, blank, unavailable};
use crate::copy::{Route, Task, Watcher, copy};

/// Measures it.
pub(super) fn measure(
    ends: &mut Ends<'_>,
    options: &LadderOptions,
    link: &LinkName,
    key: [u8; 32],
) -> Result<Rung, HostError> {
    let cipher = options
        .cipher
        .map(|choice| (choice, CopyCipher::of(choice)));
    if let Some((choice, None)) = cipher {
        let why = format!("a copy does not encrypt with {}", choice.name());
        return Ok(unavailable(RungKind::Whole, why));
    }
    let task = Task {
        source: CopySource::Repeated {
            storage: options.source.clone(),
            duration: Nanos(options.duration.0 * 3),
        },
        sink: CopySink::Scratch(options.sink.clone()),
        options: CopyOptions {
            cipher: cipher.and_then(|(_, cipher)| cipher),
            ..CopyOptions::default()
        },
    };
    let route = Route {
        link: link.clone(),
        from: ends.path.source,
        to: ends.path.destination,
    };
    let (case, usage) = ends.watched(|ends| {
        let key = CopyKey::new(key);
        let (from, to) = (&mut *ends.sender, &mut *ends.receiver);
        copy(from, to, &route, task, key, &mut Unwatched, 0)
    })?;
    if let Some(why) = failure(&case) {
        return Ok(Rung {
            usage,
            ..unavailable(RungKind::Whole, why)
        });
    }
    let cipher = options
        .cipher
        .map_or("not encrypted".to_owned(), |c| c.name());
    let how = format!("as `hawser copy` does: {cipher}, checksum, one stream");
    Ok(Rung {
        samples: slices(&case.receiver.samples),
        usage,
        stages: [stages(&case.sender), stages(&case.receiver)].concat(),
        ..blank(RungKind::Whole, how)
    })
}

/// It ends by itself.
struct Unwatched;

impl Watcher for Unwatched {
    fn at(&mut self, _: Now) -> bool {
        true
    }
}

/// The failure that is not only the echo of the other end's.
fn failure(case: &CopyCase) -> Option<String> {
    let told = [&case.receiver, &case.sender].map(|end| end.failure.as_ref());
    let told: Vec<_> = told.into_iter().flatten().collect();
    let own = told.iter().find(|failure| !failure.connection);
    own.or(told.first()).map(|failure| failure.error.clone())
}

/// What was written in each slice of time, from what had been at each moment.
fn slices(samples: &[RateSample]) -> Vec<Sample> {
    let mut slices = Vec::new();
    let mut since = RateSample::default();
    for sample in samples {
        let elapsed = sample.at.saturating_sub(since.at);
        if elapsed >= SLICE {
            slices.push(Sample {
                elapsed,
                bytes: Bytes(sample.bytes.0.saturating_sub(since.bytes.0)),
            });
            since = *sample;
        }
    }
    slices
}

/// An end's stages. The time its thread waited for a processor is divided among the stages of the
/// thread as is the time in which each was not running.
fn stages(end: &CopyEnd) -> Vec<Stage> {
    let mut stages = Vec::new();
    for (number, thread) in (0..).zip(&end.threads) {
        let times = || thread.stages.iter().filter_map(|stage| end.stage(*stage));
        let all: u64 = times().map(off).sum();
        for time in times() {
            let part = |delay: Nanos| {
                let part = u128::from(delay.0) * u128::from(off(time)) / u128::from(all.max(1));
                Nanos(part as u64)
            };
            let (waiting_in, waiting_out) = match time.stage {
                copy::Stage::Receive => (time.waiting, Nanos::ZERO),
                _ => (Nanos::ZERO, time.waiting),
            };
            stages.extend(kind(time.stage).map(|kind| Stage {
                kind,
                thread: Some(number),
                elapsed: thread.elapsed,
                busy: time.busy,
                waiting_in,
                waiting_out,
                cpu: time.cpu,
                run_delay: thread.run_delay.map(part),
                bytes: time.bytes,
            }));
        }
    }
    stages
}

/// Time in which a stage had begun its work and was not running, in nanoseconds.
fn off(time: &copy::StageTime) -> u64 {
    // `busy` is CPU time for the stages that wait for the other end.
    (time.busy + time.waiting).saturating_sub(time.cpu).0
}

/// What a ladder calls it; what is done once at the end is no stage of a path.
fn kind(stage: copy::Stage) -> Option<StageKind> {
    Some(match stage {
        copy::Stage::Read => StageKind::Read,
        copy::Stage::Checksum => StageKind::Checksum,
        copy::Stage::Cipher => StageKind::Encrypt,
        copy::Stage::Send => StageKind::Send,
        copy::Stage::Receive => StageKind::Receive,
        copy::Stage::Decipher => StageKind::Decrypt,
        copy::Stage::Verify => StageKind::Verify,
        copy::Stage::Write => StageKind::Write,
        copy::Stage::Sync => return None,
    })
}

#[cfg(test)]
mod tests {
    use hawser_model::copy::{StageTime, ThreadTime};

    use super::*;

    fn time(stage: copy::Stage, busy: u64, waiting: u64, cpu: u64) -> StageTime {
        StageTime {
            stage,
            bytes: Bytes(1_000),
            busy: Nanos(busy),
            waiting: Nanos(waiting),
            cpu: Nanos(cpu),
        }
    }

    #[test]
    fn a_threads_wait_for_a_processor_is_that_of_its_stages_that_did_not_run() {
        let end = CopyEnd {
            stages: vec![
                time(copy::Stage::Receive, 200, 300, 200),
                time(copy::Stage::Write, 400, 0, 300),
                time(copy::Stage::Sync, 50, 0, 0),
            ],
            threads: vec![ThreadTime {
                stages: vec![
                    copy::Stage::Receive,
                    copy::Stage::Decipher,
                    copy::Stage::Write,
                ],
                elapsed: Nanos(1_000),
                run_delay: Some(Nanos(200)),
            }],
            ..CopyEnd::default()
        };
        let stages = stages(&end);
        assert_eq!(stages.len(), 2);
        assert_eq!(stages[0].run_delay, Some(Nanos(150)));
        assert_eq!(stages[1].run_delay, Some(Nanos(50)));
        assert_eq!(stages[0].waiting_in, Nanos(300));
        assert!(stages.iter().all(|s| s.thread == Some(0)));
    }

    #[test]
    fn moments_become_slices_that_are_long_enough() {
        let sample = |ms, bytes| RateSample {
            at: Nanos::from_millis(ms),
            bytes: Bytes(bytes),
            ..RateSample::default()
        };
        let slices = slices(&[
            sample(0, 0),
            sample(25, 10),
            sample(52, 30),
            sample(110, 70),
        ]);
        let bytes: Vec<u64> = slices.iter().map(|s| s.bytes.0).collect();
        assert_eq!(bytes, [30, 40]);
    }
}
