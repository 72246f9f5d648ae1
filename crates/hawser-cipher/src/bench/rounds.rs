//! Turns and rounds: how a group is measured, and what is made of it.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

use crate::bench::arena::Arena;
use crate::bench::contender::{self, Contender, Task};
use crate::bench::kernel::Kernel;
use crate::bench::longest;
use crate::bench::plan::{BenchPlan, Group};
use crate::bench::row::{Layout, Peer, Row};
use crate::chunks::CHUNK;
use crate::error::CipherError;

/// Who works in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Ours,
    Peer(Peer),
    Kernel,
}

/// Whom this build can measure beside ours.
const PEERS: &[Peer] = &[
    #[cfg(feature = "openssl")]
    Peer::OpenSsl,
    #[cfg(feature = "aws-lc")]
    Peer::AwsLc,
];

/// Steps of the processor-time clock that a turn has at least: it is known to a tenth then.
const LEAST_STEPS: u32 = 10;

/// Steps of that clock that are looked at.
const STEPS_TRIED: usize = 3;

/// The rounds that a group has however long they take: fewer have no quartiles.
const LEAST_ROUNDS: usize = 3;

/// The contenders of a group in the order of their turns.
fn contenders(plan: &BenchPlan, kernel: bool) -> Vec<(Layout, Who)> {
    let mut layouts = plan.layouts.clone();
    if !layouts.contains(&Layout::Contiguous) {
        layouts.insert(0, Layout::Contiguous);
    }
    let all = layouts.into_iter().flat_map(|layout| {
        let peers = PEERS.iter().map(move |peer| (layout, Who::Peer(*peer)));
        let kernel = (kernel && layout == Layout::Contiguous).then_some((layout, Who::Kernel));
        std::iter::once((layout, Who::Ours))
            .chain(peers)
            .chain(kernel)
    });
    all.collect()
}

/// Measures all layouts of `group` in about the time of `share`.
pub(crate) fn measure(
    group: &Group,
    plan: &BenchPlan,
    share: Duration,
) -> Result<Vec<Row>, CipherError> {
    let task = Task::new(group)?;
    let refused = Kernel::new(group, &task).err();
    let contenders = contenders(plan, refused.is_none());
    let gate = Gate {
        least: LEAST_STEPS * clock_step(),
        barrier: Barrier::new(group.threads),
        end: Instant::now() + share,
        over: AtomicBool::new(false),
    };
    let per_thread: Vec<Vec<Vec<f64>>> = thread::scope(|scope| {
        let work = || turns(group, plan, &task, &contenders, &gate);
        let others: Vec<_> = (1..group.threads).map(|_| scope.spawn(work)).collect();
        let mut all = vec![work()];
        all.extend(
            others
                .into_iter()
                .map(|thread| thread.join().expect("a turn panicked")),
        );
        all.into_iter().collect::<Result<_, _>>()
    })?;
    let rounds = per_thread[0][0].len();
    let speeds = |layout, who| -> Option<Vec<f64>> {
        let index = contenders
            .iter()
            .position(|contender| *contender == (layout, who))?;
        let sum = |round: usize| per_thread.iter().map(|thread| thread[index][round]).sum();
        Some((0..rounds).map(sum).collect())
    };
    let contiguous = speeds(Layout::Contiguous, Who::Ours).expect("always among them");
    let mut rows = Vec::new();
    for &layout in &plan.layouts {
        let ours = speeds(layout, Who::Ours).expect("it was measured");
        let of_peer = |peer| speeds(layout, Who::Peer(peer));
        let median_of = |peer| of_peer(peer).map(|speeds| rounded(quantile(&speeds, 0.5), 1));
        let median_speed = quantile(&ours, 0.5);
        let beside = beside_the_best(&ours, of_peer);
        let spread_of = match &beside {
            Some((_, ratios)) => ratios.clone(),
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
            openssl_mb_per_s: median_of(Peer::OpenSsl),
            aws_lc_mb_per_s: median_of(Peer::AwsLc),
            kernel_mb_per_s: speeds(layout, Who::Kernel)
                .map(|speeds| rounded(quantile(&speeds, 0.5), 1)),
            kernel_refused: refused
                .as_ref()
                .filter(|_| layout == Layout::Contiguous)
                .map(ToString::to_string),
            best: beside.as_ref().map(|(peer, _)| *peer),
            ratio: beside.map(|(_, ratios)| rounded(quantile(&ratios, 0.5), 4)),
            spread: rounded(
                (quantile(&spread_of, 0.75) - quantile(&spread_of, 0.25)) / 2.0,
                4,
            ),
            rounds,
            of_contiguous: rounded(quantile(&quotients(&ours, &contiguous), 0.5), 4),
            call_us: calls.map(|calls| rounded(calls.median_us, 2)),
            longest_call_us: calls.map(|calls| rounded(calls.longest_us, 2)),
            longest_undisturbed_us: calls
                .and_then(|calls| calls.longest_undisturbed_us)
                .map(|longest| rounded(longest, 2)),
            disturbed_calls: calls.map(|calls| calls.disturbed),
        });
    }
    Ok(rows)
}

