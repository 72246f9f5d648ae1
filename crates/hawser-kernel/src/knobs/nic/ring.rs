//! Descriptor rings: how many packets a NIC can hold before the driver takes them.

use hawser_model::knob::{Scope, Setting, Side};
use hawser_model::names::InterfaceName;

use super::Words;
use crate::KernelError;

const RINGS: Words = Words {
    get: 0x10,
    get_name: "ethtool ETHTOOL_GRINGPARAM",
    set: 0x11,
    set_name: "ethtool ETHTOOL_SRINGPARAM",
    length: 9,
};

/// Words of the largest and the current size.
fn places(side: Side) -> (usize, usize) {
    match side {
        Side::Rx => (1, 5),
        Side::Tx => (4, 8),
    }
}

pub(in crate::knobs) fn read(
    interface: &InterfaceName,
    side: Side,
) -> Result<Setting, KernelError> {
    let words = RINGS.read(interface)?;
    let (largest, now) = places(side);
    Ok(Setting {
        value: words[now].to_string(),
        scope: Scope::Interface,
        largest: Some(words[largest].to_string()),
        at_boot: false,
    })
}

pub(in crate::knobs) fn write(
    interface: &InterfaceName,
    side: Side,
    value: &str,
) -> Result<(), KernelError> {
    let mut words = RINGS.read(interface)?;
    let (largest, now) = places(side);
    let wanted: u32 = value
        .parse()
        .map_err(|_| KernelError::Absent(format!("{interface}: `{value}` is no ring size")))?;
    if wanted > words[largest] {
        return Err(KernelError::Absent(format!(
            "{} ring of {interface}: {wanted} (driver maximum is {})",
            side.word(),
            words[largest]
        )));
    }
    words[now] = wanted;
    RINGS.write(interface, &words)
}
