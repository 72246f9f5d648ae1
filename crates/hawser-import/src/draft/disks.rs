//! Disks that several heads see: the same name for the whole world, serial number or udev's link, and the same size.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::surroundings::{Content, Disk};

use super::{Head, Remarks, Said};

/// A disk that two heads or more see.
pub(super) struct Shared<'a> {
    /// As each head has it, by the head's place among the heads: once for each path, if nobody joins them.
    pub seen: BTreeMap<usize, Vec<&'a Disk>>,
    /// Names in `/dev/disk/by-id` that all of them have.
    pub links: Vec<&'a str>,
}

/// One disk as heads see it, of which some may see it by several paths.
struct Group<'a> {
    size: u64,
    keys: BTreeSet<String>,
    seen: BTreeMap<usize, Vec<&'a Disk>>,
}

/// What makes names for a disk that says nothing of itself: the same on every machine.
const NO_IDENTITY: [&str; 4] = ["QEMU", "drive-", "QM0000", "VMware_Virtual"];

/// Links by what lies on a disk, or by what a driver makes up.
const NOT_THE_DISK: [&str; 6] = [
    "dm-name-",
    "lvm-pv-uuid-",
    "dm-uuid-LVM-",
    "md-",
    "scsi-0",
    "usb-",
];

/// The disks that heads share, in the first head's order, with nothing mounted anywhere.
pub(super) fn shared<'a>(heads: &'a [Head], remarks: &mut Remarks) -> Vec<Shared<'a>> {
    unseen(heads, remarks);
    let mut all: Vec<Group<'a>> = Vec::new();
    for (i, head) in heads.iter().enumerate() {
        for disk in head.around.disks.iter().flatten() {
            let keys = keys(disk);
            if keys.is_empty() {
                continue;
            }
            let same =
                |group: &&mut Group<'_>| group.size == disk.size && !group.keys.is_disjoint(&keys);
            match all.iter_mut().find(same) {
                Some(group) => {
                    group.keys.extend(keys);
                    group.seen.entry(i).or_default().push(disk);
                }
                None => all.push(Group {
                    size: disk.size,
                    keys,
                    seen: BTreeMap::from([(i, vec![disk])]),
                }),
            }
        }
    }
    let boots: BTreeSet<_> = heads.iter().map(|head| &head.around.boot).collect();
    // Containers of one machine all see its disks.
    let one_machine = boots.len() < heads.len() && heads.iter().any(|it| it.around.boot.is_some());
    if one_machine {
        return Vec::new();
    }
    let shared = all.into_iter().filter(|group| group.seen.len() > 1);
    shared
        .filter_map(|group| {
            paths(heads, &group, remarks);
            group.unused(heads, remarks)
        })
        .collect()
}

/// What tells a disk from all others.
fn keys(disk: &Disk) -> BTreeSet<String> {
    let telling = |text: &str, different: usize| {
        let characters: BTreeSet<char> = text.chars().collect();
        let made_up = NO_IDENTITY.iter().any(|it| text.contains(it));
        characters.len() >= different && !made_up
    };
    let mut keys = BTreeSet::new();
    // `0x5000000000000000` is what a driver says that knows none.
    if telling(&disk.wwn, 5) {
        keys.insert(format!("wwn {}", disk.wwn.to_ascii_lowercase()));
    }
    if telling(&disk.serial, 3) && disk.transport != "usb" {
        keys.insert(format!("serial {} {}", disk.model, disk.serial));
    }
    let links = disk.links.iter().filter(|link| telling(link, 5));
    let of_disk = links.filter(|link| !NOT_THE_DISK.iter().any(|it| link.starts_with(it)));
    keys.extend(of_disk.map(|link| format!("link {link}")));
    keys
}

/// A disk that a head sees twice has two paths, and nobody makes one disk of them.
fn paths(heads: &[Head], group: &Group<'_>, remarks: &mut Remarks) {
    for (i, disks) in &group.seen {
        if disks.len() > 1 {
            let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
            let what = format!("{} are one disk over several paths", names.join(" and "));
            let why = "without multipathd, what uses one path is lost with it";
            remarks.add(Said::Doubtful, &heads[*i].hostname, what, why);
        }
    }
}

