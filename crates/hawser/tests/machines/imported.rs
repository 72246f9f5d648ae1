//! The cluster that this project began from: its own files are imported, and what comes of them serves.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::cluster::{held_with, whole};
use crate::has_images;
use crate::support::verbs::{active_on, ok};
use crate::support::{Lab, run};

/// What the import leaves to a person: where the disks of each pool are. And what a lab has in place of hardware: BMCs that
/// speak an older cipher suite, and machines to which two minutes are nothing.
fn fitted(text: &str) -> String {
    let mut shelf = 0;
    let lines = text.lines().map(|line| match line {
        "import_options = \"-d /dev/disk/by-id\"" => {
            shelf += 1;
            format!(
                "import_options = \"-d /dev/disk/by-id/ubd-shelf1-{shelf} -d /dev/disk/by-id/ubd-shelf2-{shelf}\""
            )
        }
        "timeouts = { start = \"90s\", stop = \"90s\" }" => {
            "timeouts = { start = \"300s\", stop = \"300s\", monitor = \"600s\" }".to_owned()
        }
        line if line.starts_with("[node.bmc]") => format!("{line}\ncipher = 3\npower_wait = \"0s\""),
        line => line.to_owned(),
    });
    let lines: Vec<String> = lines.collect();
    assert_eq!(shelf, 2, "{text}");
    lines.join("\n") + "\n"
}

#[test]
#[ignore = "boots machines"]
fn the_original_s_files_become_a_cluster_that_serves_the_same_disks() {
    if !has_images() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("appliance");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/heartbeat");
    let of = |name: &str| example.join(name).display().to_string();
    let imported = run(&[
        "import",
        &of("ha.cf"),
        &of("authkeys"),
        &format!("crm:{}", of("crm.txt")),
        &format!("zfs-get:{}", of("zfs-get.txt")),
        &of("vmpool01/stmf-ha.conf"),
        &of("vmpool02/stmf-ha.conf"),
        "--interfaces",
        &format!("head1={}", of("head1.addresses")),
        "--interfaces",
        &format!("head2={}", of("head2.addresses")),
        "--to",
        &to.display().to_string(),
    ]);
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    let file = to.join("hawser.toml");
    let text = fs::read_to_string(&file).expect("the cluster file");
    fs::write(&file, fitted(&text)).expect("written");
    let file = file.display().to_string();
    let lab = Lab::up_with(&["--machines", "--cluster", "--file", &file]);
    let status = whole(&lab);
    assert_eq!(active_on(&status, "vmpool01"), "head1");
    assert_eq!(active_on(&status, "vmpool02"), "head2");

    // The volumes, as they would come with the pools.
    for (head, pool, volumes) in [
        ("head1", "vmpool01", &["vm/disk1", "vm/disk2"][..]),
        ("head2", "vmpool02", &["mail"]),
    ] {
        for volume in volumes {
            lab.sh(head, &format!("zfs create -p -V 32M {pool}/{volume}"));
        }
        let exports = fs::read_to_string(to.join(pool).join("exports.toml"));
        let exports = exports.expect("what the pool offers");
        lab.sh(
            head,
            &format!("udevadm settle\ncat >/{pool}/exports.toml <<'END'\n{exports}END\nhawser exports start {pool}"),
        );
    }
    assert!(ok(&lab, "plan", &[]).contains("0 changes"));

    // A host of the group that may have the virtual machines' disks, and one that may not.
    let seen = |initiator: &str| {
        lab.sh(
            "client1",
            &format!(
                "echo InitiatorName={initiator} >/etc/iscsi/initiatorname.iscsi
                 modprobe iscsi_tcp; systemctl restart iscsid
                 for address in 192.168.141.207 192.168.141.208; do
                   iscsiadm -m discovery -t sendtargets -p $address >/dev/null
                 done
                 iscsiadm -m node --login >/dev/null 2>&1
                 udevadm settle
                 cd /sys/bus/scsi/devices
                 for disk in *:*:*:*; do
                   [ \"$(cat $disk/vendor)\" = 'LIO-ORG ' ] || continue
                   echo ${{disk##*:}} $(cat $disk/wwid) $(cat $disk/block/*/queue/logical_block_size)
                 done | sort -u
                 iscsiadm -m node --logout >/dev/null 2>&1
                 iscsiadm -m node -o delete"
            ),
        )
    };
    let mail = "0 naa.600144f0c73abf0f0000526c0a1d0003 4096\n";
    let of_the_group = format!(
        "0 naa.600144f0c73abf0f0000526c0a1d0001 512\n{mail}1 naa.600144f0c73abf0f0000526c0a1d0002 512\n"
    );
    let member = "iqn.1998-01.com.vmware:host1-01234567";
    assert_eq!(seen(member), of_the_group);
    assert_eq!(seen("iqn.1998-01.com.vmware:host3-stranger"), mail);

    // head1 loses its power, stays off until somebody has looked at it, and its pool goes back when it is there again.
    let target = "iqn.2010-08.org.illumos:stmf-ha:vmpool01";
    let as_member = [
        "--pool",
        "vmpool01",
        "--target",
        target,
        "--initiator",
        member,
    ];
    held_with(&lab, "power-cut", json!(["head1"]), &as_member);
    assert_eq!(seen(member), of_the_group);
    let status = whole(&lab);
    assert_eq!(active_on(&status, "vmpool01"), "head1", "failback");
}
