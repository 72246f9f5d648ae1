//! The faults of a network that namespaces do not have, planted one after the other in two machines: each is named with its numbers,
//! or what is said instead is true. There are no tracepoints in such a kernel, so counters and taps place what is lost.

mod faults;

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::has_images;
use crate::support::{Lab, Ran, json, run};

/// Two machines on three cables, and the links that a check is told to measure.
pub(crate) struct Heads {
    pub(crate) lab: Lab,
    folder: TempDir,
}

/// A link and its network: head1 has address 1 in it, head2 has 2.
pub(crate) type Link = (&'static str, &'static str);

pub(crate) const RING0: Link = ("ring0", "10.72.0");
pub(crate) const RING1: Link = ("ring1", "10.72.1");
const BOND: Link = ("bond", "10.73.0");
const OVERLAY: Link = ("overlay", "10.75.0");
const VLAN: Link = ("vlan", "10.74.0");

impl Heads {
    pub(crate) fn up(layout: &[&str]) -> Self {
        let lab = Lab::up_with(layout);
        let folder = tempfile::tempdir().expect("a folder");
        let heads = Self { lab, folder };
        // A busy host takes the processor away from a whole kernel: what its reader gets late must not look like a fault.
        heads.both("sysctl -qw net.core.rmem_default=8388608");
        heads
    }

    /// Runs a script in each head; `@` is its number.
    #[track_caller]
    fn both(&self, script: &str) {
        for (head, number) in [("head1", "1"), ("head2", "2")] {
            self.lab
                .sh(head, &format!("set -e\n{}", script.replace('@', number)));
        }
    }

    /// A bond over these cables, without their addresses.
    #[track_caller]
    fn bond(&self, options: &str, cables: &[&str]) {
        let mut script = format!("ip link add bond0 type bond {options}\n");
        for cable in cables {
            let line = format!(
                "ip link set {cable} down; ip addr flush dev {cable}; ip link set {cable} master bond0\n"
            );
            script += &line;
        }
        // What comes out of a tunnel is for the bond: it has its address.
        script += "ip link set bond0 up; ip addr add 10.73.0.@/24 dev bond0\n\
                   for x in x1 x2; do ip link set $x address $(cat /sys/class/net/bond0/address) 2>/dev/null || :; done";
        self.both(&script);
        assert!(self.lab.soon_reaches("head1", "10.73.0.2"));
    }

    /// The end of the bond, and of what was planted on its cables, which get their addresses back.
    #[track_caller]
    fn unbond(&self, cables: &[&str]) {
        let mut script = "ip link del bond0\n".to_owned();
        for cable in cables {
            let number = cable.trim_start_matches("ring");
            let line = format!(
                "tc qdisc del dev {cable} root 2>/dev/null || :; ip link set {cable} up; ip addr add 10.72.{number}.@/24 dev {cable}\n"
            );
            script += &line;
        }
        self.both(&script);
    }

    /// What `hawser compare` prints of the links of the last check.
    fn compare(&self) -> String {
        let path = self.folder.path().join("hawser.toml");
        run(&["compare", "-f", text(&path), "--lab", self.lab.name()]).stdout
    }

    /// A check of these links alone, with few packets.
    #[track_caller]
    pub(crate) fn check(&self, links: &[Link], options: &[&str]) -> Checked {
        let few = ["--rate", "500", "--burst", "10"];
        self.measure(links, &[&few[..], options].concat())
    }

    /// A check of these links alone.
    #[track_caller]
    pub(crate) fn measure(&self, links: &[Link], options: &[&str]) -> Checked {
        let mut words = vec!["check", "--json"];
        words.extend(options);
        Checked(json(&self.run(links, &words), "check"))
    }

    /// Runs a verb on these links alone.
    pub(crate) fn run(&self, links: &[Link], verb: &[&str]) -> Ran {
        let mut file = "[cluster]\nname = \"faults\"\n".to_owned();
        for (name, network) in links {
            write!(
                file,
                "[[link]]\nname = \"{name}\"\nnetwork = \"{network}.0/24\"\n"
            )
            .expect("a string");
        }
        for number in [1, 2] {
            let addresses = links
                .iter()
                .map(|(name, network)| format!("{name} = \"{network}.{number}\""));
            let addresses: Vec<String> = addresses.collect();
            let addresses = addresses.join(", ");
            write!(
                file,
                "[[node]]\nname = \"head{number}\"\naddresses = {{ {addresses} }}\n"
            )
            .expect("a string");
        }
        let path = self.folder.path().join("hawser.toml");
        std::fs::write(&path, file).expect("the cluster file");
        let these = ["-f", text(&path), "--lab", self.lab.name()];
        run(&[verb, &these].concat())
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// What a check said.
pub(crate) struct Checked(pub(crate) Value);

impl Checked {
    fn codes(&self) -> Vec<&str> {
        let findings = self.0["findings"].as_array().expect("findings");
        findings
            .iter()
            .filter_map(|it| it["code"].as_str())
            .collect()
    }

    /// The findings are these.
    #[track_caller]
    fn finds(&self, codes: &[&str]) -> &Self {
        assert_eq!(self.codes(), codes, "{:#}", self.0["findings"]);
        self
    }

    /// The findings are these, and every lost packet has a place.
    #[track_caller]
    pub(crate) fn says(&self, codes: &[&str]) -> &Self {
        self.finds(codes);
        let unattributed = self
            .0
            .pointer("/packets/unattributed")
            .and_then(Value::as_u64);
        assert_eq!(unattributed, Some(0), "{:#}", self.0["packets"]);
        self
    }

    /// The evidence of the first finding with this code.
    #[track_caller]
    pub(crate) fn evidence(&self, code: &str) -> &Value {
        let findings = self.0["findings"].as_array().expect("findings");
        let found = findings.iter().find(|it| it["code"] == code);
        &found.unwrap_or_else(|| panic!("no {code}: {:#}", self.0["findings"]))["evidence"]
    }
}

#[test]
#[ignore = "boots machines"]
fn each_fault_of_a_network_is_named_with_its_numbers() {
    if !has_images() {
        return;
    }
    let heads = Heads::up(&["--machines", "--nodes", "2", "--links", "3"]);
    faults::on_the_wire(&heads);
    faults::of_bonds(&heads);
    faults::of_lacp(&heads);
    faults::of_one_flow(&heads);
    faults::of_an_overlay(&heads);
    faults::of_vlans(&heads);
}
