//! targetcli's `saveconfig.json`.

mod access;
mod portal_group;
mod value;

use serde_json::Value;

use self::value::{Object, attributes, list, text};
use super::{Offered, Offloads, Target, Unit};
use crate::SourceLine;
use crate::page::Page;
use crate::place::{Malformed, quoted};
use crate::source::Source;

/// Reads the file.
pub(crate) fn read(
    source: &Source,
    offered: &mut Offered,
    page: &mut Page,
) -> Result<(), Malformed> {
    let root: Value = serde_json::from_str(&source.text).map_err(|e| {
        let at = source.at(e.line().max(1));
        Malformed::new(
            &at,
            format!("this is not JSON: {e}"),
            "what targetcli's saveconfig writes, whole",
        )
    })?;
    let Some(stores) = root.get("storage_objects").and_then(Value::as_array) else {
        return Err(Malformed::new(
            &source.at(1),
            "no storage_objects",
            "what targetcli's saveconfig writes",
        ));
    };
    for module in list(&root, "fabric_modules") {
        if module.get("discovery_enable_auth").and_then(Value::as_bool) == Some(true) {
            page.unsaid(
                &line_of(source, "discovery_userid", text(module, "discovery_userid")),
                "an account for discovery",
                "exports.toml has no key for it: whoever asks learns the names of targets, and nothing more",
            );
        }
    }
    let first = offered.units.len();
    let mut stored: Vec<(String, usize)> = Vec::new();
    for store in stores {
        let (name, plugin) = (text(store, "name"), text(store, "plugin"));
        let at = line_of(source, "name", name);
        if !matches!(plugin, "block" | "fileio") {
            page.unsaid(
                &at,
                format!("{} of kind {}", quoted(name), quoted(plugin)),
                "Hawser offers devices and files",
            );
            continue;
        }
        let what = format!("storage object {}", quoted(name));
        let unit = unit(store, plugin, &what, &at, page)?;
        stored.push((format!("/backstores/{plugin}/{name}"), offered.units.len()));
        offered.units.push(unit);
    }
    for target in list(&root, "targets") {
        let fabric = text(target, "fabric");
        let iqn = text(target, "wwn");
        let at = line_of(source, "wwn", iqn);
        if fabric != "iscsi" {
            page.unsaid(
                &at,
                format!("{} of fabric {}", quoted(iqn), quoted(fabric)),
                "Hawser offers by iSCSI",
            );
            continue;
        }
        let groups = list(target, "tpgs");
        if groups.len() > 1 {
            page.unsaid(
                &at,
                format!("{} portal groups of {}", groups.len(), quoted(iqn)),
                "a target has one; the first is taken",
            );
        }
        let Some(group) = groups.first() else {
            continue;
        };
        let what = format!("the portal group of {}", quoted(iqn));
        let object = Object {
            value: group,
            what: &what,
            at: &at,
        };
        if object.flag("enable")? == Some(false) {
            page.unsaid(
                &at,
                format!("{}, whose portal group is off", quoted(iqn)),
                "nobody gets in, so it is not offered: write [[target]] to offer it",
            );
            continue;
        }
        portal_group::read(group, Target::new(iqn, &at), &stored, offered, page)?;
    }
    for unit in &offered.units[first..] {
        if unit.shown.is_empty() {
            page.unsaid(&unit.at, quoted(&unit.path), "no target shows it");
        }
    }
    // What no target shows is not offered.
    let mut i = 0;
    offered.units.retain(|unit| {
        i += 1;
        i <= first || !unit.shown.is_empty()
    });
    Ok(())
}

/// A storage object.
fn unit(
    store: &Value,
    plugin: &str,
    what: &str,
    at: &SourceLine,
    page: &mut Page,
) -> Result<Unit, Malformed> {
    let whole = Object {
        value: store,
        what,
        at,
    };
    let attributes = Object {
        value: attributes(store),
        ..whole
    };
    let mut unit = Unit::new(text(store, "dev"), at);
    unit.serial = whole.text("wwn")?.map(str::to_owned);
    if unit.serial.is_none() {
        page.unsaid(
            at,
            format!("{what} has no wwn"),
            "LIO makes a serial number whenever it restores the file: clients see a new disk",
        );
    }
    let size = attributes.number("block_size")?;
    let too_large = |_| {
        let found = format!("block_size of {what}: {}", size.unwrap_or_default());
        Malformed::new(at, found, "512 or 4096")
    };
    let size = size.map(u32::try_from).transpose().map_err(too_large)?;
    unit.block_size = size.filter(|n| *n != 512);
    let back = whole.flag("write_back")?;
    unit.write_cache = back.filter(|_| plugin == "fileio");
    let refused =
        |name| Ok::<_, Malformed>((attributes.flag(name)? == Some(false)).then_some(false));
    unit.offloads = Offloads {
        unmap: refused("emulate_tpu")?,
        ats: refused("emulate_caw")?,
        xcopy: refused("emulate_3pc")?,
    };
    unit.read_only = whole.flag("readonly")? == Some(true);
    Ok(unit)
}

/// The line on which a key has this value. JSON itself tells no lines.
fn line_of(source: &Source, key: &str, value: &str) -> SourceLine {
    let (key, value) = (format!("\"{key}\""), format!("\"{value}\""));
    let has = |line: &str| line.contains(&key) && line.contains(&value);
    let found = source.text.lines().position(has);
    source.at(found.map_or(1, |i| i + 1))
}
