//! What gives a head a pool at its boot behind the cluster's back, planted one after the other: unguarded it does so, while
//! another head has the pool where nothing hinders that; `plan` names it and what ends it, `apply` refuses; once that is done,
//! no boot of a head gives it a pool. A head loses its power here, as one that is fenced does.

use crate::support::Lab;
use crate::support::verbs::verb;
use crate::{example, has_images};

/// Boots without a pool in a row, once nothing is planted any more.
const QUIET_BOOTS: usize = 10;

/// A lab whose cluster is not set up yet: what a head does here, it does by itself.
fn bare(file: &str) -> Lab {
    Lab::up_with(&[
        "--machines",
        "--cluster",
        "--bare",
        "--file",
        &example(file),
    ])
}

fn boot(lab: &Lab, head: &str) {
    lab.ok(&["power", "cut", head]);
    lab.ok(&["power", "on", head]);
}

/// What `plan` says. The whole cluster is yet to be built: without a danger it can be.
#[track_caller]
fn planned(lab: &Lab, is_planted: bool) -> String {
    let ran = verb(lab, "plan", &[]);
    let code = Some(i32::from(is_planted));
    assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    ran.stdout
}

/// What `plan` says of what is planted, which `apply` refuses to build on.
#[track_caller]
fn refused(lab: &Lab, named: &[&str]) {
    let said = planned(lab, true);
    for one in named {
        assert!(said.contains(one), "{one}: {said}");
    }
    let applied = verb(lab, "apply", &["--yes"]);
    assert_eq!(applied.code, Some(2), "{}", applied.stdout);
    assert!(
        applied
            .stderr
            .contains("nothing was changed; fix this first"),
        "{}",
        applied.stderr
    );
}

/// Runs the command that `plan` names.
#[track_caller]
fn follow(lab: &Lab, head: &str, command: &str) {
    let said = planned(lab, true);
    assert!(said.contains(&format!("`{command}`")), "{said}");
    lab.sh(head, command);
}

/// Waits for no pool to be named as one that a boot would give to a head.
#[track_caller]
fn nothing_is_planted(lab: &Lab) {
    let said = planned(lab, false);
    assert!(!said.contains("at its next boot"), "{said}");
}

/// The pools of ZFS that a head has.
fn zpools(lab: &Lab, head: &str) -> String {
    lab.sh(head, "zpool list -H -o name")
}

#[test]
#[ignore = "boots machines"]
fn a_boot_imports_no_pool_of_zfs_once_what_plan_names_is_gone() {
    if !has_images() {
        return;
    }
    let lab = bare("machines-zfs.toml");
    let import = "zpool import -f -d /dev/disk/by-id -o";
    let taken = |head: &str| lab.sh(head, &format!("{import} cachefile=none vmpool01"));
    nothing_is_planted(&lab);

    // A cache file that names the pool.
    let cached = format!("{import} cachefile=/etc/zfs/zpool.cache vmpool01; sync");
    let by_cache = "zfs-import-cache.service imports what /etc/zfs/zpool.cache names";
    lab.sh("head1", &cached);
    refused(
        &lab,
        &["head1 will import vmpool01 at its next boot", by_cache],
    );
    boot(&lab, "head1");
    assert_eq!(zpools(&lab, "head1"), "vmpool01\n", "its cache names it");
    follow(&lab, "head1", "zpool set cachefile=none vmpool01");
    nothing_is_planted(&lab);
    boot(&lab, "head1");
    assert_eq!(zpools(&lab, "head1"), "");

    // Whatever is seen is imported.
    lab.sh("head1", "systemctl enable zfs-import-scan.service; sync");
    refused(&lab, &["head1 will import every pool that it sees"]);
    boot(&lab, "head1");
    assert_eq!(zpools(&lab, "head1"), "vmpool01\nvmpool02\n");
    follow(&lab, "head1", "systemctl disable zfs-import-scan.service");
    nothing_is_planted(&lab);
    boot(&lab, "head1");
    assert_eq!(zpools(&lab, "head1"), "");

    // A unit of the pool's own, as Proxmox makes them.
    lab.sh(
        "head1",
        "cat >/etc/systemd/system/zfs-import@.service <<'END'\n\
         [Unit]\n\
         DefaultDependencies=no\n\
         After=systemd-udev-settle.service zfs-load-module.service\n\
         Before=zfs-import.target\n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         ExecStart=/sbin/zpool import -N -d /dev/disk/by-id -o cachefile=none %I\n\
         [Install]\n\
         WantedBy=zfs-import.target\n\
         END\n\
         systemctl enable zfs-import@vmpool01.service; sync",
    );
    refused(&lab, &["zfs-import@vmpool01.service is enabled"]);
    boot(&lab, "head1");
    assert_eq!(zpools(&lab, "head1"), "vmpool01\n");
    follow(
        &lab,
        "head1",
        "systemctl disable zfs-import@vmpool01.service",
    );
    nothing_is_planted(&lab);

    // Another head has taken the pool over meanwhile. Host IDs of their own are a guard, although the cache names it.
    lab.sh(
        "head1",
        "zpool set cachefile=/etc/zfs/zpool.cache vmpool01; sync",
    );
    lab.ok(&["power", "cut", "head1"]);
    taken("head2");
    lab.ok(&["power", "on", "head1"]);
    assert_eq!(zpools(&lab, "head1"), "", "head2 has it");
    lab.sh("head2", "zpool export vmpool01");

    // With one host ID both have it: this is how a pool is destroyed.
    let hostid = lab.sh("head1", "hostid");
    lab.sh("head2", &format!("zgenhostid -f {}; sync", hostid.trim()));
    boot(&lab, "head2");
    refused(&lab, &["head1 and head2 have the same host ID", by_cache]);
    lab.sh("head1", &cached);
    lab.ok(&["power", "cut", "head1"]);
    taken("head2");
    lab.ok(&["power", "on", "head1"]);
    assert_eq!(
        (zpools(&lab, "head1"), zpools(&lab, "head2")),
        ("vmpool01\n".to_owned(), "vmpool01\n".to_owned())
    );
    // Two heads have written to it: what is on it now is not looked at any more.
    follow(&lab, "head1", "rm /etc/zfs/zpool.cache");
    lab.sh("head1", "sync");
    lab.ok(&["power", "cut", "head1"]);
    lab.sh("head2", "zpool export vmpool01");
    lab.ok(&["power", "on", "head1"]);
    follow(&lab, "head2", "zgenhostid -f");
    lab.sh("head2", "sync");
    boot(&lab, "head2");
    nothing_is_planted(&lab);
    for _ in 0..QUIET_BOOTS / 2 {
        for head in ["head1", "head2"] {
            boot(&lab, head);
            assert_eq!(zpools(&lab, head), "", "{head}");
        }
    }
}

