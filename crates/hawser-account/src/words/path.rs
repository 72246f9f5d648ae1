//! Words on what happens to packets on their way between the hosts.

use hawser_model::units::Packets;

use super::{Told, Words, counted, packets, reason};

/// What the affected directions have in common, as a sentence.
pub(super) fn suspect(f: &Told<'_>) -> String {
    let (host, peer, on_link) = (f.host(), f.peer(), f.on_link());
    let link = f.link().unwrap_or("the link");
    match f.name("pattern") {
        "everything" => "Every direction of every link is affected: look for what they share, a \
                         host rather than a cable."
            .to_owned(),
        "host" => format!(
            "It is all of {host}'s links, both ways, and no others: {host} itself rather than a \
             cable."
        ),
        "into-host" => format!(
            "It is all links towards {host} and no others: {host}'s receiving side rather than a \
             cable."
        ),
        "out-of-host" => format!(
            "It is all links out of {host} and no others: {host}'s sending side rather than a \
             cable."
        ),
        "link" => match f.object() {
            Some(switch) => format!(
                "Every direction of {link} is affected and no other link: {switch}, or with two \
                 hosts one of the cables to it."
            ),
            None => format!(
                "Every direction of {link} is affected and no other link: its switch, or with \
                 two hosts a cable."
            ),
        },
        "port" => format!(
            "It is {host}'s port on {link}, both ways: its cable, transceiver or switch port."
        ),
        "into-port" => format!(
            "It is only towards {host} on {link}: the switch port's sending side, the cable, \
             {host}'s transceiver."
        ),
        "out-of-port" => format!(
            "It is only out of {host} on {link}: {host}'s transceiver, the cable, the switch \
             port's receiving side."
        ),
        "direction-on-all-links" => format!(
            "It is only from {host} to {peer}, on all links between them: one of the two hosts \
             rather than a cable."
        ),
        "pair" => format!("It is only between {host} and {peer}{on_link}, both ways."),
        _ => format!("It is only from {host} to {peer}{on_link}; the other direction is clean."),
    }
}

pub(super) fn loss_between_hosts(f: &Told<'_>) -> Words {
    let (runs, single) = (f.count("loss_runs"), f.count("single_loss_runs"));
    let longest = f.count("longest_loss_run_packets");
    let shape = match () {
        () if runs == 0 => String::new(),
        () if longest <= 1 => " They went one at a time.".to_owned(),
        // Random loss also hits neighbours now and then; bursts are when it mostly does.
        () if single * 2 >= runs => {
            format!(" Most went one at a time, at most {longest} in a row.")
        }
        () => format!(" They went in bursts, up to {} in a row.", Packets(longest)),
    };
    if f.is("multicast_only") {
        return Words {
            text: format!(
                "Only multicast is lost between the hosts: {}; unicast passes. {}",
                f.lost(),
                suspect(f),
            ),
            fix: "IGMP snooping without a querier stops a group when its membership ages out: \
                  enable a querier on the switch, or turn snooping off on this VLAN, and see \
                  that all hosts speak the same IGMP version."
                .to_owned(),
        };
    }
    Words {
        text: format!(
            "{} left one host and never reached the other, and neither host dropped them. {}{shape}",
            f.lost(),
            suspect(f),
        ),
        fix: "Look at the switch's counters of the ports concerned (CRC errors, discards), then \
              exchange cable and transceiver one at a time and repeat the check after each. \
              Discards without errors are congestion: pause frames, or traffic of others."
            .to_owned(),
    }
}

