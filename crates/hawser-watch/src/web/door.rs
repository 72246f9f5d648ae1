//! The door of a watch: what its web configuration asks of whoever comes, read again when one of its files has changed.

use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hawser_files::{FileError, read_named};
use hawser_model::host::{CertificateFacts, CertificateUser};

use super::config::{self, TlsConfig, WebConfig, Wrong};
use super::credentials::Credentials;
use super::tls::{Files, Misfit, Tls, validities};
use crate::locked::locked;

/// A file of a configuration is no larger, in bytes.
const LARGEST: u64 = 1 << 20;

/// Files are looked at for a change this often at most.
const LOOKS: Duration = Duration::from_secs(1);

/// Why a watch does not serve as it is told to.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// Everybody could read what is for few.
    #[error(
        "{0} is not a loopback address: other machines could read the cluster's state; `--web-config FILE` with TLS and \
         a credential allows it, or listen on 127.0.0.1"
    )]
    Open(IpAddr),
    /// The configuration leaves it open to everybody.
    #[error("{}: {address} is not a loopback address and needs {lacks}", path.display())]
    TooOpen {
        /// The configuration.
        path: PathBuf,
        /// The address.
        address: IpAddr,
        /// What it lacks.
        lacks: &'static str,
    },
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file cannot be looked at.
    #[error("{}: {source}", path.display())]
    About {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file with a secret is open to others.
    #[error(
        "{}: it has {secret}, and others may read or write it (mode {mode:04o}); `chmod o= {}` ends that",
        path.display(), path.display()
    )]
    Readable {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// What it has.
        secret: &'static str,
    },
    /// The configuration is wrong.
    #[error("{}: {wrong}", path.display())]
    Wrong {
        /// The configuration.
        path: PathBuf,
        /// Where and how.
        wrong: Wrong,
    },
    /// A file that it names is no such thing.
    #[error("{}: {what}", path.display())]
    Misfit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The kernel gives no random bytes.
    #[error("random bytes: {0}")]
    Random(getrandom::Error),
}

/// What is asked of whoever comes.
pub struct Door {
    /// How TLS is spoken; absent: it is not.
    pub tls: Option<Tls>,
    /// Who may ask; absent: whoever comes this far.
    pub credentials: Option<Credentials>,
    /// Only who has a credential comes through, and only with TLS. A page from elsewhere has none, so the name by which
    /// it asks does not matter.
    pub guarded: bool,
    /// Until when the certificates are valid by which it is spoken.
    pub certificates: Vec<CertificateFacts>,
}

/// The door at each moment.
pub struct Doors {
    /// Absent: there is no configuration, and everything is open.
    path: Option<PathBuf>,
    address: IpAddr,
    state: Mutex<State>,
}

struct State {
    door: Arc<Door>,
    stamps: Vec<Stamp>,
    looked: Instant,
    said: Vec<String>,
}

impl Doors {
    /// For whoever comes to this address, by the configuration in this file.
    ///
    /// # Errors
    /// The file or one that it names is wrong; it leaves an address open that others can reach.
    pub fn new(address: IpAddr, path: Option<&Path>) -> Result<Self, WebError> {
        let address = address.to_canonical();
        let mut stamps = Vec::new();
        let door = match path {
            Some(path) => read(path, address, &mut stamps)?,
            None if address.is_loopback() => Door::open(),
            None => return Err(WebError::Open(address)),
        };
        Ok(Self {
            path: path.map(Path::to_owned),
            address,
            state: Mutex::new(State {
                door: Arc::new(door),
                stamps,
                looked: Instant::now(),
                said: Vec::new(),
            }),
        })
    }

    /// The door now. A configuration that has become wrong changes nothing.
    pub fn now(&self) -> Arc<Door> {
        let mut state = locked(&self.state);
        if let (Some(path), true) = (&self.path, state.looked.elapsed() >= LOOKS) {
            state.looked = Instant::now();
            if again(&state.stamps) != state.stamps {
                let mut stamps = Vec::new();
                let said = match read(path, self.address, &mut stamps) {
                    Ok(door) => {
                        state.door = Arc::new(door);
                        format!("{} was read again", path.display())
                    }
                    Err(e) => {
                        format!(
                            "what was read of {} before stays in force: {e}",
                            path.display()
                        )
                    }
                };
                state.stamps = stamps;
                state.said = vec![said];
            }
        }
        Arc::clone(&state.door)
    }

    /// Whether TLS is spoken.
    pub fn speaks_tls(&self) -> bool {
        let state = locked(&self.state);
        state.door.tls.is_some()
    }

    /// What there is to say of the configuration since it was asked last.
    pub fn said(&self) -> Vec<String> {
        let mut state = locked(&self.state);
        std::mem::take(&mut state.said)
    }
}

