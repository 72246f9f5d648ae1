//! What `ocf:pacemaker:ifspeed` (of Pacemaker 2.1) says of an interface that has a carrier. Where it would say 0, a
//! head would count as one without that SAN although its clients reach it, so its port is not watched.

use std::fs;
use std::path::Path;

/// Below these are what the kernel says of its interfaces, and which of them are VLANs.
const SYSTEM: &str = "/sys/class/net";
const VLANS: &str = "/proc/net/vlan/config";

/// Interfaces stand on others, and no stack of them is higher.
const HIGHEST: usize = 8;

/// The modes of a bond of which it adds the ports up; of any other it takes the active port.
const BALANCE: [&str; 5] = [
    "balance-rr",
    "balance-xor",
    "802.3ad",
    "balance-tlb",
    "balance-alb",
];

/// The files that the agent reads.
pub(super) struct Ifspeed<'a> {
    net: &'a Path,
    vlans: &'a Path,
}

impl Default for Ifspeed<'_> {
    fn default() -> Self {
        Self {
            net: Path::new(SYSTEM),
            vlans: Path::new(VLANS),
        }
    }
}

impl Ifspeed<'_> {
    /// Why the agent would say 0 for an interface that has a carrier; none when it tells the carrier.
    pub fn blind(&self, interface: &str) -> Option<String> {
        if self.read(interface, "bridge/root_id").is_ok() {
            // It counts the ports whose designated bridge is the root, which of a bridge below the root is none.
            return Some("it is a bridge, of which the agent counts only ports to the root".into());
        }
        if !self.carrier(interface) {
            return None;
        }
        self.speed(interface, HIGHEST).err()
    }

    /// The speed that it tells, which is not 0 and may be less (-1: the driver knows none); else why it says 0.
    fn speed(&self, interface: &str, height: usize) -> Result<i64, String> {
        let Some(height) = height.checked_sub(1) else {
            return Err("the agent follows its VLANs and bonds without an end".into());
        };
        match self.read(interface, "operstate") {
            Ok(state) if state == "up" => {}
            // Drivers that do not tell a state, such as tun's: with a carrier it is "unknown".
            Ok(state) => return Err(format!("its state is \"{state}\", not \"up\"")),
            Err(why) => return Err(format!("it has no state: {why}")),
        }
        if !self.carrier(interface) {
            return Err("it has no carrier".into());
        }
        if let Ok(mode) = self.read(interface, "bonding/mode") {
            return self.bond(interface, &mode, height);
        }
        if let Some(below) = self.below(interface) {
            let speed = self.speed(&below, height);
            return speed.map_err(|why| format!("of {below} below it: {why}"));
        }
        let text = self.read(interface, "speed");
        let text = text.map_err(|why| format!("its driver tells no speed: {why}"))?;
        match text.parse() {
            Ok(0) => Err("its driver tells a speed of 0".into()),
            Ok(speed) => Ok(speed),
            Err(_) => Err(format!("its driver tells a speed of \"{text}\"")),
        }
    }

    /// Of a bond the ports count, and not what the bond says of itself.
    fn bond(&self, bond: &str, mode: &str, height: usize) -> Result<i64, String> {
        let of = |port: &str| {
            let speed = self.speed(port, height);
            speed.map_err(|why| format!("of its port {port}: {why}"))
        };
        let balances = mode
            .split(' ')
            .next()
            .is_some_and(|mode| BALANCE.contains(&mode));
        if !balances {
            let active = self.read(bond, "bonding/active_slave").unwrap_or_default();
            return of(&active);
        }
        let ports = self.read(bond, "bonding/slaves").unwrap_or_default();
        let mut sum = 0;
        for port in ports.split_whitespace().filter(|port| self.carrier(port)) {
            let speed = of(port)?;
            // It takes eight tenths of the sum, cut off to a whole number: of -1 that is 0, as soon as the others
            // have lost their carriers.
            if speed * 8 / 10 == 0 {
                return Err(format!("of its port {port}: the agent makes 0 of {speed}"));
            }
            sum += speed;
        }
        match sum * 8 / 10 {
            0 => Err("none of its ports has a speed".into()),
            speed => Ok(speed),
        }
    }

    /// The interface that a VLAN is on: `NAME | ID | BELOW`.
    fn below(&self, interface: &str) -> Option<String> {
        let text = fs::read_to_string(self.vlans).ok()?;
        let mut lines = text.lines().map(|line| line.split('|').map(str::trim));
        let mut fields = lines.find(|fields| fields.clone().next() == Some(interface))?;
        fields.nth(2).map(str::to_owned)
    }

    fn carrier(&self, interface: &str) -> bool {
        self.read(interface, "carrier")
            .is_ok_and(|text| text == "1")
    }

    fn read(&self, interface: &str, file: &str) -> Result<String, std::io::Error> {
        let text = fs::read_to_string(self.net.join(interface).join(file))?;
        Ok(text.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of interface `x`: `files` are `interface/file=text`, and `/vlan=line` is one of the VLANs.
    fn blind(files: &[&str]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let (path, text) = file.split_once('=').unwrap();
            let path = folder.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        let vlans = folder.path().join("vlan");
        let system = Ifspeed {
            net: folder.path(),
            vlans: &vlans,
        };
        system.blind("x")
    }

    /// An interface that is up, with a speed.
    macro_rules! up {
        ($name:literal, $speed:literal) => {
            [
                concat!($name, "/operstate=up"),
                concat!($name, "/carrier=1"),
                concat!($name, "/speed=", $speed),
            ]
        };
    }

    #[test]
    fn the_agent_tells_the_carrier_of_these() {
        let bond = ["x/operstate=up", "x/carrier=1"];
        let cases: [(&str, Vec<&str>); 8] = [
            ("a network card", up!("x", "10000").to_vec()),
            // As virtio says it: unknown, and no 0.
            ("an unknown speed", up!("x", "-1").to_vec()),
            (
                "no carrier, so that it rightly says 0",
                vec!["x/operstate=down", "x/carrier=0"],
            ),
            ("nothing there", vec![]),
            (
                "a VLAN",
                [&bond[..], &up!("y", "1000"), &["/vlan=x  | 5  | y"]].concat(),
            ),
            (
                "a bond whose own speed is unknown and whose active port has one",
                [
                    &bond[..],
                    &up!("y", "1000"),
                    &[
                        "x/speed=-1",
                        "x/bonding/mode=active-backup 1",
                        "x/bonding/active_slave=y",
                    ],
                ]
                .concat(),
            ),
            (
                "a bond whose active port knows no speed",
                [
                    &bond[..],
                    &up!("y", "-1"),
                    &["x/bonding/mode=active-backup 1", "x/bonding/active_slave=y"],
                ]
                .concat(),
            ),
            (
                "a bond that balances, with one port out",
                [
                    &bond[..],
                    &up!("y", "1000"),
                    &[
                        "x/bonding/mode=802.3ad 4",
                        "x/bonding/slaves=y z",
                        "z/operstate=down",
                        "z/carrier=0",
                    ],
                ]
                .concat(),
            ),
        ];
        for (what, files) in cases {
            assert_eq!(blind(&files), None, "{what}");
        }
    }

    #[test]
    fn the_agent_says_0_of_these_although_they_have_a_carrier() {
        let bond = ["x/operstate=up", "x/carrier=1"];
        let cases: [(&str, Vec<&str>); 7] = [
            ("tells no speed", vec!["x/operstate=up", "x/carrier=1"]),
            ("a speed of 0", up!("x", "0").to_vec()),
            // tun, and others that leave it to the kernel.
            (
                "state is \"unknown\"",
                vec!["x/operstate=unknown", "x/carrier=1", "x/speed=10"],
            ),
            (
                "a bridge",
                [&up!("x", "10000")[..], &["x/bridge/root_id=8000.5254"]].concat(),
            ),
            (
                "of y below it: its state is \"unknown\"",
                [&bond[..], &["y/operstate=unknown", "/vlan=x | 5 | y"]].concat(),
            ),
            (
                "of its port y: the agent makes 0 of -1",
                [
                    &bond[..],
                    &up!("y", "-1"),
                    &["x/bonding/mode=balance-rr 0", "x/bonding/slaves=y"],
                ]
                .concat(),
            ),
            ("without an end", [&bond[..], &["/vlan=x | 5 | x"]].concat()),
        ];
        for (why, files) in cases {
            let said = blind(&files).unwrap_or_default();
            assert!(said.contains(why), "{why}: {said}");
        }
    }
}
