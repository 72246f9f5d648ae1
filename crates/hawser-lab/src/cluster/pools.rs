//! The shelves that the pools of a cluster file ask for.

use std::path::Path;

use hawser_model::cluster_file::{ClusterFile, Pool, PoolKind};

use super::shelf::{DISKS, SHELVES};
use super::spec::{ShelfSpec, refused};
use crate::error::LabError;
use crate::machines::Kind;

/// The kernel of a machine has eight disks (user-mode Linux's `ubd0` to `ubd7`), and boots from the first.
const MOST_DISKS: usize = 7;

/// The shelves of the pools, on nodes of this kind.
pub(super) fn shelves(file: &ClusterFile, kind: Kind) -> Result<Vec<ShelfSpec>, LabError> {
    if kind == Kind::Uml && file.pools.len() > MOST_DISKS {
        return refused(format!(
            "{} pools: a machine of a lab has at most {MOST_DISKS} disks beside its own",
            file.pools.len()
        ));
    }
    file.pools.iter().map(|pool| shelf(pool, kind)).collect()
}

fn shelf(pool: &Pool, kind: Kind) -> Result<ShelfSpec, LabError> {
    let name = &*pool.name;
    if *pool.kind != PoolKind::Filesystem {
        let on = match kind {
            Kind::Namespace => {
                "in a lab of namespaces a pool is kind = \"filesystem\" on a loop device"
            }
            Kind::Uml => "in a lab a pool is kind = \"filesystem\"",
        };
        return refused(format!("pool {name}: {on}"));
    }
    let device = pool.device.as_ref().map(|device| device.as_str());
    let shelf = device.and_then(|device| match kind {
        Kind::Namespace => file_name(device),
        Kind::Uml => disk_name(device),
    });
    let Some(shelf) = shelf else {
        return refused(match kind {
            Kind::Namespace => format!(
                "pool {name}: its device is not a file of {SHELVES}, which is where a lab's shelves are"
            ),
            Kind::Uml => format!(
                "pool {name}: its device is not {DISKS}NAME, which is where machines of a lab see its shelves (NAME: \
                 letters, digits, \"-\" and \"_\")"
            ),
        });
    };
    let fstype = pool
        .fstype
        .as_ref()
        .map_or("ext4", |fstype| fstype.as_str());
    if fstype != "ext4" {
        return refused(format!("pool {name}: a lab makes ext4, not {fstype}"));
    }
    Ok(ShelfSpec {
        name: shelf.to_owned(),
        fstype: fstype.to_owned(),
    })
}

fn file_name(device: &str) -> Option<&str> {
    let file = Path::new(device).strip_prefix(SHELVES).ok()?.to_str()?;
    (!file.is_empty() && !file.contains('/')).then_some(file)
}

/// The name is a word of the kernel's command line, and udev's.
fn disk_name(device: &str) -> Option<&str> {
    let name = device.strip_prefix(DISKS)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (!name.is_empty() && name.len() <= 64 && name.chars().all(plain)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_model::cluster_file::parse_complete;

    const MACHINES: &str = include_str!("../../../../examples/lab/machines.toml");

    fn of(from: &str, to: &str) -> Result<Vec<ShelfSpec>, LabError> {
        let text = MACHINES.replace(from, to);
        shelves(&parse_complete(&text, "machines.toml").unwrap(), Kind::Uml)
    }

    #[test]
    fn machines_see_a_shelf_as_a_disk_of_its_name() {
        let all = of("", "").unwrap();
        let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["vmpool01", "vmpool02"]);
    }

    #[test]
    fn a_shelf_that_would_be_another_word_of_a_command_line_is_refused() {
        let device = "/dev/disk/by-id/ubd-vmpool01";
        for bad in [
            "/srv/shelf/vmpool01.img",
            "/dev/disk/by-id/ubd-",
            "/dev/disk/by-id/ubd-a/b",
            "/dev/disk/by-id/ubd-a,b",
            "/dev/disk/by-id/ubd-a b",
        ] {
            let said = of(device, bad).unwrap_err().to_string();
            assert!(said.contains("pool vmpool01: its device is not"), "{said}");
        }
        let said = of("fstype = \"ext4\"", "fstype = \"xfs\"").unwrap_err();
        assert!(said.to_string().contains("a lab makes ext4, not xfs"));
    }
}
