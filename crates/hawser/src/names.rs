//! The names that a shell completes (`hawser complete`): of labs, hosts, pools, scenarios, causes and incidents. They are read
//! from this machine's own files, at once: nobody is asked over the network, and what cannot be read has no names.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use hawser_lab::Lab;
use hawser_model::cluster_file::{self, ClusterFile};
use hawser_model::topology::Topology;

use crate::cluster::DEFAULT_FILE;

/// What comes before the word that is completed: it names the cluster.
static BEFORE: OnceLock<Vec<OsString>> = OnceLock::new();

/// A cluster file is no longer than this: a line of a shell does not wait for more.
const LARGEST: u64 = 1 << 20;

/// Says what comes before the word that is completed.
pub fn after(words: Vec<OsString>) {
    // Once in a process, which completes one word.
    let _first = BEFORE.set(words);
}

/// Labs of this machine.
pub fn labs() -> ArgValueCandidates {
    ArgValueCandidates::new(|| candidates(hawser_lab::names()))
}

/// Nodes of the lab or of the cluster file that the command line names.
pub fn nodes() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let topology = topology().unwrap_or_default();
        candidates(topology.nodes.into_iter().map(|node| node.name))
    })
}

/// Ports of a lab, its nodes and its links.
pub fn places() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let topology = topology().unwrap_or_default();
        let ports = topology.nodes.iter().flat_map(|node| {
            let links = topology.links.iter();
            links.map(move |link| format!("{}/{}", node.name, link.name))
        });
        let nodes = topology.nodes.iter().map(|node| node.name.to_string());
        candidates(nodes.chain(ports))
    })
}

/// Links of the lab or of the cluster file.
pub fn links() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let topology = topology().unwrap_or_default();
        candidates(topology.links.into_iter().map(|link| link.name))
    })
}

/// Pools of the cluster file.
pub fn pools() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let pools = file().into_iter().flat_map(|file| file.pools);
        candidates(pools.map(|pool| (*pool.name).clone()))
    })
}

/// Scenarios of a drill.
pub fn scenarios() -> ArgValueCandidates {
    ArgValueCandidates::new(|| candidates(hawser_drill::scenario::all().map(|it| it.name)))
}

/// Codes of causes.
pub fn codes() -> ArgValueCandidates {
    ArgValueCandidates::new(|| candidates(hawser_account::pages()))
}

/// Incidents that the watch of this head has kept, newest first; those of other heads are only in their logs.
pub fn incidents() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let kept = hawser_cluster::host::kept_incidents();
        candidates(["last".to_owned()].into_iter().chain(kept))
    })
}

fn candidates(names: impl IntoIterator<Item = impl ToString>) -> Vec<CompletionCandidate> {
    let names = names.into_iter().enumerate();
    names
        .map(|(place, name)| CompletionCandidate::new(name.to_string()).display_order(Some(place)))
        .collect()
}

/// The lab that the command line names, or the cluster file.
fn topology() -> Option<Topology> {
    if let Some(lab) = lab() {
        return Some(lab.topology());
    }
    file().map(|file| file.topology())
}

fn lab() -> Option<Lab> {
    let before = BEFORE.get()?;
    let named = option(before, "--lab", None);
    // `hawser lab` has one that it means when none is named.
    let default = (before.get(1)? == "lab").then(|| OsString::from("default"));
    Lab::open(named.or(default)?.to_str()?).ok()
}

fn file() -> Option<ClusterFile> {
    let before = BEFORE.get()?;
    let path = match option(before, "--file", Some("-f")) {
        Some(path) => PathBuf::from(path),
        None => match lab() {
            Some(lab) => lab.admin_root()?.join(DEFAULT_FILE),
            None => PathBuf::from(DEFAULT_FILE),
        },
    };
    cluster_file::parse(&text(&path)?, "").ok()
}

/// A file's text, if it is a file: a pipe or a device might never answer.
fn text(path: &Path) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    (about.is_file() && about.len() <= LARGEST).then_some(())?;
    fs::read_to_string(path).ok()
}

/// The value of an option, the last one if it stands several times.
fn option(words: &[OsString], long: &str, short: Option<&str>) -> Option<OsString> {
    let mut found = None;
    let mut words = words.iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        if word == long || short.is_some_and(|short| word == short) {
            found = words.next().map(|value| value.into_owned());
        } else if let Some(value) = word.strip_prefix(long).and_then(|it| it.strip_prefix('=')) {
            found = Some(value.to_owned());
        } else if let Some(value) = short.and_then(|short| word.strip_prefix(short)) {
            found = Some(value.to_owned());
        }
    }
    found.map(OsString::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_found_however_it_is_written() {
        let of = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            option(&words, "--file", Some("-f")).map(|it| it.to_string_lossy().into_owned())
        };
        for line in [
            "move -f a.toml",
            "move -fa.toml",
            "--file a.toml x",
            "--file=a.toml",
            "-f b -f a.toml",
        ] {
            assert_eq!(of(line).as_deref(), Some("a.toml"), "{line}");
        }
        for line in ["move --file", "move a.toml", "move --files=a.toml"] {
            assert_eq!(of(line), None, "{line}");
        }
    }

    #[test]
    fn a_pipe_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("hawser.toml");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        assert_eq!(text(&pipe), None);
    }
}
