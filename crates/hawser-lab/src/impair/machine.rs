//! Settings that the kernel keeps once for the whole machine, changed for a lab and put back.
//!
//! `net.core.rmem_*` can only be written in the first network namespace and `netdev_max_backlog`
//! is not even visible in another, so changing them changes the host and every lab. What was
//! there is written down before it is changed; it is put back by `clear --machine`, by `down` of
//! the lab that changed it, and, when that lab has died, by the next `up` or `down` of any.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::num::ParseIntError;
use std::path::Path;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::lock::Lock;
use crate::name::LabName;
use crate::paths::Root;
use crate::state::{State, boot_id, write_whole};

/// A setting of the whole machine.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum MachineSetting {
    /// Receive buffer of a socket that asks for none, in bytes.
    #[serde(rename = "net.core.rmem_default")]
    RmemDefault,
    /// Largest receive buffer a socket may ask for, in bytes.
    #[serde(rename = "net.core.rmem_max")]
    RmemMax,
    /// Packets that wait for one CPU's protocol stack.
    #[serde(rename = "net.core.netdev_max_backlog")]
    Backlog,
    /// Packets that one softirq run may take.
    #[serde(rename = "net.core.netdev_budget")]
    Budget,
    /// Send buffer of a socket that asks for none, in bytes.
    #[serde(rename = "net.core.wmem_default")]
    WmemDefault,
    /// Largest send buffer a socket may ask for, in bytes.
    #[serde(rename = "net.core.wmem_max")]
    WmemMax,
    /// Memory of all UDP sockets together, in pages: three numbers, of which the last is the limit (udp(7)).
    #[serde(rename = "net.ipv4.udp_mem")]
    UdpMem,
    /// Connections that each namespace may track.
    #[serde(rename = "net.netfilter.nf_conntrack_max")]
    ConntrackMax,
}

/// What such a setting is: one number, or several of one line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Numbers {
    /// One.
    One(u64),
    /// Several, in their order.
    Several(Vec<u64>),
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(number) => write!(f, "{number}"),
            Self::Several(numbers) => {
                let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
                f.write_str(&words.join(" "))
            }
        }
    }
}

impl FromStr for Numbers {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.split_whitespace().map(str::parse);
        let numbers: Vec<u64> = numbers.collect::<Result<_, _>>()?;
        match numbers[..] {
            [number] => Ok(Self::One(number)),
            // No number at all is as wrong as a word.
            [] => "".parse().map(Self::One),
            _ => Ok(Self::Several(numbers)),
        }
    }
}

impl MachineSetting {
    const ALL: [Self; 8] = [
        Self::RmemDefault,
        Self::RmemMax,
        Self::Backlog,
        Self::Budget,
        Self::WmemDefault,
        Self::WmemMax,
        Self::UdpMem,
        Self::ConntrackMax,
    ];

    /// The setting of that name, as `sysctl` has it.
    pub fn named(sysctl: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.sysctl() == sysctl)
    }

    /// Its name, as `sysctl` has it.
    pub fn sysctl(self) -> &'static str {
        match self {
            Self::RmemDefault => "net.core.rmem_default",
            Self::RmemMax => "net.core.rmem_max",
            Self::Backlog => "net.core.netdev_max_backlog",
            Self::Budget => "net.core.netdev_budget",
            Self::WmemDefault => "net.core.wmem_default",
            Self::WmemMax => "net.core.wmem_max",
            Self::UdpMem => "net.ipv4.udp_mem",
            Self::ConntrackMax => "net.netfilter.nf_conntrack_max",
        }
    }

    fn path(self) -> String {
        format!("/proc/sys/{}", self.sysctl().replace('.', "/"))
    }

    fn read(self) -> Result<Numbers, LabError> {
        let path = self.path();
        let text = fs::read_to_string(&path).map_err(|e| LabError::io("read", &path, e))?;
        text.parse()
            .map_err(|_| LabError::io("read", &path, io::ErrorKind::InvalidData.into()))
    }

    fn write(self, value: &Numbers) -> Result<(), LabError> {
        let path = self.path();
        fs::write(&path, value.to_string()).map_err(|e| LabError::io("write", &path, e))
    }
}

