//! Rules of `exports.toml` that need nothing but the file.

use std::ops::Range;

use hawser_model::toml_file::{self, At, Problem, Rule, SecretRef};

use super::file::{ExportsFile, portal};
use super::nfs::{Client, NfsOptions};

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
    #[error("the secret is in a variable of somebody's shell")]
    SecretInEnvironment,
    /// Not a name of an account.
    #[error("\"{0}\" is no name of an account")]
    User(String),
    /// Not a directory below the pool.
    #[error("\"{0}\" is no directory below the pool")]
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

type Found = toml_file::Found<BrokenExports>;

pub(super) fn check(file: &ExportsFile, found: &mut Found) {
    names(
        "portal group",
        file.portal_groups.iter().map(|g| &g.name),
        found,
    );
    names("target", file.targets.iter().map(|t| &t.name), found);
    names("unit", file.units.iter().map(|u| &u.volume), found);
    names(
        "host group",
        file.host_groups.iter().map(|g| &g.name),
        found,
    );
    names(
        "target group",
        file.target_groups.iter().map(|g| &g.name),
        found,
    );
    names("view", file.views.iter().map(|v| &v.name), found);

    for group in &file.portal_groups {
        empty("portal group", &group.name, group.portals.is_empty(), found);
        for text in group.portals.iter().filter(|text| portal(text).is_none()) {
            found.push(BrokenExports::NotAPortal(text.to_string()), text.span());
        }
    }
    for group in &file.host_groups {
        empty("host group", &group.name, group.members.is_empty(), found);
        iqns(group.members.iter(), found);
    }
    for group in &file.target_groups {
        empty("target group", &group.name, group.members.is_empty(), found);
    }
    iqns(
        file.targets.iter().filter_map(|target| target.iqn.as_ref()),
        found,
    );
    references(file, found);
    chap(file, found);
    units(file, found);
    nfs(file, found);
    for view in &file.views {
        let one = view.units.as_ref().is_some_and(|units| units.len() == 1);
        match (&view.lun, &view.prefix, &view.units) {
            (Some(lun), ..) if !one => {
                found.push(
                    BrokenExports::OneLunForMany(view.name.to_string()),
                    lun.span(),
                );
            }
            (Some(lun), ..) if view.lun_offset.is_some() => {
                let name = view.name.to_string();
                found.push(BrokenExports::LunAndOffset(name), lun.span());
            }
            (_, Some(prefix), Some(_)) => {
                found.push(
                    BrokenExports::UnitsAndPrefix(view.name.to_string()),
                    prefix.span(),
                );
            }
            _ => {}
        }
    }
}

fn names<'a>(kind: &'static str, names: impl Iterator<Item = &'a At<String>>, found: &mut Found) {
    let mut seen: Vec<&At<String>> = Vec::new();
    for name in names {
        match seen.iter().find(|other| **other == name) {
            Some(first) => {
                let broken = BrokenExports::NameTwice {
                    kind,
                    name: name.to_string(),
                };
                found.push_with(broken, name.span(), first.span());
            }
            None => seen.push(name),
        }
    }
}

fn empty(kind: &'static str, name: &At<String>, is: bool, found: &mut Found) {
    if is {
        let broken = BrokenExports::Empty {
            kind,
            name: name.to_string(),
        };
        found.push(broken, name.span());
    }
}

fn iqns<'a>(names: impl Iterator<Item = &'a At<String>>, found: &mut Found) {
    for name in names {
        let typed = ["iqn.", "eui.", "naa."]
            .iter()
            .any(|kind| name.starts_with(kind));
        // RFC 3722 maps capitals to small letters; what is compared byte by byte must not have any.
        let plain = name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.:".contains(c));
        if !typed || !plain || name.len() > 223 {
            found.push(BrokenExports::NotAnIqn(name.to_string()), name.span());
        }
    }
}

fn references(file: &ExportsFile, found: &mut Found) {
    let listed = |names: Vec<&At<String>>| names.into_iter().map(ToString::to_string).collect();
    let mut check = |kind: &'static str, name: &At<String>, known: Vec<&At<String>>| {
        if !known.contains(&name) {
            let allowed: Vec<String> = listed(known);
            let problem = Problem::NoSuch {
                kind,
                found: name.to_string(),
                allowed,
            };
            found.push(problem, name.span());
        }
    };
    let portal_groups = || {
        file.portal_groups
            .iter()
            .map(|g| &g.name)
            .collect::<Vec<_>>()
    };
    let targets = || file.targets.iter().map(|t| &t.name).collect::<Vec<_>>();
    let named = file
        .targets
        .iter()
        .filter_map(|target| target.portal_group.as_ref());
    for name in named.chain(&file.default_portal_group) {
        check("portal group", name, portal_groups());
    }
    // Without targets there is the pool's own, whose name the file does not know.
    if !file.targets.is_empty() {
        for name in file.target_groups.iter().flat_map(|group| &group.members) {
            check("target", name, targets());
        }
    }
    for view in &file.views {
        if let Some(name) = &view.host_group {
            check(
                "host group",
                name,
                file.host_groups.iter().map(|g| &g.name).collect(),
            );
        }
        if let Some(name) = &view.target_group {
            check(
                "target group",
                name,
                file.target_groups.iter().map(|g| &g.name).collect(),
            );
        }
        if !file.units.is_empty() {
            for name in view.units.iter().flatten() {
                check(
                    "unit",
                    name,
                    file.units.iter().map(|unit| &unit.volume).collect(),
                );
            }
        }
    }
}

