//! The sysctls on which the accounts depend, as the kernel prints them in this namespace.

use std::collections::BTreeMap;
use std::path::Path;

use hawser_model::names::InterfaceName;

use crate::proc;

/// Of the machine, or of the network namespace; which of them is not the same on all kernels.
const ALL: [&str; 48] = [
    "net.bridge.bridge-nf-call-arptables",
    "net.bridge.bridge-nf-call-ip6tables",
    "net.bridge.bridge-nf-call-iptables",
    "net.core.default_qdisc",
    "net.core.dev_weight",
    "net.core.gro_normal_batch",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.conf.all.force_igmp_version",
    "net.ipv4.conf.all.rp_filter",
    "net.ipv4.icmp_ratelimit",
    "net.ipv4.icmp_ratemask",
    "net.ipv4.igmp_max_memberships",
    "net.ipv4.ip_forward",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_no_pmtu_disc",
    "net.ipv4.ipfrag_high_thresh",
    "net.ipv4.ipfrag_low_thresh",
    "net.ipv4.ipfrag_max_dist",
    "net.ipv4.ipfrag_time",
    "net.ipv4.neigh.default.gc_thresh3",
    "net.ipv4.neigh.default.unres_qlen_bytes",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_base_mss",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_early_demux",
    "net.ipv4.udp_mem",
    "net.ipv4.udp_rmem_min",
    "net.ipv4.udp_wmem_min",
    "net.ipv6.conf.all.force_mld_version",
    "net.ipv6.ip6frag_high_thresh",
    "net.ipv6.ip6frag_low_thresh",
    "net.ipv6.ip6frag_time",
    "net.netfilter.nf_conntrack_max",
];

/// Of each interface.
const EACH: [&str; 6] = [
    "net.ipv4.conf.{}.accept_local",
    "net.ipv4.conf.{}.arp_ignore",
    "net.ipv4.conf.{}.force_igmp_version",
    "net.ipv4.conf.{}.rp_filter",
    "net.ipv6.conf.{}.disable_ipv6",
    "net.ipv6.conf.{}.force_mld_version",
];

/// Those that exist here. A thread sees those of its own network namespace.
pub(super) fn read<'a>(
    interfaces: impl Iterator<Item = &'a InterfaceName>,
) -> BTreeMap<String, String> {
    let mut names: Vec<String> = ALL.map(str::to_owned).into();
    for interface in interfaces {
        // sysctl(8) writes the dot of `eth0.100` as a slash.
        let interface = interface.as_str().replace('.', "/");
        names.extend(EACH.map(|name| name.replace("{}", &interface)));
    }
    values(names)
}

/// Those of these that exist here.
pub(super) fn values(names: impl IntoIterator<Item = String>) -> BTreeMap<String, String> {
    names
        .into_iter()
        .filter_map(|name| {
            let value = proc::file(Path::new("/proc/sys").join(path(&name))).ok()?;
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            Some((name, value))
        })
        .collect()
}

/// A sysctl's path below `/proc/sys`.
pub(crate) fn path(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            '.' => '/',
            '/' => '.',
            other => other,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_with_a_dot_has_its_own_directory() {
        assert_eq!(
            path("net.ipv4.conf.eth0/100.rp_filter"),
            "net/ipv4/conf/eth0.100/rp_filter"
        );
    }

    #[test]
    fn values_are_read_and_what_does_not_exist_is_left_out() {
        let interfaces = [InterfaceName::from("lo"), InterfaceName::from("no-such-if")];
        let read = read(interfaces.iter());
        assert!(read["net.core.rmem_max"].parse::<u64>().is_ok());
        assert!(read.contains_key("net.ipv4.conf.lo.rp_filter"));
        assert!(!read.contains_key("net.ipv4.conf.no-such-if.rp_filter"));
        assert_eq!(read["net.ipv4.tcp_rmem"].split(' ').count(), 3);
    }
}
