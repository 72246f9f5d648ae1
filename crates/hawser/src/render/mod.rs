//! Text for people: the one place where accounts and findings become terminal output.

pub mod bench_cipher;
pub mod check;
pub mod clients;
pub mod compare;
pub mod copy;
pub mod drill;
pub mod exports;
pub mod fanout;
mod findings;
pub mod incident;
pub mod junit;
pub mod ladder;
mod looked_at;
pub mod paste;
mod rate_chart;
pub mod status;
pub mod table;
pub mod tune;
pub mod watch;

#[cfg(test)]
mod tests;
