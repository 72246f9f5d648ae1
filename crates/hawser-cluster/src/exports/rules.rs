//! Rules of `exports.toml` that need nothing but the file.

use std::collections::BTreeMap;
use std::ops::Range;

use hawser_model::toml_file::{self, At, Problem, SecretRef};

use super::broken::BrokenExports;
use super::desired::is_iscsi_name;
use super::file::{ExportsFile, portal};
use super::nfs::{Client, NfsOptions};

type Found = toml_file::Found<BrokenExports>;

pub(super) fn check(file: &ExportsFile, found: &mut Found) {
    names(file, found);
    for group in &file.portal_groups {
        empty("portal group", &group.name, group.portals.is_empty(), found);
        for text in group.portals.iter().filter(|text| portal(text).is_none()) {
            found.push(BrokenExports::NotAPortal(text.to_string()), text.span());
        }
    }
    for group in &file.host_groups {
        empty("host group", &group.name, group.members.is_empty(), found);
        iqns(group.members.iter(), found);
    }
    for group in &file.target_groups {
        empty("target group", &group.name, group.members.is_empty(), found);
    }
    let named = file.targets.iter().filter_map(|it| it.iqn.as_ref());
    iqns(named, found);
    references(file, found);
    chap(file, found);
    units(file, found);
    nfs(file, found);
    for view in &file.views {
        let one = view.units.as_ref().is_some_and(|units| units.len() == 1);
        let name = view.name.to_string();
        match (&view.lun, &view.prefix, &view.units) {
            (Some(lun), ..) if !one => found.push(BrokenExports::OneLunForMany(name), lun.span()),
            (Some(lun), ..) if view.lun_offset.is_some() => {
                found.push(BrokenExports::LunAndOffset(name), lun.span());
            }
            (_, Some(prefix), Some(_)) => {
                found.push(BrokenExports::UnitsAndPrefix(name), prefix.span());
            }
            _ => {}
        }
    }
}

/// What the file gives a name to, by its kind.
fn named(file: &ExportsFile) -> BTreeMap<&'static str, Vec<&At<String>>> {
    fn all<T>(things: &[T], name: fn(&T) -> &At<String>) -> Vec<&At<String>> {
        things.iter().map(name).collect()
    }
    BTreeMap::from([
        ("portal group", all(&file.portal_groups, |it| &it.name)),
        ("target", all(&file.targets, |it| &it.name)),
        ("unit", all(&file.units, |it| &it.volume)),
        ("host group", all(&file.host_groups, |it| &it.name)),
        ("target group", all(&file.target_groups, |it| &it.name)),
        ("view", all(&file.views, |it| &it.name)),
    ])
}

fn names(file: &ExportsFile, found: &mut Found) {
    for (kind, names) in named(file) {
        for (i, name) in names.iter().enumerate() {
            if let Some(first) = names[..i].iter().find(|other| *other == name) {
                let name = name.to_string();
                let broken = BrokenExports::NameTwice { kind, name };
                found.push_with(broken, names[i].span(), first.span());
            }
        }
    }
}

fn empty(kind: &'static str, name: &At<String>, is: bool, found: &mut Found) {
    if is {
        let broken = BrokenExports::Empty {
            kind,
            name: name.to_string(),
        };
        found.push(broken, name.span());
    }
}

fn iqns<'a>(names: impl Iterator<Item = &'a At<String>>, found: &mut Found) {
    for name in names {
        // RFC 3722 maps capitals to small letters; what is compared byte by byte must not have any.
        let plain = name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.:".contains(c));
        if !is_iscsi_name(name) || !plain || name.len() > 223 {
            found.push(BrokenExports::NotAnIqn(name.to_string()), name.span());
        }
    }
}

fn references(file: &ExportsFile, found: &mut Found) {
    let named = named(file);
    let mut check = |kind: &'static str, name: &At<String>| {
        let known = &named[kind];
        if !known.contains(&name) {
            let problem = Problem::NoSuch {
                kind,
                found: name.to_string(),
                allowed: known.iter().map(ToString::to_string).collect(),
            };
            found.push(problem, name.span());
        }
    };
    let targets = file.targets.iter();
    let portal_groups = targets.filter_map(|target| target.portal_group.as_ref());
    for name in portal_groups.chain(&file.default_portal_group) {
        check("portal group", name);
    }
    // Without targets there is the pool's own, whose name the file does not know.
    if !file.targets.is_empty() {
        for name in file.target_groups.iter().flat_map(|group| &group.members) {
            check("target", name);
        }
    }
    for view in &file.views {
        view.host_group
            .iter()
            .for_each(|name| check("host group", name));
        view.target_group
            .iter()
            .for_each(|name| check("target group", name));
        if !file.units.is_empty() {
            view.units
                .iter()
                .flatten()
                .for_each(|name| check("unit", name));
        }
    }
}

