//! Who configures an interface of this host, and what that one sets by itself: facts, from files.

use std::fs;
use std::path::{Path, PathBuf};

use hawser_files::Expected;
use hawser_model::names::InterfaceName;

/// What was seen of one interface.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Managers {
    /// udev has set it up: its rules are read when the interface appears.
    pub(super) udev: bool,
    /// systemd-networkd configures it.
    pub(super) networkd: Option<Networkd>,
    /// NetworkManager configures it; its profiles of this interface, line by line.
    pub(super) network_manager: Option<Vec<Line>>,
    /// ifupdown configures it; the lines of its stanzas.
    pub(super) ifupdown: Option<Vec<Line>>,
}

/// What systemd-networkd does with an interface.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Networkd {
    /// The `.network` file.
    pub(super) file: PathBuf,
    /// Other interfaces have the same file.
    pub(super) shared: bool,
    /// The lines of the file and of what is dropped into it, Hawser's own left out.
    pub(super) lines: Vec<Line>,
}

/// A line of a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// `FILE:LINE`.
    pub(super) place: String,
    /// Trimmed.
    pub(super) text: String,
}

/// Looks below `root`, where files of Hawser's are as `expected`.
pub(super) fn observe(root: &Path, interface: &InterfaceName, expected: Expected) -> Managers {
    let index = text(&root.join(format!("sys/class/net/{interface}/ifindex")));
    let index = index.trim();
    if index.is_empty() {
        return Managers::default();
    }
    Managers {
        udev: root.join(format!("run/udev/data/n{index}")).exists(),
        networkd: networkd(root, index, expected),
        network_manager: network_manager(root, index, interface),
        ifupdown: ifupdown(root, interface),
    }
}

/// `/run/systemd/netif/links/INDEX` (sd-network): the state of each link, its file included.
fn networkd(root: &Path, index: &str, expected: Expected) -> Option<Networkd> {
    let links = root.join("run/systemd/netif/links");
    let state = text(&links.join(index));
    let file = value(&state, "NETWORK_FILE")?;
    if value(&state, "ADMIN_STATE").is_some_and(|s| s == "unmanaged") {
        return None;
    }
    let users = files(&links)
        .into_iter()
        .filter(|other| value(&text(other), "NETWORK_FILE") == Some(file));
    let file = PathBuf::from(file);
    let name = file.file_name()?.to_string_lossy().into_owned();
    let inside = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
    let mut lines = lines(&inside(&file));
    for folder in ["etc", "run", "usr/local/lib", "usr/lib", "lib"] {
        let dropped = root
            .join(folder)
            .join("systemd/network")
            .join(format!("{name}.d"));
        let others = files(&dropped)
            .into_iter()
            .filter(|f| !super::owned::is_ours(f, expected));
        lines.extend(others.flat_map(|f| self::lines(&f)));
    }
    Some(Networkd {
        shared: users.count() > 1,
        lines,
        file,
    })
}

/// `/run/NetworkManager/devices/INDEX` (`nm-config.c`): whether it manages the device. One that somebody else configures has a
/// profile that NetworkManager made up (`external=true`), and none of its defaults.
fn network_manager(root: &Path, index: &str, interface: &InterfaceName) -> Option<Vec<Line>> {
    let state = text(&root.join("run/NetworkManager/devices").join(index));
    value(&state, "managed").filter(|v| ["true", "full", "1"].contains(v))?;
    let folders = [
        "etc/NetworkManager/system-connections",
        "run/NetworkManager/system-connections",
        "usr/lib/NetworkManager/system-connections",
    ];
    let profiles = || folders.iter().flat_map(|f| files(&root.join(f)));
    let active = value(&state, "connection-uuid");
    let is_made_up = |profile: PathBuf| {
        let profile = text(&profile);
        value(&profile, "uuid") == active && value(&profile, "external") == Some("true")
    };
    if active.is_some() && profiles().any(is_made_up) {
        return None;
    }
    let own = profiles().filter(|profile| {
        let named = value(&text(profile), "interface-name").map(str::to_owned);
        named.is_none_or(|name| name == interface.as_str())
    });
    Some(own.flat_map(|profile| lines(&profile)).collect())
}

/// The lines of this interface's stanzas in interfaces(5).
fn ifupdown(root: &Path, interface: &InterfaceName) -> Option<Vec<Line>> {
    let mut all = vec![root.join("etc/network/interfaces")];
    all.extend(files(&root.join("etc/network/interfaces.d")));
    let mut found = None;
    for file in all {
        let mut inside = false;
        for line in lines(&file) {
            let mut words = line.text.split_whitespace();
            match words.next() {
                Some("iface") => inside = words.next() == Some(interface.as_str()),
                Some("auto" | "mapping" | "source" | "source-directory") => inside = false,
                Some(word) if word.starts_with("allow-") => inside = false,
                _ => {}
            }
            if inside {
                found.get_or_insert_with(Vec::new).push(line);
            }
        }
    }
    found
}

/// The value of `KEY=` in a file of such lines.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (k, v) = line.split_once('=')?;
        (k.trim() == key).then_some(v.trim())
    })
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The lines of a file that say something.
fn lines(path: &Path) -> Vec<Line> {
    let text = text(path);
    let numbered = text.lines().enumerate().map(|(n, line)| Line {
        place: format!("{}:{}", path.display(), n + 1),
        text: line.trim().to_owned(),
    });
    numbered
        .filter(|line| !line.text.is_empty() && !line.text.starts_with(['#', ';']))
        .collect()
}

/// The files of a folder by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| p.is_file()).collect();
    files.sort();
    files
}
