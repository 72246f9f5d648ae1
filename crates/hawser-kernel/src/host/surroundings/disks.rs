//! The disks that a machine sees, and what lies on them, as lsblk(8) tells it: it asks the kernel and udev, and opens no
//! disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hawser_model::surroundings::{Content, Disk};
use serde::Deserialize;

use super::ask;

/// Only what lsblk has had since 2.27; of several places where one device is mounted it then says one.
const COLUMNS: &str = "KNAME,TYPE,SIZE,MODEL,SERIAL,WWN,TRAN,FSTYPE,LABEL,UUID,MOUNTPOINT";

/// More disks than any head has; what is beyond is not told.
const MOST: usize = 4096;

const BY_ID: &str = "/dev/disk/by-id";

#[derive(Deserialize)]
struct Listing {
    blockdevices: Vec<Device>,
}

#[derive(Deserialize)]
struct Device {
    kname: String,
    #[serde(rename = "type")]
    kind: String,
    size: serde_json::Value,
    model: Option<String>,
    serial: Option<String>,
    wwn: Option<String>,
    tran: Option<String>,
    fstype: Option<String>,
    label: Option<String>,
    uuid: Option<String>,
    mountpoint: Option<String>,
    #[serde(default)]
    children: Vec<Device>,
}

pub(super) fn seen() -> Result<Vec<Disk>, String> {
    let said = ask("lsblk", &["-J", "-b", "-o", COLUMNS])?;
    let listing: Listing =
        serde_json::from_str(&said).map_err(|e| format!("lsblk: no such listing: {e}"))?;
    Ok(disks(&listing.blockdevices, &links(Path::new(BY_ID))))
}

/// The names of each device in `/dev/disk/by-id`.
fn links(folder: &Path) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let target = fs::read_link(entry.path()).ok();
        let device = target.as_deref().and_then(Path::file_name);
        let device = device.and_then(|name| name.to_str());
        if let (Some(device), Ok(name)) = (device, entry.file_name().into_string()) {
            all.entry(device.to_owned()).or_default().push(name);
        }
    }
    all.values_mut().for_each(|names| names.sort());
    all
}

/// A disk with several paths is told once, by its multipath device, which lies on each of them.
fn disks(devices: &[Device], links: &BTreeMap<String, Vec<String>>) -> Vec<Disk> {
    let mut all: BTreeMap<String, Disk> = BTreeMap::new();
    for device in devices {
        if device.kind != "disk" || device.size() == 0 {
            continue;
        }
        let map = device.children.iter().find(|child| child.kind == "mpath");
        let top = map.unwrap_or(device);
        let mut disk = Disk {
            name: top.kname.clone(),
            size: top.size(),
            model: plain(&device.model),
            serial: plain(&device.serial),
            wwn: plain(&device.wwn),
            transport: plain(&device.tran),
            links: links.get(&top.kname).cloned().unwrap_or_default(),
            ..Disk::default()
        };
        top.onto(&mut disk);
        if all.len() < MOST {
            all.entry(disk.name.clone()).or_insert(disk);
        }
    }
    all.into_values().collect()
}

fn plain(text: &Option<String>) -> String {
    text.as_deref().unwrap_or_default().trim().to_owned()
}

impl Device {
    /// Older ones say it as text.
    fn size(&self) -> u64 {
        let text = self.size.as_str().and_then(|text| text.parse().ok());
        self.size.as_u64().or(text).unwrap_or(0)
    }

