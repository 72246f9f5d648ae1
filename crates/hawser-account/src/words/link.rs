//! Words on links: down, slow, not independent.

use super::path::suspect;
use super::{Told, Words, packets};

pub(super) fn interface_down(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "The interface {} of {} is switched off: the host is not on link {}.",
            f.interface(),
            f.host(),
            f.link().unwrap_or("it carries"),
        ),
        fix: format!(
            "`ip link set {0} up` on {1}, and see that the network configuration brings it up \
             at boot.",
            f.interface(),
            f.host(),
        ),
    }
}

pub(super) fn link_down(f: &Told<'_>) -> Words {
    if f.number("carrier") == Some(0) && f.0.place.host.is_none() {
        return Words {
            text: format!(
                "No port of link {} has carrier ({}): {} is off or cut off.",
                f.link().unwrap_or("on it"),
                super::counted(f.count("ports_without_carrier"), "host"),
                f.object().unwrap_or("its switch"),
            ),
            fix: "Power and uplinks of the switch; with two hosts and no switch, the one cable \
                  between them."
                .to_owned(),
        };
    }
    if f.number("carrier") == Some(0) {
        return Words {
            text: format!(
                "{} of {} is up but has no carrier: link {} is dead for this host.",
                f.interface(),
                f.host(),
                f.link().unwrap_or("on it"),
            ),
            fix: format!(
                "Cable, transceiver, switch port: `ethtool {}` on {} should say \"Link \
                 detected: yes\". Is the port enabled, and do both ends agree on the speed?",
                f.interface(),
                f.host(),
            ),
        };
    }
    Words {
        text: format!(
            "Nothing at all arrives: {} were sent, small and large, and no host dropped them. {}",
            packets(f.count("sent_packets")),
            suspect(f),
        ),
        fix: "Both interfaces say they have carrier, so look between: is the switch on, are \
              both ports in the same VLAN, is a media converter or bridge down? `arping` from one \
              host while `tcpdump -e` runs on the other shows how far frames come."
            .to_owned(),
    }
}

pub(super) fn half_duplex(f: &Told<'_>) -> Words {
    let speed = f.speed("speed_bits_per_s");
    Words {
        text: format!(
            "{} runs half duplex{}: it cannot send and receive at once, and collides under load.",
            f.at(),
            speed.map_or(String::new(), |s| format!(" at {s}")),
        ),
        fix: format!(
            "Let both ends negotiate: `ethtool -s {} autoneg on` on {}, and no fixed speed on \
             the switch port either. One fixed and one negotiating end gives half duplex.",
            f.interface(),
            f.host(),
        ),
    }
}

pub(super) fn speed_below_file(f: &Told<'_>) -> Words {
    below(f, "file_speed_bits_per_s", "the cluster file says")
}

pub(super) fn speed_below_peer(f: &Told<'_>) -> Words {
    below(f, "peer_speed_bits_per_s", "another port of the link has")
}

fn below(f: &Told<'_>, due: &str, says: &str) -> Words {
    Words {
        text: format!(
            "{} runs at {}; {says} {}.",
            f.at(),
            f.speed("speed_bits_per_s").unwrap_or_default(),
            f.speed(due).unwrap_or_default(),
        ),
        fix: format!(
            "`ethtool {}` on {} shows what both ends advertise. A damaged pair in a copper cable, \
             a wrong transceiver or a fixed speed on the switch port are the usual reasons.",
            f.interface(),
            f.host(),
        ),
    }
}

pub(super) fn shared_failure_domain(f: &Told<'_>) -> Words {
    let link = f.link().unwrap_or("one link");
    let object = f.object().unwrap_or("another link");
    if let Some(heard) = f.number("hellos_heard_across") {
        let other = object.strip_prefix("link ").unwrap_or(object);
        return Words {
            text: format!(
                "Links {link} and {other} are one layer-2 network: {heard} frames sent out of \
                 the one arrived on the other, so one switch, loop or storm takes both."
            ),
            fix: "Separate them: different switches without a trunk between them, or at least \
                  different VLANs (which still share the switch). If they are meant to share a \
                  switch, say so in the cluster file (`switch` of both links)."
                .to_owned(),
        };
    }
    let same_device = f.is("same_device");
    Words {
        text: format!(
            "On {} {link} and {}: {}.",
            f.host(),
            object,
            match same_device {
                true => "they go down together with that port, its cable or its switch",
                false => "they go down together if that card or its driver fails",
            }
        ),
        fix: match same_device {
            true => "Move one of the links to a port of its own; VLANs and addresses do not make \
                     two links out of one cable."
                .to_owned(),
            false => "Use a port of another card, or of the mainboard, for one of the links, if \
                      the cluster must survive a card."
                .to_owned(),
        },
    }
}

