//! `/etc/udev/rules.d/90-hawser-INTERFACE.rules` (udev(7)): one rule a setting, applied when the
//! interface appears and when it gets its name, after udev's own rules and before anybody
//! configures addresses.

use std::fs;
use std::path::{Path, PathBuf};

use hawser_model::knob::Knob;
use hawser_model::names::InterfaceName;

const FOLDER: &str = "etc/udev/rules.d";
const PREFIX: &str = "90-hawser-";

/// A program is looked for where both merged and unmerged systems have it.
const PATH: &str = "/usr/sbin:/sbin:/usr/bin:/bin";

fn file(interface: &InterfaceName) -> PathBuf {
    Path::new(FOLDER).join(format!("{PREFIX}{interface}.rules"))
}

/// Where it may have written.
pub(super) fn files(root: &Path) -> Vec<PathBuf> {
    super::entries(&root.join(FOLDER), |name| {
        name.starts_with(PREFIX) && name.ends_with(".rules")
    })
}

/// What a rule does.
enum Does {
    /// Writes an attribute of the interface.
    Sets(String),
    /// Runs a program with each of these, one after the other.
    Runs(&'static str, Vec<String>),
}

/// The file for a rule that can do its work on the host whose files are below `root`; else why there is none.
pub(super) fn plan(
    root: &Path,
    interface: &InterfaceName,
    knob: &Knob,
    value: &str,
) -> Result<PathBuf, String> {
    let does = does(knob, value).ok_or_else(|| format!("nothing on a host keeps {knob}"))?;
    if let Does::Runs(program, _) = does {
        let mut folders = PATH.split(':').map(|folder| folder.trim_start_matches('/'));
        if !folders.any(|folder| root.join(folder).join(program).is_file()) {
            return Err(format!(
                "{program} is not installed, so no rule of udev can set it"
            ));
        }
    }
    if matches!(knob, Knob::ThreadedNapi { .. }) {
        let driver = fs::read_link(root.join(format!("sys/class/net/{interface}/device/driver")));
        let driver = driver
            .ok()
            .and_then(|link| Some(link.file_name()?.to_str()?.to_owned()));
        let early = driver
            .as_deref()
            .is_some_and(|it| NAPI_AT_PROBE.contains(&it));
        if !early {
            return Err(format!(
                "the driver of {interface} ({}) may have no receivers yet when udev sees it, and the kernel refuses {knob} then",
                driver.as_deref().unwrap_or("not known")
            ));
        }
    }
    Ok(file(interface))
}

/// Drivers that make their receivers (`netif_napi_add`) when they find their card; others do when it is up, and until then nothing
/// is to be made a thread (`modify_napi_threaded` in net/core/dev.c).
const NAPI_AT_PROBE: [&str; 8] = [
    "e1000",
    "e1000e",
    "i40e",
    "igb",
    "igc",
    "ixgbe",
    "virtio_net",
    "vmxnet3",
];

/// The rule; none of a knob that no rule turns. `$name` is the interface's name when the rule runs.
pub(super) fn rule(interface: &InterfaceName, knob: &Knob, value: &str) -> Option<String> {
    let does = match does(knob, value)? {
        Does::Sets(attribute) => attribute,
        Does::Runs(program, all) => {
            let run = |words| format!("RUN+=\"/bin/sh -c 'PATH={PATH} exec {program} {words}'\"");
            all.into_iter().map(run).collect::<Vec<_>>().join(", ")
        }
    };
    Some(format!(
        "ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"{interface}\", {does}"
    ))
}

fn does(knob: &Knob, value: &str) -> Option<Does> {
    let ethtool = |flag: &str, words: &str| format!("{flag} $name {words}");
    let once = |flag: &str, words: &str| Does::Runs("ethtool", vec![ethtool(flag, words)]);
    Some(match knob {
        Knob::Qdisc { .. } => {
            // The handle of our own is for undo; at boot any will do.
            let words: Vec<&str> = value.split(' ').filter(|w| !w.ends_with(':')).collect();
            let words = format!("qdisc replace dev $name root {}", words.join(" "));
            Does::Runs("tc", vec![words])
        }
        Knob::Ring { side, .. } => once("-G", &format!("{} {value}", side.word())),
        Knob::Channels { .. } => once("-L", &without_zeros(value)),
        Knob::Coalescing { side, .. } => {
            // `adaptive off usecs 50` is `adaptive-rx off rx-usecs 50` there.
            let side = side.word();
            let words = value
                .replace("adaptive", &format!("adaptive-{side}"))
                .replace("usecs", &format!("{side}-usecs"));
            // Microseconds first: some drivers refuse others than they have together with adaptive.
            let mut all = vec![words.replace(" on ", " off "), words];
            all.dedup();
            let all = all.iter().map(|words| ethtool("-C", words));
            Does::Runs("ethtool", all.collect())
        }
        Knob::Pause { .. } => once("-A", value),
        Knob::Offload { feature, .. } => once("-K", &format!("{feature} {value}")),
        _ => Does::Sets(format!("ATTR{{{}}}=\"{value}\"", knob.attribute()?)),
    })
}

/// ethtool refuses `other 0` on a device that has no such queues.
fn without_zeros(value: &str) -> String {
    let words: Vec<&str> = value.split(' ').collect();
    let pairs = words.chunks(2).filter(|pair| pair.get(1) != Some(&"0"));
    pairs
        .map(|pair| pair.join(" "))
        .collect::<Vec<_>>()
        .join(" ")
}
