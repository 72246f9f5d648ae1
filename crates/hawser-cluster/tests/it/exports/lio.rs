//! The kernel's target: the operations on its tree, a kernel in memory that refuses what the real one
//! does, and a fake tree in a folder. Neither proves what a kernel takes: `make test-machines` asks a real one.

mod sessions;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use hawser_cluster::exports::lio::reservations::{self, Reservations};
use hawser_cluster::exports::lio::{
    Configfs, Entry, Operation, Tree, WantedEntry, backstore, entries, notable, others_company,
    plan,
};
use hawser_cluster::exports::{Desired, State, Volume};
use hawser_model::cluster_file::{Backend, SecretRef};
use proptest::prelude::*;

use super::model::{knobs, text};
use super::{resolved_for, volume};
use crate::golden::{compare, folder};

const POOL: &str = "tank";
const GROUP: &str = "tpgt_1";

fn desired(text: &str, volumes: &[Volume], state: &State) -> (Desired, State) {
    let made = resolved_for(Backend::Lio, text, volumes, state);
    let made = made.unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    (made.desired, made.state)
}

/// What secrets are known by here: their places stand for their contents.
fn wanted(desired: &Desired) -> Vec<WantedEntry> {
    let secrets = desired
        .targets
        .values()
        .flat_map(|t| t.accounts().into_values());
    let digests = secrets
        .map(|secret| (secret.clone(), digest(&secret)))
        .collect();
    entries(POOL, desired, &digests, &Reservations::default())
}

fn digest(secret: &SecretRef) -> [u8; 32] {
    let mut digest = [0; 32];
    let text = secret.to_string();
    for (to, from) in digest.iter_mut().zip(text.bytes().rev()) {
        *to = from;
    }
    digest
}

fn raw(operations: &[Operation]) -> String {
    let mut out = String::new();
    for operation in operations {
        match operation {
            Operation::Mkdir(path) => writeln!(out, "mkdir {path}"),
            Operation::Rmdir(path) => writeln!(out, "rmdir {path}"),
            Operation::Link { path, to } => writeln!(out, "ln -s {to} {path}"),
            Operation::Unlink(path) => writeln!(out, "rm {path}"),
            Operation::Write { path, text } => writeln!(out, "{text} > {path}"),
            Operation::WriteSecret { path, secret } => {
                writeln!(out, "(the secret in {secret}) > {path}")
            }
        }
        .unwrap();
    }
    out
}

/// The part of the kernel that matters here: what a folder has when it is made, and what is refused.
#[derive(Clone, Debug, Default, PartialEq)]
struct Kernel(Tree);

impl Kernel {
    fn value(&self, path: &str) -> Option<&str> {
        match self.0.get(path) {
            Some(Entry::Value(text)) => Some(text),
            _ => None,
        }
    }

    fn set(&mut self, path: String, text: &str) {
        self.0.insert(path, Entry::Value(text.to_owned()));
    }

    fn links_to(&self, folder: &str) -> bool {
        let inside = format!("{folder}/");
        let links = self.0.values().filter_map(|entry| match entry {
            Entry::Link(to) => Some(to),
            _ => None,
        });
        links
            .into_iter()
            .any(|to| to == folder || to.starts_with(&inside))
    }

