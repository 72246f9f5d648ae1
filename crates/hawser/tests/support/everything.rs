//! All that a tune can change, as text to be compared.

use super::Lab;

/// Everything that a tune can change on `head1` and `head2` alone: sysctls, files, interface settings.
pub fn nodes(lab: &Lab) -> String {
    const LOOK: &str = "\
        find /proc/sys/net -type f -perm /200 | grep -v conntrack_ | sort | xargs grep -H '' 2>/dev/null
        find /etc /var/lib/hawser -type f | sort | xargs md5sum
        for i in $(ls /sys/class/net); do
            cd /sys/class/net/$i; cat mtu tx_queue_len threaded queues/*/?ps_cpus queues/*/rps_flow_cnt 2>&1
            ethtool -k $i; tc qdisc show dev $i
        done";
    ["head1", "head2"].map(|node| lab.sh(node, LOOK)).concat()
}

/// What the kernel has once for the whole machine.
pub fn machine() -> String {
    [
        "core/netdev_max_backlog",
        "core/netdev_budget",
        "core/rmem_default",
        "core/rmem_max",
        "ipv4/udp_mem",
        "netfilter/nf_conntrack_max",
    ]
    .map(|name| std::fs::read_to_string(format!("/proc/sys/net/{name}")).unwrap_or_default())
    .concat()
}
