//! How the host is set up beside its facts: what is compared with its neighbours.
//!
//! What cannot be read is absent. Nothing is read that names one host alone, and of the kernel's command line nothing
//! but the options named here: others may hold a secret (`rd.luks.key`, the password of `netroot=iscsi:`).

mod interfaces;
mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use hawser_model::host::Interface;
use hawser_model::names::InterfaceName;
use hawser_model::setup::HostSetup;
use hawser_model::units::Bytes;

use super::{hardware, sysctls};
use crate::proc;

/// They decide about speed and about loss, and no account needs them.
const SYSCTLS: [&str; 19] = [
    "kernel.numa_balancing",
    "kernel.sched_rt_runtime_us",
    "kernel.timer_migration",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.dev_weight_rx_bias",
    "net.core.netdev_tstamp_prequeue",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_slow_start_after_idle",
    "vm.dirty_background_ratio",
    "vm.dirty_ratio",
    "vm.min_free_kbytes",
    "vm.swappiness",
    "vm.zone_reclaim_mode",
];

/// Options of the kernel's command line (`Documentation/admin-guide/kernel-parameters.txt`).
const BOOT_OPTIONS: [&str; 36] = [
    "amd_iommu",
    "amd_pstate",
    "clocksource",
    "cpufreq.default_governor",
    "cpuidle.off",
    "default_hugepagesz",
    "elevator",
    "hpet",
    "hugepages",
    "hugepagesz",
    "idle",
    "intel_idle.max_cstate",
    "intel_iommu",
    "intel_pstate",
    "iommu",
    "irqaffinity",
    "isolcpus",
    "kthread_cpus",
    "maxcpus",
    "mem",
    "mitigations",
    "nmi_watchdog",
    "nohz",
    "nohz_full",
    "nosmt",
    "nr_cpus",
    "numa_balancing",
    "pcie_aspm",
    "preempt",
    "processor.max_cstate",
    "rcu_nocbs",
    "skew_tick",
    "spectre_v2",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
];

/// The setup of the calling thread's host, whose interfaces these are.
pub fn host_setup(interfaces: &BTreeMap<InterfaceName, Interface>) -> HostSetup {
    let drivers = interfaces.values().filter_map(|i| i.driver.as_deref());
    let drivers: BTreeSet<&str> = drivers.collect();
    HostSetup {
        interfaces: interfaces::read(interfaces),
        sysctls: sysctls::values(SYSCTLS.map(str::to_owned)),
        modules: modules::read(Path::new("/sys/module"), &drivers),
        kernel_build: nix::sys::utsname::uname()
            .ok()
            .map(|names| names.version().to_string_lossy().into_owned()),
        boot_options: proc::file("/proc/cmdline").ok().map(|t| boot_options(&t)),
        governors: governors(Path::new("/sys/devices/system/cpu")),
        clocksource: word(Path::new(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        )),
        memory: proc::file("/proc/meminfo").ok().and_then(|t| memory(&t)),
        hardware: hardware(),
    }
}

/// A file that holds one short text.
fn word(path: &Path) -> Option<String> {
    /// What a setting may be long: a mask of processors is the longest.
    const LONGEST: usize = 512;
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (text.len() <= LONGEST).then(|| text.to_owned())
}

/// The known ones; of one that is given twice the last, which is in force.
fn boot_options(line: &str) -> BTreeMap<String, String> {
    let given = line.split_whitespace();
    let given = given.take_while(|word| *word != "--");
    given
        .map(|word| word.split_once('=').unwrap_or((word, "")))
        .filter(|(name, _)| BOOT_OPTIONS.contains(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Of all processors below this folder; `None` when the folder cannot be read.
fn governors(cpus: &Path) -> Option<BTreeSet<String>> {
    let of = |entry: fs::DirEntry| word(&entry.path().join("cpufreq/scaling_governor"));
    let entries = fs::read_dir(cpus).ok()?.flatten();
    let processor = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("cpu"));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    Some(entries.filter(processor).filter_map(of).collect())
}

/// `MemTotal`, which counts in KiB.
fn memory(text: &str) -> Option<Bytes> {
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    kib.checked_mul(1_024).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_of_the_command_line_is_not_read() {
        let line = "BOOT_IMAGE=/vmlinuz root=UUID=1 mitigations=auto mitigations=off nosmt \
                    netroot=iscsi:user:secret@10.0.0.1::::iqn rd.luks.key=/k quiet -- isolcpus=1\n";
        let options = boot_options(line);
        let expected = [("mitigations", "off"), ("nosmt", "")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(options, BTreeMap::from(expected));
    }

    #[test]
    fn governors_are_those_of_the_processors() {
        let folder = tempfile::tempdir().unwrap();
        let put = |cpu: &str, governor: &str| {
            let at = folder.path().join(cpu).join("cpufreq");
            fs::create_dir_all(&at).unwrap();
            fs::write(at.join("scaling_governor"), governor).unwrap();
        };
        assert_eq!(governors(folder.path()), Some(BTreeSet::new()));
        put("cpu0", "powersave\n");
        put("cpu1", "powersave\n");
        put("cpuidle", "menu\n");
        let one = BTreeSet::from(["powersave".to_owned()]);
        assert_eq!(governors(folder.path()), Some(one));
        assert_eq!(governors(&folder.path().join("none")), None);
    }

    #[test]
    fn this_host_says_how_it_is_set_up() {
        let facts = crate::host_facts();
        let setup = host_setup(&facts.interfaces);
        assert!(setup.memory.is_some_and(|memory| memory.0 > 1 << 20));
        assert!(setup.kernel_build.is_some_and(|build| !build.is_empty()));
        assert!(setup.sysctls.contains_key("vm.swappiness"));
        assert_eq!(memory("MemTotal:  2048 kB\n"), Some(Bytes(2 << 20)));
        assert_eq!(memory("MemFree: 1 kB\n"), None);
    }
}
