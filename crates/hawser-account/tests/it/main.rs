//! The crate against saved cases (`cases/`, and those of each cause's folder), the logs of recorded drills, and whatever a
//! case file may say. `make expected` writes what is expected again, for a person to read the difference.

mod clients;
mod compare;
mod fanout;
mod fixes;
mod golden;
mod golden_copy;
mod golden_drill;
mod incident;
mod incident_links;
mod incident_refused;
mod incident_restarted;
mod incident_syslog;
mod incident_zones;
mod ladder;
mod paste;
mod properties;
mod support;
