//! Words on what happens to packets on their way between the hosts.

use super::{Told, Words, counted, packets, reason};

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
