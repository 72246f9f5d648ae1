//! Where a setting of an interface is kept: with the program that configures the interface, where that one
//! would have the last word, and else in a rule of udev, which runs before all of them.

use std::path::{Path, PathBuf};

use hawser_files::Expected;
use hawser_model::knob::Knob;
use hawser_model::names::InterfaceName;

use super::managers::{Line, Managers, observe};
use super::udev_rules;

const NETWORKD: &str = "etc/systemd/network";
const MANAGER: &str = "etc/NetworkManager/conf.d";
const MANAGER_PREFIX: &str = "60-hawser-";
const NETWORKD_FILE: &str = "60-hawser.conf";

pub(super) fn plan(
    root: &Path,
    interface: &InterfaceName,
    knob: &Knob,
    value: &str,
    expected: Expected,
) -> Result<PathBuf, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    if !interface.as_str().chars().all(plain) {
        return Err(format!(
            "`{interface}` does not go into a configuration file"
        ));
    }
    let seen = observe(root, interface, expected);
    decide(root, interface, knob, value, &seen).map(|path| root.join(path))
}

/// Where it may have written, udev's rules apart.
pub(super) fn files(root: &Path) -> Vec<PathBuf> {
    let dropped = super::entries(&root.join(NETWORKD), |name| name.ends_with(".network.d"));
    let mut files: Vec<PathBuf> = dropped.iter().map(|d| d.join(NETWORKD_FILE)).collect();
    files.extend(super::entries(&root.join(MANAGER), |name| {
        name.starts_with(MANAGER_PREFIX) && name.ends_with(".conf")
    }));
    files
}

/// The file, relative to the root.
fn decide(
    root: &Path,
    interface: &InterfaceName,
    knob: &Knob,
    value: &str,
    seen: &Managers,
) -> Result<PathBuf, String> {
    let mtu = matches!(knob, Knob::Mtu { .. });
    let own = |manager: &str, lines: &[Line]| match lines.iter().find(|l| sets(&l.text, knob)) {
        Some(line) => Err(format!(
            "{manager} sets it by {} (`{}`): set `{value}` there",
            line.place, line.text
        )),
        None => Ok(()),
    };
    if let Some(networkd) = &seen.networkd {
        own("systemd-networkd", &networkd.lines)?;
        if let (true, false, Some(name)) = (mtu, networkd.shared, networkd.file.file_name()) {
            let folder = format!("{}.d", name.to_string_lossy());
            return Ok(Path::new(NETWORKD).join(folder).join(NETWORKD_FILE));
        }
    }
    if let Some(profiles) = &seen.network_manager {
        if matches!(knob, Knob::Bridge { .. }) {
            return Err(format!(
                "NetworkManager sets all of a bridge's multicast from its profile: \
                 `nmcli connection modify` the one of {interface}"
            ));
        }
        own("NetworkManager", profiles)?;
        if mtu {
            let file = format!("{MANAGER_PREFIX}{interface}.conf");
            return Ok(Path::new(MANAGER).join(file));
        }
    }
    if let Some(stanzas) = &seen.ifupdown {
        own("ifupdown", stanzas)?;
    }
    if !seen.udev {
        return Err(format!(
            "udev does not know {interface}, so that nothing sets it up at boot: set {knob} to \
             `{value}` where this host configures its interfaces"
        ));
    }
    udev_rules::plan(root, interface, knob, value)
}

/// Whether a line of somebody's configuration sets the same thing. Said of too many lines rather than
/// of too few: it costs only that the change is not persisted.
fn sets(line: &str, knob: &Knob) -> bool {
    let line = line.to_ascii_lowercase();
    let words: &[&str] = match knob {
        Knob::Mtu { .. } => &["mtu"],
        Knob::TxQueueLength { .. } => &["txqueuelen", "txqlen"],
        Knob::Qdisc { .. } => &["qdisc", "[tc]", "queueing", "codel]", "fifo]", "tc "],
        Knob::Bridge { .. } => &["mcsnoop", "mcquerier", "multicast"],
        _ if knob.attribute().is_some() => &["rps_", "xps_", "threaded"],
        _ => &["ethtool", "hardware-", "offload-"],
    };
    words.iter().any(|word| line.contains(word))
}

/// The lines that keep a setting in the file at `path`.
pub(super) fn lines(path: &Path, knob: &Knob, value: &str) -> String {
    let Some(interface) = knob.interface() else {
        return String::new();
    };
    match path.extension().and_then(|e| e.to_str()) {
        Some("rules") => udev_rules::rule(interface, knob, value).unwrap_or_default(),
        _ if path.ends_with(NETWORKD_FILE) => format!("[Link]\nMTUBytes={value}"),
        _ => format!(
            "[connection-hawser-{interface}]\nmatch-device=interface-name:{interface}\n\
             ethernet.mtu={value}"
        ),
    }
}
