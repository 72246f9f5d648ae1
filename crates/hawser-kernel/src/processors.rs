//! How the processors spend their time, and what a control group's quota takes of it.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use hawser_model::ladder::{BusyProgram, HostUsage, ProcessorTime};
use hawser_model::units::Nanos;
use hawser_tool::processes::{self, Process};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};

use crate::host::cpu_group;
use crate::{KernelError, proc};

/// The processors' times at a moment.
#[derive(Debug)]
pub struct Processors {
    read: Instant,
    times: BTreeMap<u32, ProcessorTime>,
    own: Nanos,
    throttled: Option<Nanos>,
    programs: Vec<Process>,
}

/// What part of a processor makes a program worth naming.
const BUSY: f64 = 0.1;

/// Of more threads than this nobody is named: 4 000 processes are read in some 60 ms, each time a window opens or closes.
const MANY: u32 = 4_000;

/// So many are named.
const NAMED: usize = 3;

impl Processors {
    /// Reads them.
    ///
    /// # Errors
    /// [`KernelError::File`] when `/proc/stat` cannot be read.
    pub fn read() -> Result<Self, KernelError> {
        Ok(Self {
            read: Instant::now(),
            times: times(&proc::file("/proc/stat")?, tick()),
            own: own(),
            throttled: throttled(),
            programs: programs(),
        })
    }

    /// What was spent since `before`; counters are left to others.
    pub fn since(&self, before: &Self) -> HostUsage {
        let less = |a: Nanos, b: Nanos| a.saturating_sub(b);
        let processors = self.times.iter().filter_map(|(&number, now)| {
            let then = before.times.get(&number)?;
            let spent = ProcessorTime {
                user: less(now.user, then.user),
                system: less(now.system, then.system),
                softirq: less(now.softirq, then.softirq),
                steal: less(now.steal, then.steal),
                idle: less(now.idle, then.idle),
            };
            Some((number, spent))
        });
        let elapsed = self.read.saturating_duration_since(before.read);
        let busy = busy(&before.programs, &self.programs, tick(), elapsed);
        HostUsage {
            elapsed: Nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)),
            processors: processors.collect(),
            own_cpu: less(self.own, before.own),
            throttled: self
                .throttled
                .zip(before.throttled)
                .map(|(now, then)| less(now, then)),
            busy,
            ..HostUsage::default()
        }
    }
}

/// All processes; none where there are so many that to read them takes longer than it is worth.
fn programs() -> Vec<Process> {
    // `0.20 0.18 0.12 1/345 9823`: of 345 threads one runs (proc(5)).
    let threads = proc::file("/proc/loadavg").ok().and_then(|text| {
        let (_, all) = text.split_whitespace().nth(3)?.split_once('/')?;
        all.parse().ok()
    });
    match threads {
        Some(0..=MANY) => processes::all().unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Who had a good part of a processor between two readings. This program is none of them, nor is the kernel: its threads are
/// the children of `kthreadd`, process 2.
fn busy(before: &[Process], now: &[Process], tick: Nanos, elapsed: Duration) -> Vec<BusyProgram> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let before: BTreeMap<i32, &Process> = before.iter().map(|it| (it.pid, it)).collect();
    let others = now
        .iter()
        .filter(|it| it.pid != own && it.pid != 2 && it.parent != 2);
    let mut busy: Vec<BusyProgram> = others
        .filter_map(|process| {
            let then = before.get(&process.pid).filter(|then| then.is(process));
            let ticks = process
                .spent
                .saturating_sub(then.map_or(0, |then| then.spent));
            let cpu = Nanos(ticks.saturating_mul(tick.0));
            (cpu.0 as f64 >= BUSY * elapsed.as_nanos() as f64 && ticks > 0).then(|| BusyProgram {
                pid: process.pid,
                name: process.name.clone(),
                cpu,
                real_time: process.real_time,
            })
        })
        .collect();
    busy.sort_by_key(|program| std::cmp::Reverse(program.cpu));
    busy.truncate(NAMED);
    busy
}

/// Length of a clock tick, the unit of `/proc/stat` (proc(5)).
fn tick() -> Nanos {
    let per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
    Nanos(1_000_000_000 / per_second.max(1) as u64)
}

/// Lines of `cpuN user nice system idle iowait irq softirq steal …`.
fn times(text: &str, tick: Nanos) -> BTreeMap<u32, ProcessorTime> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.strip_prefix("cpu")?.split_whitespace();
            // The line of all processors together has no number.
            let number = line
                .as_bytes()
                .get(3)
                .filter(|c| c.is_ascii_digit())
                .and_then(|_| words.next()?.parse().ok())?;
            let ticks: Vec<u64> = words.map(|w| w.parse().unwrap_or(0)).collect();
            let time = |columns: &[usize]| {
                let sum: u64 = columns.iter().filter_map(|&c| ticks.get(c)).sum();
                Nanos(sum * tick.0)
            };
            let spent = ProcessorTime {
                user: time(&[0, 1]),
                system: time(&[2]),
                softirq: time(&[5, 6]),
                steal: time(&[7]),
                idle: time(&[3, 4]),
            };
            Some((number, spent))
        })
        .collect()
}

