//! What a process needs that stands beside another one, and puts right what that one leaves when it is gone.

use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::setsid;

/// What is refused now may be taken in a moment, such as a setting of an interface while many others are made or removed: it is
/// tried again after these, a minute in all.
const AGAIN: [Duration; 6] = [
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(4),
    Duration::from_secs(10),
    Duration::from_secs(15),
    Duration::from_secs(30),
];

/// Tries until it is done, for a minute.
///
/// # Errors
/// The last try's.
pub fn insist<E>(mut done: impl FnMut() -> Result<(), E>) -> Result<(), E> {
    for pause in AGAIN {
        if done().is_ok() {
            return Ok(());
        }
        thread::sleep(pause);
    }
    done()
}

/// Leaves the login whose process it stands beside. A terminal's Ctrl-C and a hang-up of the connection are for that process, and
/// so is what asks a login's last processes to end: systemd does (`KillUserProcesses=` of logind.conf(5)), and kills what is left
/// only `TimeoutStopSec=` later. A guard ends by itself before that.
pub fn outlive_the_login() {
    // It fails only for the leader of a session, which is what is wanted.
    let _leader = setsid();
    let asks = [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT];
    // It fails only for a signal that cannot be held back, and these can.
    let _held = asks.into_iter().collect::<SigSet>().thread_block();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_for_a_moment_is_tried_again() {
        let mut tries = 0;
        let done = insist(|| {
            tries += 1;
            if tries < 2 { Err("busy") } else { Ok(()) }
        });
        assert_eq!((done, tries), (Ok(()), 2));
    }
}
