//! Volumes as files, zvols and logical volumes.

use super::*;
use crate::exports::file::parse;

#[test]
fn zvols_are_known_by_their_guid() {
    let text = "tank/vm/disk1\t9223372036854775808\t1073741824\tdefault\t-\n\
                tank/b\t7\t512\tdev\tavailable\n";
    let volumes = zvols(text, "tank").unwrap();
    let volumes: Vec<Volume> = volumes.into_iter().map(|zvol| zvol.volume).collect();
    assert_eq!(volumes[0].name, "vm/disk1");
    assert_eq!(volumes[0].identity, "zfs:9223372036854775808");
    assert_eq!(volumes[0].path, "/dev/zvol/tank/vm/disk1");
    assert_eq!(volumes[1].bytes, 512);
    assert!(zvols("tank2/x\t1\t2\tdefault\t-\n", "tank").is_err());
}

#[test]
fn only_a_zvol_that_is_offered_needs_a_device() {
    let text = "tank/vm/a\t1\t512\tdefault\t-\n\
                tank/backup\t2\t512\tnone\t-\n\
                tank/locked\t3\t512\tdefault\tunavailable\n";
    let with = |text: &str, file: &str| {
        let file = parse(file, "exports.toml").unwrap();
        let volumes = with_devices(zvols(text, "tank").unwrap(), "tank", &file)?;
        wait(&volumes, &file, Deadline::after(Duration::ZERO))?;
        Ok(volumes.into_iter().map(|volume| volume.name).collect())
    };
    let refused = |text: &str, file: &str| -> String {
        let found: Result<Vec<String>, VolumesError> = with(text, file);
        found.unwrap_err().to_string()
    };
    let unit = |name: &str| format!("[[unit]]\nvolume = \"{name}\"\n");
    let nfs = "[[nfs]]\ndirectory = \"home\"\nclients = [\"*\"]\n";
    // No device is there, and none is waited for.
    assert_eq!(with(text, nfs).unwrap(), ["vm/a", "locked"]);
    let other = "[[view]]\nname = \"v\"\nprefix = \"other\"\n";
    assert_eq!(with(text, other).unwrap(), ["vm/a", "locked"]);
    let found = refused(text, &unit("vm/a"));
    assert!(
        found.starts_with("/dev/zvol/tank/vm/a is not there"),
        "{found}"
    );
    let found = refused(text, "[[view]]\nname = \"v\"\nprefix = \"vm\"\n");
    assert!(
        found.starts_with("/dev/zvol/tank/vm/a is not there"),
        "{found}"
    );
    // An empty file offers what can be offered, and one that is named must be there.
    let backup = "tank/backup\t2\t512\tnone\t-\n";
    assert_eq!(with(backup, "").unwrap(), [""; 0]);
    for file in [
        unit("backup"),
        "[[view]]\nname = \"v\"\nunits = [\"backup\"]\n".to_owned(),
    ] {
        let found = refused(backup, &file);
        assert!(found.contains("its volmode is none"), "{found}");
    }
    let locked = "tank/locked\t3\t512\tdefault\tunavailable\n";
    for file in [unit("locked"), String::new()] {
        let found = refused(locked, &file);
        assert!(
            found.starts_with("volume tank/locked has no device, since its key"),
            "{found}"
        );
    }
}

#[test]
fn logical_volumes_without_pools_and_snapshots() {
    let text = "  a\tUUID-A\t1024\t-wi-ao----\t/dev/vg/a\n  \
                pool\tUUID-P\t4096\ttwi-aotz--\t\n  \
                thin\tUUID-T\t2048\tVwi-a-tz--\t/dev/vg/thin\n  \
                snap\tUUID-S\t2048\tswi-a-s---\t/dev/vg/snap\n";
    let with = |text: &str, file: &str| -> Result<Vec<String>, VolumesError> {
        let file = parse(file, "exports.toml").unwrap();
        let volumes = activated(lvm_volumes(text).unwrap(), "vg", &file)?;
        Ok(volumes.into_iter().map(|volume| volume.name).collect())
    };
    assert_eq!(with(text, "").unwrap(), ["a", "thin"]);
    // No head that takes the pool over has it.
    let snapshot = "  thin0\tUUID-0\t2048\tVwi---tz-k\t/dev/vg/thin0\n";
    let more = format!("{text}{snapshot}");
    assert_eq!(with(&more, "").unwrap(), ["a", "thin"]);
    let named = "[[unit]]\nvolume = \"thin0\"\n";
    let refused = with(&more, named).unwrap_err().to_string();
    assert!(
        refused.starts_with("volume vg/thin0 has no device, since LVM leaves it inactive"),
        "{refused}"
    );
    let by_hand = more.replace("/dev/vg/thin0", "/dev/null");
    assert_eq!(with(&by_hand, named).unwrap(), ["a", "thin", "thin0"]);
}

