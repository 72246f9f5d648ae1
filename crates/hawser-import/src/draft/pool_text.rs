//! Pools, as the draft's text has them.

use std::fmt::Write as _;

use hawser_model::visible::one_line;

use super::links::Link;
use super::pools::Found;
use crate::picture::usable_resource;
use crate::write::{list, quoted};

/// The pools that say of themselves what they are, then those that somebody has to look at.
pub(super) fn pools(out: &mut String, found: &[Found], links: &[Link]) -> std::fmt::Result {
    let sans: Vec<&str> = links
        .iter()
        .filter(|link| link.san)
        .map(|link| link.name.as_str())
        .collect();
    if !found.is_empty() {
        out.write_str(
            "\n# Targets are called IQN:POOL. The year and month are some in which the domain was yours.\n\
             # [exports]\n# iqn = \"iqn.2026-01.com.example\"\n",
        )?;
    }
    for it in found {
        match it {
            Found::Zfs {
                name,
                prefer,
                nodes,
            } => {
                writeln!(out, "\n[[pool]]\nname = {}\nkind = \"zfs\"", quoted(name))?;
                writeln!(out, "import_options = \"-d /dev/disk/by-id\"")?;
                if let Some(prefer) = prefer {
                    writeln!(out, "prefer = {}   # it has the pool now", quoted(prefer))?;
                }
                if let Some(nodes) = nodes {
                    writeln!(out, "nodes = {}   # they see its disks", list(nodes))?;
                }
                writeln!(
                    out,
                    "exports = \"none\"   # \"iscsi\" or \"nfs\", once it has addresses"
                )?;
                addresses(out, &sans)?;
            }
            Found::Lvm { name } => {
                let pool = usable_resource(name).unwrap_or_else(|| "pool".into());
                writeln!(out, "\n# Volume group {}.", one_line(name))?;
                part(out, &pool, "lvm")?;
                writeln!(out, "# volume_group = {}", quoted(name))?;
                writeln!(
                    out,
                    "# device = {}   # a small volume for the pool's own files",
                    quoted(&format!("/dev/{name}/hawser"))
                )?;
                rest(out, &pool, "ext4")?;
                addresses(out, &sans)?;
            }
            Found::Filesystem { device, fstype } => {
                writeln!(out, "\n# A file system that is mounted nowhere.")?;
                part(out, "files", "filesystem")?;
                writeln!(out, "# device = {}", quoted(device))?;
                rest(out, "files", fstype)?;
                addresses(out, &sans)?;
            }
            Found::Empty { .. } => {}
        }
    }
    empty(out, found)
}

fn part(out: &mut String, name: &str, kind: &str) -> std::fmt::Result {
    writeln!(
        out,
        "# [[pool]]\n# name = {}\n# kind = \"{kind}\"",
        quoted(name)
    )
}

fn rest(out: &mut String, name: &str, fstype: &str) -> std::fmt::Result {
    writeln!(out, "# directory = {}", quoted(&format!("/srv/{name}")))?;
    writeln!(out, "# fstype = {}\n# exports = \"none\"", quoted(fstype))
}

fn addresses(out: &mut String, sans: &[&str]) -> std::fmt::Result {
    let sans = if sans.is_empty() { &["san01"] } else { sans };
    let all: Vec<String> = sans
        .iter()
        .map(|san| format!("{} = \"…\"", crate::write::key(san)))
        .collect();
    writeln!(out, "# addresses = {{ {} }}", all.join(", "))
}

/// Disks of which a pool could be made.
fn empty(out: &mut String, found: &[Found]) -> std::fmt::Result {
    let disks: Vec<(&String, &String)> = found
        .iter()
        .filter_map(|it| match it {
            Found::Empty { device, size } => Some((device, size)),
            _ => None,
        })
        .collect();
    if disks.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n# Nothing is recognised on these disks, which the heads share:"
    )?;
    for (device, size) in disks {
        writeln!(out, "#   {}  {size}", one_line(device))?;
    }
    out.write_str(
        "# Make a pool of them on one head (`zpool create`, best of mirrors over two shelves), export it there, and write\n\
         # [[pool]]\n# name = \"pool01\"\n# kind = \"zfs\"\n# import_options = \"-d /dev/disk/by-id\"\n# exports = \"none\"\n",
    )
}