fn chap(file: &ExportsFile, found: &mut Found) {
    let chaps = file.targets.iter().filter_map(|it| it.chap.as_ref());
    for chap in chaps {
        let secrets = [Some(&chap.secret), chap.mutual_secret.as_ref()];
        for secret in secrets.into_iter().flatten() {
            if matches!(**secret, SecretRef::Env(_)) {
                found.push(BrokenExports::SecretInEnvironment, secret.span());
            }
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._:@".contains(c);
        let users = [Some(&chap.user), chap.mutual_user.as_ref()];
        for user in users.into_iter().flatten() {
            if user.is_empty() || !user.chars().all(plain) {
                found.push(BrokenExports::User(user.to_string()), user.span());
            }
        }
        match (&chap.mutual_user, &chap.mutual_secret) {
            (Some(user), Some(_)) if *user == chap.user => {
                let broken = BrokenExports::SameUser(user.to_string());
                found.push_with(broken, user.span(), chap.user.span());
            }
            (Some(user), None) => found.push(BrokenExports::HalfMutual, user.span()),
            (None, Some(secret)) => found.push(BrokenExports::HalfMutual, secret.span()),
            _ => {}
        }
    }
}

fn units(file: &ExportsFile, found: &mut Found) {
    let sizes = file.units.iter().filter_map(|it| it.block_size.as_ref());
    for size in sizes.chain(&file.defaults.block_size) {
        if ![512, 4096].contains(&**size) {
            found.push(BrokenExports::BlockSize(**size), size.span());
        }
    }
    let mut seen: Vec<(String, Range<usize>)> = Vec::new();
    for unit in &file.units {
        let (serial, asked) = match (&unit.serial, &unit.naa, unit.serial_asked()) {
            (Some(_), Some(naa), _) => {
                found.push(BrokenExports::SerialAndNaa, naa.span());
                continue;
            }
            (Some(serial), None, Some(asked)) | (None, Some(serial), Some(asked)) => {
                (serial, asked)
            }
            _ => continue,
        };
        let lower = asked;
        let digits = serial.len() == 32 && serial.chars().all(|c| c.is_ascii_hexdigit());
        if unit.naa.is_some() && !(digits && serial.starts_with('6')) {
            found.push(BrokenExports::Naa(serial.to_string()), serial.span());
        } else if !digits {
            found.push(BrokenExports::Serial(serial.to_string()), serial.span());
        } else if let Some((_, first)) = seen.iter().find(|(other, _)| *other == lower) {
            let broken = BrokenExports::SerialTwice(lower);
            found.push_with(broken, serial.span(), first.clone());
        } else {
            seen.push((lower, serial.span()));
        }
    }
}

fn nfs(file: &ExportsFile, found: &mut Found) {
    let mut seen: Vec<(&str, Client, Range<usize>)> = Vec::new();
    for entry in &file.nfs {
        let name = entry.directory.as_str();
        // `exportfs` takes what it cannot read for something else.
        let plain = !name.chars().any(|c| c.is_control() || "\\\"".contains(c));
        let below = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !plain || !(name == "." || name.split('/').all(below)) {
            let broken = BrokenExports::Directory(name.to_owned());
            found.push(broken, entry.directory.span());
        }
        if entry.clients.is_empty() {
            let broken = BrokenExports::NoClients(name.to_owned());
            found.push(broken, entry.directory.span());
        }
        let written = entry.options.as_ref().map_or("rw", |text| text.as_str());
        let span = entry.options.as_ref().unwrap_or(&entry.directory).span();
        match NfsOptions::written(written) {
            Err(option) => found.push(BrokenExports::NfsOption(option), span),
            Ok(options) if name == "." && options.writable() => {
                found.push(BrokenExports::WholePool, span);
            }
            Ok(_) => {}
        }
        for text in &entry.clients {
            let Ok(client) = text.parse::<Client>() else {
                found.push(BrokenExports::NotAClient(text.to_string()), text.span());
                continue;
            };
            let mut before = seen.iter();
            match before.find(|(other, who, _)| *other == name && *who == client) {
                Some((_, _, first)) => {
                    let broken = BrokenExports::ClientTwice {
                        directory: name.to_owned(),
                        client: client.to_string(),
                    };
                    found.push_with(broken, text.span(), first.clone());
                }
                None => seen.push((name, client, text.span())),
            }
        }
    }
}
