//! One end of a copy, and what the host's counters do meanwhile.

use std::net::IpAddr;

use hawser_copy::{Now, ReceiveSpec, Receiver, Running, SendSpec};
use hawser_host::Declined;
use hawser_kernel::{host_counters, host_facts};
use hawser_model::copy::CopyEnd;
use hawser_model::counters::Counters;

/// A copy at work.
pub(crate) struct Copy {
    running: Running,
    address: IpAddr,
    before: Counters,
}

impl Copy {
    /// The receiving end, and its port.
    pub(crate) fn receive(spec: ReceiveSpec) -> Result<(Self, u16), Declined> {
        let address = spec.at;
        let receiver = Receiver::open(spec)?;
        let before = host_counters();
        let port = receiver.port();
        let running = receiver.start()?;
        let copy = Self {
            running,
            address,
            before,
        };
        Ok((copy, port))
    }

    /// The sending end.
    pub(crate) fn send(spec: SendSpec) -> Result<Self, Declined> {
        let address = spec.from;
        let before = host_counters();
        Ok(Self {
            running: hawser_copy::send(spec)?,
            address,
            before,
        })
    }

    pub(crate) fn now(&self) -> Now {
        self.running.now()
    }

    pub(crate) fn finish(self) -> CopyEnd {
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