pub(super) fn lro_on_forwarder(f: &Told<'_>) -> Words {
    let why = match f.object() {
        Some(bridge) => format!("it is a port of {bridge}"),
        None => "the host forwards (`ip_forward` is 1)".to_owned(),
    };
    Words {
        text: format!(
            "{} merges received segments in its NIC (LRO), although {why}: what was merged does not fit \
             the next link.",
            f.at(),
        ),
        fix: format!(
            "On {}: `ethtool -K {} lro off`. GRO may stay on: what it merged can be cut again.",
            f.host(),
            f.interface(),
        ),
    }
}

pub(super) fn bond_one_member(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "The stream from {} to {}{} went through one of {} members of {}, {}, and reached {} of its \
             {}: a bond spreads flows, not packets.",
            f.host(),
            f.peer(),
            f.on_link(),
            f.count("members"),
            f.interface(),
            f.object().unwrap_or("a member"),
            f.speed("bits_per_s").unwrap_or_default(),
            f.speed("member_bits_per_s").unwrap_or_default(),
        ),
        fix: "Several connections (iSCSI with several sessions and multipath, `hawser copy --streams \
              4`) under `xmit_hash_policy layer3+4` on both the hosts and the switch; or one faster \
              link. `balance-rr` would reorder."
            .to_owned(),
    }
}

pub(super) fn duplicate_address(f: &Told<'_>) -> Words {
    let (address, host) = (f.name("address"), f.host());
    let other = match (f.name("other_host"), f.name("other_mac")) {
        ("", "") => "another host".to_owned(),
        ("", mac) => format!("{mac} (no host of this check)"),
        (host, mac) => format!("{host} ({}, {mac})", f.name("other_interface")),
    };
    let own = match f.name("own_mac") {
        "" => String::new(),
        mac => format!(" ({}, {mac})", f.interface()),
    };
    if f.is("dad_failed") {
        return Words {
            text: format!(
                "{address} of {host}{own}{} is taken: {other} answered for it, so the kernel of {host} does \
                 not use it (duplicate address detection failed).",
                f.on_link(),
            ),
            fix: remove(f, address),
        };
    }
    let effect = match (f.is("lost_packets"), f.count("hosts_answered_for")) {
        (true, _) => format!(
            "It cost {}: the sender's kernel had that MAC address for {host}, or one of the two sent to the \
             other.",
            f.lost()
        ),
        (false, n) if n > 1 => {
            format!("It answers for {n} hosts, so perhaps it answers for everybody (proxy ARP).")
        }
        (false, _) => {
            "Whoever asks takes one of the answers, so packets to it may go to the wrong host at \
                       any time."
                .to_owned()
        }
    };
    Words {
        text: format!(
            "{address} is the address of {host}{own}{}, and {other} answers for it too ({} of {} times). \
             {effect}",
            f.on_link(),
            f.count("answers"),
            f.count("asked"),
        ),
        fix: remove(f, address),
    }
}

/// No knob: which of the two is to keep the address only people know.
fn remove(f: &Told<'_>, address: &str) -> String {
    let wrong = match (f.name("other_host"), f.name("other_mac")) {
        ("", "") => format!(
            "Ask another host of the link who it is (`ip -6 neigh show {address}`), and take the address from \
             one of the two. If nobody else has it, the host hears its own frames again: look for a loop."
        ),
        ("", mac) => format!(
            "Find {mac} in the switch's table of addresses (`bridge fdb show`, `show mac address-table`) and \
             take the address from that host; if it is a router that answers for others, switch that off \
             there (`proxy_arp`)."
        ),
        (host, _) => format!(
            "Take it from the host where it does not belong: {}, or {host} (`ip addr del {address}/{} dev {}`).",
            f.host(),
            f.count("prefix"),
            f.name("other_interface"),
        ),
    };
    format!(
        "{wrong} Change its network configuration too, or it is back after a reboot, and `ip neigh flush to \
         {address}` on the others. No setting cures this, so `hawser tune` tries none."
    )
}
