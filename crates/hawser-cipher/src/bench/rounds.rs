//! Turns and rounds: how a group is measured, and what is made of it.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

use crate::bench::arena::Arena;
use crate::bench::contender::{self, Contender, Task};
use crate::bench::longest;
use crate::bench::plan::{Group, Plan};
use crate::bench::row::{Layout, Row};
use crate::chunks::CHUNK;
use crate::error::CipherError;

/// Who works in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Ours,
    #[cfg(feature = "openssl")]
    OpenSsl,
}

/// The contenders of a group in the order of their turns.
fn contenders(plan: &Plan) -> Vec<(Layout, Who)> {
    let mut layouts = plan.layouts.clone();
    if !layouts.contains(&Layout::Contiguous) {
        layouts.insert(0, Layout::Contiguous);
    }
    let pairs = layouts.into_iter().flat_map(|layout| {
        [
            (layout, Who::Ours),
            #[cfg(feature = "openssl")]
            (layout, Who::OpenSsl),
        ]
    });
    pairs.collect()
}

/// Measures all layouts of `group`.
pub(crate) fn measure(group: &Group, plan: &Plan) -> Result<Vec<Row>, CipherError> {
    let contenders = contenders(plan);
    let task = Task::new(group)?;
    let barrier = Barrier::new(group.threads);
    let per_thread: Vec<Vec<Vec<f64>>> = thread::scope(|scope| {
        let work = || turns(group, plan, &task, &contenders, &barrier);
        let others: Vec<_> = (1..group.threads).map(|_| scope.spawn(work)).collect();
        let mut all = vec![work()];
        all.extend(
            others
                .into_iter()
                .map(|thread| thread.join().expect("a turn panicked")),
        );
        all.into_iter().collect::<Result<_, _>>()
    })?;
    let speeds = |layout, who| -> Option<Vec<f64>> {
        let index = contenders
            .iter()
            .position(|contender| *contender == (layout, who))?;
        let sum = |round: usize| per_thread.iter().map(|thread| thread[index][round]).sum();
        Some((0..plan.rounds).map(sum).collect())
    };
    let contiguous = speeds(Layout::Contiguous, Who::Ours).expect("always among them");
    let mut rows = Vec::new();
    for &layout in &plan.layouts {
        let ours = speeds(layout, Who::Ours).expect("it was measured");
        #[cfg(feature = "openssl")]
        let openssl = speeds(layout, Who::OpenSsl);
        #[cfg(not(feature = "openssl"))]
        let openssl: Option<Vec<f64>> = None;
        let median_speed = quantile(&ours, 0.5);
        let ratios = openssl.as_ref().map(|openssl| quotients(&ours, openssl));
        let spread_of = match &ratios {
            Some(ratios) => ratios.clone(),
            None => ours.iter().map(|speed| speed / median_speed).collect(),
        };
        let calls = if layout == Layout::Contiguous && group.chunk == CHUNK && group.threads == 1 {
            Some(longest::measure(group, plan.calls)?)
        } else {
            None
        };
        rows.push(Row {
            mode: group.mode,
            key_bits: group.key_size.bits(),
            op: group.direction,
            layout,
            chunk: group.chunk,
            threads: group.threads,
            mb_per_s: rounded(median_speed, 1),
            openssl_mb_per_s: openssl.map(|speeds| rounded(quantile(&speeds, 0.5), 1)),
            ratio: ratios.map(|ratios| rounded(quantile(&ratios, 0.5), 4)),
            spread: rounded(
                (quantile(&spread_of, 0.75) - quantile(&spread_of, 0.25)) / 2.0,
                4,
            ),
            of_contiguous: rounded(quantile(&quotients(&ours, &contiguous), 0.5), 4),
            call_us: calls.map(|calls| rounded(calls.median_us, 2)),
            longest_call_us: calls.map(|calls| rounded(calls.longest_us, 2)),
        });
    }
    Ok(rows)
}

/// One thread's turns: for each contender its speeds in MB/s, round by round.
fn turns(
    group: &Group,
    plan: &Plan,
    task: &Task,
    contenders: &[(Layout, Who)],
    barrier: &Barrier,
) -> Result<Vec<Vec<f64>>, CipherError> {
    // What fails is kept until the end, since the other threads wait at the barrier in every turn.
    let mut failed = None;
    let mut arenas: Vec<Arena> = contenders
        .iter()
        .map(|(layout, _)| Arena::new(*layout, &task.text))
        .collect();
    let mut workers = Vec::new();
    for ((_, who), arena) in contenders.iter().zip(&mut arenas) {
        workers.push(match who {
            Who::Ours => contender::ours(group, task, arena.memory()),
            #[cfg(feature = "openssl")]
            Who::OpenSsl => crate::bench::openssl::contender(group, task, arena.memory()),
        });
    }
    let mut speeds = vec![Vec::with_capacity(plan.rounds); workers.len()];
    for round in 0..=plan.rounds {
        for (worker, speeds) in workers.iter_mut().zip(&mut speeds) {
            barrier.wait();
            let speed = match worker {
                Ok(worker) => turn(worker.as_mut(), group.chunk, plan.turn),
                Err(error) => Err(error.clone()),
            };
            match speed {
                // The first round warms the caches and is not kept.
                Ok(speed) if round > 0 => speeds.push(speed),
                Ok(_) => {}
                Err(error) => failed = Some(error),
            }
        }
    }
    failed.map_or(Ok(speeds), Err)
}

/// One turn: MB a second of this thread's processor time, which leaves out what a turn lost to other
/// programs.
fn turn(worker: &mut dyn Contender, chunk: usize, length: Duration) -> Result<f64, CipherError> {
    // The wall clock is read each 64 KiB at most: that is 25 ns in 5 µs. Reading the processor time is
    // a system call.
    let at_once = (64_usize << 10).div_ceil(chunk);
    worker.once()?;
    let end = Instant::now() + length;
    let start = processor_time();
    let mut bytes = 0;
    loop {
        for _ in 0..at_once {
            worker.once()?;
        }
        bytes += at_once * chunk;
        if Instant::now() >= end {
            let used = processor_time().saturating_sub(start);
            return Ok(bytes as f64 / used.as_secs_f64() / 1e6);
        }
    }
}

/// What this thread has used of a processor so far.
fn processor_time() -> Duration {
    Duration::from(
        clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux always has this clock"),
    )
}

fn quotients(over: &[f64], under: &[f64]) -> Vec<f64> {
    over.iter()
        .zip(under)
        .map(|(over, under)| over / under)
        .collect()
}

/// The `q`-quantile, between neighbours by proportion.
fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = q * (sorted.len() - 1) as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] * (1.0 - part) + sorted[above] * part
}

fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        let values = [5.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&values, 0.0), 1.0);
        assert_eq!(quantile(&values, 0.5), 2.5);
        assert_eq!(quantile(&values, 1.0), 5.0);
        assert_eq!(quantile(&[7.0], 0.9), 7.0);
    }
}
