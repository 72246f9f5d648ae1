//! What Hawser talks about: the cluster's topology, what was observed on it, the
//! accounts that must balance, the findings, and the case file that holds a run.
//!
//! Nothing in this crate does I/O. Observations carry no adjective; judgement lives in
//! `hawser-account`, words in its renderer.
#![forbid(unsafe_code)]

pub mod account;
pub mod bond;
pub mod case;
pub mod client;
pub mod clock;
pub mod cluster_file;
pub mod cmap;
pub mod copy;
pub mod counters;
pub mod date;
pub mod drill;
pub mod drops;
pub mod fanout;
pub mod finding;
pub mod host;
pub mod iscsi;
pub mod kept_alarms;
pub mod knob;
pub mod ladder;
pub mod mountinfo;
pub mod names;
pub mod octal;
pub mod output;
pub mod port_traffic;
pub mod probe;
pub mod readings;
pub mod saved_plan;
pub mod served;
pub mod setup;
pub mod shell;
pub mod sockets;
pub mod statistics;
pub mod storage;
pub mod surroundings;
pub mod toml_file;
pub mod topology;
pub mod traffic;
pub mod trial;
pub mod units;
pub mod visible;
pub mod zpool;
