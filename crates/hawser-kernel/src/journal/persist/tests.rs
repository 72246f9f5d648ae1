//! Whose files keep a change: trees of files as real hosts have them, and what is written there.

use std::collections::BTreeSet;
use std::fs;

use hawser_model::knob::{Scope, Side, Standing};
use tempfile::TempDir;

use super::*;
use crate::journal::tests::ours;

mod rules;

/// A host with these files, and the programs of rules; `eth0` has index 2.
fn host(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let place = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    place("sys/class/net/eth0/ifindex", "2\n");
    place("etc/sysctl.d/README", "");
    place("usr/sbin/ethtool", "");
    place("sbin/tc", "");
    for (path, text) in files {
        place(path, text);
    }
    root
}

fn change(knob: Knob, after: &str) -> Change {
    Change {
        number: 1,
        knob,
        scope: Scope::Interface,
        before: "old".to_owned(),
        after: after.to_owned(),
        standing: Standing::Kept,
        persisted_in: None,
        not_persisted: None,
        together: Vec::new(),
    }
}

fn mtu() -> Change {
    change(
        Knob::Mtu {
            interface: "eth0".into(),
        },
        "9000",
    )
}

fn ring() -> Change {
    change(
        Knob::Ring {
            interface: "eth0".into(),
            side: Side::Rx,
        },
        "4096",
    )
}

/// The file below the root, or the words.
fn planned(root: &TempDir, change: &Change) -> Result<String, String> {
    let path = plan(root.path(), change, ours())?;
    Ok(path
        .strip_prefix(root.path())
        .unwrap()
        .display()
        .to_string())
}

/// What is written there for this one change, without the header.
fn written(root: &TempDir, change: &Change) -> String {
    let path = plan(root.path(), change, ours()).unwrap();
    write(&path, [change].into_iter(), &BTreeSet::new(), ours()).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(owned::is_ours(&path, ours()) && text.starts_with("# Written by `hawser tune`"));
    write(&path, std::iter::empty(), &BTreeSet::new(), ours()).unwrap();
    assert!(!path.exists(), "undone");
    let (_, text) = text.split_once("# change 1; was old\n").unwrap();
    text.to_owned()
}

const UDEV: (&str, &str) = ("run/udev/data/n2", "E:ID_BUS=pci\n");
const RULES: &str = "etc/udev/rules.d/90-hawser-eth0.rules";

#[test]
fn networkd_gets_the_mtu_and_udev_the_rest() {
    let link = "ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/10-eth0.network\n";
    let network = "[Match]\nName=eth0\n[Network]\nDHCP=yes\n";
    let alone = [
        UDEV,
        ("run/systemd/netif/links/2", link),
        ("etc/systemd/network/10-eth0.network", network),
    ];
    let root = host(&alone);
    let drop_in = "etc/systemd/network/10-eth0.network.d/60-hawser.conf";
    assert_eq!(planned(&root, &mtu()).as_deref(), Ok(drop_in));
    assert_eq!(written(&root, &mtu()), "[Link]\nMTUBytes=9000\n");
    assert!(
        !root
            .path()
            .join("etc/systemd/network/10-eth0.network.d")
            .exists()
    );
    assert_eq!(planned(&root, &ring()).as_deref(), Ok(RULES));

    let mut shared = alone.to_vec();
    shared.push(("run/systemd/netif/links/3", link));
    assert_eq!(
        planned(&host(&shared), &mtu()).as_deref(),
        Ok(RULES),
        "not for eth1 too"
    );

    let mut own = alone.to_vec();
    own.push((
        "usr/lib/systemd/network/10-eth0.network.d/site.conf",
        "[Link]\nMTUBytes=1500\n",
    ));
    let why = planned(&host(&own), &mtu()).unwrap_err();
    assert!(why.contains("site.conf:2 (`MTUBytes=1500`)"), "{why}");

    let unmanaged = link.replace("configured", "unmanaged");
    let root = host(&[UDEV, ("run/systemd/netif/links/2", &unmanaged)]);
    assert_eq!(planned(&root, &mtu()).as_deref(), Ok(RULES));
}

