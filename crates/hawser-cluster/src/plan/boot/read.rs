//! The lines of a head's files that mount, export or offer something at boot.

use super::Mount;
use crate::exports::nfs::NfsOptions;

/// What a `fstab` mounts at boot, without other names of the devices.
pub(crate) fn mounts(fstab: &str) -> Vec<Mount> {
    let lines = fstab
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines
        .filter(|fields| fields.first().is_some_and(|first| !first.starts_with('#')))
        .filter_map(|fields| {
            let (device, place) = (fields.first()?, fields.get(1)?);
            let options = fields.get(3).copied().unwrap_or_default();
            let by_hand = options.split(',').any(|option| option == "noauto");
            (!by_hand).then(|| Mount {
                device: (*device).to_owned(),
                place: (*place).to_owned(),
                ..Mount::default()
            })
        })
        .collect()
}

/// The directories that an exports(5) file offers whether or not anything is mounted there.
pub(crate) fn exported(text: &str) -> Vec<String> {
    // A line goes on behind a backslash at its end.
    let whole = text.replace("\\\n", " ");
    let lines = whole.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| match line.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => line.split_once(char::is_whitespace).unwrap_or((line, "")),
        })
        .filter(|(_, clients)| !waits_for_its_mount(clients))
        .map(|(directory, _)| directory.to_owned())
        .collect()
}

/// Whether all clients have it only while it is mounted.
fn waits_for_its_mount(clients: &str) -> bool {
    let waits = |client: &str| {
        let (_, options) = client.split_once('(').unwrap_or_default();
        NfsOptions::shown(options.trim_end_matches(')')).waits_for_its_mount()
    };
    let mut clients = clients.split_whitespace().peekable();
    clients.peek().is_some() && clients.all(waits)
}

/// The backing stores in a targets.conf(5) of tgt-admin.
pub(crate) fn backing_stores(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines
        .filter_map(|line| {
            let mut words = line.trim_start_matches('<').split_whitespace();
            let key = words.next()?;
            let store = key == "backing-store" || key == "direct-store";
            let path = words.next().filter(|_| store)?;
            Some(path.trim_end_matches('>').to_owned())
        })
        .collect()
}

/// The devices and files of the storage objects that targetcli has saved; `None`: it is not what targetcli writes.
pub(crate) fn saved_objects(text: &str) -> Option<Vec<String>> {
    let saved: serde_json::Value = serde_json::from_str(text).ok()?;
    let objects = match saved.get("storage_objects") {
        None => &Vec::new(),
        Some(objects) => objects.as_array()?,
    };
    let device = |object: &serde_json::Value| {
        let named = object.get("dev").or_else(|| object.get("name"));
        named
            .and_then(|d| d.as_str())
            .unwrap_or_default()
            .to_owned()
    };
    Some(objects.iter().map(device).collect())
}

/// The last value of a setting in a file of LVM (lvm.conf(5)): `key = "value"`, `section/key = "value"`.
pub(crate) fn lvm_setting<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let lines = text.lines().map(|line| line.trim());
    let mut values = lines.filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let name = name.trim().rsplit('/').next()?;
        // The value ends at its quote, or at a comment or a brace of a section in one line.
        let value = value.trim();
        let value = match value.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next()?,
            None => value.split([' ', '#', '}']).next()?,
        };
        let name = name.rsplit(['{', ' ']).next()?;
        (name == key && !line.starts_with('#')).then_some(value)
    });
    values.next_back()
}

