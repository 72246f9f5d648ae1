//! Whom a machine hears by LLDP: lldpd keeps that, else systemd-networkd.

use hawser_model::surroundings::Neighbour;

use super::ask;

pub(super) fn heard() -> Result<Vec<Neighbour>, String> {
    let lldpctl = match ask("lldpctl", &["-f", "keyvalue"]) {
        Ok(said) => return Ok(by_lldpctl(&said)),
        Err(why) => why,
    };
    let arguments = ["--no-legend", "--no-pager", "--full", "lldp"];
    match ask("networkctl", &arguments) {
        Ok(said) => Ok(by_networkctl(&said)),
        Err(networkctl) => Err(format!("{lldpctl}; {networkctl}")),
    }
}

/// `lldp.eth0.chassis.name=sw1`; an interface's name may have dots as well. One neighbour follows the other, each with its
/// `via` first.
fn by_lldpctl(said: &str) -> Vec<Neighbour> {
    let mut all: Vec<Neighbour> = Vec::new();
    for line in said.lines() {
        let Some((key, value)) = line.strip_prefix("lldp.").and_then(|it| it.split_once('='))
        else {
            continue;
        };
        if let Some(interface) = key.strip_suffix(".via") {
            all.push(Neighbour {
                interface: interface.to_owned(),
                ..Neighbour::default()
            });
            continue;
        }
        let Some(last) = all.last_mut() else { continue };
        let of = key.strip_prefix(last.interface.as_str());
        match of {
            Some(".chassis.name") => value.clone_into(&mut last.system),
            // A name says more than an address.
            Some(".port.mac") if last.port.is_empty() => value.clone_into(&mut last.port),
            Some(".port.ifname" | ".port.local") => value.clone_into(&mut last.port),
            Some(".port.descr") if last.port.is_empty() || last.port.contains(':') => {
                value.clone_into(&mut last.port);
            }
            _ => {}
        }
    }
    all.retain(|neighbour| !neighbour.system.is_empty());
    all
}

/// Interface, chassis, system, capabilities (letters and dots, eleven of them), port.
fn by_networkctl(said: &str) -> Vec<Neighbour> {
    let letters =
        |word: &&str| word.len() == 11 && word.chars().all(|c| c == '.' || c.is_ascii_lowercase());
    let of = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(&letters)?;
        let system = words.get(2..at)?.join(" ");
        let known = !system.is_empty() && system != "n/a";
        known.then(|| Neighbour {
            interface: words[0].to_owned(),
            system,
            port: words.get(at + 1).copied().unwrap_or_default().to_owned(),
        })
    };
    said.lines().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbour(interface: &str, system: &str, port: &str) -> Neighbour {
        Neighbour {
            interface: interface.into(),
            system: system.into(),
            port: port.into(),
        }
    }

    #[test]
    fn lldpctl_has_a_line_for_each_thing() {
        // The first as lldpd 1.0.16 printed it.
        let said = "lldp.eth0.via=LLDP\nlldp.eth0.rid=1\nlldp.eth0.age=0 day, 00:00:12\nlldp.eth0.chassis.mac=96:98:cd:9d:e7:34\n\
            lldp.eth0.chassis.name=sw1\nlldp.eth0.chassis.descr=sw-b\nlldp.eth0.chassis.Bridge.enabled=off\n\
            lldp.eth0.port.mac=96:98:cd:9d:e7:34\nlldp.eth0.port.descr=Gi1/0/1\nlldp.eth0.port.ttl=120\n\
            lldp.eth0.lldp-med.device-type=Network Connectivity Device\n\
            lldp.eth0.100.via=LLDP\nlldp.eth0.100.chassis.name=head2\nlldp.eth0.100.port.descr=eth0\n\
            lldp.eth1.via=CDPv2\nlldp.eth1.port.mac=02:00:00:00:00:02\n";
        assert_eq!(
            by_lldpctl(said),
            [
                neighbour("eth0", "sw1", "Gi1/0/1"),
                neighbour("eth0.100", "head2", "eth0")
            ]
        );
        assert_eq!(by_lldpctl("lldp.eth0.chassis.name=sw1\nnonsense\n"), []);
    }

    #[test]
    fn networkctl_has_a_line_for_each_neighbour() {
        let said = "enp1s0 02:00:00:00:00:01 sw1 ..b.r...... Gi1/0/1 to head1\n\
            enp2s0 02:00:00:00:00:02 n/a ...........  2\n\nTotal neighbors: 2\n";
        assert_eq!(by_networkctl(said), [neighbour("enp1s0", "sw1", "Gi1/0/1")]);
    }
}
