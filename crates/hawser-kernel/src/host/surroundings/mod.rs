//! What is around a machine that is to be a head: read once, and nothing is changed for it.

mod bmc;
mod disks;
mod groups;
mod neighbours;
mod routes;

use std::env;
use std::time::Duration;

use hawser_model::surroundings::{Surroundings, Unseen};

use crate::{proc, program};

/// A tool that looks at many disks, or asks a slow controller, may take so long.
const LIMIT: Duration = Duration::from_secs(20);

/// What is around the calling thread's machine.
pub fn surroundings() -> Surroundings {
    let reached = env::var("SSH_CONNECTION").ok();
    let mut unseen = Unseen::default();
    Surroundings {
        boot: proc::boot_id().ok(),
        reached_at: reached.and_then(|said| reached_at(&said)),
        default_routes: routes::default_routes(),
        neighbours: or_why(neighbours::heard(), &mut unseen.neighbours),
        disks: or_why(disks::seen(), &mut unseen.disks),
        groups: or_why(groups::seen(), &mut unseen.groups),
        bmc: or_why(bmc::asked(), &mut unseen.bmc),
        unseen,
    }
}

/// What was found, or why not.
fn or_why<T>(found: Result<T, String>, why: &mut String) -> Option<T> {
    found.map_err(|e| *why = e).ok()
}

/// What a program prints.
fn ask(program: &'static str, arguments: &[&str]) -> Result<String, String> {
    program::run(program, arguments, LIMIT).map_err(|e| e.to_string())
}

/// The server's address: the client's, its port, ours, our port (ssh(1)).
fn reached_at(said: &str) -> Option<String> {
    let address = said.split_whitespace().nth(2)?;
    // A link-local address has its interface behind it.
    let address = address.split('%').next()?;
    address.parse::<std::net::IpAddr>().ok()?;
    Some(address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_says_by_which_address_it_reached_the_machine() {
        assert_eq!(
            reached_at("192.0.2.9 51034 192.0.2.1 22").as_deref(),
            Some("192.0.2.1")
        );
        assert_eq!(
            reached_at("fe80::9%eth0 51034 fe80::1%eth0 22").as_deref(),
            Some("fe80::1")
        );
        assert_eq!(reached_at("UNKNOWN 65535 UNKNOWN 65535"), None);
        assert_eq!(reached_at(""), None);
    }
}