fn chap(file: &ExportsFile, found: &mut Found) {
    for chap in file
        .targets
        .iter()
        .filter_map(|target| target.chap.as_ref())
    {
        let secrets = [Some(&chap.secret), chap.mutual_secret.as_ref()];
        for secret in secrets.into_iter().flatten() {
            if matches!(**secret, SecretRef::Env(_)) {
                found.push(BrokenExports::SecretInEnvironment, secret.span());
            }
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._:@".contains(c);
        for user in [Some(&chap.user), chap.mutual_user.as_ref()]
            .into_iter()
            .flatten()
        {
            if user.is_empty() || !user.chars().all(plain) {
                found.push(BrokenExports::User(user.to_string()), user.span());
            }
        }
        match (&chap.mutual_user, &chap.mutual_secret) {
            (Some(user), Some(_)) if *user == chap.user => {
                found.push_with(
                    BrokenExports::SameUser(user.to_string()),
                    user.span(),
                    chap.user.span(),
                );
            }
            (Some(user), None) => found.push(BrokenExports::HalfMutual, user.span()),
            (None, Some(secret)) => found.push(BrokenExports::HalfMutual, secret.span()),
            _ => {}
        }
    }
}

fn units(file: &ExportsFile, found: &mut Found) {
    let sizes = file
        .units
        .iter()
        .filter_map(|unit| unit.block_size.as_ref());
    for size in sizes
        .chain(&file.defaults.block_size)
        .filter(|size| ![512, 4096].contains(&***size))
    {
        found.push(BrokenExports::BlockSize(**size), size.span());
    }
    let mut seen: Vec<(String, Range<usize>)> = Vec::new();
    for serial in file.units.iter().filter_map(|unit| unit.serial.as_ref()) {
        let lower = serial.to_lowercase();
        if serial.len() != 32 || !serial.chars().all(|c| c.is_ascii_hexdigit()) {
            found.push(BrokenExports::Serial(serial.to_string()), serial.span());
        } else if let Some((_, first)) = seen.iter().find(|(other, _)| *other == lower) {
            found.push_with(
                BrokenExports::SerialTwice(lower),
                serial.span(),
                first.clone(),
            );
        } else {
            seen.push((lower, serial.span()));
        }
    }
}

fn nfs(file: &ExportsFile, found: &mut Found) {
    let mut seen: Vec<(&str, Client, Range<usize>)> = Vec::new();
    for entry in &file.nfs {
        let name = entry.directory.as_str();
        // `exportfs` takes what it cannot read for something else.
        let plain = !name.chars().any(|c| c.is_control() || "\\\"".contains(c));
        let below = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !plain || !(name == "." || name.split('/').all(below)) {
            let broken = BrokenExports::Directory(name.to_owned());
            found.push(broken, entry.directory.span());
        }
        if entry.clients.is_empty() {
            let broken = BrokenExports::NoClients(name.to_owned());
            found.push(broken, entry.directory.span());
        }
        let written = entry.options.as_ref().map_or("rw", |text| text.as_str());
        let span = entry.options.as_ref().unwrap_or(&entry.directory).span();
        match NfsOptions::written(written) {
            Err(option) => found.push(BrokenExports::NfsOption(option), span),
            Ok(options) if name == "." && options.writable() => {
                found.push(BrokenExports::WholePool, span);
            }
            Ok(_) => {}
        }
        for text in &entry.clients {
            let Ok(client) = text.parse::<Client>() else {
                found.push(BrokenExports::NotAClient(text.to_string()), text.span());
                continue;
            };
            let mut before = seen.iter();
            match before.find(|(other, who, _)| *other == name && *who == client) {
                Some((_, _, first)) => {
                    let broken = BrokenExports::ClientTwice {
                        directory: name.to_owned(),
                        client: client.to_string(),
                    };
                    found.push_with(broken, text.span(), first.clone());
                }
                None => seen.push((name, client, text.span())),
            }
        }
    }
}
