//! Layer-2 hellos: which links of which hosts really share a wire, and whether frames come
//! twice.
//!
//! A hello is a broadcast frame of the local experimental ethertype 0x88B5 (IEEE 802), which
//! no router forwards and no protocol uses. It is heard wherever its broadcast domain
//! reaches: on the link it was sent out of, and on any other that should not have heard it.

mod frame;
mod listener;

pub use frame::{Hello, encode, parse};
pub use listener::Listener;

use std::os::fd::AsFd;

use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::traffic::RunKey;

use crate::clock;
use crate::error::WireError;
use crate::sys::link;

/// IEEE 802 local experimental ethertype 1.
pub(crate) const ETHERTYPE: u16 = 0x88B5;

/// Frames of one announcement: a single lost frame must not look like a cut link.
const FRAMES: u64 = 3;

/// Announces a host's link out of an interface.
///
/// # Errors
/// [`WireError::Call`] when the interface does not exist, is down, or the caller may not
/// send frames (`CAP_NET_RAW`).
pub fn announce(
    interface: &InterfaceName,
    from: &HostName,
    link: &LinkName,
    key: RunKey,
) -> Result<(), WireError> {
    let index = index_of(interface)?;
    let socket =
        link::open(index, ETHERTYPE).map_err(WireError::call("socket AF_PACKET", interface))?;
    let time = clock::now().0;
    for number in 0..FRAMES {
        let hello = Hello {
            key,
            nonce: time.wrapping_add(number),
            from: from.clone(),
            link: link.clone(),
        };
        link::broadcast(socket.as_fd(), index, ETHERTYPE, &encode(&hello))
            .map_err(WireError::call("sendto AF_PACKET", interface))?;
    }
    Ok(())
}

fn index_of(interface: &InterfaceName) -> Result<u32, WireError> {
    nix::net::if_::if_nametoindex(interface.as_str())
        .map_err(WireError::call("if_nametoindex", interface))
}
