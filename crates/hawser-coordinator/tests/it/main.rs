//! Checks and ladders on simulated hosts: what is asked of whom, and what becomes of a run when a host is lost or hangs.
//! Nothing is lost on their links, and they wait by a clock of their own: each run takes milliseconds.

mod check;
mod ladder;
mod world;
