//! Pause frames (IEEE 802.3, annex 31B): whether a NIC sends and obeys them.

use hawser_model::names::InterfaceName;

use super::{Words, on_or_off, pairs, switch};
use crate::KernelError;

const PAUSE: Words = Words {
    get: 0x12,
    get_name: "ethtool ETHTOOL_GPAUSEPARAM",
    set: 0x13,
    set_name: "ethtool ETHTOOL_SPAUSEPARAM",
    length: 4,
};

pub(in crate::knobs) fn read(interface: &InterfaceName) -> Result<String, KernelError> {
    let words = PAUSE.read(interface)?;
    Ok(format!(
        "autoneg {} rx {} tx {}",
        switch(words[1]),
        switch(words[2]),
        switch(words[3])
    ))
}

pub(in crate::knobs) fn write(interface: &InterfaceName, value: &str) -> Result<(), KernelError> {
    let mut words = PAUSE.read(interface)?;
    words[1..].copy_from_slice(&pairs(value, ["autoneg", "rx", "tx"], on_or_off)?);
    PAUSE.write(interface, &words)
}
