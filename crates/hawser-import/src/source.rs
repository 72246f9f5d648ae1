//! A source, and what kind it is.

use crate::place::{Malformed, SourceLine, quoted};

/// A file that is read.
#[derive(Clone, Debug)]
pub struct Source {
    /// As it was named, for the page.
    pub path: String,
    /// Its text.
    pub text: String,
    /// What it is.
    pub kind: Kind,
    /// The node that it was read on. For [`Kind::Interfaces`]: whose they are.
    pub node: Option<String>,
}

/// What some editors put before the first line.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// What a source is. The order is that in which they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Heartbeat's `ha.cf`.
    HaCf,
    /// Heartbeat's `authkeys`.
    Authkeys,
    /// `corosync.conf`.
    CorosyncConf,
    /// A node's addresses: `ip address`, `ip -br address`, `ipadm show-addr`.
    Interfaces,
    /// Pacemaker's CIB.
    Cib,
    /// `crm configure show`.
    Crm,
    /// Heartbeat's `haresources`.
    Haresources,
    /// `stmf-ha.conf`.
    StmfHa,
    /// `zfs get` of the properties `org.illumos.stmf-ha:…`.
    ZfsGet,
    /// `stmfadm list-lu -v`.
    ListLu,
    /// targetcli's `saveconfig.json`.
    Saveconfig,
    /// tgt's `targets.conf`.
    TargetsConf,
    /// `/etc/exports`.
    EtcExports,
    /// A file of a head that could not be read: its text says why.
    Unread,
}

impl Kind {
    /// Every kind by its word, as `KIND:FILE` has it.
    pub const WORDS: [(&'static str, Self); 13] = [
        ("ha.cf", Self::HaCf),
        ("authkeys", Self::Authkeys),
        ("haresources", Self::Haresources),
        ("corosync.conf", Self::CorosyncConf),
        ("cib", Self::Cib),
        ("crm", Self::Crm),
        ("stmf-ha.conf", Self::StmfHa),
        ("zfs-get", Self::ZfsGet),
        ("list-lu", Self::ListLu),
        ("saveconfig.json", Self::Saveconfig),
        ("targets.conf", Self::TargetsConf),
        ("exports", Self::EtcExports),
        ("interfaces", Self::Interfaces),
    ];

    /// The kind of that word.
    pub fn of_word(word: &str) -> Option<Self> {
        let found = Self::WORDS.iter().find(|(known, _)| *known == word);
        found.map(|(_, kind)| *kind)
    }

    /// What a file is, by what it says and else by its name.
    ///
    /// # Errors
    /// It looks like none of them.
    pub fn of(path: &str, text: &str) -> Result<Self, Malformed> {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let name = path.rsplit('/').next().unwrap_or(path);
        let name = name.to_ascii_lowercase();
        let named = Self::WORDS
            .iter()
            .filter(|(word, kind)| *kind != Self::Interfaces && word.len() > 3)
            .find(|(word, _)| name == *word || name.ends_with(&format!(".{word}")));
        let says = |words: &[&str]| {
            let mut lines = text.lines().map(str::trim_start);
            lines.any(|line| words.iter().any(|word| line.starts_with(word)))
        };
        let start = text.trim_start();
        let kind = match named {
            Some((_, kind)) => Some(*kind),
            None if start.starts_with("<target") || says(&["<target "]) => Some(Self::TargetsConf),
            None if ["<?xml", "<cib", "<configuration"]
                .iter()
                .any(|tag| start.starts_with(tag)) =>
            {
                Some(Self::Cib)
            }
            None if start.starts_with('{') && text.contains("\"storage_objects\"") => {
                Some(Self::Saveconfig)
            }
            None if says(&["totem {", "totem{", "nodelist {"]) => Some(Self::CorosyncConf),
            None if says(&["LU Name:"]) => Some(Self::ListLu),
            None if text.contains("org.illumos.stmf-ha:") => Some(Self::ZfsGet),
            None if says(&["primitive ", "property $id", "rsc_defaults "]) => Some(Self::Crm),
            None if says(&["keepalive ", "deadtime ", "udpport "]) => Some(Self::HaCf),
            None if says(&["logical_units=", "target_portal_groups=", "targets=("]) => {
                Some(Self::StmfHa)
            }
            None => None,
        };
        if kind.is_none() && says(&["Cluster Name:", "Corosync Nodes:", "Pacemaker Nodes:"]) {
            return Err(Malformed::new(
                &SourceLine::new(path, 1),
                format!("{} is what `pcs config` prints, for people", quoted(&name)),
                "the CIB, from `pcs cluster cib` or `cibadmin --query`, and corosync.conf",
            ));
        }
        kind.ok_or_else(|| {
            let words: Vec<&str> = Self::WORDS.iter().map(|(word, _)| *word).collect();
            Malformed::new(
                &SourceLine::new(path, 1),
                format!(
                    "{} looks like none of the files that can be imported",
                    quoted(&name)
                ),
                format!(
                    "say what it is, KIND:FILE, with one of {}",
                    words.join(", ")
                ),
            )
        })
    }
}

impl Source {
    /// A line of it.
    pub(crate) fn at(&self, line: usize) -> SourceLine {
        SourceLine::new(&self.path, line)
    }

    /// Its lines with their places: without comments that `#` begins, and without empty ones.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (SourceLine, &str)> {
        self.text.lines().enumerate().filter_map(|(i, line)| {
            let said = line.split('#').next().unwrap_or_default().trim();
            (!said.is_empty()).then(|| (self.at(i + 1), said))
        })
    }
}
