//! What is taken over from Heartbeat, Pacemaker, tgt and the kernel's target, from saved files (`cases/import`,
//! `cases/init`) and from hostile ones.

mod draft;
mod golden;
mod hostile;
mod many;
mod mistakes;
mod offered;
mod round_trip;
