//! What a secret must not do: be wrong until the day it is needed, or be seen anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::support::{Lab, eventually, json, run};
use super::verb;

/// A password that was changed in one place alone, a BMC that does not answer and a pool in `/etc/fstab`: each is a
/// finding of a check, and the secrets are in nothing that it writes.
#[track_caller]
pub fn a_check_finds_what_the_day_of_a_failure_would_show(lab: &Lab) {
    let folder = hawser_lab::labs_folder().join(lab.name());
    let admin = folder.join("admin");
    let planted = format!("planted-{}", lab.name());
    let secret = admin.join("etc/hawser/secrets/head2-bmc");
    let file = admin.join("hawser.toml");
    let (password, cluster) = (
        fs::read_to_string(&secret).unwrap(),
        fs::read_to_string(&file).unwrap(),
    );
    // Written into the file that is there, which keeps its mode.
    fs::write(&secret, format!("{planted}\n")).unwrap();
    fs::write(&file, cluster.replace("10.72.9.101", "10.72.9.199")).unwrap();
    lab.sh(
        "head1",
        "echo '/dev/vdb /srv/vmpool02/data ext4 defaults 0 2' >> /etc/fstab",
    );
    let written = tempfile::tempdir().unwrap();
    let case = written.path().join("case.json").display().to_string();
    let page = written.path().join("page.html").display().to_string();
    let short = ["--duration", "100ms", "--case", &case];
    let ran = verb(lab, "check", &[&short[..], &["--json"]].concat());
    let told = run(&["explain", &case]);
    run(&["report", &case, "-o", &page]);
    fs::write(&secret, &password).unwrap();
    fs::write(&file, cluster).unwrap();
    lab.sh("head1", "sed -i '\\,/vmpool02/data,d' /etc/fstab");

    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let report = json(&ran, "check");
    let findings = report["findings"].as_array().expect("findings");
    let failing: BTreeMap<&str, &Value> = findings
        .iter()
        .filter(|finding| finding["code"] == "fence-device-fails")
        .filter_map(|finding| Some((finding["where"]["object"].as_str()?, finding)))
        .collect();
    assert_eq!(
        failing.keys().copied().collect::<Vec<_>>(),
        ["fence-head1", "fence-head2"],
        "{report}"
    );
    for (device, asked_from, severity) in [
        ("fence-head1", "head2", "error"),
        ("fence-head2", "head1", "error"),
    ] {
        let finding = failing[device];
        assert_eq!(
            (&finding["where"]["host"], &finding["severity"]),
            (&asked_from.into(), &severity.into()),
            "{finding}"
        );
    }
    let at_boot: Vec<&Value> = findings
        .iter()
        .filter(|f| f["code"] == "pool-at-boot")
        .collect();
    assert_eq!(at_boot.len(), 1, "{report}");
    assert_eq!(
        (&at_boot[0]["where"]["host"], &at_boot[0]["where"]["object"]),
        (&"head1".into(), &"/etc/fstab".into()),
        "{report}"
    );
    assert!(
        told.stdout
            .contains("fence-head2, asked from head1, does not answer"),
        "{}",
        told.stdout
    );

    let holds = |path: &Path| fs::read(path).is_ok_and(|bytes| holds(&bytes, planted.as_bytes()));
    assert!(fs::metadata(&page).is_ok_and(|page| page.len() > 1_000));
    let mut everywhere = files_below(written.path());
    everywhere.extend(files_below(&folder));
    everywhere.extend(files_below(Path::new("/run/hawser")));
    let leaked: Vec<_> = everywhere.iter().filter(|path| holds(path)).collect();
    assert!(leaked.is_empty(), "the secret is in {leaked:?}");
    assert!(!ran.stdout.contains(&planted) && !told.stdout.contains(&planted));
    // The search would have found it.
    fs::write(written.path().join("found"), &planted).unwrap();
    assert!(holds(&written.path().join("found")));
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The regular files below a folder; shelves, which are large and hold only pools, are left out.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            found.extend(files_below(&entry.path()));
        } else if kind.is_file() && entry.metadata().is_ok_and(|about| about.len() < 4 << 20) {
            found.push(entry.path());
        }
    }
    found
}

/// Every argument list that was seen on this machine, its labs included, as long as it lives.
pub struct CommandLines {
    seen: Arc<Mutex<BTreeSet<Vec<u8>>>>,
    ends: Arc<AtomicBool>,
}

impl CommandLines {
    pub fn watch() -> Self {
        let watch = Self {
            seen: Arc::default(),
            ends: Arc::default(),
        };
        let (seen, ends) = (watch.seen.clone(), watch.ends.clone());
        thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
                    let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                    if !line.is_empty() {
                        seen.lock().unwrap().insert(line);
                    }
                }
                thread::sleep(Duration::from_millis(10));
            }
        });
        watch
    }

    fn has(&self, text: &str) -> bool {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .any(|line| line.windows(text.len()).any(|part| part == text.as_bytes()))
    }
}

impl Drop for CommandLines {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

/// The BMC's password is in no argument list, not in the CIB, in no log.
#[track_caller]
pub fn secrets_are_nowhere_to_be_seen(lab: &Lab, watch: &CommandLines) {
    let folder = hawser_lab::labs_folder().join(lab.name());
    let password = fs::read_to_string(folder.join("admin/etc/hawser/secrets/head1-bmc")).unwrap();
    let password = password.trim();
    assert!(!watch.has(password));
    // The watch would have seen it: it sees the agents that did get it, and one that is planted.
    assert!(watch.has("fence_ipmilan"));
    let planted = format!("planted-{}", lab.name());
    let mut child = Command::new("sh")
        .args(["-c", "sleep 60; :", &planted])
        .spawn()
        .expect("sh");
    let found = eventually(Duration::from_secs(20), || watch.has(&planted));
    child.kill().expect("it is killed");
    child.wait().expect("it has ended");
    assert!(found, "the watch is blind");
    let everywhere = format!(
        "cibadmin --query | grep -c {password}; grep -rc {password} /var/log | grep -v ':0$'; true"
    );
    assert_eq!(lab.sh("head1", &everywhere).trim(), "0");
    let mode = lab.sh("head1", "stat -c %a /etc/hawser/secrets/fence-head1");
    assert_eq!(mode.trim(), "600");
}
