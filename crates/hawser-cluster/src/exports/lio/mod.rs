//! The kernel's own target (LIO), made through configfs below `/sys/kernel/config/target`.
//!
//! What is desired becomes a list of folders, links and values in the order in which the kernel takes
//! them ([`entries`]). [`plan`](plan()) compares it with what is there and lists the operations. Taking a
//! pool away is the same with nothing desired. [`Configfs`] looks and does, below any root.
//!
//! Names and rules of the tree are the kernel's: `drivers/target/target_core_configfs.c`,
//! `target_core_fabric_configfs.c`, `target_core_file.c`, `target_core_iblock.c` and
//! `iscsi/iscsi_target_configfs.c`.

mod configfs;
mod entries;
mod kernel;
mod plan;
pub mod reservations;
mod serve;
mod words;

pub use configfs::{Configfs, ConfigfsError};
pub use entries::{Digest, Is, WantedEntry, backstore, entries};
pub use kernel::{KernelError, lacking, ready};
pub use plan::{Entry, Operation, Tree, others_company, plan};
pub(super) use serve::Lio;
pub use words::notable;
