//! Words on links: down, slow, not independent.

use super::{Told, Words};

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
