//! The guard: a process of its own beside an agent, which undoes the agent's trials when the agent
//! is gone, however it went.
//!
//! It holds the reading end of a pipe whose writing end only the agent has. The kernel closes that
//! when the agent ends, `kill -9` included, and the guard wakes.

use std::io::Read;

use hawser_tool::{insist, outlive_the_login};

use super::{Journal, Owner};
use crate::KernelError;

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
    outlive_the_login();
    ready();
    let mut buffer = [0; 64];
    while !matches!(lifeline.read(&mut buffer), Ok(0)) {}
    insist(|| journal.undo_trials_of(owner).map(drop))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;
    use std::{fs, io, thread};

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
                    thread::sleep(Duration::from_millis(125));
                    fs::remove_dir(&file).unwrap();
                    fs::write(&file, "44\n").unwrap();
                });
                watch(&journal, &owner, io::empty(), || ()).unwrap();
            });
            assert_eq!(fs::read_to_string(&file).unwrap().trim(), "30");
            assert!(!place.join("a").exists());
        });
    }
}
