//! What this machine has of storage that lies elsewhere, as its kernel and multipathd tell it.

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use hawser_model::client::{ClientFacts, IscsiSession, MultipathMap, NfsMount, Wait};
use hawser_model::mountinfo::{self, Mounted};

use super::{multipath, names, text};
use crate::program;

/// multipathd answers at once, or waits for a lock that it holds itself.
const MULTIPATHD: Duration = Duration::from_secs(5);

/// The longest that a call over TCP waits before the server counts as gone, in tenths of a second (`xs_tcp_default_timeout`
/// and `NFS_MAX_TCP_TIMEOUT` of the kernel: 600 s).
const LONGEST_CALL: u64 = 6000;

/// What this machine has of storage that lies elsewhere.
pub fn storage_client() -> ClientFacts {
    let multipathd = |words: &[&str]| program::run("multipathd", words, MULTIPATHD).ok();
    look(Path::new("/"), &multipathd)
}

/// Reads what is below `root`, which is `/` but for tests. `multipathd`: its answer to these words.
fn look(root: &Path, multipathd: &dyn Fn(&[&str]) -> Option<String>) -> ClientFacts {
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    ClientFacts {
        sessions: sessions(root),
        maps: maps(root, multipathd),
        mounts: mountinfo::mounted(&mounts).filter_map(mount).collect(),
    }
}

fn sessions(root: &Path) -> Vec<IscsiSession> {
    let classes = root.join("sys/class/iscsi_session");
    let number = |name: String| name.strip_prefix("session")?.parse::<u32>().ok();
    let mut numbers: Vec<u32> = names(&classes).filter_map(number).collect();
    numbers.sort_unstable();
    let of = |number: u32| {
        let session = classes.join(format!("session{number}"));
        let connection = format!("sys/class/iscsi_connection/connection{number}:0");
        let connection = root.join(connection);
        let address = |name| text(&connection.join(name))?.parse::<IpAddr>().ok();
        let seconds = |name| text(&connection.join(name))?.parse::<u32>().ok();
        Some(IscsiSession {
            target: text(&session.join("targetname"))?,
            address: address("persistent_address").or_else(|| address("address")),
            state: text(&session.join("state")).unwrap_or_default(),
            recovery: text(&session.join("recovery_tmo")).and_then(|it| recovery(&it)),
            // An interval of 0: it does not ask.
            notices_s: seconds("recv_tmo")
                .filter(|interval| *interval > 0)
                .and_then(|interval| interval.checked_add(seconds("ping_tmo")?)),
            disks: disks(&session.join("device")),
        })
    };
    numbers.into_iter().filter_map(of).collect()
}

/// `off` is what the kernel prints of a negative number (`iscsi_session_attr_show` in scsi_transport_iscsi.c).
fn recovery(text: &str) -> Option<Wait> {
    match text {
        "off" => Some(Wait::Forever),
        _ => text.parse::<u32>().ok().map(|it| Wait::Seconds(it.into())),
    }
}

/// The disks of a session: `targetH:C:T/H:C:T:L/block/sda`.
fn disks(device: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for target in names(device).filter(|name| name.starts_with("target")) {
        let target = device.join(target);
        for unit in names(&target) {
            found.extend(names(&target.join(unit).join("block")));
        }
    }
    found.sort();
    found
}

fn maps(root: &Path, multipathd: &dyn Fn(&[&str]) -> Option<String>) -> Vec<MultipathMap> {
    let mut found: Vec<MultipathMap> = multipath::maps(root)
        .into_values()
        .map(|map| MultipathMap {
            name: map.name,
            disks: map.paths.into_keys().collect(),
            without_path: None,
        })
        .collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    if found.is_empty() {
        return found;
    }
    let told = multipathd(&["show", "maps", "raw", "format", "%n|%Q"]).unwrap_or_default();
    let interval = multipathd(&["show", "config", "local"]).and_then(|it| polling_interval(&it));
    for map in &mut found {
        let mut lines = told.lines().filter_map(|line| line.rsplit_once('|'));
        let queueing = lines.find(|(name, _)| *name == map.name);
        map.without_path = queueing.and_then(|(_, it)| without_path(it, interval));
    }
    found
}

