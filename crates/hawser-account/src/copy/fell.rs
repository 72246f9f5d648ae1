//! How fast a copy was: all the time, or before and after its rate fell.

use std::fmt;

use hawser_model::finding::{Place, Severity};
use hawser_model::output::copy::ChangePoint;
use hawser_model::units::Bytes;
use serde::Serialize;

use super::View;

/// Where the rate fell, from what to what; or what it was.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Fell {
    /// It fell.
    At {
        at_bytes: Bytes,
        at_ms: u64,
        before_bytes_per_s: u64,
        after_bytes_per_s: u64,
    },
    /// It was the same all the time.
    Never { bytes_per_s: u64 },
}

impl Fell {
    /// Of a copy.
    pub(crate) fn of(view: &View<'_>) -> Self {
        match &view.change {
            Some(change) => Self::at(change),
            None => Self::Never {
                bytes_per_s: rate(view.whole.mb_per_s()),
            },
        }
    }

    /// Of a rate that fell.
    pub(crate) fn at(change: &ChangePoint) -> Self {
        Self::At {
            at_bytes: Bytes(change.at_bytes),
            at_ms: (change.at_s * 1e3).round() as u64,
            before_bytes_per_s: rate(change.before_mb_per_s),
            after_bytes_per_s: rate(change.after_mb_per_s),
        }
    }

    /// A copy that fell is an error of something; one that was slow all the time may be as intended.
    pub(crate) fn severity(self) -> Severity {
        match self {
            Self::At { .. } => Severity::Error,
            Self::Never { .. } => Severity::Warning,
        }
    }
}

impl fmt::Display for Fell {
    /// `fell from 900 MB/s to 10.0 MB/s after 20.0 MiB (0.02 s)`, or how fast it was at all.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Never { bytes_per_s } => write!(f, "ran at {}", mb(bytes_per_s)),
            Self::At {
                at_bytes,
                at_ms,
                before_bytes_per_s,
                after_bytes_per_s,
            } => write!(
                f,
                "fell from {} to {} after {at_bytes} ({:.2} s)",
                mb(before_bytes_per_s),
                mb(after_bytes_per_s),
                at_ms as f64 / 1e3,
            ),
        }
    }
}

/// `900 MB/s`, `12.3 MB/s`, `300 kB/s`.
pub(crate) fn mb(bytes_per_s: u64) -> String {
    match bytes_per_s as f64 / 1e6 {
        rate if rate >= 100.0 => format!("{rate:.0} MB/s"),
        rate if rate >= 1.0 => format!("{rate:.1} MB/s"),
        rate => format!("{:.0} kB/s", rate * 1e3),
    }
}

/// Bytes a second.
pub(crate) fn rate(mb_per_s: f64) -> u64 {
    (mb_per_s * 1e6).round() as u64
}

/// Per cent, whole.
pub(crate) fn percent(share: f64) -> u64 {
    (share * 100.0).round() as u64
}

/// At the receiver, coming from the sender.
pub(crate) fn at_receiver(view: &View<'_>) -> Place {
    let interface = view.case.receiver.interface.as_ref();
    Place {
        peer: Some(view.case.from.clone()),
        link: Some(view.case.link.clone()),
        interface: interface.map(|(name, _)| name.clone()),
        ..Place::on(&view.case.to)
    }
}

/// At the sender, going to the receiver.
pub(crate) fn at_sender(view: &View<'_>) -> Place {
    let interface = view.case.sender.interface.as_ref();
    Place {
        peer: Some(view.case.to.clone()),
        link: Some(view.case.link.clone()),
        interface: interface.map(|(name, _)| name.clone()),
        ..Place::on(&view.case.from)
    }
}
