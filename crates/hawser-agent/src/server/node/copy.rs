//! One end of a copy, and what the host's counters do meanwhile.

use std::net::IpAddr;

use hawser_copy::{Now, ReceiveSpec, Receiver, Running, SendSpec};
use hawser_kernel::{host_counters, host_facts};
use hawser_model::copy::CopyEnd;
use hawser_model::counters::Counters;

use super::words;

/// Said when there is none.
pub(super) const NONE: &str = "no copy runs";

/// A copy at work.
pub(super) struct Copy {
    running: Running,
    address: IpAddr,
    before: Counters,
}

impl Copy {
    /// The receiving end, and its port.
    pub(super) fn receive(spec: ReceiveSpec) -> Result<(Self, u16), String> {
        let address = spec.at;
        let receiver = Receiver::open(spec).map_err(words)?;
        let before = host_counters();
        let port = receiver.port();
        let running = receiver.start().map_err(words)?;
        let copy = Self {
            running,
            address,
            before,
        };
        Ok((copy, port))
    }

    /// The sending end.
    pub(super) fn send(spec: SendSpec) -> Result<Self, String> {
        let address = spec.from;
        let before = host_counters();
        Ok(Self {
            running: hawser_copy::send(spec).map_err(words)?,
            address,
            before,
        })
    }

    pub(super) fn now(&self) -> Now {
        self.running.now()
    }

    pub(super) fn finish(self) -> CopyEnd {
        if !self.running.now().finished {
            self.running.abort();
        }
        let mut end = self.running.finish();
        end.counters = host_counters().since(&self.before);
        let facts = host_facts();
        end.interface = facts
            .interface_with(self.address)
            .map(|(name, interface)| (name.clone(), interface.clone()));
        end
    }
}
