//! `/proc/net/snmp`, `snmp6`, `netstat` and `xfrm_stat`: the protocols' own counters.
//!
//! The first and third are pairs of lines, names and values after the same `Prefix:`
//! (`net/ipv4/proc.c`); `snmp6` is a name and a value a line (`net/ipv6/proc.c`), and so is
//! `xfrm_stat` (`net/xfrm/xfrm_proc.c`).

use hawser_model::counters::Counters;

use super::Source;
use crate::{KernelError, proc};

/// IPv4, ICMP, TCP, UDP and UDP-Lite.
pub(super) struct Snmp;

/// IPv6, ICMPv6, UDP and UDP-Lite over IPv6.
pub(super) struct Snmp6;

/// Extensions of IP, TCP and MPTCP; and what IPsec refused, if the kernel counts it (`CONFIG_XFRM_STATISTICS`).
pub(super) struct Netstat;

impl Source for Snmp {
    fn name(&self) -> &'static str {
        "snmp"
    }

    fn read(&mut self, into: &mut Counters) -> Result<(), KernelError> {
        pairs(&proc::net("snmp")?, into);
        Ok(())
    }
}

impl Source for Snmp6 {
    fn name(&self) -> &'static str {
        "snmp6"
    }

    fn read(&mut self, into: &mut Counters) -> Result<(), KernelError> {
        lines(&proc::net("snmp6")?, into);
        Ok(())
    }
}

impl Source for Netstat {
    fn name(&self) -> &'static str {
        "netstat"
    }

    fn read(&mut self, into: &mut Counters) -> Result<(), KernelError> {
        pairs(&proc::net("netstat")?, into);
        if let Ok(text) = proc::net("xfrm_stat") {
            xfrm(&text, into);
        }
        Ok(())
    }
}

/// Settings and gauges that stand among the counters: RFC 1213 made them one table.
const NOT_COUNTERS: [&str; 7] = [
    "ip/Forwarding",
    "ip/DefaultTTL",
    "tcp/RtoAlgorithm",
    "tcp/RtoMin",
    "tcp/RtoMax",
    "tcp/MaxConn",
    "tcp/CurrEstab",
];

fn pairs(text: &str, into: &mut Counters) {
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((prefix, names)), Some((_, values))) =
            (names.split_once(':'), values.split_once(':'))
        else {
            continue;
        };
        let prefix = prefix.to_ascii_lowercase();
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            let name = format!("{prefix}/{name}");
            match value.parse() {
                Ok(value) if !NOT_COUNTERS.contains(&name.as_str()) => {
                    into.0.insert(name, value);
                }
                // Some settings are -1.
                _ => {}
            }
        }
    }
}

/// Longest first: `UdpLite6` begins with neither `Udp6` nor `Ip6`, but order costs nothing.
const PREFIXES: [(&str, &str); 4] = [
    ("UdpLite6", "udplite6"),
    ("Icmp6", "icmp6"),
    ("Udp6", "udp6"),
    ("Ip6", "ip6"),
];

fn lines(text: &str, into: &mut Counters) {
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(Ok(value))) = (words.next(), words.next().map(str::parse)) else {
            continue;
        };
        if let Some((prefix, name)) = PREFIXES
            .iter()
            .find_map(|(prefix, ours)| Some((ours, name.strip_prefix(prefix)?)))
        {
            into.0.insert(format!("{prefix}/{name}"), value);
        }
    }
}

fn xfrm(text: &str, into: &mut Counters) {
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(Ok(value))) = (words.next(), words.next().map(str::parse)) {
            into.0.insert(format!("xfrm/{name}"), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_lines_become_paths_without_settings_and_gauges() {
        let text = "Ip: Forwarding DefaultTTL InReceives ReasmFails\nIp: 1 64 812 3\n\
                    IcmpMsg: InType3 OutType8\nIcmpMsg: 2 5\n\
                    Tcp: MaxConn ActiveOpens CurrEstab\nTcp: -1 18 4\n\
                    UdpLite: InDatagrams RcvbufErrors\nUdpLite: 0 7\n";
        let mut read = Counters::default();
        pairs(text, &mut read);
        assert_eq!(
            read,
            Counters::from_iter([
                ("ip/InReceives", 812),
                ("ip/ReasmFails", 3),
                ("icmpmsg/InType3", 2),
                ("icmpmsg/OutType8", 5),
                ("tcp/ActiveOpens", 18),
                ("udplite/InDatagrams", 0),
                ("udplite/RcvbufErrors", 7),
            ])
        );
    }

    #[test]
    fn ipv6_lines_become_paths() {
        let text = "Ip6InReceives                   \t4\nIp6ReasmFails \t1\n\
                    Icmp6OutMsgs \t2\nUdp6RcvbufErrors \t9\nUdpLite6InErrors \t0\n";
        let mut read = Counters::default();
        lines(text, &mut read);
        assert_eq!(
            read,
            Counters::from_iter([
                ("ip6/InReceives", 4),
                ("ip6/ReasmFails", 1),
                ("icmp6/OutMsgs", 2),
                ("udp6/RcvbufErrors", 9),
                ("udplite6/InErrors", 0),
            ])
        );
    }

    #[test]
    fn ipsec_lines_become_paths() {
        let mut read = Counters::default();
        xfrm(
            "XfrmInError             \t0\nXfrmInTmplMismatch      \t61921\n",
            &mut read,
        );
        assert_eq!(
            read,
            Counters::from_iter([("xfrm/XfrmInError", 0), ("xfrm/XfrmInTmplMismatch", 61_921)])
        );
    }
}
