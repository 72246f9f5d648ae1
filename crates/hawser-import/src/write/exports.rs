//! `exports.toml`.

use std::fmt::Write as _;

use super::{from, list, quoted};
use crate::exports::{PoolFile, TargetOut, UnitOut, ViewOut};

/// Where the heads have the secrets that this file names.
pub(crate) const SECRETS: &str = "/etc/hawser/secrets";

/// The file's text.
pub(crate) fn text(pool: &str, file: &PoolFile) -> String {
    let mut out = format!(
        "# Made by `hawser import`. It belongs into the root of pool {pool}; `hawser exports start {pool}` applies it.\n"
    );
    // Writing into a String cannot fail.
    let _ = write(&mut out, file);
    out
}

fn write(out: &mut String, file: &PoolFile) -> std::fmt::Result {
    if let Some(group) = &file.default_portal_group {
        writeln!(out, "default_portal_group = {}", quoted(group))?;
    }
    for (name, portals) in &file.portal_groups {
        writeln!(
            out,
            "\n[[portal_group]]\nname = {}\nportals = {}",
            quoted(name),
            list(portals)
        )?;
    }
    for it in &file.targets {
        target(out, it)?;
    }
    for (volume, it) in &file.units {
        unit(out, volume, it)?;
    }
    for (kind, groups) in [
        ("host_group", &file.host_groups),
        ("target_group", &file.target_groups),
    ] {
        for (name, members) in groups {
            writeln!(
                out,
                "\n[[{kind}]]\nname = {}\nmembers = {}",
                quoted(name),
                list(members)
            )?;
        }
    }
    for it in &file.views {
        view(out, it)?;
    }
    for (directory, clients, options, at) in &file.nfs {
        writeln!(
            out,
            "\n[[nfs]]   {}\ndirectory = {}\nclients = {}",
            from(at),
            quoted(directory),
            list(clients)
        )?;
        if let Some(options) = options {
            writeln!(out, "options = {}", quoted(options))?;
        }
    }
    Ok(())
}

fn target(out: &mut String, target: &TargetOut) -> std::fmt::Result {
    writeln!(
        out,
        "\n[[target]]   {}\nname = {}",
        from(&target.at),
        quoted(&target.name)
    )?;
    if let Some(iqn) = &target.iqn {
        writeln!(out, "iqn = {}", quoted(iqn))?;
    }
    if let Some(group) = &target.portal_group {
        writeln!(out, "portal_group = {}", quoted(group))?;
    }
    let Some((user, file)) = &target.chap else {
        return Ok(());
    };
    let secret = |file: &str| quoted(&format!("file:{SECRETS}/{file}"));
    writeln!(
        out,
        "[target.chap]\nuser = {}\nsecret = {}",
        quoted(user),
        secret(file)
    )?;
    match &target.mutual {
        Some((user, file)) => writeln!(
            out,
            "mutual_user = {}\nmutual_secret = {}",
            quoted(user),
            secret(file)
        ),
        None => Ok(()),
    }
}

fn unit(out: &mut String, volume: &str, unit: &UnitOut) -> std::fmt::Result {
    writeln!(
        out,
        "\n[[unit]]   {}\nvolume = {}",
        from(&unit.at),
        quoted(volume)
    )?;
    if let Some(lun) = unit.lun {
        writeln!(out, "lun = {lun}")?;
    }
    if let Some(naa) = &unit.naa {
        writeln!(out, "naa = {}", quoted(naa))?;
    }
    if let Some(serial) = &unit.serial {
        writeln!(out, "serial = {}", quoted(serial))?;
    }
    if let Some(size) = unit.block_size {
        writeln!(out, "block_size = {size}")?;
    }
    if let Some(cache) = unit.write_cache {
        writeln!(out, "write_cache = {cache}")?;
    }
    for (key, may) in unit.offloads.named() {
        if let Some(may) = may {
            writeln!(out, "{key} = {may}")?;
        }
    }
    if unit.read_only {
        writeln!(out, "read_only = true")?;
    }
    Ok(())
}

fn view(out: &mut String, view: &ViewOut) -> std::fmt::Result {
    writeln!(out, "\n[[view]]\nname = {}", quoted(&view.name))?;
    if let Some(units) = &view.units {
        writeln!(out, "units = {}", list(units))?;
    }
    let texts = [
        ("prefix", &view.prefix),
        ("host_group", &view.host_group),
        ("target_group", &view.target_group),
    ];
    for (name, value) in texts {
        if let Some(value) = value {
            writeln!(out, "{name} = {}", quoted(value))?;
        }
    }
    match view.lun {
        Some(lun) => writeln!(out, "lun = {lun}"),
        None => Ok(()),
    }
}
