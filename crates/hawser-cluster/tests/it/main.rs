//! The crate against Corosync's and Pacemaker's own tools, and against recorded answers under
//! `goldens/`. `HAWSER_REGENERATE=1 cargo test -p hawser-cluster` writes the answers again, for a
//! person to read the difference.

mod adopted;
mod apply;
mod boot;
mod clients;
mod exports;
mod generate;
mod golden;
mod hooks;
mod looks;
mod members;
mod operate;
mod plan;
mod saved_plan;
mod scenarios;
mod scheduler;
mod secrets;
mod simulated;
mod status;
mod taken_over;
mod watched;
