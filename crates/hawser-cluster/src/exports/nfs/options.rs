//! Options of exports(5), in one form whoever wrote them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Each option that is on or off, as it is written on and off, and what holds when nothing is said.
/// `rw` and `no_subtree_check` are the defaults of this file; the others are those of exports(5).
const SWITCHES: [(&str, &str, bool); 10] = [
    ("rw", "ro", true),
    ("sync", "async", true),
    ("wdelay", "no_wdelay", true),
    ("hide", "nohide", true),
    ("crossmnt", "nocrossmnt", false),
    ("secure", "insecure", true),
    ("root_squash", "no_root_squash", true),
    ("all_squash", "no_all_squash", false),
    ("subtree_check", "no_subtree_check", false),
    ("secure_locks", "insecure_locks", true),
];

/// exports(5): nobody.
const NOBODY: u32 = 65_534;

/// What `sec` may list.
const FLAVOURS: [&str; 5] = ["sys", "krb5", "krb5i", "krb5p", "none"];

/// How a directory is exported to a client. All of it is said each time, so that an export that is
/// made again takes nothing over from what it was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub struct NfsOptions {
    switches: [bool; SWITCHES.len()],
    anonuid: u32,
    anongid: u32,
    sec: Vec<String>,
    fsid: Option<String>,
    waits: bool,
}

impl Default for NfsOptions {
    fn default() -> Self {
        Self {
            switches: SWITCHES.map(|(_, _, default)| default),
            anonuid: NOBODY,
            anongid: NOBODY,
            sec: vec!["sys".into()],
            fsid: None,
            waits: false,
        }
    }
}

impl NfsOptions {
    /// What somebody wrote.
    ///
    /// # Errors
    /// The option that is not known or has no such value.
    pub fn written(text: &str) -> Result<Self, String> {
        let mut options = Self::default();
        let mut flavours = false;
        for option in text.split(',').map(str::trim) {
            let again = option.starts_with("sec=") && std::mem::replace(&mut flavours, true);
            // The number of the file system is not for whoever writes the file.
            if again || option.starts_with("fsid=") || !options.take(option) {
                return Err(option.to_owned());
            }
        }
        Ok(options)
    }

    /// What `exportfs` shows, which says more than was asked for.
    pub fn shown(text: &str) -> Self {
        let mut options = Self::default();
        for option in text.split(',') {
            options.waits |= ["mountpoint", "mp"].contains(&option);
            options.take(option);
        }
        options
    }

    /// Whether the directory is only served while it is mounted (`mountpoint`). ZFS sets it for `sharenfs`; Hawser never does.
    pub fn waits_for_its_mount(&self) -> bool {
        self.waits
    }

    /// The same with the number of the file system.
    pub fn with_fsid(mut self, fsid: &str) -> Self {
        self.fsid = Some(fsid.to_owned());
        self
    }

    /// What may be written.
    pub fn allowed() -> String {
        let switches = SWITCHES.map(|(on, off, _)| format!("{on}, {off}"));
        let flavours = FLAVOURS.join(":");
        format!(
            "{}, anonuid=N, anongid=N, sec={flavours}",
            switches.join(", ")
        )
    }

    /// Whether clients may write.
    pub fn writable(&self) -> bool {
        self.switches[0]
    }

    /// Whether what is mounted below the directory is served with it (`crossmnt`).
    pub fn crosses_mounts(&self) -> bool {
        self.switches[4]
    }

    /// In the words of somebody who reads it: only what differs from the defaults.
    pub fn brief(&self) -> String {
        let plain = Self::default();
        let differs = |i: &usize| *i == 0 || self.switches[*i] != plain.switches[*i];
        let mut said: Vec<String> = (0..SWITCHES.len())
            .filter(differs)
            .map(|i| self.switch(i))
            .collect();
        for (name, id) in [("anonuid", self.anonuid), ("anongid", self.anongid)] {
            said.extend((id != NOBODY).then(|| format!("{name}={id}")));
        }
        said.extend((self.sec != plain.sec).then(|| format!("sec={}", self.sec.join(":"))));
        said.join(",")
    }