/// What udev's links that are made of LVM's identities lead to, by a backup of a group's metadata: the group for a
/// physical volume, the path for a logical one.
pub(crate) fn lvm_identities(backup: &str) -> Vec<(String, String)> {
    // Sections are nested: `group { physical_volumes { pv0 { id = "…" } } }`.
    let mut sections: Vec<&str> = Vec::new();
    let mut of_group = String::new();
    let mut found = Vec::new();
    for line in backup.lines().map(str::trim) {
        if let Some(name) = line.strip_suffix('{') {
            sections.push(name.trim());
        } else if line.starts_with('}') {
            sections.pop();
        }
        let Some(id) = line
            .strip_prefix("id = \"")
            .and_then(|rest| rest.split('"').next())
        else {
            continue;
        };
        match sections[..] {
            [_] => of_group = id.replace('-', ""),
            [group, "physical_volumes", _] => {
                let link = format!("/dev/disk/by-id/lvm-pv-uuid-{id}");
                found.push((link, format!("/dev/{group}")));
            }
            [group, "logical_volumes", volume] => {
                let id = id.replace('-', "");
                let link = format!("/dev/disk/by-id/dm-uuid-LVM-{of_group}{id}");
                found.push((link, format!("/dev/{group}/{volume}")));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_fstab_counts_unless_it_waits_for_somebody() {
        let text =
            "# /dev/a /a ext4\n/dev/b /b ext4 defaults 0 2\n/dev/c /c xfs rw,noauto 0 0\nshort\n";
        let found = mounts(text);
        assert_eq!(found.len(), 1);
        assert_eq!((&*found[0].device, &*found[0].place), ("/dev/b", "/b"));
    }

    #[test]
    fn exports_may_be_quoted_and_go_on_in_the_next_line() {
        let text = "#/x *(ro)\n/vmpool01 \\\n  10.0.0.1(rw)\n\"/srv/with space\" *(ro)\n\n";
        assert_eq!(exported(text), ["/vmpool01", "/srv/with space"]);
    }

    #[test]
    fn what_is_exported_only_while_it_is_mounted_is_not_offered_at_boot() {
        let text = "/vmpool02/shared *(sec=sys,rw,no_subtree_check,mountpoint,crossmnt)\n/a b(mp) c(rw,mp)\n\
                    /one b(mp) c(rw)\n/two *(mountpoint=/other)\n/three\n/four *\n";
        assert_eq!(exported(text), ["/one", "/two", "/three", "/four"]);
    }

    #[test]
    fn stores_of_tgt_stand_alone_or_open_a_block() {
        let text = "<target iqn.a>\n backing-store /dev/vg/a\n <direct-store /dev/sdb>\n </direct-store>\n \
                    # backing-store /dev/no\n</target>";
        assert_eq!(backing_stores(text), ["/dev/vg/a", "/dev/sdb"]);
    }

    #[test]
    fn objects_of_targetcli_are_named_by_their_device() {
        let text = r#"{"storage_objects": [{"plugin": "block", "dev": "/dev/zvol/p/a"}, {"name": "ram"}]}"#;
        assert_eq!(saved_objects(text).unwrap(), ["/dev/zvol/p/a", "ram"]);
        assert_eq!(saved_objects("{}").unwrap(), Vec::<String>::new());
        assert_eq!(saved_objects("oops"), None);
    }

    #[test]
    fn a_backup_of_a_group_tells_what_its_identities_are() {
        let text = "# Generated by LVM2\ncontents = \"Text Format Volume Group\"\n\nvm-pool {\n\tid = \"Ab-Cd\"\n\
            \tphysical_volumes {\n\t\tpv0 {\n\t\t\tid = \"Pp-01\"\n\t\t\tdevice = \"/dev/sdb\"\t# Hint only\n\t\t}\n\t}\n\
            \tlogical_volumes {\n\n\t\tdisk1 {\n\t\t\tid = \"Ee-Ff\"\n\t\t\tsegment1 {\n\t\t\t\tid = \"no\"\n\t\t\t}\n\t\t}\n\t}\n}\n";
        let pair = |link: &str, of: &str| (format!("/dev/disk/by-id/{link}"), of.to_owned());
        assert_eq!(
            lvm_identities(text),
            [
                pair("lvm-pv-uuid-Pp-01", "/dev/vm-pool"),
                pair("dm-uuid-LVM-AbCdEeFf", "/dev/vm-pool/disk1"),
            ]
        );
        assert_eq!(lvm_identities("}\n}\nid = \"\n{ {"), []);
    }

    #[test]
    fn a_setting_of_lvm_is_found_in_its_forms_and_not_in_comments() {
        let of = |text| lvm_setting(text, "system_id_source");
        assert_eq!(of("global {\n\t# system_id_source = \"none\"\n}"), None);
        assert_eq!(
            of("global {\n\tsystem_id_source = \"uname\"\n}"),
            Some("uname")
        );
        assert_eq!(
            of("global/system_id_source=\"machineid\""),
            Some("machineid")
        );
        assert_eq!(of("global { system_id_source = none }"), Some("none"));
    }
}