pub(super) fn mtu_black_hole(f: &Told<'_>) -> Words {
    let lost = match f.count("lost_packets") {
        0 => String::new(),
        n => format!(" It cost {} of the check.", packets(n)),
    };
    let passed = f.count("passed_mtu_bytes");
    let kind = match f.number("ip_version") {
        Some(version) => format!("IPv{version} packets"),
        None => "Packets".to_owned(),
    };
    let frames = match (
        f.number("frames_a_block_passed"),
        f.number("frames_a_block_interface"),
    ) {
        (Some(passed), Some(meant)) if passed != meant => {
            format!(" An 8 KiB block goes through in {passed} frames, and is meant to in {meant}.")
        }
        _ => String::new(),
    };
    Words {
        text: format!(
            "{kind} up to {passed} bytes pass, from {} bytes on they vanish without a word, \
             although the interfaces are set to {}.{frames}{lost} {} Heartbeats are small and pass, so \
             the link looks healthy until data flows.",
            f.count("silent_mtu_bytes"),
            f.count("interface_mtu_bytes"),
            suspect(f),
        ),
        fix: format!(
            "Set the MTU of every switch port and bridge on the way to at least {} (switches \
             often count {} with headers). Until then set the hosts' interfaces to what passes: \
             `ip link set IF mtu {passed}` on all hosts of the link; do it on a console or over \
             another link.",
            f.count("interface_mtu_bytes"),
            f.count("interface_mtu_bytes") + 22,
        ),
    }
}

pub(super) fn mtu_mismatch(f: &Told<'_>) -> Words {
    if let Some(told) = f.number("told_mtu_bytes") {
        return Words {
            text: format!(
                "From {} to {}{} a hop or a route takes only {told} bytes, and says so; the \
                 interface is set to {}.{}",
                f.host(),
                f.peer(),
                f.on_link(),
                f.count("interface_mtu_bytes"),
                cost(f),
            ),
            fix: "`ip route get ADDRESS` shows a route's own mtu; `tracepath -n ADDRESS` the hop \
                  that answers. Give the whole link one MTU."
                .to_owned(),
        };
    }
    let mtu = f.count("mtu_bytes");
    let against = match (f.number("file_mtu_bytes"), f.number("largest_mtu_bytes")) {
        (Some(file), _) => format!("the cluster file says {file}"),
        (None, Some(largest)) => format!("another port of the link has {largest}"),
        (None, None) => "the others differ".to_owned(),
    };
    let due = f
        .number("file_mtu_bytes")
        .or_else(|| f.number("largest_mtu_bytes"))
        .unwrap_or(mtu);
    let all = f.0.place.host.is_none();
    let who = match all {
        true => format!("Every port of {} has", f.link().unwrap_or("the link")),
        false => format!("{} has", f.at()),
    };
    let (interface, host) = match all {
        true => ("IF", "each host"),
        false => (f.interface(), f.host()),
    };
    Words {
        text: format!("{who} an MTU of {mtu}; {against}.{}", cost(f)),
        fix: format!(
            "`ip link set {interface} mtu {due}` on {host}, and in its network configuration; \
             over another link or on a console, since the one you change may stop. The switch \
             must take it too."
        ),
    }
}

fn cost(f: &Told<'_>) -> String {
    match f.count("lost_packets") {
        0 => " Nothing of this check was lost for it.".to_owned(),
        n => format!(" It cost {} of the check.", packets(n)),
    }
}

pub(super) fn needless_fragmentation(f: &Told<'_>) -> Words {
    let (host, peer, on_link) = (f.host(), f.peer(), f.on_link());
    let passed = f.number("passed_mtu_bytes");
    let carried = passed.map_or(String::new(), |p| {
        format!(" Packets of {p} bytes were seen to pass whole.")
    });
    let text = match (
        f.count("fragments_cut_by_sender"),
        f.count("fragments_cut_on_the_way"),
    ) {
        (0, 0) => format!(
            "{host} holds the path to {peer}{on_link} to take only {} bytes; larger datagrams \
             are cut or refused.{carried}",
            f.count("told_mtu_bytes"),
        ),
        (0, n) => format!(
            "Datagrams leave {host} whole and reach {peer}{on_link} in pieces: {} were made on \
             the way.{carried}",
            counted(n, "fragment"),
        ),
        (n, _) => format!(
            "{host} cuts datagrams to {peer}{on_link} although its interface would carry them \
             whole or in larger pieces: {} too many.{carried}",
            counted(n, "fragment"),
        ),
    };
    let fix = match f.count("fragments_cut_on_the_way") {
        0 => format!(
            "`ip route get ADDRESS` on {host}: a route with `mtu`, or a learnt one with \
             `expires` (`ip route flush cache`). Remove it."
        ),
        _ => "A bridge on the way hands its frames to a packet filter and cuts them anew: \
              `sysctl -w net.bridge.bridge-nf-call-iptables=0` there (that whole machine), or \
              give its ports one MTU."
            .to_owned(),
    };
    let refused = match f.count("lost_packets") {
        0 => String::new(),
        n => format!(
            " {} with the don't-fragment bit were refused for it.",
            packets(n)
        ),
    };
    Words {
        text: text + &refused,
        fix,
    }
}