    fn mkdir(&mut self, path: &str) {
        let parts: Vec<&str> = path.split('/').collect();
        let parent = match parts[..] {
            ["core", _] | ["iscsi", _] => None,
            ["iscsi", iqn, group, "lun" | "np" | "acls", _] => Some(format!("iscsi/{iqn}/{group}")),
            _ => path.rsplit_once('/').map(|(parent, _)| parent.to_owned()),
        };
        if let Some(parent) = parent {
            assert_eq!(
                self.0.get(&parent),
                Some(&Entry::Folder),
                "mkdir {path}: ENOENT"
            );
        }
        let old = self.0.insert(path.to_owned(), Entry::Folder);
        assert_eq!(old, None, "mkdir {path}: EEXIST");
        let values: &[(&str, &str)] = match parts[..] {
            ["core", _, _] => &[
                ("enable", "0"),
                ("udev_path", ""),
                ("wwn/vpd_unit_serial", ""),
                ("wwn/company_id", "0x001405"),
            ],
            ["iscsi", _, GROUP] => &[
                ("attrib/generate_node_acls", "0"),
                ("attrib/demo_mode_discovery", "1"),
                ("attrib/demo_mode_write_protect", "1"),
                ("attrib/authentication", "1"),
                ("enable", "0"),
            ],
            ["iscsi", _, _, "acls", _, lun] if lun.starts_with("lun_") => &[("write_protect", "0")],
            _ => &[],
        };
        for (name, text) in values {
            self.set(format!("{path}/{name}"), text);
        }
        if matches!(parts[..], ["iscsi", _, GROUP] | ["iscsi", _, _, "acls", _]) {
            for name in ["userid", "password", "userid_mutual", "password_mutual"] {
                self.set(format!("{path}/auth/{name}"), "");
            }
        }
    }

    fn perform(&mut self, operation: &Operation) {
        match operation {
            Operation::Mkdir(path) => self.mkdir(path),
            Operation::Rmdir(path) => {
                assert!(!self.links_to(path), "rmdir {path}: EBUSY");
                assert_eq!(
                    self.0.remove(path),
                    Some(Entry::Folder),
                    "rmdir {path}: ENOENT"
                );
                let inside = format!("{path}/");
                let made = |entry: &Entry| matches!(entry, Entry::Folder | Entry::Link(_));
                let full = self
                    .0
                    .iter()
                    .find(|(p, e)| p.starts_with(&inside) && made(e));
                assert_eq!(full, None, "rmdir {path}: ENOTEMPTY");
                let on = self.value(&format!("{path}/enable")) == Some("1");
                assert!(
                    !(on && path.starts_with("iscsi/")),
                    "{path} goes while it is on"
                );
                self.0.retain(|p, _| !p.starts_with(&inside));
            }
            Operation::Link { path, to } => {
                assert_eq!(self.0.get(to), Some(&Entry::Folder), "link {path}: no {to}");
                match to.starts_with("core/") {
                    true => assert_eq!(
                        self.value(&format!("{to}/enable")),
                        Some("1"),
                        "{to} is off"
                    ),
                    false => assert!(
                        self.0.keys().any(|p| p.starts_with(&format!("{to}/"))),
                        "{to} is no unit yet"
                    ),
                }
                assert_eq!(self.0.insert(path.clone(), Entry::Link(to.clone())), None);
            }
            Operation::Unlink(path) => {
                assert!(
                    matches!(self.0.remove(path), Some(Entry::Link(_))),
                    "rm {path}"
                );
                // The kernel takes the unit away from hosts that see it, whose links then lead nowhere.
                let folder = path.rsplit_once('/').unwrap().0;
                assert!(!self.links_to(folder), "rm {path}: hosts still see it");
            }
            Operation::Write { path, text } => self.write(path, text),
            Operation::WriteSecret { path, secret } => {
                assert!(self.0.contains_key(path), "write {path}: ENOENT");
                let old = self.0.insert(path.clone(), Entry::Secret(digest(secret)));
                if let Some(Entry::Secret(_)) = old {
                    self.nobody_is_logged_in(path);
                }
            }
        }
    }

