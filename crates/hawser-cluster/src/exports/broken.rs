//! What can be wrong with an `exports.toml`, and what to do about it.

use hawser_model::toml_file::{Problem, Rule};

use super::nfs::NfsOptions;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenExports {
    /// Two things of one kind with one name.
    #[error("two {kind}s are named \"{name}\"")]
    NameTwice {
        /// `target`, `view`, …
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// Not a portal.
    #[error("\"{0}\" is no portal")]
    NotAPortal(String),
    /// A group of nothing.
    #[error("{kind} \"{name}\" has no members")]
    Empty {
        /// `host group`, …
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// Not an initiator's name (RFC 3720, 3.2.6.3).
    #[error("\"{0}\" is no iSCSI name")]
    NotAnIqn(String),
    /// A block size no client knows.
    #[error("blocks of {0} bytes are not known to any client")]
    BlockSize(u32),
    /// A serial number of another form.
    #[error("\"{0}\" is no serial number")]
    Serial(String),
    /// An identifier of another form.
    #[error("\"{0}\" is no NAA identifier of type 6")]
    Naa(String),
    /// Two ways to say who a unit is.
    #[error("a unit has both serial and naa")]
    SerialAndNaa,
    /// A serial number given twice.
    #[error("two units have the serial number {0}")]
    SerialTwice(String),
    /// One number for several units.
    #[error("view \"{0}\" gives one number to several units")]
    OneLunForMany(String),
    /// Both ways of choosing units.
    #[error("view \"{0}\" chooses its units by name and by prefix")]
    UnitsAndPrefix(String),
    /// Half of a mutual CHAP.
    #[error("mutual CHAP needs both mutual_user and mutual_secret")]
    HalfMutual,
    /// A secret that nobody is there to hand over.
    #[error("the secret is in an environment variable")]
    SecretInEnvironment,
    /// Not a name of an account.
    #[error("\"{0}\" is not a valid account name")]
    User(String),
    /// Not a directory below the pool.
    #[error("\"{0}\" is not a directory inside the pool")]
    Directory(String),
    /// A directory for nobody.
    #[error("directory \"{0}\" has no clients")]
    NoClients(String),
    /// The pool's own files for writing.
    #[error("the whole pool is offered for writing")]
    WholePool,
    /// Not somebody who may mount a directory.
    #[error("\"{0}\" is neither an address nor a network")]
    NotAClient(String),
    /// One directory twice for one client.
    #[error("directory \"{directory}\" is offered to {client} twice")]
    ClientTwice {
        /// The directory.
        directory: String,
        /// The client.
        client: String,
    },
    /// An option that is not to be written.
    #[error("\"{0}\" is no option that can be written here")]
    NfsOption(String),
    /// A number, and what to count it from.
    #[error("view \"{0}\" has both lun and lun_offset")]
    LunAndOffset(String),
    /// The same name both ways.
    #[error("\"{0}\" cannot prove itself to itself: mutual CHAP needs another name")]
    SameUser(String),
}

impl Rule for BrokenExports {
    fn help(&self) -> String {
        match self {
            Self::NameTwice { kind, .. } => format!("give each {kind} a name of its own"),
            Self::NotAPortal(_) => {
                "write an address, with a port if it is not 3260: \"192.0.2.1\", \"[fd00::1]:3261\""
                    .into()
            }
            Self::Empty { .. } => "add members, or remove it".into(),
            Self::NotAnIqn(_) => {
                "write it as the client has it in /etc/iscsi/initiatorname.iscsi, such as \
                 \"iqn.1993-08.org.debian:01:abc\""
                    .into()
            }
            Self::BlockSize(_) => "write 512 or 4096".into(),
            Self::Serial(_) => "write 32 hexadecimal digits, or leave it out".into(),
            Self::Naa(_) => {
                "write 32 hexadecimal digits that begin with 6, as clients show it after \"naa.\""
                    .into()
            }
            Self::SerialAndNaa => "the one is made from the other: remove one of them".into(),
            Self::SerialTwice(_) => {
                "clients take units of one serial number for one disk and destroy it".into()
            }
            Self::OneLunForMany(_) => {
                "name one unit in units, or leave lun out and give it to the units".into()
            }
            Self::UnitsAndPrefix(_) => "use the one or the other".into(),
            Self::SecretInEnvironment => {
                "Pacemaker starts the exports, and has no such variable: write \"file:/path\", with \
                 mode 0600, the same on all heads"
                    .into()
            }
            Self::User(_) => "write letters, digits and -._:@".into(),
            Self::Directory(_) => {
                "write its path from the pool's root on, such as \"home\" or \"vm/images\"; \".\" is \
                 the whole pool"
                    .into()
            }
            Self::NoClients(_) => "add who may mount it, or remove it".into(),
            Self::WholePool => {
                "exports.toml lies in the pool's root, and whoever can write it decides what is \
                 offered to whom: add options = \"ro\", or offer a directory below the root"
                    .into()
            }
            Self::NotAClient(_) => {
                "write \"192.0.2.1\", \"192.0.2.0/24\", \"fd00::/64\", or \"*\" for everybody; names \
                 are not taken, because a takeover must not wait for a name server"
                    .into()
            }
            Self::ClientTwice { .. } => "remove one of them".into(),
            Self::NfsOption(option) if option.starts_with("fsid=") => {
                "remove it: the file system's number is given once and kept in exports-state.toml"
                    .into()
            }
            Self::NfsOption(_) => format!("allowed are {}", NfsOptions::allowed()),
            Self::LunAndOffset(_) => "lun is the whole number: remove one of them".into(),
            Self::HalfMutual => "add the other, or remove both".into(),
            Self::SameUser(_) => "give the target a name of its own".into(),
        }
    }
}

impl From<BrokenExports> for Problem<BrokenExports> {
    fn from(broken: BrokenExports) -> Self {
        Self::Rule(broken)
    }
}
