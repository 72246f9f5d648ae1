//! What a pool stands on: its groups and devices as ZFS has them, or the device that the file names, and the disks by which the
//! head reaches each.

use hawser_model::cluster_file::{Pool, PoolKind};
use hawser_model::output::live::{Light, LiveDevice, LivePath};
use hawser_model::storage::{DiskFacts, PathFacts, StorageFacts, ZpoolDevice, ZpoolFacts};

/// So many devices of a pool are shown.
const SHOWN: usize = 200;

/// The devices of a pool, and what is to be said of all of them; `storage` is of the head that has the pool.
pub(super) fn of_pool(pool: &Pool, storage: &StorageFacts) -> (Vec<LiveDevice>, Vec<String>) {
    match *pool.kind {
        PoolKind::Zfs => match storage.zpools.get_key_value(pool.zpool()) {
            Some((name, zpool)) => of_zpool(name, zpool, storage),
            None => Default::default(),
        },
        PoolKind::Filesystem => {
            let devices = pool.devices().into_iter();
            let devices = devices.map(|device| {
                let paths = paths(device, storage);
                LiveDevice {
                    name: device.to_owned(),
                    depth: 0,
                    light: of_paths(&paths).unwrap_or(Light::Unknown),
                    words: String::new(),
                    paths,
                }
            });
            // Of a file, or a device of another kind, nothing is read.
            let read = devices.filter(|device| !device.paths.is_empty());
            (read.collect(), Vec::new())
        }
        // What a volume group stands on is not read.
        PoolKind::Lvm => Default::default(),
    }
}

fn of_zpool(
    name: &str,
    zpool: &ZpoolFacts,
    storage: &StorageFacts,
) -> (Vec<LiveDevice>, Vec<String>) {
    let of = |name: &str, depth: usize, state: &str, beside: bool| {
        let paths = paths(name, storage);
        let trouble = zpool.troubled.iter().find(|it| it.name == name);
        let errors = trouble.map(errors).unwrap_or_default();
        let mut light = of_state(state);
        if !errors.is_empty() {
            light = light.max(Light::Warning);
        }
        // What ZFS still reads by one way has lost the others.
        if let Some(worst @ (Light::Warning | Light::Bad)) = of_paths(&paths) {
            light = light.max(worst.min(Light::Warning));
        }
        let mut words = vec![state.to_owned()];
        words.extend(beside.then(|| "holds no data of the pool".to_owned()));
        words.extend(errors);
        LiveDevice {
            name: name.to_owned(),
            depth,
            light,
            words: words.join(", "),
            paths,
        }
    };
    let itself = LiveDevice {
        paths: Vec::new(),
        ..of(name, 0, &zpool.state, false)
    };
    let members = zpool.devices.iter().take(SHOWN);
    let members = members.map(|it| of(&it.name, it.depth.saturating_add(1), &it.state, it.beside));
    let mut about = Vec::new();
    if let Some(more @ 1..) = zpool.devices.len().checked_sub(SHOWN) {
        about.push(format!("{more} more devices are not shown"));
    }
    let scan = zpool.scan.iter();
    about.extend(scan.filter(|it| it.contains("in progress")).cloned());
    about.extend(zpool.errors.clone());
    (std::iter::once(itself).chain(members).collect(), about)
}

/// Words of zpoolconcepts(7), and of zpool-status(8) for spares.
fn of_state(state: &str) -> Light {
    match state {
        "ONLINE" | "AVAIL" | "INUSE" => Light::Good,
        "DEGRADED" => Light::Warning,
        "FAULTED" | "OFFLINE" | "REMOVED" | "UNAVAIL" | "SUSPENDED" => Light::Bad,
        _ => Light::Unknown,
    }
}

fn errors(device: &ZpoolDevice) -> Vec<String> {
    let all = [
        (device.read_errors, "reads failed"),
        (device.write_errors, "writes failed"),
        (device.checksum_errors, "checksums wrong"),
        (device.slow, "requests slow"),
    ];
    let all = all.into_iter().filter(|(count, _)| *count > 0);
    all.map(|(count, what)| format!("{count} {what}")).collect()
}

/// How a device is by its paths: it works by one that does.
fn of_paths(paths: &[LivePath]) -> Option<Light> {
    let best = paths.iter().map(|path| path.light).min()?;
    let worst = paths.iter().map(|path| path.light).max()?;
    Some(match (best, worst) {
        (Light::Good, Light::Bad) => Light::Warning,
        (_, worst) => worst,
    })
}

