//! The guard: a process of its own beside an agent, which undoes the agent's trials when the agent
//! is gone, however it went.
//!
//! It holds the reading end of a pipe whose writing end only the agent has. The kernel closes that
//! when the agent ends, `kill -9` included, and the guard wakes.

use std::io::Read;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::setsid;

use super::{Journal, Owner};
use crate::KernelError;

/// What the kernel refuses now it may take in a moment, such as a setting of an interface while many others are made or removed: the
/// guard tries again after these, a minute in all.
const AGAIN: [Duration; 6] = [
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(4),
    Duration::from_secs(10),
    Duration::from_secs(15),
    Duration::from_secs(30),
];

/// Waits until `lifeline` ends, then undoes the trials of `owner`. `ready` is called as soon as
/// the guard stands.
///
/// # Errors
/// A change could not be undone; it stays in the journal for the next agent.
pub fn watch(
    journal: &Journal,
    owner: &Owner,
    mut lifeline: impl Read,
    ready: impl FnOnce(),
) -> Result<(), KernelError> {
    // A session of its own: a terminal's Ctrl-C and a hang-up of the connection are for the agent.
    // It fails only for the leader of a session, which is what is wanted.
    let _leader = setsid();
    outlive_the_login();
    ready();
    let mut buffer = [0; 64];
    while !matches!(lifeline.read(&mut buffer), Ok(0)) {}
    undo(journal, owner)
}

/// Undoes the trials of an owner that is gone.
fn undo(journal: &Journal, owner: &Owner) -> Result<(), KernelError> {
    for pause in AGAIN {
        if journal.undo_trials_of(owner).is_ok() {
            return Ok(());
        }
        thread::sleep(pause);
    }
    journal.undo_trials_of(owner).map(drop)
}

/// Holds back what asks a program to end: systemd ends a login's last processes so, the guard's agent among
/// them (`KillUserProcesses=` of logind.conf(5)), and kills what is left only `TimeoutStopSec=` later. The
/// guard ends by itself long before, when it has undone what that agent left.
fn outlive_the_login() {
    let asks = [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT];
    // It fails only for a signal that cannot be held back, and these can.
    let _held = asks.into_iter().collect::<SigSet>().thread_block();
}

#[cfg(test)]
mod tests {
    use std::fs;

    use hawser_model::knob::Knob;

    use super::super::tests::on_a_host;
    use super::*;

    #[test]
    fn what_is_refused_for_a_moment_is_undone_all_the_same() {
        on_a_host(|journal, place| {
            let owner = Owner::own().unwrap();
            let name = "net.ipv4.ipfrag_time".to_owned();
            journal.begin(&Knob::Sysctl { name }, "44", &owner).unwrap();
            // A folder in its place takes no value.
            let file = place.join("proc/sys/net/ipv4/ipfrag_time");
            fs::remove_file(&file).unwrap();
            fs::create_dir(&file).unwrap();
            assert!(journal.undo_trials_of(&owner).is_err());
            thread::scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(AGAIN[0] / 2);
                    fs::remove_dir(&file).unwrap();
                    fs::write(&file, "44\n").unwrap();
                });
                undo(&journal, &owner).unwrap();
            });
            assert_eq!(fs::read_to_string(&file).unwrap().trim(), "30");
            assert!(!place.join("a").exists());
        });
    }
}
