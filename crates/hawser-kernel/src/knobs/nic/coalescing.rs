//! Interrupt coalescing: how long a NIC waits before it interrupts.

use hawser_model::knob::Side;
use hawser_model::names::InterfaceName;

use super::{Words, number, on_or_off, pairs, switch};
use crate::KernelError;

const COALESCE: Words = Words {
    get: 0x0e,
    get_name: "ethtool ETHTOOL_GCOALESCE",
    set: 0x0f,
    set_name: "ethtool ETHTOOL_SCOALESCE",
    length: 23,
};

/// Words of "adaptive" and of the microseconds.
fn places(side: Side) -> (usize, usize) {
    match side {
        Side::Rx => (10, 1),
        Side::Tx => (11, 5),
    }
}

pub(in crate::knobs) fn read(interface: &InterfaceName, side: Side) -> Result<String, KernelError> {
    let words = COALESCE.read(interface)?;
    let (adaptive, usecs) = places(side);
    Ok(format!(
        "adaptive {} usecs {}",
        switch(words[adaptive]),
        words[usecs]
    ))
}

pub(in crate::knobs) fn write(
    interface: &InterfaceName,
    side: Side,
    value: &str,
) -> Result<(), KernelError> {
    let mut words = COALESCE.read(interface)?;
    let (adaptive, usecs) = places(side);
    let either = |text: &str| on_or_off(text).or_else(|| number(text));
    let [switched, wanted] = pairs(value, ["adaptive", "usecs"], either)?;
    words[adaptive] = switched;
    words[usecs] = wanted;
    COALESCE.write(interface, &words)
}
