//! The traffic engine: probe packets at a set rate, and what became of them.