#[test]
fn network_manager_gets_a_default_that_a_profile_may_not_contradict() {
    let state = ("run/NetworkManager/devices/2", "[device]\nmanaged=true\n");
    let root = host(&[UDEV, state]);
    let conf = "etc/NetworkManager/conf.d/60-hawser-eth0.conf";
    assert_eq!(planned(&root, &mtu()).as_deref(), Ok(conf));
    assert_eq!(
        written(&root, &mtu()),
        "[connection-hawser-eth0]\nmatch-device=interface-name:eth0\nethernet.mtu=9000\n"
    );
    assert_eq!(planned(&root, &ring()).as_deref(), Ok(RULES));
    let profile = "[connection]\ninterface-name=eth0\n[ethernet]\nmtu=1500\n";
    let path = "etc/NetworkManager/system-connections/eth0.nmconnection";
    let why = planned(&host(&[UDEV, state, (path, profile)]), &mtu()).unwrap_err();
    assert!(why.contains("eth0.nmconnection:4"), "{why}");
    let others = profile.replace("eth0", "eth1");
    assert!(planned(&host(&[UDEV, state, (path, &others)]), &mtu()).is_ok());
    let snooping = Knob::Bridge {
        bridge: "eth0".into(),
        setting: "multicast_querier".into(),
    };
    assert!(
        planned(&root, &change(snooping, "1"))
            .unwrap_err()
            .contains("nmcli")
    );
    // Somebody else configures it, as NetworkManager 1.42 has it then: it applies none of its defaults (seen).
    let external = [
        UDEV,
        (
            "run/NetworkManager/devices/2",
            "[device]\nmanaged=true\nconnection-uuid=7214a283\n",
        ),
        (
            "run/NetworkManager/system-connections/eth0.nmconnection",
            "[connection]\nuuid=7214a283\ninterface-name=eth0\n[.nmmeta]\nnm-generated=true\nexternal=true\n",
        ),
    ];
    assert_eq!(planned(&host(&external), &mtu()).as_deref(), Ok(RULES));
    let released = ("run/NetworkManager/devices/2", "[device]\nmanaged=false\n");
    assert_eq!(
        planned(&host(&[UDEV, released]), &mtu()).as_deref(),
        Ok(RULES)
    );
}

#[test]
fn ifupdown_keeps_what_its_stanza_says_and_udev_the_rest() {
    let path = "etc/network/interfaces";
    let stanza = "auto eth0\niface eth0 inet dhcp\n  mtu 1500\n\nauto eth1\niface eth1 inet manual\n  \
                  up ethtool -G eth1 rx 512\n";
    let root = host(&[UDEV, (path, stanza)]);
    let why = planned(&root, &mtu()).unwrap_err();
    assert!(
        why.contains("ifupdown sets it by") && why.contains("interfaces:3"),
        "{why}"
    );
    assert_eq!(
        planned(&root, &ring()).as_deref(),
        Ok(RULES),
        "that line is eth1's"
    );
    let why = planned(&host(&[(path, "iface eth0 inet manual\n")]), &mtu()).unwrap_err();
    assert!(why.starts_with("udev does not know eth0"), "{why}");
}

#[test]
fn a_file_of_somebody_else_is_never_touched() {
    let root = host(&[UDEV, (RULES, "# mine\n")]);
    let why = planned(&root, &mtu()).unwrap_err();
    assert!(why.contains("is not Hawser's own"), "{why}");
    let path = root.path().join(RULES);
    assert!(write(&path, [&mtu()].into_iter(), &BTreeSet::new(), ours()).is_err());
    assert_eq!(fs::read_to_string(path).unwrap(), "# mine\n");
    let strange = change(
        Knob::Mtu {
            interface: "eth0\"".into(),
        },
        "9000",
    );
    assert!(
        planned(&root, &strange)
            .unwrap_err()
            .contains("does not go into")
    );
}

