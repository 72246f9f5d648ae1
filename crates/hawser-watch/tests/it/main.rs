//! A watch on simulated heads, over simulated hours; what it shows, and to whom.

mod around;
mod board;
#[cfg(feature = "aws-lc")]
mod certificates;
mod freeze;
mod grafana;
mod halves;
mod history;
mod join;
mod keeping;
mod live;
mod measured;
mod metrics;
mod monitoring;
mod peers;
mod pictures;
mod recorded;
mod replayed;
mod resumed;
mod served;
mod silent;
mod simulated;
mod survives;
mod told;
mod watched;
#[cfg(feature = "aws-lc")]
mod web;
mod web_config;
mod whole;
mod worse;
