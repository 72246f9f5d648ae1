//! `/etc/udev/rules.d/90-hawser-INTERFACE.rules` (udev(7)): one rule a setting, applied when the
//! interface appears and when it gets its name, after udev's own rules and before anybody
//! configures addresses.

use std::path::{Path, PathBuf};

use hawser_model::knob::Knob;
use hawser_model::names::InterfaceName;

const FOLDER: &str = "etc/udev/rules.d";
const PREFIX: &str = "90-hawser-";

pub(super) fn file(interface: &InterfaceName) -> PathBuf {
    Path::new(FOLDER).join(format!("{PREFIX}{interface}.rules"))
}

/// Where it may have written.
pub(super) fn files(root: &Path) -> Vec<PathBuf> {
    super::entries(&root.join(FOLDER), |name| {
        name.starts_with(PREFIX) && name.ends_with(".rules")
    })
}

/// The rule; none of a knob that no rule turns. `$name` is the interface's name when the rule runs.
pub(super) fn rule(interface: &InterfaceName, knob: &Knob, value: &str) -> Option<String> {
    let ethtool = |flag: &str, words: &str| run(&format!("ethtool {flag} $name {words}"));
    let does = match knob {
        Knob::Qdisc { .. } => {
            // The handle of our own is for undo; at boot any will do.
            let words: Vec<&str> = value.split(' ').filter(|w| !w.ends_with(':')).collect();
            run(&format!(
                "tc qdisc replace dev $name root {}",
                words.join(" ")
            ))
        }
        Knob::Ring { side, .. } => ethtool("-G", &format!("{} {value}", side.word())),
        Knob::Channels { .. } => ethtool("-L", &without_zeros(value)),
        Knob::Coalescing { side, .. } => {
            // `adaptive off usecs 50` is `adaptive-rx off rx-usecs 50` there.
            let side = side.word();
            let words = value
                .replace("adaptive", &format!("adaptive-{side}"))
                .replace("usecs", &format!("{side}-usecs"));
            let turned = ethtool("-C", &words);
            // Microseconds first: some drivers refuse others than they have together with adaptive.
            match words.contains(" on ") {
                true => format!(
                    "{}, {turned}",
                    ethtool("-C", &words.replace(" on ", " off "))
                ),
                false => turned,
            }
        }
        Knob::Pause { .. } => ethtool("-A", value),
        Knob::Offload { feature, .. } => ethtool("-K", &format!("{feature} {value}")),
        _ => format!("ATTR{{{}}}=\"{value}\"", knob.attribute()?),
    };
    Some(format!(
        "ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"{interface}\", {does}"
    ))
}

/// A program is looked for where both merged and unmerged systems have it.
fn run(command: &str) -> String {
    format!("RUN+=\"/bin/sh -c 'PATH=/usr/sbin:/sbin:/usr/bin:/bin exec {command}'\"")
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