    fn switch(&self, i: usize) -> String {
        let (on, off, _) = SWITCHES[i];
        if self.switches[i] { on } else { off }.to_owned()
    }

    fn take(&mut self, option: &str) -> bool {
        for (i, (on, off, _)) in SWITCHES.iter().enumerate() {
            if option == *on || option == *off {
                self.switches[i] = option == *on;
                return true;
            }
        }
        let number = |value: &str| value.parse().ok();
        match option.split_once('=') {
            Some(("anonuid", value)) => number(value).map(|id| self.anonuid = id).is_some(),
            Some(("anongid", value)) => number(value).map(|id| self.anongid = id).is_some(),
            Some(("sec", value)) => {
                self.sec = value.split(':').map(str::to_owned).collect();
                self.sec
                    .iter()
                    .all(|flavour| FLAVOURS.contains(&flavour.as_str()))
            }
            Some(("fsid", value)) => {
                self.fsid = Some(value.to_owned());
                true
            }
            _ => false,
        }
    }
}

impl fmt::Display for NfsOptions {
    /// As `exportfs -o` takes it. What belongs to a flavour follows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sec={}", self.sec.join(":"))?;
        for i in 0..SWITCHES.len() {
            write!(f, ",{}", self.switch(i))?;
        }
        write!(f, ",anonuid={},anongid={}", self.anonuid, self.anongid)?;
        match &self.fsid {
            Some(fsid) => write!(f, ",fsid={fsid}"),
            None => Ok(()),
        }
    }
}

impl From<NfsOptions> for String {
    fn from(options: NfsOptions) -> Self {
        options.to_string()
    }
}

impl From<String> for NfsOptions {
    fn from(text: String) -> Self {
        Self::shown(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_what_was_asked_for() {
        let asked = NfsOptions::written("ro, no_root_squash,insecure,sec=krb5p:krb5i").unwrap();
        let asked = asked.with_fsid("0f1e2d3c-0f1e-2d3c-0f1e-2d3c0f1e2d3c");
        // nfs-utils 2.6.2: the line of `exportfs -s`, and that of its table.
        let brief = "sync,wdelay,hide,no_subtree_check,fsid=0f1e2d3c-0f1e-2d3c-0f1e-2d3c0f1e2d3c,\
                     sec=krb5p:krb5i,ro,insecure,no_root_squash,no_all_squash";
        assert_eq!(NfsOptions::shown(brief), asked);
        let whole = "ro,sync,wdelay,hide,nocrossmnt,insecure,no_root_squash,no_all_squash,\
                     no_subtree_check,secure_locks,acl,no_pnfs,fsid=0f1e2d3c-0f1e-2d3c-0f1e-2d3c0f1e2d3c,\
                     anonuid=65534,anongid=65534,sec=krb5p:krb5i,ro,no_root_squash,no_all_squash";
        assert_eq!(NfsOptions::shown(whole), asked);
        assert_eq!(NfsOptions::shown(&asked.to_string()), asked);
        assert_eq!(asked.brief(), "ro,insecure,no_root_squash,sec=krb5p:krb5i");
        assert_eq!(NfsOptions::written("rw").unwrap().brief(), "rw");
        let of_zfs =
            NfsOptions::shown("sync,wdelay,hide,crossmnt,no_subtree_check,mountpoint,sec=sys,rw");
        assert!(of_zfs.waits_for_its_mount() && !asked.waits_for_its_mount());
        assert!(of_zfs.crosses_mounts() && !asked.crosses_mounts());
    }

    #[test]
    fn what_is_not_known_is_named() {
        for text in ["foo", "fsid=0", "anonuid=x", "sec=krb6", "refer=/x@y", ""] {
            assert_eq!(NfsOptions::written(text), Err(text.to_owned()));
        }
        let twice = NfsOptions::written("sec=sys,rw,sec=krb5,ro");
        assert_eq!(twice, Err("sec=krb5".to_owned()));
    }
}
