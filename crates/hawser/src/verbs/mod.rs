//! One file a verb: its arguments and `run`, which returns the exit code of DESIGN's table.

pub mod agent;
pub mod apply;
pub mod bench;
pub mod changes;
pub mod check;
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
pub mod tune;
mod tune_switches;
pub mod watch;
