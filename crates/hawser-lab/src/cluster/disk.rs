//! How a head sees a disk of a shelf: the names by which a cluster file asks for it.

use hawser_model::names::HostName;
use serde::{Deserialize, Serialize};

use super::shelf::DISKS;
use crate::init::checksum;
use crate::name;

/// Of a unit of a shelf machine that heads reach over one network.
const ONE_PATH: &str = "/dev/disk/by-id/scsi-";
/// The same over two: the name of its multipath device.
const TWO_PATHS: &str = "/dev/mapper/";
/// The partition on such a unit (kpartx's and udev's name of it). ZFS would make one itself, and the other heads would not
/// know of it until they read the table again.
const PARTITION: &str = "-part1";

/// A unit of a shelf machine's target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitSpec {
    /// The machine.
    pub machine: HostName,
    /// Over how many networks heads reach it, each of them a path.
    pub paths: usize,
    /// Whether it has a partition, over all of it.
    pub partition: bool,
}

/// A disk, as the device of a cluster file says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Disk {
    /// The name of its file.
    pub name: String,
    /// The unit that it is; none: a disk of each head's kernel.
    pub unit: Option<UnitSpec>,
}

impl Disk {
    /// The disk that machines see there; nothing if it is not one of a lab.
    pub fn at(device: &str) -> Option<Self> {
        if let Some(name) = device.strip_prefix(DISKS) {
            let name = Some(name).filter(|name| is_plain(name))?.to_owned();
            return Some(Self { name, unit: None });
        }
        let (paths, rest) = match device.strip_prefix(ONE_PATH) {
            Some(rest) => (1, rest),
            None => (2, device.strip_prefix(TWO_PATHS)?),
        };
        let whole = rest.strip_suffix(PARTITION);
        let name = whole.unwrap_or(rest);
        let (machine, _) = name.rsplit_once('-').filter(|(_, disk)| !disk.is_empty())?;
        let unit = UnitSpec {
            machine: HostName(machine.to_owned()),
            paths,
            partition: whole.is_some(),
        };
        (is_plain(name) && name::is_node(machine)).then(|| Self {
            name: name.to_owned(),
            unit: Some(unit),
        })
    }
}

impl UnitSpec {
    /// What a head calls the unit of that name.
    pub(crate) fn device(&self, name: &str) -> String {
        let prefix = if self.paths > 1 { TWO_PATHS } else { ONE_PATH };
        let partition = if self.partition { PARTITION } else { "" };
        format!("{prefix}{name}{partition}")
    }
}

/// The serial number of a unit, 32 hexadecimal digits: the same at each boot and on each lab.
pub(crate) fn serial(name: &str) -> String {
    let digits = |part: u8| format!("{:08x}", checksum(format!("{name}/{part}").as_bytes()));
    (0..4).map(digits).collect()
}

/// What initiators call it: an NAA identifier of type 6 with the company id of LIO, and the serial number's first digits
/// (`spc_parse_naa_6h_vendor_specific`, drivers/target/target_core_spc.c). scsi_id(8) and multipath put a 3 before it.
pub(crate) fn identifier(name: &str) -> String {
    format!("36001405{:.25}", serial(name))
}

/// The name of a shelf's disk is a word of the kernel's command line, and udev's.
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty() && name.len() <= 64 && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_device_says_which_disk_it_is_and_over_how_many_paths() {
        let unit = |device| Disk::at(device).and_then(|disk| disk.unit);
        assert_eq!(unit("/dev/disk/by-id/ubd-shelf1-1"), None);
        let two = unit("/dev/mapper/shelf1-1-part1").unwrap();
        assert_eq!(
            (two.machine.as_str(), two.paths, two.partition),
            ("shelf1", 2, true)
        );
        assert_eq!(two.device("shelf1-1"), "/dev/mapper/shelf1-1-part1");
        let one = unit("/dev/disk/by-id/scsi-shelf-a-2").unwrap();
        assert_eq!(
            (one.machine.as_str(), one.paths, one.partition),
            ("shelf-a", 1, false)
        );
        for bad in [
            "/dev/mapper/mpatha",
            "/dev/mapper/-1",
            "/dev/mapper/Shelf-1",
            "/dev/mapper/shelf-a b",
            "/dev/mapper/shelf1-",
            "/dev/mapper/vg/shelf1-1",
            "/dev/sda",
        ] {
            assert_eq!(Disk::at(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_unit_has_a_number_of_its_own_which_stays() {
        assert_eq!(serial("shelf1-1").len(), 32);
        assert_ne!(serial("shelf1-1"), serial("shelf2-1"));
        assert_eq!(identifier("shelf1-1").len(), 33);
        let begins = format!("36001405{}", &serial("shelf1-1")[..25]);
        assert_eq!(identifier("shelf1-1"), begins);
    }
}
