//! Where the client of a drill runs, what it writes to, and as whom.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_client::INITIATOR;
use hawser_client::job::{Destination, Job};
use hawser_client::target::Target;
use hawser_host::{Host, Reach};
use hawser_model::names::HostName;

pub use hawser_client::load::Load;
pub use hawser_client::target::Chap;

use crate::context::DrillContext;
use crate::error::DrillError;

/// The client's program.
pub const PROGRAM: &str = "hawser-client";

/// How long the client waits for the pool at its end.
const PATIENCE: Duration = Duration::from_secs(90);

/// Where the client runs, what it writes to, and as whom.
pub struct ClientConfig {
    /// Its machine.
    pub host: HostName,
    /// How the client there is reached.
    pub way: Box<dyn Reach>,
    /// Whether that is another machine, which has a clock of its own.
    pub remote: bool,
    /// What it writes to; overwritten.
    pub volume: Volume,
    /// What it calls itself to the target; absent: [`INITIATOR`].
    pub initiator: Option<String>,
    /// As whom it logs in by CHAP. The secret goes to the client in a question, and nowhere else.
    pub chap: Option<Chap>,
    /// How heavily it writes.
    pub load: Load,
    /// Whether it creates files beside the one that it writes to, too.
    pub create: bool,
}

/// What is written to.
pub enum Volume {
    /// A unit, by iSCSI.
    Unit {
        /// The target's name; absent: the pool's own.
        target: Option<String>,
        /// The unit.
        lun: u16,
    },
    /// A file or block device of the client's machine: of its kernel's initiator, or on NFS.
    Path(PathBuf),
}

impl Default for Volume {
    fn default() -> Self {
        Self::Unit {
            target: None,
            lun: 1,
        }
    }
}

impl ClientConfig {
    /// The path that is written to, when it is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.volume {
            Volume::Path(path) => Some(path),
            Volume::Unit { .. } => None,
        }
    }

    /// What the client calls itself.
    pub fn initiator(&self) -> &str {
        self.initiator.as_deref().unwrap_or(INITIATOR)
    }
}

/// Reaches the client.
pub(crate) fn connect(context: &DrillContext<'_>) -> Result<Box<dyn Host>, DrillError> {
    let reached = context.client_config.way.connect(&context.client);
    reached.map_err(|e| {
        let words = no_client(&context.client, &e.failure.to_string());
        DrillError::CouldNot(match context.client_config.remote {
            true => words,
            false => {
                format!("{words} (it must lie beside hawser, in a lab when that is brought up)")
            }
        })
    })
}

/// What the client is to do.
pub(crate) fn job(context: &DrillContext<'_>) -> Job {
    let client_config = &context.client_config;
    let destination = match &client_config.volume {
        Volume::Path(path) => Destination::Path(path.clone()),
        Volume::Unit { lun, .. } => Destination::Unit(Target {
            portals: context.portals(),
            name: context.target(),
            lun: *lun,
            initiator: client_config.initiator().to_owned(),
            chap: client_config.chap.clone(),
        }),
    };
    Job {
        destination,
        load: client_config.load,
        create: client_config.create,
        patience: PATIENCE,
    }
}

/// Why there is no client on a host.
fn no_client(host: &HostName, said: &str) -> String {
    // ld.so(8): `…: error while loading shared libraries: libiscsi.so.7: cannot open shared object file: …`.
    let missing = said
        .split_once("error while loading shared libraries: ")
        .and_then(|(_, rest)| rest.split(':').next());
    if let Some(library) = missing {
        let library = library.rsplit('/').next().unwrap_or(library);
        let package = library.replace(".so.", "");
        return format!(
            "{PROGRAM} cannot run on {host}: it needs the library {library}, and {host} has none: install it there \
             (Debian and Ubuntu: apt-get install {package}; Fedora and its kin: dnf install libiscsi)"
        );
    }
    if let Some((_, version)) = said.split_once("version `") {
        let version = version.split('\'').next().unwrap_or_default();
        return format!(
            "{PROGRAM} cannot run on {host}: it was built on a newer system ({version} is missing there): build it \
             on one as old as {host}"
        );
    }
    format!("{PROGRAM} on {host}: {said}")
}

/// What a target's refusal of a login comes to, once the client has been refused again and again.
pub(crate) fn refused(context: &DrillContext<'_>, portal: &str, why: &str) -> String {
    let client_config = &context.client_config;
    Refused {
        target: &context.target(),
        portal,
        said: why.trim(),
        initiator: client_config.initiator(),
        user: client_config.chap.as_ref().map(|chap| chap.user.as_str()),
        pool: &context.pool,
        host: &context.active,
    }
    .words()
}

