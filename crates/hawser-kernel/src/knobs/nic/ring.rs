//! Descriptor rings: how many packets a NIC can hold before the driver takes them.

use std::io;

use hawser_model::knob::{Scope, Setting, Side};
use hawser_model::names::InterfaceName;

use super::Words;
use crate::KernelError;
use crate::ethtool::Ethtool;

const RINGS: Words = Words {
    get: 0x10,
    get_name: "ethtool ETHTOOL_GRINGPARAM",
    set: 0x11,
    set_name: "ethtool ETHTOOL_SRINGPARAM",
    length: 9,
};

/// The driver of user-mode Linux's network cards. Over a tap it has no receive queue, and `vector_get_ringparam`
/// reads through it (`vp->rx_queue->max_depth`, arch/um/drivers/vector_kern.c, Linux 6.1): whoever asks for the
/// rings ends that kernel.
const WITHOUT_RINGS: &str = "uml-vector";

/// What the driver says of the rings, unless it must not be asked.
fn asked(interface: &InterfaceName) -> Result<Vec<u32>, KernelError> {
    let driver = Ethtool::open()?.driver(interface.as_str());
    refused(interface, driver.ok().map(|it| it.name).as_deref())?;
    RINGS.read(interface)
}

/// Says of a driver that must not be asked what a driver without rings says of itself.
fn refused(interface: &InterfaceName, driver: Option<&str>) -> Result<(), KernelError> {
    if driver != Some(WITHOUT_RINGS) {
        return Ok(());
    }
    let unsupported = io::Error::from_raw_os_error(nix::errno::Errno::EOPNOTSUPP as i32);
    Err(KernelError::call(RINGS.get_name, interface, unsupported))
}

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
    let words = asked(interface)?;
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
    let mut words = asked(interface)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_card_of_user_mode_linux_is_not_asked_and_every_other_one_is() {
        let card = InterfaceName::from("vec0");
        let said = refused(&card, Some("uml-vector")).unwrap_err().to_string();
        assert!(
            said.starts_with("ethtool ETHTOOL_GRINGPARAM vec0: Operation not supported"),
            "{said}"
        );
        for driver in [Some("veth"), Some("vmxnet3"), None] {
            assert!(refused(&card, driver).is_ok());
        }
    }
}
