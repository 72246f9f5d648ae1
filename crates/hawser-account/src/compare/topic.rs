//! What is compared, and which of it a cause is about.

/// A kind of thing that is compared, in the order in which differences are told: from the card upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Topic {
    Speed,
    Duplex,
    Mtu,
    Driver,
    /// Parameters of the driver's module.
    DriverOption,
    Firmware,
    Card,
    Slot,
    /// How many interfaces carry the link (a bond's members).
    Members,
    /// How a bond spreads what it sends, and how it looks at its members.
    Bond,
    Ring,
    Coalescing,
    Channels,
    Pause,
    Offload,
    /// A device's settings in sysfs.
    Device,
    Bridge,
    Kernel,
    Machine,
    Processor,
    Governor,
    Clock,
    Boot,
    Memory,
    Module,
    Sysctl,
}

impl Topic {
    /// All of it.
    pub(crate) const fn any(self) -> About {
        About {
            topic: self,
            part: "",
            told: false,
        }
    }

    /// What has this in its name.
    pub(crate) const fn with(self, part: &'static str) -> About {
        About {
            topic: self,
            part,
            told: false,
        }
    }

    /// All of it, which the finding's own words give already.
    pub(crate) const fn told(self) -> About {
        self.any().told()
    }
}

/// What a cause is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    topic: Topic,
    part: &'static str,
    told: bool,
}

impl About {
    /// The same, which the finding's own words give already.
    pub(crate) const fn told(self) -> Self {
        Self { told: true, ..self }
    }

    /// Whether this item is of it.
    pub(super) fn covers(&self, topic: Topic, name: &str) -> bool {
        self.topic == topic && name.contains(self.part)
    }

    /// Whether the finding gives it anyway.
    pub(super) fn is_told(&self) -> bool {
        self.told
    }
}

/// What decides how fast a card takes packets out of its ring.
pub(crate) const CARD: [About; 9] = [
    Topic::Ring.any(),
    Topic::Coalescing.any(),
    Topic::Channels.any(),
    Topic::Driver.any(),
    Topic::DriverOption.any(),
    Topic::Firmware.any(),
    Topic::Device.any(),
    Topic::Sysctl.with("net.core.netdev_budget"),
    Topic::Governor.any(),
];

/// What decides how fast a host computes.
pub(crate) const COMPUTING: [About; 5] = [
    Topic::Governor.any(),
    Topic::Processor.any(),
    Topic::Clock.any(),
    Topic::Boot.any(),
    Topic::Kernel.any(),
];
