//! `exports.toml`, in the root of a pool.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use hawser_model::toml_file::{self, At, FileErrors, SecretRef};
use schemars::JsonSchema;
use serde::Deserialize;

use super::broken::BrokenExports;
use super::desired::COMPANY;
use super::rules;

/// What a pool offers. Everything may be left out: then every volume is offered to everybody
/// under a target named after the pool, on the pool's own addresses.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "exports.toml")]
pub struct ExportsFile {
    /// The portal group of targets that name none. Default: the first one, or the pool's addresses.
    pub default_portal_group: Option<At<String>>,
    /// What holds for units that do not say otherwise.
    #[serde(default)]
    pub defaults: UnitDefaults,
    /// Addresses under one name.
    #[serde(rename = "portal_group", default)]
    pub portal_groups: Vec<PortalGroup>,
    /// Targets. None: one target named after the pool.
    #[serde(rename = "target", default)]
    pub targets: Vec<TargetEntry>,
    /// The volumes that are offered. None: every volume of the pool.
    #[serde(rename = "unit", default)]
    pub units: Vec<UnitEntry>,
    /// Initiators under one name.
    #[serde(rename = "host_group", default)]
    pub host_groups: Vec<HostGroup>,
    /// Targets under one name.
    #[serde(rename = "target_group", default)]
    pub target_groups: Vec<TargetGroup>,
    /// Who sees which units where. None: everybody sees every unit on every target.
    #[serde(rename = "view", default)]
    pub views: Vec<View>,
    /// Directories offered by NFS. A file that has these and nothing of iSCSI but `defaults` offers
    /// nothing by iSCSI.
    #[serde(rename = "nfs", default)]
    pub nfs: Vec<NfsEntry>,
}

impl ExportsFile {
    /// Whether it says something of NFS and nothing of iSCSI.
    pub fn is_nfs_only(&self) -> bool {
        !self.nfs.is_empty()
            && self.default_portal_group.is_none()
            && self.portal_groups.is_empty()
            && self.targets.is_empty()
            && self.units.is_empty()
            && self.host_groups.is_empty()
            && self.target_groups.is_empty()
            && self.views.is_empty()
    }

    /// Whether it names this volume, and does not mean it by a rule.
    pub fn names(&self, volume: &str) -> bool {
        let units = self.units.iter().map(|unit| &unit.volume);
        let seen = self
            .views
            .iter()
            .flat_map(|view| view.units.iter().flatten());
        units.chain(seen).any(|name| name.as_str() == volume)
    }

    /// Whether what has this name below the pool's root lies in a directory that it offers by NFS.
    pub fn shares(&self, name: &Path) -> bool {
        let mut all = self.nfs.iter().map(|entry| entry.directory.as_str());
        all.any(|directory| directory == "." || name.starts_with(directory))
    }

    /// Whether it offers a volume of this name, if there is one.
    pub fn offers(&self, volume: &str) -> bool {
        let mut units = self.units.iter();
        let listed = self.units.is_empty() || units.any(|unit| unit.volume.as_str() == volume);
        let seen = self.views.is_empty() || self.views.iter().any(|view| view.shows(volume));
        listed && seen && !self.is_nfs_only()
    }
}

/// What holds for units that do not say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnitDefaults {
    /// Bytes of a block: 512 or 4096. Default: 512.
    pub block_size: Option<At<u32>>,
    /// Whether the unit may keep acknowledged writes in memory until it is told to flush: a head that dies takes them with it, and a
    /// client that lives on never writes them again. `false`: every write is on the disks before it is acknowledged. Default: `false`;
    /// for a logical volume behind `lio`, what its disks say.
    pub write_cache: Option<bool>,
    /// Whether clients may say which blocks they no longer need (SCSI `UNMAP`): a thin volume then shrinks. Default: `true` where
    /// the target is `lio` and the volume can give them back.
    pub unmap: Option<bool>,
    /// Whether clients may write a block on condition of what it holds (SCSI `COMPARE AND WRITE`), by which ESXi locks a file
    /// without reserving the disk. Default: `true`. Only `lio` can refuse it.
    pub ats: Option<bool>,
    /// Whether clients may have the target copy from unit to unit (SCSI `EXTENDED COPY`). Default: `true`. Only `lio` can refuse it.
    pub xcopy: Option<bool>,
}

/// Addresses under one name.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortalGroup {
    /// Its name.
    pub name: At<String>,
    /// Its addresses: `192.0.2.1`, `192.0.2.1:3261`, `fd00::1`, `[fd00::1]:3261`.
    pub portals: Vec<At<String>>,
}

/// A target.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetEntry {
    /// Its name. Clients see `AUTHORITY:POOL:NAME`, or `AUTHORITY:POOL` when it is named like the pool.
    pub name: At<String>,
    /// What kind of target it is.
    #[serde(rename = "type", default)]
    pub kind: TargetType,
    /// The name clients see, whole, where an old one must be kept.
    pub iqn: Option<At<String>>,
    /// The addresses it is reached on.
    pub portal_group: Option<At<String>>,
    /// Clients must prove who they are.
    pub chap: Option<ChapEntry>,
}

/// What kind of target it is. Those that need an adapter of their own (`fc`, `srp`, …) no back end makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TargetType {
    /// Reached by IP.
    #[default]
    Iscsi,
}

/// CHAP, one way or both.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChapEntry {
    /// The name clients prove they are.
    pub user: At<String>,
    /// Where the secret for it is kept: on the pool, or on every head.
    pub secret: At<SecretRef>,
    /// The name the target in turn proves it is.
    pub mutual_user: Option<At<String>>,
    /// Where the secret for that is kept.
    pub mutual_secret: Option<At<SecretRef>>,
}

