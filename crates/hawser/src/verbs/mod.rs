//! One file a verb: its arguments and `run`, which returns the exit code: 0 nothing wrong, 1 findings, 2 could not do the work.

pub mod agent;
pub mod apply;
pub mod bench;
pub mod changes;
pub mod check;
pub mod clients;
pub mod compare;
pub mod copy;
pub mod demo;
pub mod drill;
pub mod explain;
mod explain_logs;
pub mod exports;
pub mod fanout;
pub mod generate;
pub mod import;
pub mod incident;
pub mod lab;
pub mod ladder;
pub mod operate;
pub mod plan;
pub mod report;
pub mod status;
pub mod top;
pub mod tune;
mod tune_switches;
pub mod watch;
