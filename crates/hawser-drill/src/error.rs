//! Why a drill could not be run. That a promise broke is no error: it is what a drill is for.

use hawser_host::HostError;
use hawser_host::site::SiteError;

/// Why a drill could not be run.
#[derive(Debug, thiserror::Error)]
pub enum DrillError {
    /// What surrounds the heads could not be asked, broken or mended.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// A host could not be asked, or declined.
    #[error(transparent)]
    Host(#[from] HostError),
    /// Something of the drill's own could not be done.
    #[error("{0}")]
    CouldNot(String),
    /// The cluster does not have what the scenario breaks, or could not bear it. Nothing was done.
    #[error("{0}; nothing was done")]
    Unfit(String),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// It ended early; everything was taken back, and the cluster is whole.
    #[error("{why}; the faults of the drill are undone, and the cluster is whole")]
    Early {
        /// Why it ended.
        why: Box<DrillError>,
    },
    /// It ended early, and not all is well.
    #[error(
        "{why}; NOT all is well after it{}; `hawser drill --heal` goes on",
        told(left)
    )]
    Unhealed {
        /// Why it ended.
        why: Box<DrillError>,
        /// What else is wrong; nothing: that it ended was why it could not heal.
        left: Vec<String>,
    },
}

fn told(left: &[String]) -> String {
    match left {
        [] => String::new(),
        left => format!(": {}", left.join("; ")),
    }
}

impl DrillError {
    /// What a system call said about an object.
    pub(crate) fn io(call: &str, object: impl std::fmt::Display, e: std::io::Error) -> Self {
        Self::CouldNot(format!("{call} {object}: {e}"))
    }
}