impl<'a> Group<'a> {
    /// The disk, unless a head uses it for itself.
    fn unused(self, heads: &[Head], remarks: &mut Remarks) -> Option<Shared<'a>> {
        let mounts = self.seen.iter().flat_map(|(i, disks)| {
            let on = &heads[*i].hostname;
            let mounts = disks.iter().flat_map(|disk| &disk.mounts);
            mounts.map(move |mount| format!("{mount} of {on}"))
        });
        let mounts: BTreeSet<String> = mounts.collect();
        if !mounts.is_empty() {
            let mounts: Vec<String> = mounts.into_iter().collect();
            let what = format!("a disk that {} heads see", self.seen.len());
            let why = format!("it has {}", mounts.join(", "));
            remarks.add(Said::LeftOut, place(heads, &self.seen), what, why);
            return None;
        }
        let read = self.seen.values().flatten().map(|disk| {
            let all = disk.contents.iter();
            all.map(|it| (it.kind.as_str(), it.uuid.as_str()))
                .collect::<BTreeSet<_>>()
        });
        let read: BTreeSet<BTreeSet<_>> = read.filter(|it| !it.is_empty()).collect();
        if read.len() > 1 {
            let what = "heads read different things from a disk that says to be the same";
            let why = "two disks have one name, or one head has not read it again: nothing is concluded from it";
            remarks.add(Said::Doubtful, place(heads, &self.seen), what, why);
            return None;
        }
        let links = self.seen.values().map(|disks| {
            let links = disks.iter().flat_map(|disk| &disk.links);
            links.map(String::as_str).collect::<BTreeSet<&str>>()
        });
        let common = links.reduce(|a, b| a.intersection(&b).copied().collect());
        Some(Shared {
            links: common.into_iter().flatten().collect(),
            seen: self.seen,
        })
    }
}

impl<'a> Shared<'a> {
    /// What lies on it, as the first head tells it that can.
    pub fn contents(&self) -> &'a [Content] {
        let disks = self.seen.values().flatten();
        let mut all = disks.map(|disk| disk.contents.as_slice());
        all.find(|contents| !contents.is_empty())
            .unwrap_or_default()
    }

    /// A path that means it on every head, if there is one.
    pub fn path(&self) -> Option<String> {
        let stable = [
            "dm-uuid-mpath-",
            "wwn-",
            "scsi-3",
            "nvme-eui.",
            "nvme-uuid.",
            "scsi-",
            "",
        ];
        let mut found = stable.iter().filter_map(|start| {
            let links = self.links.iter().filter(|link| link.starts_with(start));
            links.min()
        });
        found.next().map(|link| format!("/dev/disk/by-id/{link}"))
    }

    pub fn place(&self, heads: &[Head]) -> String {
        place(heads, &self.seen)
    }

    /// Its size, for people.
    pub fn size(&self) -> String {
        let bytes = self
            .seen
            .values()
            .flatten()
            .next()
            .map_or(0, |disk| disk.size);
        match bytes {
            b if b >= 1_000_000_000_000 => format!("{:.1} TB", b as f64 / 1e12),
            b => format!("{:.1} GB", b as f64 / 1e9),
        }
    }
}

/// `head1:sdb head2:sdc`.
fn place(heads: &[Head], seen: &BTreeMap<usize, Vec<&Disk>>) -> String {
    let all = seen.iter().flat_map(|(i, disks)| {
        let on = &heads[*i].hostname;
        disks.iter().map(move |disk| format!("{on}:{}", disk.name))
    });
    all.collect::<Vec<_>>().join(" ")
}

fn unseen(heads: &[Head], remarks: &mut Remarks) {
    for head in heads {
        let why = &head.around.unseen.disks;
        if !why.is_empty() {
            remarks.add(Said::ToYou, &head.hostname, "its disks", why);
        }
        let disks = head.around.disks.iter().flatten();
        let nameless: Vec<&str> = disks
            .filter(|disk| keys(disk).is_empty() && disk.mounts.is_empty())
            .map(|disk| disk.name.as_str())
            .collect();
        if !nameless.is_empty() {
            let what = format!(
                "{}: no serial number or WWN that only it has",
                nameless.join(", ")
            );
            let why = "whether other heads see the same is not known";
            remarks.add(Said::ToYou, &head.hostname, what, why);
        }
    }
}
