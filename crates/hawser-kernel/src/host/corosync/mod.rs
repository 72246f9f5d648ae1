//! A running Corosync, asked through its own tool, never for longer than two seconds.

mod lost_pings;
mod pings;

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use hawser_model::cmap;
use hawser_model::host::{CorosyncFacts, EngineProcess};
use hawser_model::units::{Bytes, Nanos};
use hawser_tool::processes;

use crate::KernelError;
use crate::program;

pub use lost_pings::LostPings;

/// For all questions together.
const LIMIT: Duration = Duration::from_secs(2);

/// Where the map has the token in force.
const TOKEN: &str = "runtime.config.totem.token";

/// The Corosync of this pid namespace, if one runs. What it does not tell stays empty.
pub fn corosync_facts() -> Option<CorosyncFacts> {
    let pid = corosync_pid()?;
    let of_process = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
    let read = of_process("stat").zip(of_process("status"));
    let mut facts = CorosyncFacts {
        pid,
        process: read.and_then(|(stat, status)| process(&stat, &status)),
        ..CorosyncFacts::default()
    };
    let until = Instant::now() + LIMIT;
    let ask = |arguments: &[&str]| {
        let left = until.saturating_duration_since(Instant::now());
        program::run("corosync-cmapctl", arguments, left).ok()
    };
    // The value in force: `totem.token` in the configuration is before `token_coefficient`.
    if let Some(text) = ask(&["-g", TOKEN]) {
        let token = cmap::value(&text, TOKEN).and_then(|ms| ms.parse::<u64>().ok());
        facts.token = token.map(Nanos::from_millis);
    }
    if let Some(text) = ask(&["-m", "stats"]) {
        facts.stats = statistics(&text);
    }
    Some(facts)
}

/// The runtime statistics alone, for a caller that samples them while traffic runs.
///
/// # Errors
/// [`KernelError::Program`] when `corosync-cmapctl` fails or takes longer than two seconds.
pub fn corosync_stats() -> Result<BTreeMap<String, String>, KernelError> {
    program::run("corosync-cmapctl", &["-m", "stats"], LIMIT).map(|text| statistics(&text))
}

/// The Corosync of this pid namespace itself, if one runs, by the name of the process: a host also sees the processes of its
/// containers, whose Corosync is another node's.
pub fn corosync_pid() -> Option<u32> {
    let own = fs::read_to_string("/proc/self/status").map_or(1, |status| depth(&status));
    let mut named = processes::named("corosync").into_iter();
    let ours = named.find(|process| {
        fs::read_to_string(process.folder().join("status"))
            .is_ok_and(|status| depth(&status) == own)
    });
    u32::try_from(ours?.pid).ok()
}

/// How many pid namespaces, from that of `/proc` inwards, a process is in: its ids in them.
fn depth(status: &str) -> usize {
    status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))
        .map_or(1, |ids| ids.split_whitespace().count())
}

/// How it is scheduled and what of its memory stays in place, by `/proc/PID/stat` and `/proc/PID/status`.
fn process(stat: &str, status: &str) -> Option<EngineProcess> {
    // The name, field 2, is in parentheses and may hold some itself; `rt_priority` is field 40.
    let fields = stat.get(stat.rfind(')')? + 1..)?;
    let kilobytes = |name: &str| -> Option<Bytes> {
        let mut lines = status.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let number: u64 = value.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(Bytes(number.saturating_mul(1024)))
    };
    Some(EngineProcess {
        realtime_priority: fields.split_whitespace().nth(37)?.parse().ok()?,
        locked: kilobytes("VmLck")?,
        resident: kilobytes("VmRSS")?,
    })
}

/// The statistics without those of its clients, which come and go under new names, this question
/// among them.
fn statistics(text: &str) -> BTreeMap<String, String> {
    cmap::chosen(text, |name| !name.starts_with("stats.ipcs."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_corosync_are_no_part_of_its_statistics() {
        let text = "stats.srp.mtt_rx_token (u32) = 117\nstats.ipcs.global.active (u64) = 2\n";
        let read = BTreeMap::from([("stats.srp.mtt_rx_token".to_owned(), "117".to_owned())]);
        assert_eq!(statistics(text), read);
    }

    #[test]
    fn its_priority_and_its_locked_memory_are_read() {
        // Corosync 3.1.7 where the limit of locked memory could not be raised.
        let stat = "968 (corosync) S 31285 968 31284 0 -1 4194560 101352 0 2 0 75 110 0 0 -100 0 9 0 1628948 \
                    590807040 26445 18446744073709551615 94562359033856 94562359332609 140724258412384 0 0 0 0 4096 \
                    19494 0 0 0 17 0 99 2 0 0 0 94562359452832 94562359470424 94562540212224 140724258417254 \
                    140724258417266 140724258417266 140724258418661 0";
        let status = "Name:\tcorosync\nVmLck:\t       0 kB\nVmRSS:\t  105868 kB\n";
        let read = EngineProcess {
            realtime_priority: 99,
            locked: Bytes::ZERO,
            resident: Bytes(105_868 * 1024),
        };
        assert_eq!(process(stat, status), Some(read));
        assert_eq!(process("968 (corosync) S 1", status), None);
        assert_eq!(process(stat, "Name:\tcorosync\n"), None);
    }

    #[test]
    fn a_process_of_a_container_is_deeper() {
        assert_eq!(depth("Name:\tcorosync\nNSpid:\t812\n"), 1);
        assert_eq!(depth("Name:\tcorosync\nNSpid:\t812\t14\n"), 2);
        assert_eq!(depth("Name:\tcorosync\n"), 1);
    }
}