/// A volume that is offered.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnitEntry {
    /// The volume, by its name below the pool: `vm/disk1`.
    pub volume: At<String>,
    /// Its number, where it must be a certain one. Default: the number after the last `:` of its
    /// name, else the lowest one free, kept from then on.
    #[schemars(range(min = 0, max = 16_383))]
    pub lun: Option<At<u16>>,
    /// Bytes of a block.
    pub block_size: Option<At<u32>>,
    /// See `defaults`.
    pub write_cache: Option<bool>,
    /// See `defaults`.
    pub unmap: Option<bool>,
    /// See `defaults`.
    pub ats: Option<bool>,
    /// See `defaults`.
    pub xcopy: Option<bool>,
    /// Clients may read only. Default: `false`.
    #[serde(default)]
    pub read_only: bool,
    /// Its serial number, 32 hexadecimal digits, where an old one must be kept. Default: made from
    /// its name once and kept from then on, also when the volume is renamed.
    pub serial: Option<At<String>>,
    /// Its NAA identifier, 32 hexadecimal digits that begin with 6, where that of another target must be kept. Instead of
    /// `serial`.
    pub naa: Option<At<String>>,
}

impl UnitEntry {
    /// The serial number that it asks for. Of an NAA identifier that is what follows the company, from which a target
    /// makes the same one again.
    pub fn serial_asked(&self) -> Option<String> {
        let of_naa =
            |naa: &At<String>| format!("{:0<32}", naa.as_str().get(7..).unwrap_or_default());
        let asked = self.serial.as_ref().map(|serial| serial.to_string());
        let asked = asked.or_else(|| self.naa.as_ref().map(of_naa));
        asked.map(|serial| serial.to_lowercase())
    }

    /// The company in the NAA identifier that it asks for: six hexadecimal digits.
    pub fn company_asked(&self) -> Option<String> {
        let company = self.naa.as_ref()?.as_str().get(1..7)?.to_lowercase();
        (company != COMPANY).then_some(company)
    }
}

/// Initiators under one name.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostGroup {
    /// Its name.
    pub name: At<String>,
    /// The initiators' names: `iqn.1998-01.com.vmware:host1`.
    pub members: Vec<At<String>>,
}

/// Targets under one name.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetGroup {
    /// Its name.
    pub name: At<String>,
    /// The targets, by their names in this file.
    pub members: Vec<At<String>>,
}

/// Who sees which units where. A unit may be in several views.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// Its name.
    pub name: At<String>,
    /// The volumes, by name. Default: all that are offered.
    pub units: Option<Vec<At<String>>>,
    /// All volumes below this one, to any depth: `vm` takes `vm/disk1` and not `vms/disk1`.
    pub prefix: Option<At<String>>,
    /// Who sees them. Default: everybody.
    pub host_group: Option<At<String>>,
    /// Where they are seen. Default: on all targets.
    pub target_group: Option<At<String>>,
    /// New units of this view get numbers above this one, and a number in a unit's name is counted
    /// from it: with 100 the first is 101, and `disk:05` is 105. Default: 0.
    #[schemars(range(min = 0, max = 16_382))]
    pub lun_offset: Option<At<u16>>,
    /// The number of the unit in this view, when it is one unit.
    #[schemars(range(min = 0, max = 16_383))]
    pub lun: Option<At<u16>>,
}

impl View {
    /// Whether it shows a unit of this name.
    pub fn shows(&self, unit: &str) -> bool {
        match (&self.units, &self.prefix) {
            (Some(named), _) => named.iter().any(|name| name.as_str() == unit),
            (None, Some(prefix)) => {
                let below = unit.strip_prefix(prefix.trim_end_matches('/'));
                below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
            (None, None) => true,
        }
    }
}

/// A directory offered by NFS. For clients with other options it is listed again.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NfsEntry {
    /// The directory, by its name below the pool: `home`. `.` is the whole pool.
    pub directory: At<String>,
    /// Who may mount it: addresses and networks, `192.0.2.1`, `192.0.2.0/24`, `fd00::/64`; `*` is
    /// everybody.
    pub clients: Vec<At<String>>,
    /// Options of exports(5), separated by commas. Default: `rw`.
    pub options: Option<At<String>>,
}

/// iSCSI's port (IANA).
const PORT: u16 = 3260;

/// Reads an `exports.toml`. `path` is only for the errors.
pub fn parse(text: &str, path: &str) -> Result<ExportsFile, FileErrors<BrokenExports>> {
    toml_file::read(text, path, rules::check)
}

/// The JSON Schema of the file.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(ExportsFile)
}

/// A portal as it is written: an address, or an address and a port.
pub(super) fn portal(text: &str) -> Option<SocketAddr> {
    let bare = text
        .strip_prefix('[')
        .and_then(|t| t.strip_suffix(']'))
        .unwrap_or(text);
    let with_port = |ip: IpAddr| SocketAddr::new(ip, PORT);
    bare.parse().map(with_port).or_else(|_| text.parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portals_of_both_families_with_and_without_a_port() {
        let written = |text| portal(text).map(|portal| portal.to_string());
        assert_eq!(written("192.0.2.1").as_deref(), Some("192.0.2.1:3260"));
        assert_eq!(written("192.0.2.1:3261").as_deref(), Some("192.0.2.1:3261"));
        assert_eq!(written("fd00::1").as_deref(), Some("[fd00::1]:3260"));
        assert_eq!(written("[fd00::1]").as_deref(), Some("[fd00::1]:3260"));
        assert_eq!(written("[fd00::1]:3261").as_deref(), Some("[fd00::1]:3261"));
        assert_eq!(written("san01"), None);
        assert_eq!(written("192.0.2.1:99999"), None);
    }
}