    fn write(&mut self, path: &str, text: &str) {
        let (folder, name) = path.rsplit_once('/').unwrap();
        let device = folder.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        // target_core_configfs.c asks of none of these whether it is exported (`emulate_tpu_store`, `emulate_caw_store`, …).
        let at_any_time = ["emulate_tpu", "emulate_tpws", "emulate_caw", "emulate_3pc"];
        if name == "control" && text.starts_with("fd_dev_size=") {
            return self.set(path.to_owned(), text);
        }
        if folder.starts_with("core/") && !at_any_time.contains(&name) {
            assert!(
                !self.links_to(&device),
                "write {path}: EINVAL, it is exported"
            );
        }
        match name {
            "res_aptpl_metadata" => {
                let told = format!("{device}/registered");
                let before = self.value(&told).unwrap_or_default();
                return self.set(told.clone(), &format!("{before}{text}\n"));
            }
            "control" => {
                assert_eq!(self.value(&format!("{device}/enable")), Some("0"));
                return self.set(format!("{device}/told"), text);
            }
            "enable" if folder == device && folder.starts_with("core/") => {
                let told = self.0.remove(&format!("{device}/told"));
                assert!(told.is_some(), "enable {device}: EINVAL");
                let has_size = self.0.contains_key(&format!("{device}/control"));
                assert_eq!(
                    has_size,
                    folder.starts_with("core/fileio"),
                    "enable {device}: EINVAL"
                );
                self.set(format!("{device}/attrib/block_size"), "512");
                // `DA_EMULATE_TPU` is 0, `DA_EMULATE_CAW` 1 (target_core_base.h).
                for name in at_any_time {
                    let is = u8::from(!name.starts_with("emulate_tp"));
                    self.set(format!("{device}/attrib/{name}"), &is.to_string());
                }
                if folder.starts_with("core/fileio") {
                    self.set(format!("{device}/attrib/emulate_write_cache"), "0");
                }
            }
            _ => assert!(self.0.contains_key(path), "write {path}: ENOENT"),
        }
        match name {
            "authentication" if text == "1" => self.nobody_is_logged_in(path),
            "enable" if folder.ends_with(GROUP) => {
                assert_ne!(
                    self.value(path),
                    Some(text),
                    "write {path}: EINVAL, it is so"
                );
            }
            _ => {}
        }
        let text = if text == "NULL" { "" } else { text };
        self.set(path.to_owned(), text);
    }

    /// Who is logged in would stay without the proof that is asked for from now on.
    fn nobody_is_logged_in(&self, path: &str) {
        let group = path.split('/').take(3).collect::<Vec<_>>().join("/");
        let on = self.value(&format!("{group}/enable"));
        assert_eq!(on, Some("0"), "{path} changes while clients are logged in");
    }

    fn apply(&mut self, operations: &[Operation]) {
        for operation in operations {
            self.perform(operation);
        }
    }

    /// What a look at the kernel finds of it.
    fn found(&self) -> Tree {
        let hidden = ["/told", "/registered"];
        let seen = |(path, _): &(&String, &Entry)| !hidden.iter().any(|it| path.ends_with(it));
        let all = self.0.iter().filter(seen);
        all.map(|(path, entry)| (path.clone(), entry.clone()))
            .collect()
    }
}

fn none() -> BTreeSet<String> {
    BTreeSet::new()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_file_after_any_other_killed_anywhere(
        steps in prop::collection::vec((knobs(), any::<prop::sample::Index>()), 1..6)
    ) {
        let path = |i: usize| match i % 2 {
            0 => format!("/tank/v{i}.img"),
            _ => format!("/dev/vg/v{i}"),
        };
        let volumes: Vec<Volume> = (0..8)
            .map(|i| Volume { path: path(i), ..volume(&format!("v{i}"), &format!("id{i}")) })
            .collect();
        let mut kernel = Kernel::default();
        let mut state = State::default();
        for (step, killed) in steps {
            let mut file = text(&volumes, step);
            if !file.contains("host_group") {
                file = file.replace("read_only = true", "block_size = 4096");
            }
            let (desired, next) = desired(&file, &volumes, &state);
            state = next;
            let entries = wanted(&desired);
            let before = kernel.found();
            let operations = plan(&entries, &before, &none());
            // Killed in the midst of it, and run again.
            let mut other = kernel.clone();
            other.apply(&operations[..killed.index(operations.len() + 1)]);
            let rest = plan(&entries, &other.found(), &none());
            other.apply(&rest);

            kernel.apply(&operations);
            prop_assert_eq!(&kernel.found(), &other.found());
            prop_assert_eq!(plan(&entries, &kernel.found(), &none()), [], "a second start has something to do");
            // A unit that is the same before and after was not touched in between.
            let after = kernel.found();
            let anew = |path: &str| {
                let group = path.split('/').take(3).collect::<Vec<_>>().join("/");
                let open = format!("{group}/attrib/generate_node_acls");
                let protect = format!("{group}/attrib/demo_mode_write_protect");
                let everybody = before.get(&open) == Some(&Entry::Value("1".into()));
                let protected = before.get(&protect) != after.get(&protect);
                before.get(&open) != after.get(&open) || (everybody && protected)
            };
            for operation in &operations {
                let (Operation::Unlink(path) | Operation::Link { path, .. }) = operation else {
                    continue;
                };
                if anew(path) || before.get(path) != after.get(path) {
                    continue;
                }
                let Some(Entry::Link(to)) = before.get(path) else { continue };
                // A host's unit is the target's, and that is what is behind it.
                let behind = |tree: &Tree| -> Tree {
                    let below = |folder: &str| -> Vec<(String, Entry)> {
                        let prefix = format!("{folder}/");
                        let all = tree.iter().filter(|(path, _)| path.starts_with(&prefix));
                        all.map(|(path, entry)| (path.clone(), entry.clone())).collect()
                    };
                    let mut all = below(to);
                    for (_, entry) in all.clone() {
                        if let Entry::Link(device) = entry {
                            all.extend(below(&device));
                        }
                    }
                    all.into_iter().collect()
                };
                let (was, is) = (behind(&before), behind(&after));
                prop_assert_ne!(was, is, "{} was touched", path);
            }
        }
        kernel.apply(&plan(&[], &kernel.found(), &none()));
        prop_assert_eq!(kernel.0, Tree::new(), "a stop leaves something");
    }
}

