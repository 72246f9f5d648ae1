//! What `tune` keeps is there after a reboot, whoever configures the machine's network: systemd-networkd, NetworkManager, ifupdown,
//! or nobody. `undo` takes it away for good.

use crate::has_kernel;
use crate::support::{self, Lab, run};

/// Frames are large on the link, and a machine's card is not set up for them.
const JUMBO: &str = r#"
[[link]]
name = "ring0"
mtu = 9000
[[node]]
name = "head1"
[[node]]
name = "head2"
"#;

/// A card that begins as most do, and a vendor's small buffers.
const SMALL: &str = "
mkdir -p /etc/systemd/system/hawser-lab.service.d
printf '[Service]\\nExecStartPre=/sbin/ip link set vec0 mtu 1500\\n' >/etc/systemd/system/hawser-lab.service.d/small.conf
echo net.core.rmem_default=4608 >/etc/sysctl.d/30-vendor.conf";

/// Who configures the network.
struct Manager {
    name: &'static str,
    /// Gives it the link.
    begin: &'static str,
    /// Shows that it has it.
    shows: &'static str,
    /// Takes it from it.
    end: &'static str,
    /// What keeps an MTU then.
    file: &'static str,
}

const MANAGERS: [Manager; 4] = [
    Manager {
        name: "systemd-networkd",
        begin: "printf '[Match]\\nName=ring0\\n[Network]\\nAddress=10.72.0.2/24\\n' >/etc/systemd/network/20-ring0.network
                systemctl -q enable systemd-networkd",
        shows: "networkctl status ring0 | grep -q 20-ring0.network",
        end: "systemctl -q disable systemd-networkd; rm /etc/systemd/network/20-ring0.network",
        file: "/etc/systemd/network/20-ring0.network.d/60-hawser.conf",
    },
    Manager {
        name: "NetworkManager",
        begin: "printf '[keyfile]\\nunmanaged-devices=except:interface-name:ring0\\n' >/etc/NetworkManager/conf.d/lab.conf
                cd /etc/NetworkManager/system-connections
                printf '[connection]\\nid=ring0\\ntype=ethernet\\ninterface-name=ring0\\n[ipv4]\\nmethod=manual\\naddress1=10.72.0.2/24\\n' \
                >ring0.nmconnection
                chmod 600 ring0.nmconnection
                systemctl -q enable NetworkManager",
        shows: "nmcli -g GENERAL.CONNECTION device show ring0 | grep -qx ring0",
        end: "systemctl -q disable NetworkManager; rm /etc/NetworkManager/system-connections/ring0.nmconnection",
        file: "/etc/NetworkManager/conf.d/60-hawser-ring0.conf",
    },
    Manager {
        name: "ifupdown",
        begin: "printf 'auto ring0\\niface ring0 inet static\\n\\taddress 10.72.0.2/24\\n' >/etc/network/interfaces.d/ring0
                systemctl -q enable networking",
        shows: "ifquery --state ring0 | grep -q ring0=ring0",
        end: "systemctl -q disable networking; rm /etc/network/interfaces.d/ring0",
        file: "/etc/udev/rules.d/90-hawser-ring0.rules",
    },
    Manager {
        name: "nobody",
        begin: "true",
        shows: "true",
        end: "true",
        file: "/etc/udev/rules.d/90-hawser-ring0.rules",
    },
];

/// In good order: a reboot is what an administrator does.
fn boot(lab: &Lab) {
    lab.ok(&["power", "off", "head2"]);
    lab.ok(&["power", "on", "head2"]);
}

/// The MTU of the link, and how much a socket of UDP takes.
fn values(lab: &Lab) -> (u32, u32) {
    let said = lab.sh(
        "head2",
        "cat /sys/class/net/ring0/mtu /proc/sys/net/core/rmem_default",
    );
    let mut numbers = said.lines().map(|line| line.parse().expect("a number"));
    (numbers.next().expect("one"), numbers.next().expect("two"))
}

#[test]
#[ignore = "boots machines"]
fn what_tune_keeps_is_there_after_a_boot_whoever_configures_the_network() {
    if !has_kernel() {
        return;
    }
    let layout = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(layout.path(), JUMBO).expect("a file");
    let layout = layout.path().to_str().expect("a path");
    let lab = Lab::up_with(&["--machines", "--file", layout]);
    lab.sh("head2", SMALL);
    for manager in MANAGERS {
        let name = manager.name;
        lab.sh("head2", &format!("set -e\n{}", manager.begin));
        boot(&lab);
        lab.sh("head2", manager.shows);
        assert_eq!(values(&lab), (1500, 4608), "{name}");

        let ran = run(&["tune", "--lab", lab.name(), "--yes", "--json"]);
        let report = support::json(&ran, "tune");
        let tuned = values(&lab);
        assert!(tuned.0 == 9000 && tuned.1 > 4608, "{name}: {report:#}");
        let changes = report["changes"].as_array().expect("changes");
        let kept_in = |file: &str| changes.iter().any(|it| it["persisted_in"] == file);
        assert!(
            kept_in(manager.file) && kept_in("/etc/sysctl.d/60-hawser.conf"),
            "{name}: {report:#}"
        );

        boot(&lab);
        lab.sh("head2", manager.shows);
        assert_eq!(values(&lab), tuned, "{name}");

        // An entry of the journal of the boot before.
        let undone = run(&["undo", "--all", "--lab", lab.name()]);
        assert_eq!(undone.code, Some(0), "{name}: {}", undone.stderr);
        boot(&lab);
        assert_eq!(values(&lab), (1500, 4608), "{name}");
        let left = lab.sh("head2", "find /etc -name '*hawser*' -not -name 'hawser-lab*' -path '*[68]0-*'");
        assert_eq!(left, "", "{name}");
        lab.sh("head2", manager.end);
        std::fs::remove_file(report["case"].as_str().expect("a case")).expect("a case");
    }
}
