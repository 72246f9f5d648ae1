//! Locks over a takeover.
//!
//! A client of NFS 4 may reclaim what it held from a server that has started again, for a grace period, if that server knows it by
//! a list on stable storage (RFC 8881, 8.4.2). The kernel has that list kept by `nfsdcld`, in a database of the head. So the
//! names of the clients of a pool are written to the pool too ([`Record`]) as long as it is served, and a head that takes the
//! pool over puts them into its own database and has its server start again ([`restart`]). The grace period ends when all of
//! them have reclaimed, at the latest after [`restart::GRACE`].
//!
//! A client reclaims only from the server that it knew: all heads go by one [`scope`].
//!
//! A client of NFS 3 reclaims when it is told to ([`monitored`]).

mod clients;
mod monitored;
mod record;
mod restart;
mod tracked;

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use hawser_files::{Expected, FileError, Folder};
use hawser_model::mountinfo;
use hawser_tool::processes;
use sha2::{Digest, Sha256};

use super::kept::FILES;
use super::options::NfsOptions;
use super::server::{NfsError, has_clients, says_grace, served, superblock};
use super::table::{Found, Pair};
use crate::addresses;
use crate::corosync::Conf;
use crate::exports::desired::Desired;
use crate::exports::host::{Parameters, file_systems_below};
use crate::hex;
use crate::plan::COROSYNC_CONF;
use record::Nfs4Client;
pub use record::Record;
pub use restart::{finish, is_under_way, start};

/// Why the clients of a pool cannot reclaim what they held. Those of NFS 4 are told so by the server, and go on without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    /// Nobody keeps the kernel's list.
    NoTracking,
    /// It serves others under another scope, who would lose theirs.
    OtherScope,
    /// It would not stop.
    Hangs,
}

impl Lost {
    fn why(self) -> &'static str {
        match self {
            Self::NoTracking => "nfsdcld does not run (systemctl enable --now nfsdcld)",
            Self::OtherScope => {
                "the server would have to start again under another scope, and clients of what it exports beside would lose \
                 theirs"
            }
            Self::Hangs => {
                "the server would have to start again, and a disk of what it exports beside does not answer"
            }
        }
    }
}

/// What is known of the server to which a pool comes.
#[derive(Clone, Copy, Debug)]
struct Server {
    /// It exports of the pool already: the file is only read again.
    serves: bool,
    /// It serves others beside.
    serves_others: bool,
    /// The daemon that keeps the kernel's list runs.
    tracks: bool,
    /// Clients know it as they know the other heads.
    scope: bool,
}

impl Server {
    /// Whether it must start again before it serves a pool that has clients, or has none.
    fn restarts(self, clients: bool) -> Result<bool, Lost> {
        if self.serves || (self.scope && !clients) {
            return Ok(false);
        }
        let lost = match self {
            Self { tracks: false, .. } => Lost::NoTracking,
            Self {
                serves_others: true,
                scope: false,
                ..
            } => Lost::OtherScope,
            _ => return Ok(true),
        };
        match clients {
            true => Err(lost),
            false => Ok(false),
        }
    }
}

/// Has this host's server let the clients of a pool reclaim what they held, before it exports anything of it. That they cannot is
/// said, and is no reason not to serve them. `started` is what an earlier start exported, `record` what the pool says, or why
/// that cannot be read.
///
/// # Errors
/// The server does not stop or start.
pub fn admit(
    parameters: &Parameters,
    started: &BTreeSet<Pair>,
    record: &Result<Record, String>,
    said: &mut dyn FnMut(&str),
) -> Result<(), NfsError> {
    let nobody = Record::default();
    let record = record.as_ref().unwrap_or_else(|why| {
        let path = parameters.root.join(Record::FILE);
        said(&format!("{}: {why}: {LOST}", path.display()));
        &nobody
    });
    if let Err(error) = note(&parameters.pool, &record.to_text()) {
        said(&error.to_string());
    }
    let scope = scope();
    let table = served()?;
    let beside = Beside::of(&table, &parameters.root, has_clients());
    let server = Server {
        serves: started.iter().any(|pair| table.contains_key(pair)),
        serves_others: beside == Beside::Others,
        tracks: !processes::own("nfsdcld").is_empty() && Path::new(tracked::DATABASE).exists(),
        scope: restart::has(&scope),
    };
    let clients = record.clients.len() + record.nfs3.len();
    let restarts = match server.restarts(clients > 0) {
        Ok(true) if !table.is_empty() && restart::hangs() => Err(Lost::Hangs),
        other => other,
    };
    match restarts {
        Ok(false) => return Ok(()),
        Ok(true) => {}
        Err(why) => {
            said(&format!("{}: {LOST}", why.why()));
            return Ok(());
        }
    }
    // A restart drops the locks of NFS 3, also of what is served beside: of who holds any, and of who is about to reclaim what an
    // earlier restart has dropped.
    let mut nfs3 = record.nfs3.clone();
    if !table.is_empty() {
        nfs3.extend(monitored::holders());
        nfs3.extend(noted_of_all().flat_map(|record| record.nfs3));
    }
    let own = addresses::own().into_iter().map(|(address, _)| address);
    let servers = own.filter(|it| !it.is_loopback());
    let servers = servers.chain(parameters.portals.clone()).collect();
    match monitored::note(&nfs3, &servers) {
        Err(why) if !nfs3.is_empty() => said(&format!("{why}: {LOST}")),
        _ => {}
    }
    // While it is stopped no grace period ends, which takes its list away.
    let (added, told) = restart::again(&scope, !nfs3.is_empty(), || {
        let database = Path::new(tracked::DATABASE);
        tracked::add(database, &record.clients, beside == Beside::Nothing)
    })?;
    restart::by_systemd(&scope);
    said(&match (added, clients) {
        (Err(why), 1..) => format!("{}: {why}: {LOST}", tracked::DATABASE),
        (_, 0) => {
            "the NFS server is started again, by the name that it has on all heads".to_owned()
        }
        _ => format!("the NFS server is started again: clients that may reclaim locks: {clients}"),
    });
    if let Err(why) = told {
        said(&format!("{why}: {LOST}"));
    }
    Ok(())
}