/// The peer beside which the median of our rounds' ratios is the smallest, and those ratios. Not each
/// round's faster one: of two that are equal that would be the one on whose side the noise was.
fn beside_the_best(
    ours: &[f64],
    speeds: impl Fn(Peer) -> Option<Vec<f64>>,
) -> Option<(Peer, Vec<f64>)> {
    PEERS
        .iter()
        .filter_map(|peer| Some((*peer, quotients(ours, &speeds(*peer)?))))
        .min_by(|(_, a), (_, b)| quantile(a, 0.5).total_cmp(&quantile(b, 0.5)))
}

/// What the threads of a group share: they begin turns together and end together.
struct Gate {
    /// The processor time that a turn takes at least.
    least: Duration,
    barrier: Barrier,
    end: Instant,
    over: AtomicBool,
}

impl Gate {
    /// True, in all threads, once the time is up. All must ask.
    fn is_over(&self) -> bool {
        if self.barrier.wait().is_leader() {
            self.over
                .store(Instant::now() >= self.end, Ordering::Relaxed);
        }
        self.barrier.wait();
        self.over.load(Ordering::Relaxed)
    }
}

/// One thread's turns: for each contender its speeds in MB/s, round by round.
fn turns(
    group: &Group,
    plan: &BenchPlan,
    task: &Task,
    contenders: &[(Layout, Who)],
    gate: &Gate,
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
            Who::Peer(Peer::OpenSsl) => {
                crate::bench::openssl::contender(group, task, arena.memory())
            }
            #[cfg(feature = "aws-lc")]
            Who::Peer(Peer::AwsLc) => crate::bench::aws_lc::contender(group, task, arena.memory()),
            Who::Kernel => Kernel::new(group, task)
                .map(|kernel| Box::new(kernel) as Box<dyn Contender>)
                .map_err(CipherError::Kernel),
            #[cfg(not(all(feature = "openssl", feature = "aws-lc")))]
            Who::Peer(peer) => unreachable!("{peer} is not in this build's PEERS"),
        });
    }
    let mut speeds = vec![Vec::with_capacity(plan.rounds); workers.len()];
    for round in 0..=plan.rounds {
        if round > LEAST_ROUNDS && gate.is_over() {
            break;
        }
        for (worker, speeds) in workers.iter_mut().zip(&mut speeds) {
            gate.barrier.wait();
            let speed = match worker {
                Ok(worker) => turn(worker.as_mut(), group.chunk, plan.turn, gate.least),
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
/// programs. It lasts for `length`, and until it has used `least` of a processor.
fn turn(
    worker: &mut dyn Contender,
    chunk: usize,
    length: Duration,
    least: Duration,
) -> Result<f64, CipherError> {
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
            if used >= least {
                return Ok(bytes as f64 / used.as_secs_f64() / 1e6);
            }
        }
    }
}

/// By how much the clock of processor time goes on at a time: some kernels count ticks, such as user-mode Linux (10 ms). The
/// least of a few: what interrupts the thread makes one longer.
fn clock_step() -> Duration {
    let next = |from: Duration| {
        loop {
            let now = processor_time();
            if now > from {
                return now;
            }
        }
    };
    let mut last = next(processor_time());
    let steps = (0..STEPS_TRIED).map(|_| {
        let now = next(last);
        let step = now - last;
        last = now;
        step
    });
    steps.min().unwrap_or_default()
}

/// What this thread has used of a processor so far.
pub(crate) fn processor_time() -> Duration {
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

    /// A clock of ticks must not make an infinite speed of a turn within one tick.
    #[test]
    fn a_turn_lasts_until_its_processor_time_is_known() {
        struct Nothing;
        impl Contender for Nothing {
            fn once(&mut self) -> Result<(), CipherError> {
                Ok(())
            }
        }
        let (before, least) = (processor_time(), Duration::from_millis(5));
        let speed = turn(&mut Nothing, 64 << 10, Duration::ZERO, least).unwrap();
        assert!(speed.is_finite() && processor_time() - before >= least);
        assert!(clock_step() > Duration::ZERO);
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        let values = [5.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&values, 0.0), 1.0);
        assert_eq!(quantile(&values, 0.5), 2.5);
        assert_eq!(quantile(&values, 1.0), 5.0);
        assert_eq!(quantile(&[7.0], 0.9), 7.0);
    }
}
