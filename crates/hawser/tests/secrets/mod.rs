//! What a secret must not do: be wrong until the day it is needed, or be seen anywhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::support::{Lab, eventually};
use super::{configuration, verb};

/// A password that was changed in one place alone: the device is asked, the apply is refused, and nothing that it writes has it.
#[track_caller]
pub fn a_wrong_password_changes_nothing_and_is_nowhere_to_be_seen(lab: &Lab) {
    let folder = hawser_lab::labs_folder().join(lab.name());
    let planted = format!("planted-{}", lab.name());
    let secret = folder.join("admin/etc/hawser/secrets/head2-bmc");
    let password = fs::read_to_string(&secret).unwrap();
    let before = configuration(lab, "head1");
    // Written into the file that is there, which keeps its mode.
    fs::write(&secret, format!("{planted}\n")).unwrap();
    let ran = verb(lab, "apply", &[]);
    fs::write(&secret, &password).unwrap();
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    let words = "fence device fence-head2";
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
    assert_eq!(configuration(lab, "head1"), before);

    let holds = |path: &Path| fs::read(path).is_ok_and(|bytes| holds(&bytes, planted.as_bytes()));
    let mut everywhere = files_below(&folder);
    everywhere.extend(files_below(Path::new("/run/hawser")));
    let leaked: Vec<_> = everywhere.iter().filter(|path| holds(path)).collect();
    assert!(leaked.is_empty(), "the secret is in {leaked:?}");
    assert!(!ran.stdout.contains(&planted) && !ran.stderr.contains(&planted));
    // The search would have found it.
    let found = tempfile::NamedTempFile::new().unwrap();
    fs::write(found.path(), &planted).unwrap();
    assert!(holds(found.path()));
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
