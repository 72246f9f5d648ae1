//! What tgtd can be told, one at a time.

use std::collections::BTreeMap;

use hawser_model::cluster_file::SecretRef;

use super::wire::{Mode, Op, Request};
use crate::exports::desired::{Portal, is_iscsi_name, naa};

/// What a unit calls itself (`INQUIRY`), of at most eight characters: clients' `multipath.conf` goes by it.
pub const VENDOR: &str = "HAWSER";

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A target, to which nobody has access yet.
    NewTarget {
        /// Its number.
        tid: u32,
        /// Its name.
        iqn: String,
    },
    /// A unit of a target.
    NewUnit {
        /// The target.
        tid: u32,
        /// Its number.
        lun: u16,
        /// The volume.
        volume: String,
        /// What is behind it.
        path: String,
        /// Bytes of a block.
        block_size: u32,
        /// Every write is on the disks before it is acknowledged.
        sync: bool,
    },
    /// Who a unit says it is, and what it allows.
    Describe {
        /// The target.
        tid: u32,
        /// The unit.
        lun: u16,
        /// Its serial number.
        serial: String,
        /// The company in its NAA identifier, if it is not LIO's.
        company: Option<String>,
        /// The volume.
        volume: String,
        /// Clients may read only.
        read_only: bool,
        /// It says that it has a write cache.
        write_cache: bool,
    },
    /// A unit goes.
    DeleteUnit {
        /// The target.
        tid: u32,
        /// The unit.
        lun: u16,
    },
    /// An account with its secret.
    NewAccount {
        /// Its name.
        user: String,
        /// Where its secret is kept: whoever does it reads it.
        secret: SecretRef,
    },
    /// An account of a target.
    BindAccount {
        /// The target.
        tid: u32,
        /// The account.
        user: String,
        /// The target proves itself with it.
        outgoing: bool,
    },
    /// An account that is no longer one of a target.
    UnbindAccount {
        /// The target.
        tid: u32,
        /// The account.
        user: String,
        /// The target proved itself with it.
        outgoing: bool,
    },
    /// An account goes.
    DeleteAccount {
        /// Its name.
        user: String,
    },
    /// An address and port on which tgtd listens, for all targets.
    NewPortal {
        /// The address, unspecified: the pool's own addresses come after its units.
        portal: Portal,
    },
    /// tgtd listens there no longer.
    DeletePortal {
        /// The address and port.
        portal: Portal,
    },
    /// Somebody may log in.
    Admit {
        /// The target.
        tid: u32,
        /// `ALL`, or an initiator's name.
        who: String,
    },
    /// Somebody may no longer log in.
    Dismiss {
        /// The target.
        tid: u32,
        /// `ALL`, an address, a network or an initiator's name.
        who: String,
    },
    /// A connection is cut.
    Disconnect {
        /// The target.
        tid: u32,
        /// The session.
        session: u64,
        /// The connection.
        connection: u32,
    },
    /// A target goes.
    DeleteTarget {
        /// The target.
        tid: u32,
    },
}

/// Mode page 8 (caching, SBC-3 6.5.5) as tgtd itself fills it, without the write cache bit.
const NO_CACHE: &str =
    ",mode_page=8:0:18:0x10:0:0xff:0xff:0:0:0xff:0xff:0xff:0xff:0x80:0x14:0:0:0:0:0:0";

