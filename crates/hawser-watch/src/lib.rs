//! A cluster that is watched: what is read of its heads, and the alarms that follow.
//!
//! The judgement is that of `hawser check` and `hawser status`: the causes that need no traffic
//! ([`hawser_account::standing`]) and the live findings of [`hawser_cluster::live`]. What is added here is time and
//! place: which of them are one alarm, since when, how often. That is pure ([`judge`], [`group`], [`keeper`],
//! [`resident`], [`wants`], [`whole`], [`mod@reading`], [`metrics`], [`tape`], [`live`]); [`ask`] has the questions, [`board`] what is
//! shown, [`serve`] the sockets, [`site`] the answers, [`pages`] what an open page is sent, [`web`] who may come to them, [`readers`] the threads that read all heads for
//! one who looks at them, [`threads`] what keeps them, [`wake`] how Pacemaker wakes the watch of a head. What happened while
//! nobody looked is told from the heads' logs ([`history`]), of which a watch keeps what is about an incident ([`recorder`]),
//! and from the rings of readings that watches keep on their heads ([`keeping`], [`around`]).
#![forbid(unsafe_code)]

pub mod around;
pub mod ask;
pub mod board;
pub mod changes;
pub mod freeze;
mod gaps;
pub mod group;
pub mod history;
pub mod join;
pub mod judge;
pub mod keeper;
pub mod keeping;
pub mod layout;
pub mod live;
mod locked;
pub mod metrics;
pub mod notify;
pub mod outbox;
pub mod pages;
pub mod past;
pub mod peers;
mod picture;
pub mod probed;
mod probes;
pub mod promised;
pub mod readers;
pub mod reading;
pub mod receiver;
pub mod recorder;
pub mod resident;
mod resumed;
pub mod run;
pub mod running;
pub mod serve;
pub mod shown;
pub mod site;
mod slots;
mod sources;
pub mod tape;
pub mod tell;
pub mod threads;
pub mod turns;
mod until;
pub mod wake;
pub mod wants;
pub mod web;
mod webhook;
pub mod whole;
mod worse;

pub use ask::{Asked, Facts, ask};
pub use judge::{Sighting, sightings};
pub use keeper::{Alarms, Keeper};
pub use reading::reading;
