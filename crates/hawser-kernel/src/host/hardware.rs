//! What of a host decides how fast it can compute: its processors, and the limits set on us.

use std::fs;
use std::path::{Path, PathBuf};

use hawser_model::ladder::Hardware;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use crate::proc;

/// Instruction sets that ciphers use, as `/proc/cpuinfo` names them (x86 and arm64).
const CIPHER_INSTRUCTIONS: [&str; 9] = [
    "aes",
    "avx2",
    "avx512f",
    "pclmulqdq",
    "pmull",
    "sha_ni",
    "ssse3",
    "vaes",
    "vpclmulqdq",
];

/// The host's hardware, as far as it matters to the speed of a path.
pub fn hardware() -> Hardware {
    let text = proc::file("/proc/cpuinfo").unwrap_or_default();
    Hardware {
        processor: field(&text, "model name").unwrap_or_default().to_owned(),
        cipher_instructions: instructions(&text),
        allowed_processors: allowed(),
        quota_millis: quota(),
    }
}

/// The value of the first line with that name.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then_some(value.trim())
    })
}

fn instructions(text: &str) -> Vec<String> {
    let flags = field(text, "flags").or_else(|| field(text, "Features"));
    let flags: Vec<&str> = flags.unwrap_or_default().split_whitespace().collect();
    CIPHER_INSTRUCTIONS
        .into_iter()
        .filter(|wanted| flags.contains(wanted))
        .map(str::to_owned)
        .collect()
}

fn allowed() -> u32 {
    let count = |set: CpuSet| {
        (0..CpuSet::count())
            .filter(|&cpu| set.is_set(cpu).unwrap_or(false))
            .count() as u32
    };
    sched_getaffinity(Pid::from_raw(0)).map_or(0, count)
}

/// The smallest CPU quota of our control group and those above it, in thousandths of a
/// processor: `cpu.max` (cgroup 2) or `cpu.cfs_quota_us` (cgroup 1).
fn quota() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups
        .lines()
        .filter_map(cpu_group)
        .flat_map(|folder| folder.ancestors().map(Path::to_owned).collect::<Vec<_>>())
        .filter(|folder| folder.starts_with("/sys/fs/cgroup"))
        .filter_map(|folder| {
            let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
            read("cpu.max").as_deref().and_then(millis).or_else(|| {
                let quota = read("cpu.cfs_quota_us")?;
                let period = read("cpu.cfs_period_us")?;
                millis(&format!("{} {}", quota.trim(), period.trim()))
            })
        })
        .min()
}

/// Where the control group of a line of `/proc/self/cgroup` lies, if it governs processors.
pub(crate) fn cpu_group(line: &str) -> Option<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
    let root = match controllers {
        "" => "/sys/fs/cgroup".to_owned(),
        names if names.split(',').any(|n| n == "cpu") => format!("/sys/fs/cgroup/{names}"),
        _ => return None,
    };
    Some(Path::new(&root).join(path))
}

/// `150000 100000` is 1500; `max` and `-1` are no limit.
fn millis(text: &str) -> Option<u64> {
    let mut numbers = text.split_whitespace();
    let quota: u64 = numbers.next()?.parse().ok()?;
    let period: u64 = numbers.next()?.parse().ok().filter(|p| *p > 0)?;
    Some(quota * 1_000 / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instruction_sets_are_found_on_both_kinds_of_machine() {
        let x86 = "processor\t: 0\nmodel name\t: X\nflags\t\t: fpu ssse3 aes avx2 pclmulqdq\n";
        assert_eq!(instructions(x86), ["aes", "avx2", "pclmulqdq", "ssse3"]);
        let arm = "processor\t: 0\nFeatures\t: fp asimd aes pmull sha1\n";
        assert_eq!(instructions(arm), ["aes", "pmull"]);
        assert!(instructions("").is_empty());
    }

    #[test]
    fn a_quota_is_read_in_both_spellings() {
        assert_eq!(millis("150000 100000\n"), Some(1_500));
        assert_eq!(millis("max 100000\n"), None);
        assert_eq!(millis("-1 100000"), None);
        let at = |line| cpu_group(line).map(|p| p.display().to_string());
        assert_eq!(at("1:cpu:/a").as_deref(), Some("/sys/fs/cgroup/cpu/a"));
        assert_eq!(
            at("4:cpu,cpuacct:/").as_deref(),
            Some("/sys/fs/cgroup/cpu,cpuacct/")
        );
        assert_eq!(
            at("0::/user.slice").as_deref(),
            Some("/sys/fs/cgroup/user.slice")
        );
        assert_eq!(at("3:cpuset:/"), None);
    }
}