fn own() -> Nanos {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID);
    time.map_or(Nanos::ZERO, |t| {
        Nanos(u64::try_from(Duration::from(t).as_nanos()).unwrap_or(u64::MAX))
    })
}

/// `throttled_usec` (cgroup 2) or `throttled_time` (cgroup 1) of our control group.
fn throttled() -> Option<Nanos> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().filter_map(cpu_group).find_map(|folder| {
        let text = fs::read_to_string(folder.join("cpu.stat")).ok()?;
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(' ')?;
            let value: u64 = value.trim().parse().ok()?;
            match name {
                "throttled_usec" => Some(Nanos(value * 1_000)),
                "throttled_time" => Some(Nanos(value)),
                _ => None,
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_processor_has_its_times_and_the_sum_is_none() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\n\
                    cpu0 100 5 30 400 20 1 7 2 0 0\n\
                    cpu11 1 0 0 2 0 0 0 0 0 0\n\
                    intr 5 5\n";
        let read = times(text, Nanos(10));
        assert_eq!(read.keys().copied().collect::<Vec<_>>(), [0, 11]);
        assert_eq!(
            read[&0],
            ProcessorTime {
                user: Nanos(1050),
                system: Nanos(300),
                softirq: Nanos(80),
                steal: Nanos(20),
                idle: Nanos(4200),
            }
        );
    }

    #[test]
    fn who_had_a_tenth_of_a_processor_is_named_unless_it_is_the_kernel() {
        let process = |pid, parent, began, spent| Process {
            pid,
            name: format!("p{pid}"),
            state: 'R',
            parent,
            began,
            spent,
            real_time: pid == 12,
        };
        let before = [
            process(10, 1, 5, 1000),
            process(11, 1, 5, 1000),
            process(12, 1, 5, 0),
        ];
        // A second: 100 ticks. Process 11 is another one now; 13 is a thread of the kernel, 14 did little.
        let now = [
            process(10, 1, 5, 1020),
            process(11, 1, 900, 30),
            process(12, 1, 5, 98),
            process(13, 2, 5, 100),
            process(14, 1, 950, 9),
            process(2, 0, 1, 100),
        ];
        let named = busy(&before, &now, Nanos(10_000_000), Duration::from_secs(1));
        let told = |it: &BusyProgram| (it.pid, it.cpu.0 / 10_000_000, it.real_time);
        let told: Vec<_> = named.iter().map(told).collect();
        assert_eq!(told, [(12, 98, true), (11, 30, false), (10, 20, false)]);
    }

    #[test]
    fn this_process_uses_what_it_uses() {
        let before = Processors::read().unwrap();
        let until = Instant::now() + Duration::from_millis(30);
        while Instant::now() < until {}
        let usage = Processors::read().unwrap().since(&before);
        assert!(usage.own_cpu.0 > 1_000_000, "{usage:?}");
        assert!(!usage.processors.is_empty());
    }
}