/// A setting that a lab has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    /// The host's own value.
    pub before: Numbers,
    /// The lab's value.
    pub now: Numbers,
}

/// What became of a setting that was to be put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restored {
    /// It has the host's own value again.
    To {
        /// Which.
        setting: MachineSetting,
        /// The value.
        value: Numbers,
    },
    /// Somebody else has changed it since: it was left as it is.
    Left {
        /// Which.
        setting: MachineSetting,
        /// The value it has.
        found: Numbers,
        /// The host's own value, as it was.
        before: Numbers,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// The boot in which it was changed; another boot has the host's own values again.
    boot: String,
    /// The lab that changed it.
    owner: LabName,
    /// The token of that lab, which another lab of the same name does not have.
    token: String,
    changed: BTreeMap<MachineSetting, Changed>,
    /// Values that somebody in the lab may set besides: announced before they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    announced: BTreeMap<MachineSetting, BTreeSet<Numbers>>,
}

/// Changes settings for the lab `state`.
pub(super) fn change(
    root: &Root,
    state: &State,
    wanted: &BTreeMap<MachineSetting, Numbers>,
) -> Result<(), LabError> {
    let lock = lock(root)?;
    let done = change_locked(root, state, wanted);
    if !root.machine_state().exists() {
        lock.remove();
    }
    done
}

/// Notes that something in the lab `state` will set `value`, so that it is known as the lab's and
/// put back with the rest.
pub(super) fn announce(
    root: &Root,
    state: &State,
    setting: MachineSetting,
    value: Numbers,
) -> Result<(), LabError> {
    let _lock = lock(root)?;
    let mut record = record_of(root, state)?;
    let now = setting.read()?;
    record.changed.entry(setting).or_insert(unchanged(now));
    record.announced.entry(setting).or_default().insert(value);
    write_whole(&root.machine_state(), &record)
}

/// The record of the lab `state`, begun if there is none.
fn record_of(root: &Root, state: &State) -> Result<Record, LabError> {
    Ok(match read(root)? {
        Some(record) if is_of(&record, state) => record,
        Some(record) if owner_lives(root, &record) => {
            return Err(LabError::Impairment(format!(
                "lab {} has changed machine-wide settings; \
                 `hawser lab clear --name {} --machine` puts them back",
                record.owner, record.owner
            )));
        }
        stale => {
            if let Some(record) = stale {
                put_back(&record)?;
            }
            Record {
                boot: boot_id()?,
                owner: state.name.clone(),
                token: state.token.clone(),
                changed: BTreeMap::new(),
                announced: BTreeMap::new(),
            }
        }
    })
}

fn change_locked(
    root: &Root,
    state: &State,
    wanted: &BTreeMap<MachineSetting, Numbers>,
) -> Result<(), LabError> {
    let mut record = record_of(root, state)?;
    for (setting, value) in wanted {
        spares_the_host(*setting, value)?;
        let now = setting.read()?;
        let entry = record.changed.entry(*setting).or_insert(unchanged(now));
        entry.now = value.clone();
        // On the disk before the kernel has it: a crash in between loses nothing.
        write_whole(&root.machine_state(), &record)?;
        setting.write(value)?;
        // The kernel raises values that are too small for it without a word.
        let took = setting.read()?;
        if took != *value {
            if let Some(changed) = record.changed.get_mut(setting) {
                changed.now = took;
            }
            write_whole(&root.machine_state(), &record)?;
        }
    }
    Ok(())
}

