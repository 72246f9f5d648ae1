//! Queues of a NIC, each with its interrupt.

use hawser_model::knob::{Scope, Setting};
use hawser_model::names::InterfaceName;

use super::{Words, number, pairs};
use crate::KernelError;

const CHANNELS: Words = Words {
    get: 0x3c,
    get_name: "ethtool ETHTOOL_GCHANNELS",
    set: 0x3d,
    set_name: "ethtool ETHTOOL_SCHANNELS",
    length: 9,
};

/// The current numbers are words 5 to 8, the largest 1 to 4.
const NAMES: [&str; 4] = ["rx", "tx", "other", "combined"];

pub(in crate::knobs) fn read(interface: &InterfaceName) -> Result<Setting, KernelError> {
    let words = CHANNELS.read(interface)?;
    Ok(Setting {
        value: text(&words[5..]),
        scope: Scope::Interface,
        largest: Some(text(&words[1..5])),
        at_boot: false,
    })
}

pub(in crate::knobs) fn write(interface: &InterfaceName, value: &str) -> Result<(), KernelError> {
    let mut words = CHANNELS.read(interface)?;
    words[5..].copy_from_slice(&pairs(value, NAMES, number)?);
    CHANNELS.write(interface, &words)
}

fn text(words: &[u32]) -> String {
    let pairs = NAMES.iter().zip(words);
    pairs
        .map(|(name, n)| format!("{name} {n}"))
        .collect::<Vec<_>>()
        .join(" ")
}