    /// What is on it, and on all that lies on it.
    fn onto(&self, disk: &mut Disk) {
        let mount = plain(&self.mountpoint);
        if !mount.is_empty() && !disk.mounts.contains(&mount) {
            disk.mounts.push(mount);
        }
        let kind = match (plain(&self.fstype), self.kind.as_str()) {
            // Nobody recognises what is in it, and somebody made it.
            (none, "part") if none.is_empty() && self.children.is_empty() => "partition".to_owned(),
            (kind, _) => kind,
        };
        if !kind.is_empty() && kind != "mpath_member" {
            disk.contents.push(Content {
                on: self.kname.clone(),
                kind,
                uuid: plain(&self.uuid),
                label: plain(&self.label),
            });
        }
        for child in &self.children {
            child.onto(disk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// util-linux 2.38 with the values of a head: a system disk, one with two paths, one with a ZFS pool.
    const SAID: &str = r#"{"blockdevices": [
      {"kname":"sda","type":"disk","size":480103981056,"model":"SSD   ","serial":"S1","wwn":"0x5000000000000001","tran":"sata","fstype":null,"label":null,"uuid":null,"mountpoint":null,
       "children": [
         {"kname":"sda1","type":"part","size":"536870912","model":null,"serial":null,"wwn":"0x5000000000000001","tran":null,"fstype":"vfat","label":null,"uuid":"AB-CD","mountpoint":"/boot/efi"},
         {"kname":"sda2","type":"part","size":"536870912","model":null,"serial":null,"wwn":null,"tran":null,"fstype":"LVM2_member","label":null,"uuid":"pv","mountpoint":null,
          "children": [{"kname":"dm-1","type":"lvm","size":"1","model":null,"serial":null,"wwn":null,"tran":null,"fstype":"ext4","label":null,"uuid":"fs","mountpoint":"/"}]}]},
      {"kname":"sdb","type":"disk","size":1000,"model":"SHELF","serial":"T1","wwn":"0x6001","tran":"sas","fstype":"mpath_member","label":null,"uuid":null,"mountpoint":null,
       "children": [{"kname":"dm-0","type":"mpath","size":1000,"model":null,"serial":null,"wwn":null,"tran":null,"fstype":"xfs","label":"vm","uuid":"U","mountpoint":null}]},
      {"kname":"sdc","type":"disk","size":1000,"model":"SHELF","serial":"T1","wwn":"0x6001","tran":"sas","fstype":"mpath_member","label":null,"uuid":null,"mountpoint":null,
       "children": [{"kname":"dm-0","type":"mpath","size":1000,"model":null,"serial":null,"wwn":null,"tran":null,"fstype":"xfs","label":"vm","uuid":"U","mountpoint":null}]},
      {"kname":"sdd","type":"disk","size":1000,"model":null,"serial":"P","wwn":null,"tran":null,"fstype":null,"label":null,"uuid":null,"mountpoint":null,
       "children": [{"kname":"sdd1","type":"part","size":900,"model":null,"serial":null,"wwn":null,"tran":null,"fstype":null,"label":null,"uuid":null,"mountpoint":null}]},
      {"kname":"sr0","type":"rom","size":1000,"model":null,"serial":null,"wwn":null,"tran":null,"fstype":null,"label":null,"uuid":null,"mountpoint":null},
      {"kname":"ram0","type":"disk","size":0,"model":null,"serial":null,"wwn":null,"tran":null,"fstype":null,"label":null,"uuid":null,"mountpoint":null}
    ]}"#;

    #[test]
    fn a_disk_with_two_paths_is_one_and_what_lies_on_a_disk_belongs_to_it() {
        let listing: Listing = serde_json::from_str(SAID).unwrap();
        let links = BTreeMap::from([("dm-0".to_owned(), vec!["wwn-0x6001".to_owned()])]);
        let disks = disks(&listing.blockdevices, &links);
        let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
        assert_eq!(names, ["dm-0", "sda", "sdd"]);
        let [shelf, own, parted] = &disks[..] else {
            panic!()
        };
        assert_eq!(
            (shelf.serial.as_str(), shelf.wwn.as_str()),
            ("T1", "0x6001")
        );
        assert_eq!(shelf.links, ["wwn-0x6001"]);
        assert_eq!(shelf.contents[0].label, "vm");
        assert!(shelf.mounts.is_empty());
        assert_eq!(own.mounts, ["/boot/efi", "/"]);
        assert_eq!(own.contents.len(), 3);
        assert_eq!(parted.contents[0].kind, "partition");
        assert_eq!((own.size, own.model.as_str()), (480_103_981_056, "SSD"));
    }

    #[test]
    fn this_machine_s_disks_are_listed_where_lsblk_is() {
        if let Err(why) = seen() {
            assert!(why.contains("lsblk"), "{why}");
        }
    }
}
