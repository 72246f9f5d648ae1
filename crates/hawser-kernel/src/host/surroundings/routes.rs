//! Where a machine sends what is for nobody that it knows.

use hawser_model::names::InterfaceName;

use crate::proc;

/// `RTF_UP` of `/proc/net/route`.
const UP: u32 = 1;

/// The interfaces of its default routes.
pub(super) fn default_routes() -> Vec<InterfaceName> {
    let read = |name| proc::net(name).unwrap_or_default();
    default_of(&read("route"), &read("ipv6_route"))
}

/// `v4`: interface, destination, gateway, flags, …, mask as the eighth; `v6`: destination, its prefix, …, interface last.
fn default_of(v4: &str, v6: &str) -> Vec<InterfaceName> {
    let of_v4 = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let up = u32::from_str_radix(words.get(3)?, 16).ok()? & UP != 0;
        let default = words[1] == "00000000" && *words.get(7)? == "00000000";
        (up && default).then(|| words[0].to_owned())
    };
    let of_v6 = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let default = words.len() > 9 && words[0].chars().all(|c| c == '0') && words[1] == "00";
        // The kernel has an unreachable default route of its own, on loopback.
        let name = words.last().filter(|name| default && **name != "lo")?;
        Some((*name).to_owned())
    };
    let all = v4.lines().skip(1).filter_map(of_v4);
    let mut names: Vec<String> = all.chain(v6.lines().filter_map(of_v6)).collect();
    names.sort();
    names.dedup();
    names.into_iter().map(InterfaceName).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_route_has_no_destination() {
        let v4 = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
            eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
            eth1\t0000480A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        let v6 = "00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000064 00000001 00000000 00000003 bond0\n\
            fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth1\n\
            00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n";
        let names: Vec<String> = default_of(v4, v6).into_iter().map(|it| it.0).collect();
        assert_eq!(names, ["bond0", "eth0"]);
        assert!(default_of("", "").is_empty());
    }
}