#[test]
fn one_ending_is_taken_off_and_a_hard_link_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["a.img", "a.img.img"] {
        fs::write(root.join(name), name).unwrap();
    }
    let names: Vec<String> = files(root, true, &ExportsFile::default())
        .unwrap()
        .into_iter()
        .map(|v| v.name)
        .collect();
    assert_eq!(names, ["a", "a.img"]);
    fs::create_dir(root.join("vm")).unwrap();
    fs::hard_link(root.join("a.img"), root.join("vm/b.img")).unwrap();
    let error = files(root, true, &ExportsFile::default())
        .unwrap_err()
        .to_string();
    let (one, other) = (root.join("a.img"), root.join("vm/b.img"));
    let both = format!("{} and {} are one file", one.display(), other.display());
    assert!(error.starts_with(&both), "{error}");
    // In a directory that is exported, a client may link and name what it likes.
    fs::write(root.join("vm/line\nbreak.img"), "").unwrap();
    let nfs = "[[nfs]]\ndirectory = \"vm\"\nclients = [\"*\"]\n";
    let file = parse(nfs, "exports.toml").unwrap();
    let found = files(root, true, &file).unwrap();
    let names: Vec<&str> = found.iter().map(|volume| volume.name.as_str()).collect();
    assert_eq!(names, ["a", "a.img"]);
}

#[test]
fn volumes_of_one_name_or_one_identity_are_an_error_with_both() {
    let volume = |name: &str, identity: &str, path: &str| Volume {
        name: name.to_owned(),
        identity: identity.to_owned(),
        path: path.to_owned(),
        bytes: 512,
        discards: false,
    };
    let two = [volume("a", "1", "/p/a"), volume("a", "2", "/p/b")];
    let error = different("name", &two, |v| &v.name).unwrap_err();
    assert_eq!(
        error.to_string(),
        "volumes /p/a and /p/b have the same name, a: rename or remove one"
    );
    assert!(different("identity", &two, |v| &v.identity).is_ok());
}

#[test]
fn links_are_not_followed_and_no_folder_is_too_deep() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::os::unix::fs::symlink("/etc", root.join("etc")).unwrap();
    std::os::unix::fs::symlink("/dev/sda", root.join("disk.img")).unwrap();
    let deep: PathBuf = (0..1500).map(|_| "d").collect();
    fs::create_dir_all(root.join(&deep)).unwrap();
    fs::write(root.join(&deep).join("a.img"), "").unwrap();
    let found = files(root, true, &ExportsFile::default()).unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].name.ends_with("d/a"));
}

#[test]
fn files_keep_their_identity_when_renamed_and_a_new_one_has_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let list = || files(root, true, &ExportsFile::default()).unwrap();
    fs::create_dir(root.join("vm")).unwrap();
    fs::write(root.join("vm/a.img"), [0; 512]).unwrap();
    fs::write(root.join("exports.toml"), "").unwrap();
    fs::write(root.join(".hidden.img"), "").unwrap();
    let before = list();
    assert_eq!(before.len(), 1);
    assert_eq!((before[0].name.as_str(), before[0].bytes), ("vm/a", 512));
    fs::rename(root.join("vm/a.img"), root.join("b.img")).unwrap();
    let after = list();
    assert_eq!(after[0].name, "b");
    assert_eq!(after[0].identity, before[0].identity);
    fs::remove_file(root.join("b.img")).unwrap();
    fs::write(root.join("b.img"), [0; 512]).unwrap();
    assert_ne!(list()[0].identity, before[0].identity);
}
