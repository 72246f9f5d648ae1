//! targetcli's `saveconfig.json`.

use serde_json::Value;

use super::{Offered, Shown, Target, Unit};
use crate::page::Page;
use crate::place::{Malformed, quoted};
use crate::source::Source;
use crate::{Place, Secret};

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
        let mut unit = Unit::new(text(store, "dev"), &at);
        let wwn = text(store, "wwn");
        unit.serial = (!wwn.is_empty()).then(|| wwn.to_owned());
        let attribute = |name: &str| {
            store
                .get("attributes")
                .and_then(|a| a.get(name))
                .and_then(Value::as_u64)
        };
        unit.block_size = attribute("block_size")
            .and_then(|n| u32::try_from(n).ok())
            .filter(|n| *n != 512);
        let back = store.get("write_back").and_then(Value::as_bool);
        unit.write_cache = back.filter(|back| !*back && plugin == "fileio");
        unit.unmap = (attribute("emulate_tpu") == Some(0)).then_some(false);
        unit.read_only = store.get("readonly").and_then(Value::as_bool) == Some(true);
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
        let off = |group: &&&Value| group.get("enable").and_then(Value::as_bool) == Some(false);
        if groups.first().filter(off).is_some() {
            page.unsaid(
                &at,
                format!("{}, whose portal group is off", quoted(iqn)),
                "nobody gets in, so it is not offered: write [[target]] to offer it",
            );
            continue;
        }
        if let Some(group) = groups.first() {
            portal_group(group, Target::new(iqn, &at), &stored, offered, page);
        }
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

fn portal_group(
    group: &Value,
    mut target: Target,
    stored: &[(String, usize)],
    offered: &mut Offered,
    page: &mut Page,
) {
    for portal in list(group, "portals") {
        if portal.get("iser").and_then(Value::as_bool) == Some(true) {
            let what = format!("iSER at {}", quoted(text(portal, "ip_address")));
            page.unsaid(&target.at, what, "Hawser offers by iSCSI over TCP");
        }
        let ip = text(portal, "ip_address");
        let ip = if ip.contains(':') && !ip.starts_with('[') {
            format!("[{ip}]")
        } else {
            ip.to_owned()
        };
        target
            .portals
            .push(match portal.get("port").and_then(Value::as_u64) {
                None | Some(3260) => ip.trim_matches(|c| "[]".contains(c)).to_owned(),
                Some(port) => format!("{ip}:{port}"),
            });
    }
    let attribute = |name: &str| {
        group
            .get("attributes")
            .and_then(|a| a.get(name))
            .and_then(Value::as_u64)
    };
    let everybody = attribute("generate_node_acls") == Some(1);
    let hosts = list(group, "node_acls");
    if !everybody {
        target.hosts = Some(
            hosts
                .iter()
                .map(|acl| text(acl, "node_wwn").to_owned())
                .collect(),
        );
    }
    let asks = attribute("authentication") == Some(1);
    for from in std::iter::once(group)
        .chain(hosts.iter().copied())
        .filter(|_| asks)
    {
        let account = |user: &str, password: &str| {
            let (user, password) = (text(from, user), text(from, password));
            let there = !user.is_empty() && !password.is_empty();
            there.then(|| (user.to_owned(), Secret(password.to_owned())))
        };
        let chap = account("chap_userid", "chap_password");
        match (&target.chap, chap) {
            (Some(first), Some(other)) if *first != other => page.unsaid(
                &target.at,
                format!("a second account of {}", quoted(&target.iqn)),
                "a target has one account; the first is taken",
            ),
            (None, Some(chap)) => {
                target.chap = Some(chap);
                target.mutual = account("chap_mutual_userid", "chap_mutual_password");
            }
            _ => {}
        }
    }
    for lun in list(group, "luns") {
        let store = text(lun, "storage_object");
        let Some((_, unit)) = stored.iter().find(|(name, _)| name == store) else {
            page.mistake(
                &target.at,
                format!("LUN of {}", quoted(store)),
                "there is no such storage object",
            );
            continue;
        };
        let index = number(lun, "index");
        // An ACL may show a LUN under another number, read-only, or not at all.
        let seen = |acl: &Value| {
            let mapped = list(acl, "mapped_luns");
            let found = mapped
                .iter()
                .find(|mapped| number(mapped, "tpg_lun") == index)?;
            let protected = found.get("write_protect").and_then(Value::as_bool) == Some(true);
            Some((
                number(found, "index"),
                protected,
                text(acl, "node_wwn").to_owned(),
            ))
        };
        let mut views: Vec<Shown> = Vec::new();
        for (lun, read_only, host) in hosts
            .iter()
            .filter_map(|acl| seen(acl))
            .filter(|_| !everybody)
        {
            let same = views
                .iter_mut()
                .find(|view| view.lun == lun && view.read_only == read_only);
            match same.and_then(|view| view.hosts.as_mut()) {
                Some(hosts) => hosts.push(host),
                None => views.push(Shown {
                    target: target.iqn.clone(),
                    lun,
                    hosts: Some(vec![host]),
                    read_only,
                }),
            }
        }
        if everybody {
            let read_only = attribute("demo_mode_write_protect") == Some(1);
            views.push(Shown {
                target: target.iqn.clone(),
                lun: index,
                hosts: None,
                read_only,
            });
        }
        offered.units[*unit].shown.extend(views);
    }
    page.understood(
        &target.at,
        quoted(&target.iqn),
        "[[target]] with its name, portals and hosts",
    );
    offered.targets.push(target);
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> Vec<&'a Value> {
    let array = value.get(key).and_then(Value::as_array);
    array.into_iter().flatten().collect()
}

fn number(value: &Value, key: &str) -> Option<u16> {
    let number = value.get(key)?.as_u64()?;
    u16::try_from(number).ok().filter(|n| *n <= 16_383)
}

/// The line on which a key has this value. JSON itself tells no lines.
fn line_of(source: &Source, key: &str, value: &str) -> Place {
    let (key, value) = (format!("\"{key}\""), format!("\"{value}\""));
    let has = |line: &str| line.contains(&key) && line.contains(&value);
    let found = source.text.lines().position(has);
    source.at(found.map_or(1, |i| i + 1))
}
