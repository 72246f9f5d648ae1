//! `corosync.conf`: made from the cluster file, read back from a node, and compared.

mod conf;
mod generate;

pub use conf::{Conf, ConfError, Entry};
pub use generate::generate;
