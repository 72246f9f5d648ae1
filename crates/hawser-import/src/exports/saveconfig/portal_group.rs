//! A portal group: where it listens, and who sees which LUN.

use serde_json::Value;

use super::access::{self, Access};
use super::value::{Object, attributes, list, text};
use crate::exports::{Offered, Shown, Target};
use crate::page::Page;
use crate::place::{Malformed, quoted};

/// A target, and the units that it shows. `stored` has the storage objects by their paths.
pub(super) fn read(
    group: &Value,
    mut target: Target,
    stored: &[(String, usize)],
    offered: &mut Offered,
    page: &mut Page,
) -> Result<(), Malformed> {
    target.portals = portals(group, &target, page)?;
    let access = access::read(group, &mut target, page)?;
    let what = format!("the portal group of {}", quoted(&target.iqn));
    let said = Object {
        value: attributes(group),
        what: &what,
        at: &target.at,
    };
    let read_only = access::demo_read_only(&said)?;
    let mut numbers: Vec<(u16, &str)> = Vec::new();
    for lun in list(group, "luns") {
        let store = text(lun, "storage_object");
        let what = format!("LUN {} of {}", quoted(store), quoted(&target.iqn));
        let number = Object {
            value: lun,
            what: &what,
            at: &target.at,
        }
        .lun("index")?;
        if let Some((_, first)) = numbers.iter().find(|(other, _)| *other == number) {
            let found = format!(
                "LUN {number} of {} is {} and {}",
                quoted(&target.iqn),
                quoted(first),
                quoted(store)
            );
            return Err(Malformed::new(&target.at, found, "each number once"));
        }
        numbers.push((number, store));
        let Some((_, unit)) = stored.iter().find(|(name, _)| name == store) else {
            page.mistake(
                &target.at,
                format!("LUN of {}", quoted(store)),
                "there is no such storage object",
            );
            continue;
        };
        let views = match access.everybody {
            true => vec![shown(&target, number, read_only, None)],
            false => by_host(&access, &target, number),
        };
        offered.units[*unit].shown.extend(views);
    }
    page.understood(
        &target.at,
        quoted(&target.iqn),
        "[[target]] with its name, portals and hosts",
    );
    offered.targets.push(target);
    Ok(())
}

fn shown(target: &Target, lun: u16, read_only: bool, host: Option<Vec<String>>) -> Shown {
    Shown {
        target: target.iqn.clone(),
        lun: Some(lun),
        hosts: host,
        read_only,
    }
}

/// Hosts that see a LUN alike, together. One that LIO kept out is in no group, and a group without members is refused
/// by whatever reads exports.toml.
fn by_host(access: &Access<'_>, target: &Target, number: u16) -> Vec<Shown> {
    let mut views: Vec<Shown> = Vec::new();
    for acl in &access.acls {
        let Some(seen) = acl.sees.iter().find(|seen| seen.of == u64::from(number)) else {
            continue;
        };
        let host = acl.gets_in.then(|| acl.host.to_owned());
        let mut same = views.iter_mut();
        let same = same.find(|view| view.lun == Some(seen.lun) && view.read_only == seen.read_only);
        match same.and_then(|view| view.hosts.as_mut()) {
            Some(hosts) => hosts.extend(host),
            None => views.push(shown(
                target,
                seen.lun,
                seen.read_only,
                Some(host.into_iter().collect()),
            )),
        }
    }
    let nobody = |view: &Shown| view.hosts.as_ref().is_some_and(Vec::is_empty);
    match views.iter().all(nobody) {
        true => views.truncate(1),
        false => views.retain(|view| !nobody(view)),
    }
    if views.is_empty() && access.narrowed {
        views.push(shown(target, number, true, Some(Vec::new())));
    }
    views
}

fn portals(group: &Value, target: &Target, page: &mut Page) -> Result<Vec<String>, Malformed> {
    let mut all = Vec::new();
    for value in list(group, "portals") {
        let what = format!("a portal of {}", quoted(&target.iqn));
        let portal = Object {
            value,
            what: &what,
            at: &target.at,
        };
        let ip = portal.text("ip_address")?.unwrap_or_default();
        if portal.flag("iser")? == Some(true) {
            let what = format!("iSER at {}", quoted(ip));
            page.unsaid(&target.at, what, "Hawser offers by iSCSI over TCP");
        }
        let ip = match ip.contains(':') && !ip.starts_with('[') {
            true => format!("[{ip}]"),
            false => ip.to_owned(),
        };
        all.push(match portal.number("port")? {
            None | Some(3260) => ip.trim_matches(|c| "[]".contains(c)).to_owned(),
            Some(port) => format!("{ip}:{port}"),
        });
    }
    Ok(all)
}