#[test]
fn the_operations_for_a_file_of_everything() {
    let device = Volume {
        path: "/dev/tank/x".into(),
        ..volume("x", "lvm:3")
    };
    let volumes = [volume("a", "1"), volume("b", "2"), device];
    let file = fs::read_to_string(folder("lio").join("exports.toml")).unwrap();
    let (desired, _) = desired(&file, &volumes, &State::default());
    let entries = wanted(&desired);
    let operations = plan(&entries, &Tree::new(), &none());
    let mut kernel = Kernel::default();
    kernel.apply(&operations);
    let names: BTreeMap<&str, &str> = desired
        .units
        .iter()
        .map(|(serial, unit)| (serial.as_str(), unit.name.as_str()))
        .collect();
    let mut out = "a person is told\n".to_owned();
    for line in notable(&operations, &names) {
        writeln!(out, "  {line}").unwrap();
    }
    write!(out, "\nstart\n{}\nstop\n", raw(&operations)).unwrap();
    out += &raw(&plan(&[], &kernel.found(), &none()));
    compare(&folder("lio").join("operations.txt"), &out);
}

/// As the kernel wrote what a client has registered.
const REGISTERED: &str = "PR_REG_START: 0\ninitiator_fabric=iSCSI\ninitiator_node=iqn.2026-01.lab:client1\n\
    sa_res_key=43969\nres_holder=0\nres_all_tg_pt=0\nmapped_lun=1\ntarget_fabric=iSCSI\n\
    target_node=iqn.2026-01.lab:tank\ntpgt=1\nport_rtpi=1\ntarget_lun=1\nPR_REG_END: 0\n\0";

#[test]
fn what_clients_have_registered_is_told_wherever_a_start_before_was_killed() {
    let (desired, _) = desired("", &[volume("a", "1"), volume("b", "2")], &State::default());
    let registrations = reservations::parse(REGISTERED).unwrap().0;
    let of_units = desired
        .units
        .keys()
        .map(|serial| (serial.clone(), registrations.clone()));
    let reservations = Reservations {
        of_units: of_units.collect(),
        ..Reservations::default()
    };
    let entries = entries(POOL, &desired, &BTreeMap::new(), &reservations);
    let operations = plan(&entries, &Tree::new(), &none());
    for killed in 0..=operations.len() {
        let mut kernel = Kernel::default();
        kernel.apply(&operations[..killed]);
        kernel.apply(&plan(&entries, &kernel.found(), &none()));
        for (serial, unit) in &desired.units {
            let told = format!("{}/registered", backstore(POOL, serial, unit));
            let told = kernel
                .value(&told)
                .unwrap_or_else(|| panic!("killed at {killed}"));
            assert_eq!(told.lines().count(), 1, "killed at {killed}: {told}");
        }
        assert_eq!(plan(&entries, &kernel.found(), &none()), []);
    }
}