/// The host's own connections count against the same number: those it tracks must not be cut off by a lab.
fn spares_the_host(setting: MachineSetting, value: &Numbers) -> Result<(), LabError> {
    if setting != MachineSetting::ConntrackMax {
        return Ok(());
    }
    let path = "/proc/sys/net/netfilter/nf_conntrack_count";
    let tracked = fs::read_to_string(path).map_err(|e| LabError::io("read", path, e))?;
    let tracked: u64 = tracked.trim().parse().unwrap_or(u64::MAX);
    match value {
        Numbers::One(most) if *most < tracked.saturating_mul(2) => {
            Err(LabError::Impairment(format!(
                "this host itself tracks {tracked} connections, which count against the same number: \
                 --conntrack-max {value} would cut it off; from {} on it is allowed",
                tracked.saturating_mul(2)
            )))
        }
        _ => Ok(()),
    }
}

fn unchanged(now: Numbers) -> Changed {
    Changed {
        before: now.clone(),
        now,
    }
}

/// Puts back what the lab of that name changed.
pub(crate) fn restore(root: &Root, name: &LabName) -> Result<Vec<Restored>, LabError> {
    restore_if(root, |record| record.owner == *name)
}

/// Puts back what a lab changed that is no longer there.
pub(crate) fn restore_stale(root: &Root) -> Result<Vec<Restored>, LabError> {
    restore_if(root, |record| !owner_lives(root, record))
}

/// What the lab has changed, as it stands: something in the lab may have set what it announced.
pub(crate) fn changed(root: &Root, state: &State) -> BTreeMap<MachineSetting, Changed> {
    let mut changed = match read(root) {
        Ok(Some(record)) if is_of(&record, state) => record.changed,
        _ => BTreeMap::new(),
    };
    for (setting, it) in &mut changed {
        if let Ok(found) = setting.read() {
            it.now = found;
        }
    }
    changed
}

fn restore_if(root: &Root, due: impl Fn(&Record) -> bool) -> Result<Vec<Restored>, LabError> {
    if !root.machine_state().exists() {
        return Ok(Vec::new());
    }
    let lock = lock(root)?;
    match read(root)? {
        Some(record) if due(&record) => {
            let restored = put_back(&record)?;
            let path = root.machine_state();
            fs::remove_file(&path).map_err(|e| LabError::io("remove", &path, e))?;
            lock.remove();
            Ok(restored)
        }
        _ => Ok(Vec::new()),
    }
}

fn put_back(record: &Record) -> Result<Vec<Restored>, LabError> {
    if boot_id()? != record.boot {
        return Ok(Vec::new());
    }
    let mut restored = Vec::new();
    for (setting, Changed { before, now }) in &record.changed {
        let (setting, value) = (*setting, before.clone());
        // A module that was unloaded has taken its settings along.
        if !Path::new(&setting.path()).exists() {
            continue;
        }
        let found = setting.read()?;
        let announced = record.announced.get(&setting);
        let announced = announced.is_some_and(|values| values.contains(&found));
        if found == *now || found == value || announced {
            setting.write(&value)?;
            restored.push(Restored::To { setting, value });
        } else {
            restored.push(Restored::Left {
                setting,
                found,
                before: value,
            });
        }
    }
    Ok(restored)
}

fn is_of(record: &Record, state: &State) -> bool {
    record.token == state.token && record.boot == state.boot
}

fn owner_lives(root: &Root, record: &Record) -> bool {
    match State::load(&root.lab(&record.owner)) {
        Ok(Some(state)) => is_of(record, &state) && state.switches_running().is_some(),
        _ => false,
    }
}

fn lock(root: &Root) -> Result<Lock, LabError> {
    Lock::take(root.machine_lock(), "the machine-wide settings")
}

fn read(root: &Root) -> Result<Option<Record>, LabError> {
    let path = root.machine_state();
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|e| LabError::State {
                path,
                what: e.to_string(),
            }),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(LabError::io("read", &path, e)),
    }
}