/// What the server serves beside a pool that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// Nothing, and nobody: who is in its list may have lost its locks to another head meanwhile.
    Nothing,
    /// What ZFS exports once it has imported a pool: of this one, or of one that comes next.
    OfZfs,
    /// Somebody who knows the server as it is.
    Others,
}

impl Beside {
    fn of(table: &Found, root: &Path, clients: bool) -> Self {
        let outside = table.iter();
        let outside = outside.filter(|((path, _), _)| !Path::new(path).starts_with(root));
        let mut outside = outside.map(|(_, options)| options).peekable();
        match (outside.peek().is_some(), clients) {
            (false, false) => Self::Nothing,
            (false, true) => Self::OfZfs,
            (true, false) if outside.all(NfsOptions::waits_for_its_mount) => Self::OfZfs,
            (true, _) => Self::Others,
        }
    }
}

const LOST: &str = "clients lose the locks that they hold";

/// Writes to the pool who its clients are now, unless that is written there already.
///
/// # Errors
/// The pool or the server's list cannot be read or written.
pub fn remember(parameters: &Parameters, served: &Desired) -> Result<(), NfsError> {
    if let Some(text) = news(parameters, served)? {
        let pool = Folder::open(&parameters.root)?;
        pool.replace(Record::FILE.as_ref(), text.as_bytes(), 0o600)?;
        note(&parameters.pool, &text)?;
    }
    Ok(())
}

/// What is to be written to the pool, which is not asked for that; `None`: that is written there.
///
/// # Errors
/// The server's list cannot be read.
pub fn news(parameters: &Parameters, served: &Desired) -> Result<Option<String>, NfsError> {
    let database = Path::new(tracked::DATABASE);
    let server = restart::began();
    // A server that was stopped has no clients, and its clients still have their locks.
    if served.nfs.is_empty() || !database.exists() || is_under_way() || server.is_none() {
        return Ok(None);
    }
    let text = present(parameters, database)?.to_text();
    // Nor has one that is stopped while it is looked at: it ends its threads before its connections (`nfsd_svc`).
    if restart::began() != server {
        return Ok(None);
    }
    let same = noted(&parameters.pool)?.as_deref() == Some(text.as_str());
    Ok((!same).then_some(text))
}

/// Forgets what was written to a pool that has left.
///
/// # Errors
/// The note cannot be removed.
pub fn forget(pool: &str) -> Result<(), NfsError> {
    hawser_files::remove(&copy(pool))?;
    Ok(())
}

/// What was written to the pool last. A pool that hangs is not asked at each look.
fn noted(pool: &str) -> Result<Option<String>, NfsError> {
    let bytes = hawser_files::read(&copy(pool), Expected::OF_ROOT)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// What was written to each pool that is served here.
fn noted_of_all() -> impl Iterator<Item = Record> {
    let files = fs::read_dir(FILES).into_iter().flatten().flatten();
    let pools = files.filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        Some(name.strip_suffix(CLIENTS)?.to_owned())
    });
    let texts = pools.filter_map(|pool| noted(&pool).ok().flatten());
    texts.filter_map(|text| Record::parse(&text).ok())
}

fn note(pool: &str, text: &str) -> Result<(), NfsError> {
    fs::create_dir_all(FILES).map_err(FileError::io("create", FILES))?;
    Ok(hawser_files::replace(&copy(pool), text.as_bytes(), 0o600)?)
}

/// How the names of those files end.
const CLIENTS: &str = ".clients";

fn copy(pool: &str) -> PathBuf {
    Path::new(FILES).join(format!("{pool}{CLIENTS}"))
}

