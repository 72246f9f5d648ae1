//! Files in folders where others may write: a pool's, an upload's, `/run`, `/var/lib`, `/etc`.
//!
//! A [`Folder`] is opened once, and everything in it is reached by its descriptor and without
//! following a link. What is read must be a regular file of the right owner that nobody else can
//! write, and not larger than expected ([`Expected`]). A new file is created exclusively under a
//! random name, synced, and renamed into place. A file that an earlier run left is opened again only
//! when it is ours alone ([`Folder::own`]).
#![forbid(unsafe_code)]

mod error;
mod folder;
mod kind;
mod named;
mod own_disk;
mod walk;
mod whole;

pub use error::FileError;
pub use folder::{Expected, Folder};
pub use named::{is_at, read, read_named, remove, replace};
pub use whole::{Existing, Fresh, is_unplaced};

#[cfg(test)]
mod tests;
