//! What `tune` keeps is there after a reboot, whoever configures the machine's network: systemd-networkd, NetworkManager, ifupdown,
//! or nobody. `undo` takes it away for good.

use crate::has_images;
use crate::support::{self, Lab, run};

/// One link between two machines.
const LINK: &str = r#"
[[link]]
name = "ring0"
[[node]]
name = "head1"
[[node]]
name = "head2"
"#;

/// A card that begins with less than the link has, and a vendor's small buffers: a reader that is not held up needs no more.
const SMALL: &str = "
mkdir -p /etc/systemd/system/hawser-lab.service.d
printf '[Service]\\nExecStartPre=/sbin/ip link set vec0 mtu 1400\\n' >/etc/systemd/system/hawser-lab.service.d/small.conf
echo net.core.rmem_default=65536 >/etc/sysctl.d/30-vendor.conf";

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
                mkdir -p /etc/systemd/system/NetworkManager.service.d
                printf '[Service]\\nExecStartPre=/sbin/ip addr flush dev ring0\\n' >/etc/systemd/system/NetworkManager.service.d/own.conf
                systemctl -q enable NetworkManager",
        shows: "nmcli -g GENERAL.CONNECTION device show ring0 | grep -qx ring0",
        end: "systemctl -q disable NetworkManager; rm /etc/NetworkManager/system-connections/ring0.nmconnection",
        file: "/etc/NetworkManager/conf.d/60-hawser-ring0.conf",
    },
    Manager {
        name: "ifupdown",
        begin: "printf 'auto ring0\\niface ring0 inet static\\n\\taddress 10.72.0.2/24\\n' >/etc/network/interfaces.d/ring0
                mkdir -p /etc/systemd/system/networking.service.d
                printf '[Service]\\nExecStartPre=/sbin/ip addr flush dev ring0\\n' >/etc/systemd/system/networking.service.d/own.conf
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

/// What the machine that is tuned has.
fn value(lab: &Lab, of: &str) -> u32 {
    let said = lab.sh("head2", &format!("cat {of}"));
    said.trim().parse().expect("a number")
}

const MTU: &str = "/sys/class/net/ring0/mtu";
const BUFFER: &str = "/proc/sys/net/core/rmem_default";

/// Tunes; the files that keep what was proven.
fn tune(lab: &Lab, options: &[&str]) -> Vec<String> {
    let lab = ["tune", "--lab", lab.name(), "--yes", "--json"];
    let ran = run(&[&lab[..], options].concat());
    let report = support::json(&ran, "tune");
    std::fs::remove_file(report["case"].as_str().expect("a case")).expect("a case");
    let changes = report["changes"].as_array().expect("changes").iter();
    let files = changes.filter_map(|it| it["persisted_in"].as_str());
    files.map(str::to_owned).collect()
}

/// Undoes what an agent of an earlier boot has done, and boots: nothing is left.
#[track_caller]
fn undone(lab: &Lab) {
    let ran = run(&["undo", "--all", "--lab", lab.name()]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    boot(lab);
    assert_eq!((value(lab, MTU), value(lab, BUFFER)), (1400, 65536));
    let left = lab.sh("head2", "find /etc -name '*0-hawser*'");
    assert_eq!(left, "");
}

#[test]
#[ignore = "boots machines"]
fn what_tune_keeps_is_there_after_a_boot_whoever_configures_the_network() {
    if !has_images() {
        return;
    }
    let layout = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(layout.path(), LINK).expect("a file");
    let layout = layout.path().to_str().expect("a path");
    let lab = Lab::up_with(&["--machines", "--file", layout]);
    lab.sh("head2", SMALL);
    boot(&lab);

    // Of the whole machine: nobody's but systemd-sysctl's.
    let kept = tune(&lab, &["--duration", "500ms", "--reader-delay", "1ms"]);
    let buffer = value(&lab, BUFFER);
    assert!(
        buffer > 65536 && kept.contains(&"/etc/sysctl.d/60-hawser.conf".to_owned()),
        "{buffer}: {kept:?}"
    );
    boot(&lab);
    assert_eq!(value(&lab, BUFFER), buffer);
    undone(&lab);

    for manager in MANAGERS {
        let name = manager.name;
        lab.sh("head2", &format!("set -e\n{}", manager.begin));
        boot(&lab);
        lab.sh("head2", manager.shows);
        assert_eq!(value(&lab, MTU), 1400, "{name}");
        // The other end of the cable, which is a new one after each boot, has less as well.
        lab.sh("sw0", "ip link set head2.ring0 mtu 1400");
        let kept = tune(&lab, &["--duration", "300ms"]);
        assert_eq!(value(&lab, MTU), 1500, "{name}: {kept:?}");
        assert_eq!(kept, [manager.file], "{name}");
        boot(&lab);
        lab.sh("head2", manager.shows);
        assert_eq!(value(&lab, MTU), 1500, "{name}");
        undone(&lab);
        lab.sh("head2", manager.end);
    }
}
