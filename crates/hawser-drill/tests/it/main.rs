//! Drills on a cluster that is simulated.

mod bench;
mod client;
mod every_question;
mod fencing;
mod heads;
mod heal;
mod kernels;
mod links;
mod orders_that_last;
mod outlets;
mod own_machine;
mod reboot;
mod recorded;
mod site;
mod upgrade;
mod whole;
mod writer;
