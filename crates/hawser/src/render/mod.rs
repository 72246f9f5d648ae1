//! Text for people: the one place where accounts and findings become terminal output.

pub mod check;
mod table;
