//! A running Corosync, asked through its own tool, never for longer than two seconds.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use hawser_model::host::CorosyncFacts;
use hawser_model::units::Nanos;
use hawser_tool::processes;

use crate::KernelError;
use crate::program;

/// For all questions together.
const LIMIT: Duration = Duration::from_secs(2);

/// The Corosync of this pid namespace, if one runs. What it does not tell stays empty.
pub fn corosync_facts() -> Option<CorosyncFacts> {
    let mut facts = CorosyncFacts {
        pid: find()?,
        ..CorosyncFacts::default()
    };
    let until = Instant::now() + LIMIT;
    let ask = |arguments: &[&str]| {
        let left = until.saturating_duration_since(Instant::now());
        program::run("corosync-cmapctl", arguments, left).ok()
    };
    // The value in force: `totem.token` in the configuration is before `token_coefficient`.
    if let Some(text) = ask(&["-g", "runtime.config.totem.token"]) {
        facts.token = values(&text)
            .values()
            .next()
            .and_then(|ms| ms.parse::<u64>().ok())
            .map(|ms| Nanos(ms * 1_000_000));
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

/// The process by name, in this pid namespace itself: a host also sees the processes of its
/// containers, whose Corosync is another node's.
fn find() -> Option<u32> {
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

/// The statistics without those of its clients, which come and go under new names, this question
/// among them.
fn statistics(text: &str) -> BTreeMap<String, String> {
    let mut all = values(text);
    all.retain(|name, _| !name.starts_with("stats.ipcs."));
    all
}

/// Lines of `name (type) = value`.
fn values(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| {
            let (name, value) = line.split_once(" = ")?;
            let (name, _kind) = name.rsplit_once(" (")?;
            Some((name.to_owned(), value.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_map_is_read_as_it_is_printed() {
        // corosync-cmapctl 3.1.7
        let text = "stats.knet.node2.link0.connected (u8) = 1\n\
                    stats.knet.node2.link0.latency_ave (u32) = 312\n\
                    stats.pg.msg_queue_avail (u32) = 0\n\
                    stats.srp.mtt_rx_token (u32) = 117\n\
                    stats.ipcs.global.active (u64) = 2\n\
                    runtime.members.1.ip (str) = r(0) ip(10.0.0.1) = odd\n";
        let read = statistics(text);
        assert!(!read.contains_key("stats.ipcs.global.active"));
        assert_eq!(read["stats.knet.node2.link0.connected"], "1");
        assert_eq!(read["stats.srp.mtt_rx_token"], "117");
        assert_eq!(read["runtime.members.1.ip"], "r(0) ip(10.0.0.1) = odd");
    }

    #[test]
    fn a_process_of_a_container_is_deeper() {
        assert_eq!(depth("Name:\tcorosync\nNSpid:\t812\n"), 1);
        assert_eq!(depth("Name:\tcorosync\nNSpid:\t812\t14\n"), 2);
        assert_eq!(depth("Name:\tcorosync\n"), 1);
    }
}