/// The clients of the pool that the kernel's list has: who is connected to the pool's addresses or holds something of its
/// file systems, and while the grace period lasts, who may still come.
fn present(parameters: &Parameters, database: &Path) -> Result<Record, NfsError> {
    let tracked = |error| NfsError::Tracking {
        path: database.to_owned(),
        error,
    };
    let listed = tracked::all(database).map_err(tracked)?;
    let mounts = mountinfo::OWN;
    let mounts = fs::read_to_string(mounts).map_err(FileError::io("read", mounts))?;
    let devices = file_systems_below(&mounts, &parameters.root).into_keys();
    let devices = devices.map(|(major, minor)| superblock(major, minor));
    let connected = clients::connected(&parameters.portals);
    let here = clients::of_pool(&connected, &devices.collect());
    let grace = says_grace();
    let before = noted(&parameters.pool)?;
    let before = before.and_then(|text| Record::parse(&text).ok());
    let before = before.unwrap_or_default();
    let may_come = |known: &Nfs4Client| grace && before.clients.contains(known);
    let is_here = |known: &Nfs4Client| here.contains(&known.name);
    let of_pool = listed.into_iter().filter(|it| is_here(it) || may_come(it));
    let connected = connected.iter().map(SocketAddr::ip).collect();
    let (holders, may_come) = (monitored::holders(), restart::may_reclaim());
    let nfs3 = monitored::of_pool(holders, &connected, &before.nfs3, may_come);
    Ok(Record::bounded(nfs3, of_pool))
}

/// By what name clients know the servers of this host's cluster, whichever head they run on (RFC 8881, 2.10.4).
fn scope() -> String {
    let text = fs::read_to_string(COROSYNC_CONF).unwrap_or_default();
    let conf = Conf::parse(&text).unwrap_or_default();
    let totem = conf.sections("totem").next();
    let cluster = totem.and_then(|it| it.value("cluster_name"));
    scope_of(cluster.unwrap_or_default())
}

/// The kernel takes it for the name of a host: 64 bytes at most.
fn scope_of(cluster: &str) -> String {
    let digest = Sha256::digest(cluster.as_bytes());
    format!("hawser-{}", hex::digits(&digest[..8]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Server = Server {
        serves: false,
        serves_others: false,
        tracks: true,
        scope: true,
    };

    #[test]
    fn a_server_starts_again_for_clients_or_for_its_scope_and_never_at_others_cost() {
        assert_eq!(IDLE.restarts(true), Ok(true));
        assert_eq!(IDLE.restarts(false), Ok(false));
        let another_scope = Server {
            scope: false,
            ..IDLE
        };
        assert_eq!(another_scope.restarts(false), Ok(true));
        // A changed file is read again while clients write.
        let serves = Server {
            serves: true,
            scope: false,
            ..IDLE
        };
        assert_eq!(serves.restarts(true), Ok(false));
        // Clients of another pool of ours reclaim as well.
        let beside = Server {
            serves_others: true,
            ..IDLE
        };
        assert_eq!(beside.restarts(true), Ok(true));

        let lost = |server: Server, why| {
            assert_eq!(server.restarts(true), Err(why));
            assert_eq!(server.restarts(false), Ok(false), "{why:?}");
        };
        let no_daemon = Server {
            tracks: false,
            scope: false,
            ..IDLE
        };
        lost(no_daemon, Lost::NoTracking);
        let somebody = Server {
            scope: false,
            ..beside
        };
        lost(somebody, Lost::OtherScope);
    }

    /// A head that had booted kept its own name for what ZFS had exported, and the clients of a pool lost their locks.
    #[test]
    fn what_zfs_exports_by_itself_keeps_no_server_from_starting_again() {
        let exported = |paths: &[(&str, &str)]| -> Found {
            let one = |(path, options): &(&str, &str)| {
                let pair = ((*path).to_owned(), "*".to_owned());
                (pair, NfsOptions::shown(options))
            };
            paths.iter().map(one).collect()
        };
        let beside = |table: &Found, clients| Beside::of(table, Path::new("/tank"), clients);
        let nothing = exported(&[]);
        assert_eq!(beside(&nothing, false), Beside::Nothing);
        let own = exported(&[("/tank/shared", "rw,mountpoint")]);
        assert_eq!(beside(&own, false), Beside::Nothing);
        // Its clients came before the first start: they may reclaim.
        assert_eq!(beside(&own, true), Beside::OfZfs);
        let next = exported(&[("/tank2/shared", "rw,mountpoint")]);
        assert_eq!(beside(&next, false), Beside::OfZfs);
        assert_eq!(beside(&next, true), Beside::Others);
        let somebodys = exported(&[("/srv", "rw"), ("/tank2/shared", "rw,mountpoint")]);
        assert_eq!(beside(&somebodys, false), Beside::Others);
    }

    #[test]
    fn heads_have_one_scope_and_clusters_their_own() {
        assert_eq!(scope_of("storage"), scope_of("storage"));
        assert_ne!(scope_of("storage"), scope_of("other"));
        assert_eq!(scope_of(&"x".repeat(300)).len(), 23);
    }
}