impl Door {
    pub(crate) fn open() -> Self {
        Self {
            tls: None,
            credentials: None,
            guarded: false,
            certificates: Vec::new(),
        }
    }
}

/// Reads a configuration and the files that it names. They are `stamps`, those of one that fails too.
fn read(path: &Path, address: IpAddr, stamps: &mut Vec<Stamp>) -> Result<Door, WebError> {
    stamps.push(Stamp::of(path));
    let text = String::from_utf8_lossy(&read_named(path, LARGEST)?).into_owned();
    let folder = path.parent().unwrap_or(Path::new(""));
    let config = config::parse(&text, folder).map_err(|wrong| WebError::Wrong {
        path: path.to_owned(),
        wrong,
    })?;
    if !config.users.is_empty() {
        no_others(path, "hashes of passwords")?;
    }
    let lacks = lacking(&config).filter(|_| !address.is_loopback());
    if let Some(lacks) = lacks {
        return Err(WebError::TooOpen {
            path: path.to_owned(),
            address,
            lacks,
        });
    }
    let guarded = lacking(&config).is_none();
    let mut certificates = Vec::new();
    let tls = match &config.tls {
        Some(tls) => {
            let clients = tls.clients.as_ref().map(|clients| &clients.ca_file);
            let named = [&tls.cert_file, &tls.key_file].into_iter().chain(clients);
            stamps.extend(named.map(|path| Stamp::of(path)));
            Some(spoken(tls, &mut certificates)?)
        }
        None => None,
    };
    let credentials = match config.users.is_empty() {
        true => None,
        false => {
            let mut key = [0; 32];
            getrandom::fill(&mut key).map_err(WebError::Random)?;
            Some(Credentials::new(config.users, key))
        }
    };
    Ok(Door {
        tls,
        credentials,
        guarded,
        certificates,
    })
}

/// What a configuration lacks for an address that others can reach.
fn lacking(config: &WebConfig) -> Option<&'static str> {
    if config.tls.is_none() {
        return Some("tls_server_config with a certificate and its key");
    }
    let credential =
        "a credential: basic_auth_users, or client_auth_type: RequireAndVerifyClientCert";
    (!config.asks_who()).then_some(credential)
}

fn spoken(config: &TlsConfig, known: &mut Vec<CertificateFacts>) -> Result<Tls, WebError> {
    no_others(&config.key_file, "a private key")?;
    let clients = config.clients.as_ref().map(|clients| &clients.ca_file);
    let files = Files {
        certificates: read_named(&config.cert_file, LARGEST)?,
        key: read_named(&config.key_file, LARGEST)?,
        clients: clients.map(|path| read_named(path, LARGEST)).transpose()?,
    };
    let pem = [(&config.cert_file, Some(&files.certificates))];
    let pem = pem
        .into_iter()
        .chain(clients.map(|path| (path, files.clients.as_ref())));
    for (path, pem) in pem {
        // The first that ends is what counts of those in a file.
        let all = pem.map(|pem| validities(pem)).unwrap_or_default();
        let first = all.into_iter().min_by_key(|(_, until)| *until);
        known.extend(first.map(|(not_before, not_after)| CertificateFacts {
            file: path.display().to_string(),
            user: CertificateUser::Watch,
            not_before,
            not_after,
            read_at: 0,
        }));
    }
    Tls::new(config, &files).map_err(|misfit| {
        let (path, what) = match misfit {
            Misfit::Certificate(what) => (&config.cert_file, what),
            Misfit::Key(what) => (&config.key_file, what),
            Misfit::Clients(what) => (clients.unwrap_or(&config.cert_file), what),
        };
        WebError::Misfit {
            path: path.clone(),
            what,
        }
    })
}

/// Fails if others than a file's owner and group may read or write it.
pub(crate) fn no_others(path: &Path, secret: &'static str) -> Result<(), WebError> {
    let about = fs::metadata(path).map_err(|source| WebError::About {
        path: path.to_owned(),
        source,
    })?;
    match about.mode() & 0o006 {
        0 => Ok(()),
        _ => Err(WebError::Readable {
            path: path.to_owned(),
            mode: about.mode() & 0o7777,
            secret,
        }),
    }
}

/// A file as it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    about: Option<(u64, u64, u64, i64, i64, u32)>,
}

impl Stamp {
    fn of(path: &Path) -> Self {
        let about = fs::metadata(path).ok().map(|about| {
            // The time of the last change of the file or of its mode cannot be set back.
            let when = (about.ctime(), about.ctime_nsec());
            let (dev, ino, size) = (about.dev(), about.ino(), about.size());
            (dev, ino, size, when.0, when.1, about.mode())
        });
        let path = path.to_owned();
        Self { path, about }
    }
}

fn again(stamps: &[Stamp]) -> Vec<Stamp> {
    stamps.iter().map(|stamp| Stamp::of(&stamp.path)).collect()
}