struct Refused<'a> {
    target: &'a str,
    portal: &'a str,
    said: &'a str,
    initiator: &'a str,
    user: Option<&'a str>,
    pool: &'a str,
    host: &'a HostName,
}

impl Refused<'_> {
    fn words(&self) -> String {
        let Self {
            target,
            portal,
            said,
            initiator,
            pool,
            host,
            ..
        } = self;
        let user = match self.user {
            Some(user) => format!("with CHAP as \"{user}\""),
            None => "without CHAP".to_owned(),
        };
        let advice = match (login_status(said), self.user) {
            (Some(AUTHENTICATION), None) => {
                "it wants CHAP: --chap-user USER --chap-secret file:/PATH (or env:NAME) names what [target.chap] of the \
                 pool's exports.toml has"
                    .to_owned()
            }
            (Some(AUTHENTICATION), Some(_)) => {
                "user or secret are not those of [target.chap] in the pool's exports.toml".to_owned()
            }
            (Some(UNAVAILABLE), _) => format!(
                "a kernel's target says so of a name that it does not have, too: if the pool's target is not called \
                 {target}, say its name by --target"
            ),
            _ => format!(
                "if exports.toml of the pool admits only certain hosts, put \"{initiator}\" into `members` of their \
                 host group and run `hawser exports start {pool}` on {host}, or name an initiator that stands there \
                 by --initiator; if the pool's target has another name, say it by --target"
            ),
        };
        format!(
            "{target} at {portal} refused the client, which logged in as {initiator} {user}: {said}; {advice}"
        )
    }
}

/// The initiator did not prove who it is (RFC 7143, 11.13.5).
const AUTHENTICATION: u16 = 0x201;

/// The target does not serve now; LIO says so of a target that it does not have (`iscsi_target_nego.c`).
const UNAVAILABLE: u16 = 0x301;

/// The status of a refused login, as libiscsi tells it: `… Status: Target not found(515)`. `None`: that is not
/// what was refused.
pub(crate) fn login_status(said: &str) -> Option<u16> {
    let (_, rest) = said.rsplit_once("Status: ")?;
    let (_, number) = rest.split_once('(')?;
    number.split(')').next()?.parse().ok()
}

/// Whether the same login will be refused again: an error of the initiator's (class 2 of RFC 7143).
pub(crate) fn is_final(said: &str) -> bool {
    login_status(said).is_some_and(|status| status >> 8 == 2) || is_no_unit(said)
}

/// The login succeeded, and there is no such unit (LOGICAL UNIT NOT SUPPORTED, SPC-4).
fn is_no_unit(said: &str) -> bool {
    said.contains("LOGICAL_UNIT_NOT_SUPPORTED")
}

/// The addresses of the units, or the path, as they are recorded.
pub(crate) fn recorded(client_config: &ClientConfig, portals: &[SocketAddr]) -> Vec<String> {
    match client_config.path() {
        Some(path) => vec![path.display().to_string()],
        None => portals.iter().map(ToString::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_the_library_is_told_which_package_has_it() {
        let said = "agent did not start: 0 bytes without the agent's marker, starting \"\" (exit status: 127); it \
            wrote: /run/hawser/hawser-ab: error while loading shared libraries: libiscsi.so.7: cannot open shared \
            object file: No such file or directory";
        let words = no_client(&"vm1".into(), said);
        assert!(words.contains("apt-get install libiscsi7"), "{words}");
        let old = "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by x)";
        assert!(no_client(&"vm1".into(), old).contains("GLIBC_2.38 is missing"));
        let other = no_client(&"vm1".into(), "not reached: no route");
        assert!(other.contains("not reached: no route"), "{other}");
    }

    fn refused(said: &str, user: Option<&str>) -> String {
        Refused {
            target: "iqn.x:p",
            portal: "10.0.0.7:3260",
            said,
            initiator: INITIATOR,
            user,
            pool: "p",
            host: &"head1".into(),
        }
        .words()
    }

    #[test]
    fn a_refused_login_says_what_was_said_as_whom_and_what_to_do() {
        let said = "log in: status 0x1: Failed to log in to target. Status: Target not found(515)";
        assert!(is_final(said));
        let words = refused(said, None);
        for part in [
            "Target not found",
            INITIATOR,
            "host group",
            "exports start p` on head1",
            "without CHAP",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
        let said = "Failed to log in to target. Status: Authentication failure(513)";
        assert!(refused(said, None).contains("--chap-secret file:"));
        assert!(refused(said, Some("esx")).contains("as \"esx\""));
        let said = "Failed to log in to target. Status: Service unavailable(769)";
        assert!(!is_final(said));
        let words = refused(said, None);
        assert!(
            words.contains("not called iqn.x:p, say its name by --target"),
            "{words}"
        );
        assert!(!is_final("connection refused (111)"));
    }
}
