//! Words on multicast: queriers, memberships, versions, scope.

use super::{Told, Words};

pub(super) fn no_querier(f: &Told<'_>) -> Words {
    let protocol = f.name("protocol");
    let happens = match f.number("lost_packets") {
        Some(_) => format!(
            "A group that was joined stopped coming while it was measured: {}",
            f.lost()
        ),
        None => {
            "What is joined still comes; it will stop when the membership ages out, 260 s after \
                 the last report by default"
                .to_owned()
        }
    };
    let bridge = f.0.place.interface.as_ref();
    Words {
        text: format!(
            "Multicast{} is filtered ({protocol} snooping: of {} packets to a group that nobody \
             joined none arrived), and nobody asks for memberships: no query was heard, not even \
             within {} ms after a receiver had left its group, which a querier answers at once. \
             {happens}.",
            f.on_link(),
            f.count("unjoined_sent"),
            f.count("listened_after_leave_ms"),
        ),
        fix: match bridge {
            Some(bridge) => format!(
                "On {}: `ip link set {bridge} type bridge mcast_querier 1`; or snooping off \
                 (`mcast_snooping 0`).",
                f.host(),
            ),
            None => format!(
                "Switch on the querier of one switch{} (`ip igmp snooping querier` on many, \
                 `mcast_querier 1` on a Linux bridge), or let a multicast router on the link; where \
                 neither is possible, switch {protocol} snooping off.",
                f.on_link(),
            ),
        },
    }
}

pub(super) fn group_not_forwarded(f: &Told<'_>) -> Words {
    let protocol = f.name("protocol");
    let forced = match f.number("forced_version") {
        Some(version) => format!(" {} is forced to {protocol} version {version}.", f.host()),
        None => String::new(),
    };
    let querier = match f.number("querier_version") {
        Some(version) => format!(" A querier of version {version} was heard."),
        None => " No query was heard.".to_owned(),
    };
    Words {
        text: format!(
            "{} joined the group {} and got nothing of it from {}{}: lost {}. Unicast passes, and \
             what nobody joined does not come either: the switch filters, and does not know that \
             {} is a member.{forced}{querier}",
            f.host(),
            f.name("group"),
            f.peer(),
            f.on_link(),
            f.lost(),
            f.host(),
        ),
        fix: format!(
            "See whether the report leaves {} (`tcpdump -ni {} igmp or icmp6`) and whether a firewall \
             drops it (`nft list ruleset`: {protocol} must pass); then the switch's table of groups and \
             its limits. `hawser tune --multicast` tries an older version of the protocol.",
            f.host(),
            f.interface(),
        ),
    }
}

pub(super) fn version_mixed(f: &Told<'_>) -> Words {
    let queries = match (
        f.number("oldest_query_version"),
        f.number("newest_query_version"),
    ) {
        (Some(old), Some(new)) if old != new => {
            format!("; queries of versions {old} and {new} came")
        }
        (Some(version), _) => format!("; the querier speaks version {version}"),
        _ => String::new(),
    };
    Words {
        text: format!(
            "Not all hosts and queriers{} speak the same version of IGMP or MLD: {}{queries}. A report of a newer \
             version than the querier's means nothing to it, and version 1 cannot leave a group.",
            f.on_link(),
            f.name("versions"),
        ),
        fix: match f.is("hosts_forced") {
            true => "Let every host follow the querier: `sysctl -w \
                     net.ipv4.conf.all.force_igmp_version=0` and the same of the interface \
                     (`net.ipv6.conf.*.force_mld_version` for IPv6)."
                .to_owned(),
            false => "Set all queriers of the link to one version.".to_owned(),
        },
    }
}

pub(super) fn ttl_scope(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "Nothing of the group {} got from {} to {}{}: lost {}. It is sent with a TTL of {}, and \
             the two are in different networks: the router between them takes it for expired.",
            f.name("group"),
            f.host(),
            f.peer(),
            f.on_link(),
            f.lost(),
            f.count("ttl"),
        ),
        fix: "Programs ask for more with `IP_MULTICAST_TTL` (Corosync: `totem.interface.ttl`), and the \
              router must route the group (PIM); or put the hosts into one network, which a \
              cluster's interconnect should be."
            .to_owned(),
    }
}
