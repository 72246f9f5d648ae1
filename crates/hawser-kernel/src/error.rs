//! What can go wrong while a host is read: the call, the object, the kernel's answer.

use std::io;
use std::path::PathBuf;

use hawser_model::names::InterfaceName;

/// Why something could not be read.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// A file of `/proc`, `/sys` or tracefs could not be read or written.
    #[error("{call} {path}: {source}")]
    File {
        /// `read`, `write`, `create`, …
        call: &'static str,
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A file of Hawser's own could not be read or written, or is not touched because of what it is.
    #[error(transparent)]
    Files(#[from] hawser_files::FileError),
    /// A file was read but does not look as documented.
    #[error("{path}: {what}")]
    Format {
        /// The file or message.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A netlink socket or request failed.
    #[error("netlink {request}: {source}")]
    Netlink {
        /// The request, by its kernel name: `RTM_GETLINK`.
        request: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Another system call failed.
    #[error("{call} {object}: {source}")]
    Call {
        /// The system call, with the request where it has one: `ethtool ETHTOOL_GSTATS`.
        call: &'static str,
        /// What it was made on.
        object: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A program that is asked for numbers failed.
    #[error("{program}: {what}")]
    Program {
        /// The program.
        program: &'static str,
        /// What it said or did.
        what: String,
    },
    /// The kernel refused an eBPF program or map.
    #[error("eBPF {object}: {what}")]
    Ebpf {
        /// The program or map.
        object: &'static str,
        /// The kernel's or loader's words.
        what: String,
    },
    /// The facility does not exist here.
    #[error("{0}")]
    Absent(String),
    /// A flow names an interface that this host does not have.
    #[error("flow {flow}: no interface {interface} in this network namespace")]
    NoSuchInterface {
        /// The flow's number.
        flow: u32,
        /// The interface it names.
        interface: InterfaceName,
    },
    /// More flows than one window can watch.
    #[error("{asked} flows to watch, at most {most} fit one window")]
    TooManyFlows {
        /// How many were asked for.
        asked: usize,
        /// How many fit.
        most: usize,
    },
    /// A window is opened while one is open, or closed while none is.
    #[error("{0}")]
    Window(&'static str),
}

impl KernelError {
    pub(crate) fn netlink(request: &'static str, source: impl Into<io::Error>) -> Self {
        Self::Netlink {
            request,
            source: source.into(),
        }
    }

    pub(crate) fn call(
        call: &'static str,
        object: impl ToString,
        source: impl Into<io::Error>,
    ) -> Self {
        Self::Call {
            call,
            object: object.to_string(),
            source: source.into(),
        }
    }
}