impl Operation {
    /// What tgtd is asked. The secret of an account is handed in by whoever may read it.
    pub fn request(&self, secret: &str) -> Request {
        use Operation as O;
        match self {
            O::NewTarget { tid, iqn } => {
                Request::new(Op::New, Mode::Target, *tid).with(format!("targetname={iqn}"))
            }
            O::NewUnit {
                tid,
                lun,
                path,
                block_size,
                sync,
                ..
            } => {
                let sync = if *sync { "bsoflags=sync," } else { "" };
                let parameters = format!("path={path},{sync}blocksize={block_size}");
                Request::new(Op::New, Mode::Unit, *tid)
                    .unit(*lun)
                    .with(parameters)
            }
            O::Describe {
                tid,
                lun,
                serial,
                company,
                volume,
                read_only,
                write_cache,
            } => {
                // tgtd's own page says that there is a cache.
                let caching = if *write_cache { "" } else { NO_CACHE };
                let parameters = format!(
                    "targetOps vendor_id={VENDOR},product_id={},scsi_sn={serial},scsi_id={},readonly={}{caching},",
                    product(volume),
                    naa(serial, company.as_deref()),
                    u8::from(*read_only)
                );
                let request = Request::new(Op::Update, Mode::Unit, *tid).unit(*lun);
                request.with(parameters)
            }
            O::DeleteUnit { tid, lun } => Request::new(Op::Delete, Mode::Unit, *tid).unit(*lun),
            O::NewAccount { user, .. } => Request::new(Op::New, Mode::Account, 0)
                .with(format!("user={user},password={secret}")),
            O::DeleteAccount { user } => {
                Request::new(Op::Delete, Mode::Account, 0).with(format!("user={user}"))
            }
            O::BindAccount {
                tid,
                user,
                outgoing,
            } => account(Op::Bind, *tid, user, *outgoing),
            O::UnbindAccount {
                tid,
                user,
                outgoing,
            } => account(Op::Unbind, *tid, user, *outgoing),
            O::NewPortal { portal } => listen(Op::New, portal),
            O::DeletePortal { portal } => listen(Op::Delete, portal),
            O::Admit { tid, who } => access(Op::Bind, *tid, who),
            O::Dismiss { tid, who } => access(Op::Unbind, *tid, who),
            O::Disconnect {
                tid,
                session,
                connection,
            } => Request::new(Op::Delete, Mode::Connection, *tid).connection(*session, *connection),
            O::DeleteTarget { tid } => Request::new(Op::Delete, Mode::Target, *tid),
        }
    }

    /// The operation in words; `names` are the targets' by their numbers.
    pub fn words(&self, names: &BTreeMap<u32, String>) -> String {
        use Operation as O;
        let on = |tid: &u32| names.get(tid).map_or("?", String::as_str);
        let proof = |outgoing: &bool| match outgoing {
            true => "the target proves itself",
            false => "clients prove themselves",
        };
        match self {
            O::NewTarget { iqn, .. } => format!("new target {iqn}"),
            O::NewUnit {
                tid, lun, volume, ..
            } => format!("{volume} becomes LUN {lun} on {}", on(tid)),
            O::Describe {
                tid,
                lun,
                serial,
                read_only,
                ..
            } => {
                let may = match read_only {
                    true => "can only be read",
                    false => "can be written",
                };
                let on = on(tid);
                format!("LUN {lun} on {on} {may}, and says its serial number {serial}")
            }
            O::DeleteUnit { tid, lun } => format!("LUN {lun} goes from {}", on(tid)),
            O::NewAccount { user, .. } => format!("new account {user}"),
            O::DeleteAccount { user } => format!("account {user} goes"),
            O::BindAccount {
                tid,
                user,
                outgoing,
            } => format!("on {} {} as {user}", on(tid), proof(outgoing)),
            O::UnbindAccount {
                tid,
                user,
                outgoing,
            } => format!("on {} no longer {} as {user}", on(tid), proof(outgoing)),
            O::NewPortal { portal } => format!("tgtd listens on {portal}"),
            O::DeletePortal { portal } => format!("tgtd listens on {portal} no longer"),
            O::Admit { tid, who } => format!("{who} may log in to {}", on(tid)),
            O::Dismiss { tid, who } => format!("{who} may no longer log in to {}", on(tid)),
            O::Disconnect { tid, session, .. } => {
                format!("session {session} is cut from {}", on(tid))
            }
            O::DeleteTarget { tid } => format!("target {} goes", on(tid)),
        }
    }
}

/// The product field has 16 bytes of ASCII (SPC-4, 6.6.2), and tgtd's own syntax needs commas and
/// colons.
fn product(volume: &str) -> String {
    let last = volume.rsplit('/').next().unwrap_or(volume);
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || "-_.".contains(c) => c,
        _ => '-',
    };
    last.chars().map(plain).take(16).collect()
}

fn account(op: Op, tid: u32, user: &str, outgoing: bool) -> Request {
    let request = Request::new(op, Mode::Account, tid).outgoing(outgoing);
    request.with(format!("user={user}"))
}

fn listen(op: Op, portal: &Portal) -> Request {
    Request::new(op, Mode::Portal, 0).with(format!("portalOps portal={portal},"))
}

/// tgtd tells names from addresses by the key; `ALL` is an address to it.
fn access(op: Op, tid: u32, who: &str) -> Request {
    let key = match is_iscsi_name(who) {
        true => "initiator-name",
        false => "initiator-address",
    };
    Request::new(op, Mode::Target, tid).with(format!("{key}={who}"))
}