#[test]
#[ignore = "boots machines"]
fn a_boot_mounts_exports_and_offers_no_pool_once_what_plan_names_is_gone() {
    if !has_images() {
        return;
    }
    let lab = bare("machines.toml");
    nothing_is_planted(&lab);
    lab.sh(
        "head1",
        "set -e; mkdir -p /srv/vmpool01\n\
         echo '/dev/disk/by-id/ubd-vmpool01 /srv/vmpool01 ext4 defaults,nofail 0 0' >>/etc/fstab\n\
         echo '/srv/vmpool01 *(rw)' >>/etc/exports; systemctl enable nfs-server.service\n\
         targetcli /backstores/block create name=unit dev=/dev/disk/by-id/ubd-vmpool02\n\
         targetcli saveconfig; systemctl enable rtslib-fb-targetctl.service; sync",
    );
    let wrong = [
        "head1 will mount vmpool01 at its next boot",
        "/etc/fstab mounts /dev/disk/by-id/ubd-vmpool01 at /srv/vmpool01",
        "head1 will offer /srv/vmpool01 of vmpool01 at its next boot",
        "nfs-server.service reads /etc/exports",
        "head1 will offer /dev/disk/by-id/ubd-vmpool02 of vmpool02 at its next boot",
        "rtslib-fb-targetctl.service reads /etc/rtslib-fb-target/saveconfig.json",
    ];
    refused(&lab, &wrong);
    // The other head takes both over.
    lab.ok(&["power", "cut", "head1"]);
    for pool in ["vmpool01", "vmpool02"] {
        let mount = format!("mkdir -p /srv/{pool} && mount /dev/disk/by-id/ubd-{pool} /srv/{pool}");
        lab.sh("head2", &mount);
    }
    lab.ok(&["power", "on", "head1"]);
    let mounted = || lab.sh("head1", "findmnt -rno TARGET /srv/vmpool01 || true");
    let exported = || lab.sh("head1", "exportfs -s");
    let offered = || {
        lab.sh(
            "head1",
            "ls /sys/kernel/config/target/core/*/unit/udev_path 2>/dev/null || true",
        )
    };
    assert_eq!(mounted(), "/srv/vmpool01\n");
    assert!(exported().contains("/srv/vmpool01"), "{}", exported());
    assert!(offered().contains("/unit/"), "{}", offered());

    lab.ok(&["power", "cut", "head1"]);
    lab.sh("head2", "umount /srv/vmpool01 /srv/vmpool02");
    lab.ok(&["power", "on", "head1"]);
    lab.sh("head1", "sed -i '/vmpool01/d' /etc/fstab /etc/exports");
    lab.sh(
        "head1",
        "targetcli /backstores/block delete unit && targetcli saveconfig; sync",
    );
    nothing_is_planted(&lab);
    for _ in 0..QUIET_BOOTS {
        boot(&lab, "head1");
        assert_eq!((mounted(), exported(), offered()), Default::default());
    }
}

#[test]
#[ignore = "boots machines"]
fn a_boot_activates_no_volume_group_once_what_plan_names_is_gone() {
    if !has_images() {
        return;
    }
    let lab = bare("machines-lvm.toml");
    nothing_is_planted(&lab);
    let active = |head: &str| {
        lab.sh(
            head,
            "lvs --noheadings -o vg_name -S lv_active=active | sort -u",
        )
    };
    // Nobody's group: it has no system ID, and the heads do not look at any.
    lab.sh("head1", "vgchange -y --systemid '' vg01");
    for head in ["head1", "head2"] {
        lab.sh(head, "mv /etc/lvm/lvmlocal.conf /root/; sync");
    }
    refused(&lab, &["activate volume group vg01 at its next boot"]);
    for head in ["head1", "head2"] {
        boot(&lab, head);
        assert_eq!(active(head).trim(), "vg01", "{head}");
    }
    for head in ["head1", "head2"] {
        lab.sh(
            head,
            "vgchange -an vg01; mv /root/lvmlocal.conf /etc/lvm/; sync",
        );
    }
    lab.sh("head1", "vgchange -y --systemid head1 vg01");
    nothing_is_planted(&lab);
    for _ in 0..QUIET_BOOTS {
        boot(&lab, "head2");
        assert_eq!(active("head2"), "");
    }
}
