//! `/proc/net/igmp` and `igmp6`: the groups each interface has joined, and how many sockets did.
//!
//! These are gauges, so their names end in `/inuse`.

use std::net::Ipv4Addr;

use hawser_model::counters::Counters;

use super::Source;
use crate::{KernelError, proc};

/// Multicast memberships: `igmp/ring0/239.1.2.3/inuse`.
pub(super) struct Igmp;

impl Source for Igmp {
    fn name(&self) -> &'static str {
        "igmp"
    }

    fn read(&mut self, into: &mut Counters) -> Result<(), KernelError> {
        igmp(&proc::net("igmp")?, into);
        // Absent where the kernel has no IPv6; the IPv4 half stands alone.
        if let Ok(text) = proc::net("igmp6") {
            igmp6(&text, into);
        }
        Ok(())
    }
}

/// A line an interface (`1 lo : 1 V3`), then an indented line a group:
/// the address as the hexadecimal of a `__be32` read in host order, users, timer.
fn igmp(text: &str, into: &mut Counters) {
    let mut interface = "";
    for line in text.lines().skip(1) {
        let mut words = line.split_whitespace();
        if !line.starts_with(['\t', ' ']) {
            interface = words.nth(1).unwrap_or("").trim_end_matches(':');
            continue;
        }
        if let (Some(Ok(group)), Some(Ok(users))) = (
            words.next().map(|w| u32::from_str_radix(w, 16)),
            words.next().map(str::parse),
        ) {
            let group = Ipv4Addr::from(group.to_ne_bytes());
            into.0
                .insert(format!("igmp/{interface}/{group}/inuse"), users);
        }
    }
}

/// Index, interface, address as 32 hexadecimal digits, users, flags, timer.
fn igmp6(text: &str, into: &mut Counters) {
    for line in text.lines() {
        let mut words = line.split_whitespace().skip(1);
        if let (Some(interface), Some(Ok(group)), Some(Ok(users))) = (
            words.next(),
            words.next().map(|w| u128::from_str_radix(w, 16)),
            words.next().map(str::parse),
        ) {
            let group = std::net::Ipv6Addr::from(group);
            into.0
                .insert(format!("igmp/{interface}/{group}/inuse"), users);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memberships_are_read_for_both_families() {
        let mut read = Counters::default();
        igmp(
            "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n\
             1\tlo        :     1      V3\n\
             \t\t\t\t010000E0     1 0:00000000\t\t0\n\
             4\tring0     :     2      V2\n\
             \t\t\t\t030201EF     3 0:00000000\t\t1\n",
            &mut read,
        );
        igmp6(
            "4    ring0           ff020000000000000000000000000001     1 0000000C 0\n",
            &mut read,
        );
        assert_eq!(
            read,
            Counters::from_iter([
                ("igmp/lo/224.0.0.1/inuse", 1),
                ("igmp/ring0/239.1.2.3/inuse", 3),
                ("igmp/ring0/ff02::1/inuse", 1),
            ])
        );
    }
}