/// Seconds between two looks of multipathd's, of its `defaults`.
fn polling_interval(config: &str) -> Option<u32> {
    let mut lines = config.lines().map(str::split_whitespace);
    lines.find_map(|mut words| match words.next() {
        Some("polling_interval") => words.next()?.trim_matches('"').parse().ok(),
        _ => None,
    })
}

/// `snprint_queueing` of libmultipath's print.c; `sec` is what is left of a wait that runs.
fn without_path(queueing: &str, interval: Option<u32>) -> Option<Wait> {
    match queueing.trim() {
        "off" => Some(Wait::Seconds(0.0)),
        "on" => Some(Wait::Forever),
        text => {
            let looks: u32 = text.strip_suffix(" chk")?.parse().ok()?;
            Some(Wait::Seconds(f64::from(looks) * f64::from(interval?)))
        }
    }
}

/// What is mounted, if it is by NFS from a server whose address it tells.
fn mount(mounted: Mounted<'_>) -> Option<NfsMount> {
    let options = mounted.options;
    if !matches!(mounted.fstype, "nfs" | "nfs4") {
        return None;
    }
    let option = |name: &str| {
        options.split(',').find_map(|one| {
            let (key, value) = one.split_once('=')?;
            (key == name).then_some(value)
        })
    };
    let number = |name: &str| option(name)?.parse::<u64>().ok();
    let has = |flag: &str| options.split(',').any(|one| one == flag);
    let wait = match has("soft") || has("softerr") {
        false => Wait::Forever,
        true => {
            let timeout = number("timeo")?;
            let calls = number("retrans")?.checked_add(1)?;
            let tenths = timeout.checked_mul(calls)?.min(LONGEST_CALL);
            Wait::Seconds(tenths as f64 / 10.0)
        }
    };
    Some(NfsMount {
        server: option("addr")?.parse().ok()?,
        source: mounted.source,
        version: option("vers").map(str::to_owned),
        directory: mounted.place,
        wait,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// As a machine with Debian 12 shows it (open-iscsi 2.1.8, multipath-tools 0.9.4, Linux 6.1).
    fn client(root: &Path) {
        for (number, address, disk) in [(1, "10.72.1.1", "sda"), (2, "fd00::1", "sdb")] {
            let session = format!("/sys/class/iscsi_session/session{number}");
            put(
                root,
                &format!("{session}/targetname"),
                "iqn.2026-01.lab:tank\n",
            );
            put(root, &format!("{session}/state"), "LOGGED_IN\n");
            put(root, &format!("{session}/recovery_tmo"), "5\n");
            let disk = format!("{session}/device/target0:0:0/0:0:0:1/block/{disk}/size");
            put(root, &disk, "1\n");
            let connection = format!("/sys/class/iscsi_connection/connection{number}:0");
            put(
                root,
                &format!("{connection}/persistent_address"),
                &format!("{address}\n"),
            );
            put(root, &format!("{connection}/recv_tmo"), "5\n");
            put(root, &format!("{connection}/ping_tmo"), "5\n");
            put(
                root,
                &format!("/sys/block/dm-0/slaves/{}", ["", "sda", "sdb"][number]),
                "",
            );
        }
        put(
            root,
            "/sys/block/dm-0/dm/uuid",
            "mpath-36001405f4f5fc09b3e10e604f2b0ae29\n",
        );
        put(root, "/sys/block/dm-0/dm/name", "mpatha\n");
        put(root, "/sys/block/dm-1/dm/uuid", "LVM-x\n");
        put(root, "/sys/block/dm-1/dm/name", "vg-lv\n");
        put(
            root,
            "/proc/self/mountinfo",
            "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
             40 22 0:40 / /mnt/a\\040b rw,relatime - nfs4 10.72.2.207:/tank/vm rw,vers=4.2,hard,proto=tcp,timeo=600,retrans=2,addr=10.72.2.207\n\
             41 22 0:41 / /mnt/soft rw - nfs 10.72.2.208:/tank rw,vers=3,soft,proto=tcp,timeo=50,retrans=2,mountaddr=10.72.2.9,addr=10.72.2.208\n\
             42 22 0:42 / /mnt/odd rw - nfs heads:/tank rw,soft,addr=heads\n",
        );
    }

    fn said(words: &[&str]) -> Option<String> {
        Some(match words[1] {
            "maps" => "mpathb|off\nmpatha|12 chk\n".to_owned(),
            _ => "defaults {\n\tverbosity 2\n\tpolling_interval 5\n\tmax_polling_interval 20\n}\n"
                .to_owned(),
        })
    }

    #[test]
    fn sessions_maps_and_mounts_are_read_as_the_kernel_and_multipathd_tell_them() {
        let root = tempfile::tempdir().unwrap();
        client(root.path());
        let facts = look(root.path(), &said);
        let session = |address: &str, disk: &str| IscsiSession {
            target: "iqn.2026-01.lab:tank".into(),
            address: address.parse().ok(),
            state: "LOGGED_IN".into(),
            recovery: Some(Wait::Seconds(5.0)),
            notices_s: Some(10),
            disks: vec![disk.into()],
        };
        assert_eq!(
            facts.sessions,
            [session("10.72.1.1", "sda"), session("fd00::1", "sdb")]
        );
        let map = MultipathMap {
            name: "mpatha".into(),
            disks: vec!["sda".into(), "sdb".into()],
            without_path: Some(Wait::Seconds(60.0)),
        };
        assert_eq!(facts.maps, [map]);
        let mounts: Vec<(&str, &str, Wait)> = facts
            .mounts
            .iter()
            .map(|it| {
                (
                    it.directory.as_str(),
                    it.version.as_deref().unwrap(),
                    it.wait,
                )
            })
            .collect();
        assert_eq!(
            mounts,
            [
                ("/mnt/a b", "4.2", Wait::Forever),
                ("/mnt/soft", "3", Wait::Seconds(15.0))
            ]
        );
    }

    #[test]
    fn what_is_not_told_is_not_known() {
        let root = tempfile::tempdir().unwrap();
        client(root.path());
        put(
            root.path(),
            "/sys/class/iscsi_session/session1/recovery_tmo",
            "off\n",
        );
        put(
            root.path(),
            "/sys/class/iscsi_session/session2/recovery_tmo",
            "soon\n",
        );
        put(
            root.path(),
            "/sys/class/iscsi_connection/connection1:0/recv_tmo",
            "0\n",
        );
        put(
            root.path(),
            "/sys/class/iscsi_connection/connection2:0/persistent_address",
            "a.b\n",
        );
        let facts = look(root.path(), &|_| None);
        assert_eq!(facts.maps[0].without_path, None);
        let [one, other] = &facts.sessions[..] else {
            panic!("{facts:?}")
        };
        assert_eq!((one.recovery, one.notices_s), (Some(Wait::Forever), None));
        assert_eq!((other.recovery, other.address), (None, None));
        assert_eq!(look(Path::new("/nowhere"), &said), ClientFacts::default());
    }

    #[test]
    fn a_map_waits_as_multipathd_says() {
        let of = |text| without_path(text, Some(5));
        assert_eq!(of("off"), Some(Wait::Seconds(0.0)));
        assert_eq!(of("on"), Some(Wait::Forever));
        assert_eq!(of("12 chk"), Some(Wait::Seconds(60.0)));
        assert_eq!(without_path("12 chk", None), None);
        for unknown in ["-", "12 sec", "", "x chk"] {
            assert_eq!(of(unknown), None, "{unknown}");
        }
    }
}
