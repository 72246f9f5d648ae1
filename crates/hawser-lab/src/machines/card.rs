//! The network card that an emulated machine has on a link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A model of card, run by the driver of the real one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Card {
    /// VMware's paravirtual card: rings that can be set, and large receive offload by the card.
    #[default]
    Vmxnet3,
    /// Intel's 82574L: coalescing, flow control, and full statistics.
    E1000e,
    /// Intel's 82540EM: the card that virtual machines were given before there were paravirtual ones.
    E1000,
    /// QEMU's own paravirtual card: the least work for the host.
    Virtio,
}

/// The largest MTU that all of them take (`VMXNET3_MAX_MTU`, drivers/net/vmxnet3/vmxnet3_defs.h).
pub(super) const MOST_MTU: u32 = 9000;

impl Card {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Vmxnet3, Self::E1000e, Self::E1000, Self::Virtio];

    /// Its name in a lab file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Vmxnet3 => "vmxnet3",
            Self::E1000e => "e1000e",
            Self::E1000 => "e1000",
            Self::Virtio => "virtio",
        }
    }

    /// QEMU's name of the device.
    pub(super) fn device(self) -> &'static str {
        match self {
            Self::Virtio => "virtio-net-pci",
            other => other.word(),
        }
    }

    /// Whether it is what links have that name none.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