pub(super) fn checksum_errors(f: &Told<'_>) -> Words {
    let delivered = f.count("delivered_corrupted_packets");
    let lost = f.count("lost_packets");
    let seen = match delivered {
        0 => "The kernel noticed and dropped them.".to_owned(),
        n if n >= lost => "The kernel did not notice: programs get such data.".to_owned(),
        n => format!(
            "{} of them reached the program, unnoticed by the kernel.",
            Packets(n)
        ),
    };
    let text = match f.name("pattern") {
        "direction" => format!(
            "{} from {} reached {}{} damaged. {seen} The other direction is clean.",
            f.lost(),
            f.peer(),
            f.host(),
            f.on_link(),
        ),
        _ => format!("{} arrived damaged. {seen} {}", f.lost(), suspect(f)),
    };
    Words {
        text,
        fix: "The damage is done on the way: exchange cable and transceivers, then the switch \
              port. Test the receiving card without checksum offload (`ethtool -K IF rx off`), \
              which also shows whether the card hides errors."
            .to_owned(),
    }
}

pub(super) fn reassembly_failure(f: &Told<'_>) -> Words {
    let fragments = f.count("fragments_per_datagram");
    Words {
        text: format!(
            "{} could not put together {} from {}{}{}: {} refused or timed out, {} still \
             waiting for a fragment. A datagram of {} is lost with any one of them.",
            f.host(),
            f.lost(),
            f.peer(),
            f.on_link(),
            reason(f),
            counted(f.count("reassembly_failures"), "fragment"),
            counted(f.count("unfinished_datagrams"), "datagram"),
            counted(fragments, "fragment"),
        ),
        fix: format!(
            "Send smaller datagrams or raise the link's MTU, so that nothing is cut. If memory \
             is short ({} now): `sysctl -w net.ipv4.ipfrag_high_thresh=8388608`. A filter that \
             drops later fragments, which carry no port, does the same.",
            f.bytes("ipfrag_high_thresh_bytes")
                .unwrap_or_else(|| "net.ipv4.ipfrag_high_thresh not read".to_owned()),
        ),
    }
}

pub(super) fn duplicated_path(f: &Told<'_>) -> Words {
    let hellos = match f.count("duplicate_hellos") {
        0 => String::new(),
        n => format!(
            " {} too, so layer 2 itself doubles.",
            counted(n, "hello frame")
        ),
    };
    Words {
        text: format!(
            "{} of {} arrived more than once.{hellos} {}",
            Packets(f.count("duplicate_packets")),
            f.packets("received_packets"),
            suspect(f),
        ),
        fix: "Look for a loop: two cables between the same switches without spanning tree, a \
              bond in broadcast mode, a bridge beside the bond, a mirror port patched back in."
            .to_owned(),
    }
}

pub(super) fn reordered_path(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "{} of {} arrived after a later one. {}",
            Packets(f.count("reordered_packets")),
            f.packets("received_packets"),
            suspect(f),
        ),
        fix: "Packets of one flow must keep to one way: no round-robin bond (`mode balance-rr`), \
              no per-packet load sharing on the switches; hash by flow instead \
              (`xmit_hash_policy layer3+4`)."
            .to_owned(),
    }
}
