//! The operator's own `ssh`, so that `~/.ssh/config`, jump hosts, keys and agents just work.
//!
//! One connection does it all: the remote command is [`START`], a few lines of shell which say
//! what is in the way, ask for the executable when the node does not have it, and become the
//! agent. Nothing but a digest, a size and a machine name stands in an argument list.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hawser_model::names::HostName;
use hawser_tool::Launch;

use crate::client::{Link, Opening, Silence};
use crate::error::Failure;
use crate::marker::Marker;
use crate::transport::explain::{explain_end, explain_refusal};
use crate::transport::{Executable, Transport};

/// What runs on the node. The login shell reads it first and need not be a Bourne shell, so it
/// is handed over as one single-quoted word: no quote, backslash, exclamation mark (csh) or,
/// after joining its lines, newline may stand in it.
///
/// `/run` comes first because it is empty after a boot; Debian's initramfs mounts it `noexec`
/// (initramfs-tools, `init`), hence the trial of an empty file and the second place.
const START: &str = include_str!("start.sh");

/// How long a login may take beyond the connect timeout: authentication, the shell's profile.
const LOGIN: Duration = Duration::from_secs(20);
/// How long the pipe may refuse the next piece of the executable.
const STALL: Duration = Duration::from_secs(20);
/// How long the node may take to check and start the executable it got.
const START_WAIT: Duration = Duration::from_secs(30);

/// A node reached over `ssh`.
#[derive(Clone, Debug)]
pub struct Ssh {
    host: HostName,
    destination: String,
    executable: Arc<Executable>,
    connect_timeout: Duration,
    login: Duration,
    config: Option<PathBuf>,
    options: Vec<String>,
}

impl Ssh {
    /// `destination` is given to `ssh` as it is: an alias, a name, `user@address`.
    pub fn new(host: HostName, destination: String, executable: Arc<Executable>) -> Self {
        Self {
            host,
            destination,
            executable,
            connect_timeout: Duration::from_secs(10),
            login: LOGIN,
            config: None,
            options: Vec::new(),
        }
    }

    /// How long to wait for the connection; 10 s unless said otherwise. Whole seconds.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long a login may take beyond the connect timeout; 20 s unless said otherwise. A node that accepts the
    /// connection and then hangs is given up after both.
    #[must_use]
    pub fn login_timeout(mut self, timeout: Duration) -> Self {
        self.login = timeout;
        self
    }

    /// A configuration file instead of the user's (`ssh -F`).
    #[must_use]
    pub fn config(mut self, file: PathBuf) -> Self {
        self.config = Some(file);
        self
    }

    /// A further option as in `ssh_config(5)`: `Port=2222`.
    #[must_use]
    pub fn option(mut self, option: String) -> Self {
        self.options.push(option);
        self
    }

    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["-T".into()];
        if let Some(file) = &self.config {
            words.extend(["-F".into(), file.into()]);
        }
        let timeout = format!("ConnectTimeout={}", self.connect_timeout.as_secs().max(1));
        let fixed = [
            // Never a question: nobody may be there to answer, and eight nodes would ask at once.
            "BatchMode=yes",
            &timeout,
            "ConnectionAttempts=1",
            // Errors, also for a user who silences them; no banners, which would stand before them.
            "LogLevel=ERROR",
            // A cut path is noticed after 15 s.
            "ServerAliveInterval=5",
            "ServerAliveCountMax=3",
            // Forwardings of the user's configuration are for their own sessions.
            "ClearAllForwardings=yes",
            "ForwardAgent=no",
            "ForwardX11=no",
            "RemoteCommand=none",
        ];
        for option in fixed
            .into_iter()
            .chain(self.options.iter().map(String::as_str))
        {
            words.extend(["-o".into(), option.into()]);
        }
        let remote = format!(
            "exec sh -c '{}' hawser {} {} {}",
            START.lines().map(str::trim).collect::<Vec<_>>().join(" "),
            self.executable.digest,
            self.executable.size,
            Executable::machine(),
        );
        words.extend(["--".into(), self.destination.clone().into(), remote.into()]);
        words
    }

    /// Streams the executable. A node that stops taking it says why by its next marker.
    fn copy(&self, opening: &Opening) -> Result<(), Failure> {
        let unreadable = |source| Failure::Executable {
            path: self.executable.path.display().to_string(),
            source,
        };
        let mut file = File::open(&self.executable.path).map_err(unreadable)?;
        let mut chunk = vec![0; 64 << 10];
        loop {
            let n = file.read(&mut chunk).map_err(unreadable)?;
            if n == 0 {
                return Ok(());
            }
            match opening.send(&chunk[..n], STALL) {
                Ok(()) => {}
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                Err(source) => {
                    return Err(Failure::Pipe {
                        call: "copy the agent there",
                        source,
                        said: String::new(),
                    });
                }
            }
        }
    }

    fn marker(&self, opening: &mut Opening, within: Duration) -> Result<Marker, Failure> {
        match opening.marker(within) {
            Ok(Marker::Refused { reason, detail }) => {
                Err(explain_refusal(&reason, detail, &opening.said_at_its_end()))
            }
            Ok(marker) => Ok(marker),
            Err(Silence::Ended(status)) => {
                let said = opening.said();
                Err(explain_end(&self.destination, status, &said)
                    .unwrap_or_else(|| opening.no_agent(Silence::Ended(status))))
            }
            Err(silence) => Err(opening.no_agent(silence)),
        }
    }
}

impl Transport for Ssh {
    fn host(&self) -> &HostName {
        &self.host
    }

    /// From a login to whoever speaks there, with the executable copied when the host does not have it.
    fn start(&self) -> Result<Link, Failure> {
        let mut opening = Opening::start(Launch::new("ssh").args(self.words()))?;
        let mut marker = self.marker(&mut opening, self.connect_timeout + self.login)?;
        if marker == Marker::Need {
            self.copy(&opening)?;
            marker = self.marker(&mut opening, START_WAIT)?;
        }
        opening.into_link(marker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ssh() -> Ssh {
        let executable = Executable {
            path: "/proc/self/exe".into(),
            digest: "ab".repeat(32),
            size: 7,
        };
        Ssh::new(
            "head1".into(),
            "-oProxyCommand=x".into(),
            Arc::new(executable),
        )
    }

    fn arguments(ssh: &Ssh) -> Vec<String> {
        let words = ssh.words().into_iter();
        words.map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn why_a_host_refused_is_told_although_it_comes_behind_the_refusal() {
        let script = "echo '<<hawser refused directory nowhere>>'; sleep 0.3; echo 'Read-only file system' >&2; exit 1";
        let mut opening = Opening::start(Launch::new("sh").args(["-c", script])).unwrap();
        let refused = ssh().marker(&mut opening, Duration::from_secs(10));
        let words = refused.unwrap_err().to_string();
        assert!(words.contains("Read-only file system"), "{words}");
    }

    #[test]
    fn a_destination_is_never_taken_for_an_option() {
        let arguments = arguments(&ssh());
        let end = arguments.iter().position(|a| a == "--").unwrap();
        assert_eq!(arguments[end + 1], "-oProxyCommand=x");
    }

    #[test]
    fn the_remote_command_survives_any_login_shell() {
        let arguments = arguments(&ssh());
        let command = arguments.last().unwrap();
        let (_, script) = command.split_once('\'').unwrap();
        let (script, values) = script.rsplit_once('\'').unwrap();
        assert!(!script.contains(['\'', '\\', '!', '\n']), "{script}");
        assert_eq!(
            values,
            format!(" hawser {} 7 {}", "ab".repeat(32), Executable::machine())
        );
    }
}