/// The disks behind a device, as far as its name tells: that of a multipath device, of a disk, or one of `/dev/disk/by-id`.
fn paths(device: &str, storage: &StorageFacts) -> Vec<LivePath> {
    let name = device.rsplit('/').next().unwrap_or(device);
    let name = whole(name);
    let map = storage.multipath.iter().find(|(identity, map)| {
        let is_named = |name: &str| !map.name.is_empty() && name == map.name;
        is_named(name)
            || name.strip_prefix("dm-name-").is_some_and(is_named)
            || name.strip_prefix("dm-uuid-mpath-") == Some(identity)
            || by_id(name).as_ref() == Some(identity)
    });
    if let Some((_, map)) = map {
        let paths = map.paths.iter();
        let paths = paths.map(|(disk, path)| of_disk(disk, storage.disks.get(disk), Some(path)));
        return paths.collect();
    }
    let id = by_id(name);
    let is_it = |disk: &str, facts: &DiskFacts| {
        // By its name of this boot, whole or a partition of it; or by that in the world, of type 3 (NAA; scsi_id(8)).
        let rest = name.strip_prefix(disk);
        let naa = facts.wwid.as_ref().and_then(|it| it.strip_prefix("naa."));
        rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
            || naa.is_some_and(|naa| id == Some(format!("3{naa}")))
    };
    let disks = storage.disks.iter();
    let disks = disks.filter(|(disk, facts)| is_it(disk, facts));
    disks
        .map(|(disk, facts)| of_disk(disk, Some(facts), None))
        .collect()
}

/// The name of a whole device: a partition's has its number at the end (`-part1`).
fn whole(name: &str) -> &str {
    match name.rsplit_once("-part") {
        Some((whole, number)) if number.chars().all(|c| c.is_ascii_digit()) => whole,
        _ => name,
    }
}

/// The identity that a name of `/dev/disk/by-id` has in it, as multipathd calls it.
fn by_id(name: &str) -> Option<String> {
    let naa = name.strip_prefix("wwn-0x");
    let naa = naa.map(|naa| format!("3{naa}"));
    naa.or_else(|| name.strip_prefix("scsi-").map(str::to_owned))
}

