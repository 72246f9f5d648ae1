//! Drills on a cluster that is simulated.

mod bench;
mod client;
mod heal;
mod reboot;
