//! What made an outage longer than it had to be: one file a cause, one line each in
//! [`DRILL_CAUSES`].

use hawser_model::finding::{Finding, Place};
use hawser_model::names::HostName;

use super::view::DrillView;

mod client_reconnect;
mod engine_throttled;
mod failure_kept;
mod fence_delay;
mod human;
mod monitor_interval;
mod no_gratuitous_arp;
mod power_wait;
mod serial_exports;
mod slow_import;
mod token;
mod unattributed;

/// A cause.
pub(super) struct DrillCause {
    /// Its code: kebab-case, documented in `docs/causes/CODE.md`, never renamed.
    pub(super) code: &'static str,
    /// Looks for it.
    pub(super) find: fn(&DrillView<'_>) -> Option<Finding>,
}

/// All causes, in the order of an outage.
pub(super) const DRILL_CAUSES: &[DrillCause] = &[
    human::CAUSE,
    monitor_interval::CAUSE,
    token::CAUSE,
    fence_delay::CAUSE,
    power_wait::CAUSE,
    slow_import::CAUSE,
    serial_exports::CAUSE,
    failure_kept::CAUSE,
    engine_throttled::CAUSE,
    no_gratuitous_arp::CAUSE,
    client_reconnect::CAUSE,
    unattributed::CAUSE,
];

/// Something with a name on a host.
fn place(host: Option<&HostName>, object: Option<&str>) -> Place {
    Place {
        host: host.cloned(),
        object: object.map(str::to_owned),
        ..Place::default()
    }
}

/// The whole outage in milliseconds, which every finding is set against.
fn outage_ms(view: &DrillView<'_>) -> u64 {
    view.outage.to.0.saturating_sub(view.outage.from.0) / 1000
}
