//! The accounts that must balance, the causes behind them, the findings. No I/O.
//!
//! Everything here is a function from recorded facts to values: no clock, no file, no
//! randomness. The same case gives the same account and the same findings everywhere.
#![forbid(unsafe_code)]

mod packets;

pub use packets::packets_account;