fn of_disk(name: &str, disk: Option<&DiskFacts>, path: Option<&PathFacts>) -> LivePath {
    let state = disk.map(|disk| disk.state.as_str());
    let said = path.is_some_and(|path| path.used.is_some() || path.checked.is_some());
    let light = match (state, path) {
        (_, Some(path)) if !path.is_well() => Light::Bad,
        (Some("running"), _) => Light::Good,
        (Some(_), _) => Light::Bad,
        (None, Some(_)) if said => Light::Good,
        (None, _) => Light::Unknown,
    };
    let mut words: Vec<String> = Vec::new();
    if let Some(path) = path {
        words.extend(path.used.clone());
        words.extend(path.checked.clone());
    }
    words.extend(
        state
            .filter(|state| *state != "running" || words.is_empty())
            .map(str::to_owned),
    );
    if words.is_empty() {
        words.push("state not known".to_owned());
    }
    let shelf = disk.and_then(|disk| disk.shelf.as_ref());
    words.extend(shelf.map(
        |it| match it.slot.to_ascii_lowercase().starts_with("slot") {
            true => format!("shelf {}, {}", it.shelf, it.slot),
            false => format!("shelf {}, slot {}", it.shelf, it.slot),
        },
    ));
    LivePath {
        disk: name.to_owned(),
        light,
        words: words.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use hawser_model::cluster_file::parse_complete;
    use hawser_model::storage::{MultipathFacts, ShelfSlot, ZpoolMember};

    use super::*;

    fn pool(lines: &str) -> Pool {
        let file = include_str!("../../../../examples/lab/hawser.toml");
        let (file, _) = file.split_once("[[pool]]").unwrap();
        let text = format!(
            "{file}[[pool]]\nname = \"tank\"\n{lines}\naddresses = {{ san01 = \"10.72.2.207\" }}\n"
        );
        let file = parse_complete(&text, "hawser.toml").unwrap_or_else(|e| panic!("{e:?}"));
        file.pools[0].clone()
    }

    fn of_file(device: &str) -> String {
        format!(
            "kind = \"filesystem\"\ndevice = \"{device}\"\ndirectory = \"/srv/tank\"\nfstype = \"ext4\""
        )
    }

    fn storage() -> StorageFacts {
        let disk = |state: &str, wwid: &str, slot: &str| DiskFacts {
            state: state.to_owned(),
            address: "2:0:0:1".to_owned(),
            wwid: Some(format!("naa.{wwid}")),
            shelf: (!slot.is_empty()).then(|| ShelfSlot {
                shelf: "0x5003".to_owned(),
                slot: slot.to_owned(),
            }),
        };
        let path = |used: &str, checked: &str| PathFacts {
            used: Some(used.to_owned()),
            checked: Some(checked.to_owned()),
        };
        StorageFacts {
            disks: [
                ("sda".to_owned(), disk("running", "5000a", "Slot 01")),
                ("sdb".to_owned(), disk("offline", "5000a", "")),
                ("sdc".to_owned(), disk("running", "5000c", "")),
                ("sdcc".to_owned(), disk("running", "5000d", "")),
            ]
            .into(),
            multipath: [(
                "35000a".to_owned(),
                MultipathFacts {
                    name: "mpatha".to_owned(),
                    paths: [
                        ("sda".to_owned(), path("active", "ready")),
                        ("sdb".to_owned(), path("failed", "faulty")),
                    ]
                    .into(),
                },
            )]
            .into(),
            zpools: [("tank".to_owned(), zpool())].into(),
        }
    }

    fn zpool() -> ZpoolFacts {
        let member = |name: &str, depth: usize, state: &str, beside: bool| ZpoolMember {
            name: name.to_owned(),
            depth,
            state: state.to_owned(),
            beside,
        };
        ZpoolFacts {
            state: "DEGRADED".to_owned(),
            scan: Some("resilver in progress since Thu, 14.70% done".to_owned()),
            devices: vec![
                member("mirror-0", 0, "DEGRADED", false),
                member("wwn-0x5000a", 1, "ONLINE", false),
                member("sdc1", 1, "ONLINE", false),
                member("9872", 1, "UNAVAIL", false),
                member("scsi-35000d-part2", 0, "AVAIL", true),
                member("nvme0n1", 0, "SLEEPS", true),
            ],
            troubled: vec![ZpoolDevice {
                name: "sdc1".to_owned(),
                state: "ONLINE".to_owned(),
                checksum_errors: 12,
                ..ZpoolDevice::default()
            }],
            errors: None,
        }
    }

    fn told(devices: &[LiveDevice]) -> Vec<String> {
        let told = |it: &LiveDevice| {
            let paths = it.paths.iter();
            let paths: String = paths
                .map(|path| format!(" [{} {:?}: {}]", path.disk, path.light, path.words))
                .collect();
            let (depth, light) = (it.depth, it.light);
            format!("{depth} {} {light:?}: {}{paths}", it.name, it.words)
        };
        devices.iter().map(told).collect()
    }

    #[test]
    fn a_zfs_pool_is_shown_with_its_sides_and_the_paths_of_each() {
        let (devices, about) = of_pool(&pool("kind = \"zfs\""), &storage());
        assert_eq!(
            told(&devices),
            [
                "0 tank Warning: DEGRADED",
                "1 mirror-0 Warning: DEGRADED",
                // It works by one of its two ways.
                "2 wwn-0x5000a Warning: ONLINE [sda Good: active, ready, shelf 0x5003, Slot 01] \
                 [sdb Bad: failed, faulty, offline]",
                "2 sdc1 Warning: ONLINE, 12 checksums wrong [sdc Good: running]",
                "2 9872 Bad: UNAVAIL",
                "1 scsi-35000d-part2 Good: AVAIL, holds no data of the pool [sdcc Good: running]",
                "1 nvme0n1 Unknown: SLEEPS, holds no data of the pool",
            ]
        );
        assert_eq!(about, ["resilver in progress since Thu, 14.70% done"]);
    }

    #[test]
    fn the_device_of_a_file_system_is_shown_where_something_is_read_of_it() {
        let of = |device: &str| {
            let pool = pool(&of_file(device));
            told(&of_pool(&pool, &storage()).0)
        };
        let mpath = of("/dev/mapper/mpatha");
        assert_eq!(mpath.len(), 1);
        assert!(
            mpath[0].starts_with("0 /dev/mapper/mpatha Warning: "),
            "{mpath:?}"
        );
        for same in [
            "/dev/disk/by-id/dm-name-mpatha",
            "/dev/disk/by-id/dm-uuid-mpath-35000a-part1",
        ] {
            assert_eq!(of(same)[0].matches('[').count(), 2, "{same}");
        }
        assert_eq!(of("/dev/sdc"), ["0 /dev/sdc Good:  [sdc Good: running]"]);
        assert_eq!(of("/srv/shelf/tank.img"), [""; 0]);
        let group = pool(
            "kind = \"lvm\"\nvolume_group = \"sda\"\ndirectory = \"/srv/tank\"\nfstype = \"ext4\"",
        );
        assert_eq!(of_pool(&group, &storage()), Default::default());
    }

    #[test]
    fn what_nobody_says_of_a_path_is_not_known() {
        let mut storage = storage();
        storage.disks.clear();
        let map = storage.multipath.get_mut("35000a").unwrap();
        map.paths.insert("sda".into(), PathFacts::default());
        let file = pool(&of_file("/dev/mapper/mpatha"));
        let paths = &of_pool(&file, &storage).0[0].paths;
        assert_eq!(
            (paths[0].light, paths[0].words.as_str()),
            (Light::Unknown, "state not known")
        );
    }
}