#[test]
fn a_later_sysctl_of_any_folder_overrides_and_a_masked_or_equal_one_does_not() {
    let knob = |name: &str| change(Knob::Sysctl { name: name.into() }, "1 2 3");
    let of = |files: &[(&str, &str)]| planned(&host(files), &knob("net.ipv4.conf.eth0.x"));
    assert_eq!(of(&[]).as_deref(), Ok("etc/sysctl.d/60-hawser.conf"));
    for late in [
        "usr/lib/sysctl.d/70-a.conf",
        "run/sysctl.d/99-a.conf",
        "etc/sysctl.conf",
    ] {
        let why = of(&[(late, "\n- net/ipv4/conf/*/x = 7\n")]).unwrap_err();
        assert!(why.contains(&format!("{late}:2 is read later")), "{why}");
        assert!(
            of(&[(late, "net.ipv4.conf.eth0.x = 1\t2 3\n")]).is_ok(),
            "the same"
        );
        assert!(
            of(&[(late, "# net.ipv4.conf.eth0.x = 7\n")]).is_ok(),
            "a comment"
        );
    }
    assert!(
        of(&[("usr/lib/sysctl.d/50-a.conf", "net.ipv4.conf.eth0.x=7\n")]).is_ok(),
        "earlier"
    );
    let masked = [
        ("usr/lib/sysctl.d/70-a.conf", "net.ipv4.conf.eth0.x=7\n"),
        ("etc/sysctl.d/70-a.conf", ""),
    ];
    assert!(of(&masked).is_ok(), "the one in /etc counts");
}

#[test]
fn threads_of_receivers_that_come_with_the_link_do_not_last() {
    let knob = Knob::ThreadedNapi {
        interface: "eth0".into(),
    };
    let of = |driver: &str| {
        let root = host(&[UDEV]);
        let device = root.path().join("sys/class/net/eth0/device");
        fs::create_dir_all(&device).unwrap();
        std::os::unix::fs::symlink(
            format!("../../bus/pci/drivers/{driver}"),
            device.join("driver"),
        )
        .unwrap();
        planned(&root, &change(knob.clone(), "1"))
    };
    assert_eq!(
        of("igb").as_deref(),
        Ok("etc/udev/rules.d/90-hawser-eth0.rules")
    );
    let why = of("mlx5_core").unwrap_err();
    assert!(
        why.contains("(mlx5_core) may have no receivers yet"),
        "{why}"
    );
}

#[test]
fn a_sysctl_of_a_module_that_comes_late_does_not_last() {
    let knob = Knob::Sysctl {
        name: "net.netfilter.nf_conntrack_max".into(),
    };
    let of = |files: &[(&str, &str)]| planned(&host(files), &change(knob.clone(), "800"));
    let dep = (
        "lib/modules/6.1/modules.dep",
        "kernel/net/netfilter/nf_conntrack.ko.xz: kernel/a.ko\n",
    );
    let why = of(&[dep]).unwrap_err();
    assert!(why.contains("/etc/modules-load.d"), "{why}");
    for list in ["etc/modules", "usr/lib/modules-load.d/filter.conf"] {
        assert!(of(&[dep, (list, "# first\n nf-conntrack hashsize=9\n")]).is_ok());
    }
    assert!(of(&[]).is_ok(), "built in");
    // Its other name.
    let why = of(&[("etc/sysctl.conf", "net.nf_conntrack_max=7\n")]).unwrap_err();
    assert!(why.contains("etc/sysctl.conf:1"), "{why}");
}

#[test]
fn a_module_that_is_loaded_gets_its_options_and_an_interrupt_nothing() {
    let parameter = |module: &str| {
        let parameter = "napi_weight".to_owned();
        change(
            Knob::ModuleParameter {
                module: module.into(),
                parameter,
            },
            "32",
        )
    };
    let dep = (
        "lib/modules/6.1/modules.dep",
        "kernel/net/virtio-net.ko.xz: kernel/a.ko\n",
    );
    let etc = ("etc/modprobe.d/other.conf", "options other a=1\n");
    let root = host(&[dep, etc]);
    assert_eq!(
        planned(&root, &parameter("virtio_net")).as_deref(),
        Ok("etc/modprobe.d/60-hawser.conf")
    );
    assert_eq!(
        written(&root, &parameter("virtio_net")),
        "options virtio_net napi_weight=32\n"
    );
    assert!(
        planned(&root, &parameter("tcp"))
            .unwrap_err()
            .contains("built into the kernel")
    );
    let late = (
        "etc/modprobe.d/zz.conf",
        "options virtio-net napi_weight=64\n",
    );
    let why = planned(&host(&[dep, late]), &parameter("virtio_net")).unwrap_err();
    assert!(why.contains("zz.conf:1"), "{why}");
    let interrupt = change(Knob::InterruptAffinity { interrupt: 3 }, "0");
    assert!(
        planned(&root, &interrupt)
            .unwrap_err()
            .contains("another number")
    );
}
