//! An option of TCP that both ends must offer in their SYNs, and that a stream goes without.

use hawser_model::case::Case;
use hawser_model::names::HostName;
use serde::Serialize;

/// Who has the option off, as far as the facts say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ToldBy {
    /// The host of the place has it switched off.
    Host,
    /// Both hosts have it on: something between them.
    Neither,
    /// No setting was read.
    Unread,
}

impl ToldBy {
    /// By this sysctl of both hosts, and those of them that have it off.
    pub(super) fn of<'a>(
        case: &Case,
        sysctl: &str,
        hosts: [&'a HostName; 2],
    ) -> (Self, Vec<&'a HostName>) {
        let setting = |host: &HostName| case.hosts.get(host)?.sysctl_number(sysctl);
        let off = hosts.into_iter().filter(|host| setting(host) == Some(0));
        let off: Vec<_> = off.collect();
        let read = hosts.into_iter().all(|host| setting(host).is_some());
        let told = match (off.is_empty(), read) {
            (false, _) => Self::Host,
            (true, true) => Self::Neither,
            (true, false) => Self::Unread,
        };
        (told, off)
    }
}

/// How it is switched on for good.
pub(super) fn switch_on(sysctl: &str) -> String {
    format!(
        "`sysctl -w {sysctl}=1`, and remove the line that sets it from /etc/sysctl.conf or /etc/sysctl.d"
    )
}

/// How to find what takes it out on the way, by the name that tcpdump(8) has for it.
pub(super) fn look_between(option: &str) -> String {
    format!(
        "look for what rewrites TCP options between the hosts (a firewall, a load balancer, a VPN): `tcpdump -nv \
         'tcp[tcpflags] & tcp-syn != 0'` at both ends shows `{option}` in each SYN that left and not in each that came"
    )
}