#[test]
fn a_company_that_is_no_longer_wanted_goes_at_the_next_start_and_not_at_a_takeover() {
    let naa = "6589cfc000000a1b2c3d4e5f60718293";
    let unit = |what: &str| format!("[[unit]]\nvolume = \"a\"\n{what}\n");
    let volumes = [volume("a", "1")];
    let (with, state) = desired(
        &unit(&format!("naa = \"{naa}\"")),
        &volumes,
        &State::default(),
    );
    let serial = with.units.keys().next().unwrap();
    let (without, _) = desired(&unit(&format!("serial = \"{serial}\"")), &volumes, &state);
    assert!(without.units.contains_key(serial));
    let mut kernel = Kernel::default();
    let company = |kernel: &Kernel| {
        let store = backstore(POOL, serial, &without.units[serial]);
        kernel
            .value(&format!("{store}/wwn/company_id"))
            .unwrap()
            .to_owned()
    };
    kernel.apply(&plan(&wanted(&with), &kernel.found(), &none()));
    assert_eq!(company(&kernel), "0x589cfc");
    // What only looks takes it for what it is.
    assert_eq!(plan(&wanted(&without), &kernel.found(), &none()), []);
    let stale = others_company(&wanted(&without), &kernel.found());
    kernel.apply(&plan(&wanted(&without), &kernel.found(), &stale));
    assert_eq!(company(&kernel), "0x001405");
    assert_eq!(others_company(&wanted(&without), &kernel.found()), none());
}

#[test]
fn a_volume_that_was_replaced_under_its_name_is_opened_anew_and_its_neighbour_is_not() {
    let (desired, _) = desired("", &[volume("a", "1"), volume("b", "2")], &State::default());
    let mut kernel = Kernel::default();
    let entries = wanted(&desired);
    kernel.apply(&plan(&entries, &kernel.found(), &none()));
    let (serial, unit) = desired
        .units
        .iter()
        .find(|(_, unit)| unit.name == "a")
        .unwrap();
    let stale = BTreeSet::from([backstore(POOL, serial, unit)]);
    let operations = plan(&entries, &kernel.found(), &stale);
    kernel.apply(&operations);
    let said = raw(&operations);
    let (other, _) = desired
        .units
        .iter()
        .find(|(_, unit)| unit.name == "b")
        .unwrap();
    assert!(
        said.contains(&format!("rmdir {}", backstore(POOL, serial, unit))),
        "{said}"
    );
    assert!(!said.contains(other.as_str()), "{said}");
}

#[test]
fn what_the_kernels_target_cannot_do_is_refused() {
    let volumes = [volume("a", "1"), volume("b", "2")];
    let said = |text: &str| {
        let errors = resolved_for(Backend::Lio, text, &volumes, &State::default()).unwrap_err();
        let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
        said.join("; ")
    };
    let mixed = "[[unit]]\nvolume = \"a\"\n[[unit]]\nvolume = \"b\"\nread_only = true\n";
    assert!(said(mixed).contains("read-only and writable units to everybody"));
    let chap = "[[target]]\nname = \"x\"\nchap = { user = \"NULLs\", secret = \"file:/s\" }\n";
    assert!(said(chap).contains("begins with NULL"));
    // It would cut the path, and open, or make, a file of the name that is left.
    let long = |bytes: usize| Volume {
        path: format!("/tank/{}.img", "d".repeat(bytes - 10)),
        ..volume("a", "1")
    };
    let of = |bytes| resolved_for(Backend::Lio, "", &[long(bytes)], &State::default());
    assert!(of(255).is_ok());
    let cut = of(256)
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect::<String>();
    assert!(
        cut.contains("has 256 bytes, and the kernel's target takes 255 at most"),
        "{cut}"
    );
    let tgt = resolved_for(Backend::Tgt, "", &[long(256)], &State::default());
    assert!(tgt.is_ok());
    // And what tgtd cannot, it can.
    let hosts = "[[host_group]]\nname = \"g\"\nmembers = [\"iqn.a\"]\n[[host_group]]\nname = \"h\"\nmembers = [\"iqn.b\"]\n\
                 [[view]]\nname = \"v\"\nunits = [\"a\"]\nhost_group = \"g\"\n[[view]]\nname = \"w\"\nunits = [\"b\"]\nhost_group = \"h\"\n";
    let (desired, _) = desired(&format!("{mixed}{hosts}"), &volumes, &State::default());
    let said = raw(&plan(&wanted(&desired), &Tree::new(), &none()));
    assert!(
        said.contains("1 > iscsi/iqn.2026-01.lab:tank/tpgt_1/acls/iqn.b/lun_2/write_protect"),
        "{said}"
    );
    assert!(!said.contains("acls/iqn.a/lun_2"), "{said}");
}

