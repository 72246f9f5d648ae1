//! Why a rung cannot be measured: the call, the object, the system's answer.

use std::io;

use hawser_cipher::CipherError;
use hawser_copy::CopyError;
use hawser_wire::WireError;

/// Why a rung could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum RungError {
    /// A system call failed.
    #[error("{call} {object}: {source}")]
    Call {
        /// The call.
        call: &'static str,
        /// On what.
        object: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The facility does not exist here, or not for this.
    #[error("{0}")]
    Absent(String),
    /// The cipher failed.
    #[error("cipher: {0}")]
    Cipher(#[from] CipherError),
    /// Traffic failed.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Storage failed.
    #[error(transparent)]
    Storage(#[from] CopyError),
    /// A thread panicked.
    #[error("the {0} thread panicked")]
    Panicked(&'static str),
}

impl RungError {
    /// For `map_err`: names the call and the object.
    pub(crate) fn call<E: Into<io::Error>>(
        call: &'static str,
        object: impl std::fmt::Display,
    ) -> impl FnOnce(E) -> Self {
        let object = object.to_string();
        move |source| Self::Call {
            call,
            object,
            source: source.into(),
        }
    }
}
