//! Programs of the site around the import and the export of a pool, run by Pacemaker through an agent of Hawser's own.
//!
//! A pool with hooks has up to two more resources: one before its storage, one after it. Pacemaker's own order makes the
//! moments: a resource before the storage starts before it and stops after it.

mod agent;
mod mark;
mod program;
mod run;

pub use agent::ocf;
pub use program::unfit;

/// The agent's name, as Pacemaker's configuration has it.
pub const AGENT: &str = "ocf:hawser:hooks";

/// Where Pacemaker looks for it.
pub const PATH: &str = "/usr/lib/ocf/resource.d/hawser/hooks";

/// The words by which Hawser's program is the agent.
pub const WORDS: &str = "exports ocf-hooks";