/// A tree of files that stands in for configfs, in which whoever calls makes what the kernel would.
fn kernel_would(root: &Path, operation: &Operation, kernel: &mut Kernel) {
    let before = kernel.clone();
    kernel.perform(operation);
    let files = |kernel: &Kernel| -> BTreeSet<String> {
        let values = kernel
            .0
            .iter()
            .filter(|(_, e)| matches!(e, Entry::Value(_) | Entry::Secret(_)));
        values.map(|(path, _)| path.clone()).collect()
    };
    match operation {
        Operation::Mkdir(path) => {
            let parts: Vec<&str> = path.split('/').collect();
            let below: &[&str] = match parts[..] {
                ["iscsi", _, _] => &["lun", "np", "acls", "auth", "attrib"],
                _ => &[],
            };
            for name in below {
                fs::create_dir_all(root.join(path).join(name)).unwrap();
            }
            let new = files(kernel);
            let device = matches!(parts[..], ["core", _, _]);
            let more = [
                "control",
                "info",
                "attrib/block_size",
                "attrib/emulate_tpu",
                "attrib/emulate_tpws",
                "attrib/emulate_caw",
                "attrib/emulate_3pc",
                "attrib/emulate_write_cache",
            ];
            let more = more
                .iter()
                .filter(|_| device)
                .map(|name| format!("{path}/{name}"));
            for file in new.difference(&files(&before)).cloned().chain(more) {
                let whole = root.join(&file);
                fs::create_dir_all(whole.parent().unwrap()).unwrap();
                fs::write(&whole, kernel.value(&file).unwrap_or_default()).unwrap();
            }
        }
        Operation::Rmdir(path) => {
            let _gone = fs::remove_dir_all(root.join(path));
        }
        Operation::Write { path, text } if text.starts_with("fd_dev_size=") => {
            let size = text.trim_start_matches("fd_dev_size=");
            let info = format!(
                "Status: ACTIVATED  Max Queue Depth: 0  SectorSize: 512  HwMaxSectors: 16384\n        \
                 TCM FILEIO ID: 0        File: /tank/a  Size: 7  Mode: x  Size: {size}  Mode: Buffered-WCE Async: 0\n"
            );
            fs::write(root.join(path).with_file_name("info"), info).unwrap();
        }
        _ => {}
    }
}

#[test]
fn a_file_that_has_grown_is_told_and_nothing_else_is_touched() {
    let wanted_of = |bytes| {
        let volume = Volume {
            bytes,
            ..volume("a", "1")
        };
        wanted(
            &desired(
                "[[target]]\nname = \"tank\"\n",
                &[volume],
                &State::default(),
            )
            .0,
        )
    };
    let mut kernel = Kernel::default();
    kernel.apply(&plan(&wanted_of(1 << 20), &kernel.found(), &none()));
    let operations = plan(&wanted_of(2 << 20), &kernel.found(), &none());
    let [Operation::Write { path, text }] = &operations[..] else {
        panic!("{operations:?}")
    };
    assert!(
        path.starts_with("core/fileio_") && path.ends_with("/control"),
        "{path}"
    );
    assert_eq!(text, "fd_dev_size=2097152");
    let serial = path.split('/').nth(2).unwrap();
    let said = notable(&operations, &BTreeMap::from([(serial, "a")]));
    assert_eq!(said, ["a has 2097152 bytes now"]);
    kernel.apply(&operations);
    assert_eq!(plan(&wanted_of(2 << 20), &kernel.found(), &none()), []);
}

