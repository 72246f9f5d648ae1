//! What the configuration files of a Linux client should say, so that it outlasts a takeover and does not stand still for a dead
//! SAN.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use hawser_model::cluster_file::{Backend, ClusterFile, ExportKind, Pool};
use hawser_model::octal::escaped;

use super::bearable;
use crate::exports::tgt::VENDOR;

/// A file of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientFile {
    /// `/etc/multipath.conf`.
    Multipath,
    /// `/etc/iscsi/iscsid.conf`.
    Iscsid,
    /// Lines of `/etc/fstab`.
    Fstab,
}

/// multipathd's `polling_interval` as it comes, seconds (`DEFAULT_CHECKINT` in libmultipath's defaults.h).
const POLLING: u64 = 5;

/// How long a path that is gone holds what was sent over it, seconds: what multipath takes where nothing is said
/// (`DEFAULT_FAST_IO_FAIL`).
const PATH: u64 = 5;

/// How long a path that is silent takes to be noticed: asked each so many seconds, and waited for as long.
const NOOP: u64 = 2;

/// The text of a file. None: nothing of this cluster belongs into it.
pub fn printed(file: &ClusterFile, which: ClientFile) -> Option<String> {
    let iscsi = file.pools.iter().any(by_iscsi);
    match which {
        ClientFile::Multipath => iscsi.then(|| multipath(file)),
        ClientFile::Iscsid => iscsi.then(|| iscsid(file)),
        ClientFile::Fstab => fstab(file),
    }
}

/// Whether clients may have a pool's units by iSCSI. Of an adopted pool that another's target offers (`exports = "none"`) the
/// file does not say how.
fn by_iscsi(pool: &Pool) -> bool {
    *pool.exports == ExportKind::Iscsi || by_others(pool)
}

fn by_others(pool: &Pool) -> bool {
    pool.adopted.is_some() && *pool.exports == ExportKind::None && pool.nfs.is_empty()
}

/// What units call themselves (`INQUIRY`): LIO's by target_core_configfs.c, Hawser's of tgt by how they are made, others' of tgt
/// by tgt's spc.c.
fn vendors(file: &ClusterFile) -> BTreeSet<&'static str> {
    let own = file
        .pools
        .iter()
        .filter(|pool| *pool.exports == ExportKind::Iscsi);
    let own = own.map(|_| match file.exports.backend {
        Backend::Lio => LIO,
        Backend::Tgt => VENDOR,
    });
    let others = file.pools.iter().filter(|pool| by_others(pool));
    own.chain(others.flat_map(|_| [LIO, "IET"])).collect()
}

const LIO: &str = "LIO-ORG";

fn multipath(file: &ClusterFile) -> String {
    let wait = bearable(file).as_millis().div_ceil(1000);
    let looks = wait.div_ceil(POLLING);
    let others = file.pools.iter().filter(|pool| by_others(pool));
    let others: Vec<&str> = others.map(|pool| pool.name.as_str()).collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!(
            "# {}: Hawser offers nothing of it. If another's target does, LIO or tgt, of the devices below the one counts whose\n\
             # vendor `lsscsi` shows. Another target has another vendor.\n",
            others.join(", "),
        ),
    };
    let device = |vendor: &str| {
        format!(
            "\tdevice {{\n\
             \t\tvendor \"{vendor}\"\n\
             \t\tproduct \".*\"\n\
             \t\tpath_grouping_policy \"multibus\"\n\
             \t\tpath_checker \"tur\"\n\
             \t\tfailback \"immediate\"\n\
             \t\tno_path_retry {looks}\n\
             \t\t# When one SAN is dead, go on over the other soon.\n\
             \t\tfast_io_fail_tmo {PATH}\n\
             \t}}\n"
        )
    };
    let devices: String = vendors(file).into_iter().map(device).collect();
    format!(
        "# For clients of cluster {cluster}. A takeover takes all paths of a pool away at once. The cluster calls one failed after\n\
         # {wait} s; until then no_path_retry holds what is read and written: {looks} looks, one each {POLLING} s.\n\
         {others}\
         defaults {{\n\
         \t# A device for each disk that is seen twice; as it comes, for none that was not named before.\n\
         \tfind_multipaths \"yes\"\n\
         \tuser_friendly_names \"yes\"\n\
         }}\n\
         devices {{\n\
         {devices}\
         }}\n",
        cluster = *file.cluster.name,
    )
}

fn iscsid(file: &ClusterFile) -> String {
    let mut out = format!(
        "# For clients of cluster {}, with dm-multipath above the sessions (multipath.conf): it waits, not the session. Without\n\
         # multipath replacement_timeout has to be {}. What is set here counts for targets that are discovered later.\n\
         node.startup = automatic\n\
         node.session.timeo.replacement_timeout = {PATH}\n\
         node.conn[0].timeo.noop_out_interval = {NOOP}\n\
         node.conn[0].timeo.noop_out_timeout = {NOOP}\n",
        *file.cluster.name,
        bearable(file).as_millis().div_ceil(1000),
    );
    for pool in file.pools.iter().filter(|pool| by_iscsi(pool)) {
        for (link, addresses) in &pool.addresses {
            for address in addresses.ips() {
                let _ = writeln!(
                    out,
                    "# {} on {link}: iscsiadm -m discovery -t sendtargets -p {address}",
                    pool.name
                );
            }
        }
    }
    out + "# iscsiadm -m node --login\n"
}

/// Versions of NFS by which a client does not take two pools on one head for one server: it names itself otherwise by each.
const VERSIONS: [&str; 4] = ["4.2", "4.1", "4.0", "3"];

fn fstab(file: &ClusterFile) -> Option<String> {
    let mut out = String::new();
    let exported = file.pools.iter().map(nfs).filter(|it| !it.is_empty());
    let exported: Vec<_> = exported.collect();
    for (number, directories) in exported.iter().enumerate() {
        let version = VERSIONS[number.min(VERSIONS.len() - 1)];
        for (source, place) in directories {
            let _ = writeln!(
                out,
                "{source} {place} nfs hard,vers={version},timeo=50,retrans=2,_netdev,nofail 0 0"
            );
        }
    }
    let apart = match exported.len() {
        0 | 1 => "",
        _ => {
            "# Each pool by a version of its own: by one version a client takes two pools on one head for one server, and loses one of\n\
             # them when they part.\n"
        }
    };
    (!out.is_empty()).then(|| {
        format!(
            "# For clients of cluster {}: hard, so that a call waits for the pool's next head. A soft mount loses what a program\n\
             # believes to be written.\n{apart}{out}",
            *file.cluster.name
        )
    })
}

/// What a pool exports by NFS in the cluster file, and where it might be mounted.
fn nfs(pool: &Pool) -> Vec<(String, String)> {
    let address = pool.addresses.values().next();
    let Some(address) = address.and_then(|it| it.ips().next()) else {
        return Vec::new();
    };
    let address = match address.is_ipv6() {
        true => format!("[{address}]"),
        false => address.to_string(),
    };
    let of = |directory: &str| {
        let name = directory.trim_matches('/').replace('/', "-");
        (
            format!("{address}:{}", escaped(directory)),
            format!("/mnt/{}", escaped(&name)),
        )
    };
    pool.nfs
        .iter()
        .map(|export| of(&export.directory))
        .collect()
}
