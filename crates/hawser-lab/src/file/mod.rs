//! The lab file: a small TOML that says which switches, links, nodes and clients a lab has.
//!
//! ```toml
//! [[switch]]
//! name = "sw0"
//! snooping = true             # IGMP and MLD snooping; default false
//! querier = true              # default false
//!
//! [[link]]
//! name = "ring0"
//! switch = "sw0"              # default: a switch of its own, sw0, sw1, …
//! mtu = 9000                  # default 1500
//! ipv4 = "10.72.0.0/24"       # default 10.72.N.0/24; "none" for no IPv4
//! ipv6 = "fd48:6177:7365::/64"  # default fd48:6177:7365:N::/64; "none" for no IPv6
//!
//! [[node]]
//! name = "head1"
//! links = ["ring0"]           # default: all
//! addresses = { ring0 = "10.72.0.11" }  # default: the node's number in the link's networks
//!
//! [[client]]                  # as a node, but no member of the cluster
//! name = "client1"
//! ```

mod error;
mod parse;
mod reader;

pub use error::FileError;

use std::fs;
use std::path::Path;

use crate::error::LabError;
use crate::spec::LabSpec;

impl LabSpec {
    /// Reads a lab file.
    ///
    /// # Errors
    /// The file cannot be read, or the first thing that is wrong in it.
    pub fn from_file(path: &Path) -> Result<Self, LabError> {
        let text = fs::read_to_string(path).map_err(|e| LabError::io("read", path, e))?;
        Ok(Self::from_toml(&text, &path.display().to_string())?)
    }

    /// Reads a lab file's text; `path` is for the messages.
    ///
    /// # Errors
    /// The first thing that is wrong in it.
    pub fn from_toml(text: &str, path: &str) -> Result<Self, Box<FileError>> {
        parse::lab(&reader::Source { path, text })
    }
}