#[test]
fn what_a_file_forbids_is_refused_and_what_an_older_version_saved_says_nothing_of_it() {
    let written = |text: &str, strip: bool| -> Vec<String> {
        let (mut desired, _) = desired(text, &[volume("a", "1")], &State::default());
        for unit in desired.units.values_mut().filter(|_| strip) {
            (unit.ats, unit.xcopy) = (None, None);
        }
        let operations = plan(&wanted(&desired), &Kernel::default().found(), &none());
        let writes = operations.into_iter().filter_map(|it| match it {
            Operation::Write { path, text } => {
                let (_, name) = path.rsplit_once('/')?;
                let is = ["emulate_caw", "emulate_3pc"].contains(&name);
                is.then(|| format!("{name} {text}"))
            }
            _ => None,
        });
        writes.collect()
    };
    assert_eq!(
        written("[defaults]\nats = false\n", false),
        ["emulate_caw 0", "emulate_3pc 1"]
    );
    let one = "[defaults]\nats = false\n[[unit]]\nvolume = \"a\"\nats = true\nxcopy = false\n";
    assert_eq!(written(one, false), ["emulate_caw 1", "emulate_3pc 0"]);
    assert_eq!(written(one, true), Vec::<String>::new());
}

#[test]
fn a_tree_of_files_is_changed_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("core")).unwrap();
    fs::create_dir_all(root.join("iscsi")).unwrap();
    let configfs = Configfs::at(root);
    let text = "[[target]]\nname = \"tank\"\nchap = { user = \"u\", secret = \"file:/s\" }\n\
                [[host_group]]\nname = \"g\"\nmembers = [\"iqn.a\"]\n[[view]]\nname = \"v\"\nhost_group = \"g\"\n";
    let (desired, _) = desired(text, &[volume("a", "1")], &State::default());
    let secret: SecretRef = SecretRef::File("/s".into());
    let secrets = BTreeMap::from([(secret.clone(), "correct horse".to_owned())]);
    let digests = BTreeMap::from([(
        secret,
        <sha2::Sha256 as sha2::Digest>::digest("correct horse").into(),
    )]);
    let entries = entries(POOL, &desired, &digests, &Reservations::default());
    let targets = desired.targets.keys().cloned().collect();
    let mut kernel = Kernel::default();
    let run = |operations: &[Operation], kernel: &mut Kernel| {
        for operation in operations {
            if let Operation::Rmdir(_) = operation {
                kernel_would(root, operation, kernel);
                continue;
            }
            configfs.perform(operation, &secrets).unwrap();
            kernel_would(root, operation, kernel);
        }
    };
    let start = plan(&entries, &configfs.look(POOL, &targets).unwrap(), &none());
    run(&start, &mut kernel);
    let found = configfs.look(POOL, &targets).unwrap();
    assert_eq!(plan(&entries, &found, &none()), []);
    assert!(!format!("{found:?}{start:?}").contains("horse"));
    // What is found and changed by somebody else's hand is put right.
    let cache = found
        .keys()
        .find(|path| path.ends_with("enable") && path.starts_with("iscsi/"));
    fs::write(root.join(cache.unwrap()), "0\n").unwrap();
    kernel.set(cache.unwrap().clone(), "0");
    let found = configfs.look(POOL, &targets).unwrap();
    let mended = plan(&entries, &found, &none());
    assert_eq!(mended.len(), 1, "{mended:?}");
    run(&mended, &mut kernel);
    // A file that the kernel does not have is never made.
    let error = configfs.perform(
        &Operation::Write {
            path: "core/none".into(),
            text: "1".into(),
        },
        &secrets,
    );
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("write 1 to") && error.contains("core/none"),
        "{error}"
    );

    let found = configfs.look(POOL, &targets).unwrap();
    run(&plan(&[], &found, &none()), &mut kernel);
    assert_eq!(configfs.look(POOL, &targets).unwrap(), Tree::new());
}
