//! SCSI-3 persistent reservations over a takeover.
//!
//! A client that registers with the bit `APTPL` is told that its registration persists through a loss of power (SPC-4,
//! 5.13.5). The kernel writes what it has of a unit to `pr/aptpl_SERIAL` below its database root, on the disk of the head
//! (`core_scsi3_update_aptpl_buf` in drivers/target/target_core_pr.c), and reads it never: whoever makes the unit anew tells it.
//! So these files are links to the pool, and a start tells the kernel what they say before a target shows the unit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use hawser_files::{Expected, FileError, Folder};

use crate::exports::desired::is_iscsi_name;

/// The folder in a pool's root.
pub const FOLDER: &str = "exports-reservations";

/// How the kernel's files begin.
const PREFIX: &str = "aptpl_";

/// What is registered of a pool's units.
#[derive(Clone, Debug, Default)]
pub struct Reservations {
    /// By the units' serial numbers.
    pub of_units: BTreeMap<String, Vec<Registration>>,
    /// What the kernel cannot be told, in words.
    pub left_out: Vec<String>,
}

/// Reads what is on a pool of these units.
///
/// # Errors
/// One is there and cannot be read, or is not what the kernel writes. Without it a client that another one has shut out would be let
/// in.
pub fn read<'a>(
    root: &Path,
    serials: impl Iterator<Item = &'a String>,
) -> Result<Reservations, ReservationsError> {
    let folder = root.join(FOLDER);
    let mut all = Reservations::default();
    for serial in serials {
        let path = folder.join(serial);
        let text = |path: &Path| {
            let bytes = hawser_files::read(path, Expected::OF_ROOT)?;
            let text = bytes.map(|it| String::from_utf8_lossy(&it).into_owned());
            Ok::<_, FileError>(text.filter(|it| !it.trim_matches('\0').is_empty()))
        };
        // The kernel cuts a file before it writes it, so a loss of power may leave nothing.
        let text = text(&path)?.map_or_else(|| text(&kept(&path)), |it| Ok(Some(it)))?;
        let Some(text) = text else {
            continue;
        };
        let (registrations, strange) =
            parse(&text).map_err(|error| ReservationsError::Broken { path, error })?;
        if strange > 0 {
            all.left_out.push(format!(
                "unit {serial}: {strange} reservations of clients are lost: the kernel takes no such names"
            ));
        }
        all.of_units.insert(serial.clone(), registrations);
    }
    Ok(all)
}

/// Where what was last read of a file is, on the disk for certain.
fn kept(path: &Path) -> PathBuf {
    path.with_extension("kept")
}

/// They cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ReservationsError {
    /// A file is not what the kernel writes.
    #[error(
        "{}: {error}: remove it to start without the reservations that clients have of the unit",
        .path.display()
    )]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: NotRegistrations,
    },
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What the kernel has of an initiator and a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    initiator: String,
    /// The part of the initiator's port that is not its name, if it was given.
    isid: Option<String>,
    key: u64,
    /// Type and scope of the reservation that it holds.
    holds: Option<(u8, u8)>,
    all_ports: bool,
    mapped_lun: u64,
    target: String,
    group: u16,
    port: u16,
    lun: u64,
}

/// It is not what the kernel writes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: \"{}\" is none of the kernel's registrations", .found.escape_debug())]
pub struct NotRegistrations {
    /// The line, from 1.
    pub line: usize,
    /// What is there.
    pub found: String,
}

/// What the kernel writes of a registration, in this order (`core_scsi3_update_aptpl_buf`); some of it not always.
const FIELDS: [&str; 14] = [
    "initiator_fabric",
    "initiator_node",
    "initiator_sid",
    "sa_res_key",
    "res_holder",
    "res_type",
    "res_scope",
    "res_all_tg_pt",
    "mapped_lun",
    "target_fabric",
    "target_node",
    "tpgt",
    "port_rtpi",
    "target_lun",
];

/// Reads a file of the kernel's; and how many are of clients whose names the kernel cannot be told.
///
/// The kernel writes the name of a client as it is, line breaks too: it may look like the end of one registration and the beginning
/// of another one. But the kernel numbers them, and each has its fields once, in order. What is not so is such a client's, and
/// what stands right before it may be.
pub fn parse(text: &str) -> Result<(Vec<Registration>, usize), NotRegistrations> {
    let mut read = Reader::default();
    for (number, line) in text.trim_end_matches(['\0', '\n']).lines().enumerate() {
        let wrong = || NotRegistrations {
            line: number + 1,
            found: line.to_owned(),
        };
        read.line(line).ok_or_else(wrong)?;
    }
    match read.block {
        None => Ok((read.all, read.strange)),
        Some(_) => Err(NotRegistrations {
            line: text.lines().count(),
            found: "the end".into(),
        }),
    }
}

#[derive(Default)]
struct Reader<'a> {
    all: Vec<Registration>,
    /// Of clients whose names the kernel cannot be told.
    strange: usize,
    /// The one that is being read.
    block: Option<Block<'a>>,
    /// How many have begun as the kernel numbers them.
    begun: usize,
    /// The last one that was read is the last of `all`.
    is_last: bool,
}

struct Block<'a> {
    /// Absent: it is not the one that comes next.
    number: Option<usize>,
    fields: Vec<(&'a str, &'a str)>,
}

impl<'a> Reader<'a> {
    /// Takes a line; `None`: it is none of the kernel's.
    fn line(&mut self, line: &'a str) -> Option<()> {
        let (name, value) = line.split_once(['=', ':']).unwrap_or((line, ""));
        let number = || value.trim().parse::<usize>().ok();
        match (name, self.block.take()) {
            ("PR_REG_START", before) => {
                let number = number().filter(|it| *it == self.begun);
                if before.is_some() || number.is_none() {
                    self.is_strange();
                }
                self.begun += usize::from(number.is_some());
                let fields = Vec::new();
                self.block = Some(Block { number, fields });
            }
            ("PR_REG_END", Some(block)) => {
                let sound = block.number.is_some() && number() == block.number;
                if !sound || !in_order(&block.fields) {
                    self.is_strange();
                    return Some(());
                }
                let registration = Registration::of(&block.fields)?;
                self.is_last = registration.can_be_told();
                match self.is_last {
                    true => self.all.push(registration),
                    false => self.strange += 1,
                }
            }
            (_, Some(mut block)) => {
                block.fields.push((name, value));
                self.block = Some(block);
            }
            ("No Registrations or Reservations" | "", None) => {}
            // The rest of one that seemed to have ended.
            (_, None) if self.begun > 0 => self.is_strange(),
            (_, None) => return None,
        }
        Some(())
    }

    /// What is read now is of a client with a strange name, and what was read just before may be a part of that.
    fn is_strange(&mut self) {
        self.strange += 1;
        if std::mem::take(&mut self.is_last) {
            self.all.pop();
        }
    }
}

/// Those that are not always there.
const OPTIONAL: [&str; 3] = ["initiator_sid", "res_type", "res_scope"];

/// Whether these are the fields that the kernel writes: known ones, each once, one after the other.
fn in_order(fields: &[(&str, &str)]) -> bool {
    let place = |(name, _): &(&str, &str)| FIELDS.iter().position(|it| it == name);
    let places: Option<Vec<usize>> = fields.iter().map(place).collect();
    let always = fields.iter().filter(|(name, _)| !OPTIONAL.contains(name));
    places.is_some_and(|places| places.is_sorted_by(|a, b| a < b))
        && always.count() == FIELDS.len() - OPTIONAL.len()
}

impl Registration {
    fn of(fields: &[(&str, &str)]) -> Option<Self> {
        let field = |name: &str| Some(fields.iter().find(|(it, _)| *it == name)?.1);
        let number = |name: &str| field(name)?.parse::<u64>().ok();
        let name = |it: &str| Some(field(it)?.to_owned());
        let flag = |name: &str| match field(name)? {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        };
        let iscsi = |name: &str| field(name) == Some("iSCSI");
        let hexadecimal = |name: &str| u8::from_str_radix(field(name)?, 16).ok();
        let isid = field("initiator_sid");
        // `PR_REG_ISID_LEN`, and the digits of a number.
        let is_isid = |it: &str| {
            (1..16).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_alphanumeric())
        };
        let fits = iscsi("initiator_fabric") && iscsi("target_fabric") && isid.is_none_or(is_isid);
        let holds = match flag("res_holder")? {
            true => Some((hexadecimal("res_type")?, hexadecimal("res_scope")?)),
            false => None,
        };
        let registration = Self {
            initiator: name("initiator_node")?,
            isid: isid.map(str::to_owned),
            key: number("sa_res_key")?,
            holds,
            all_ports: flag("res_all_tg_pt")?,
            mapped_lun: number("mapped_lun")?,
            target: name("target_node")?,
            group: number("tpgt")?.try_into().ok()?,
            port: number("port_rtpi")?.try_into().ok()?,
            lun: number("target_lun")?,
        };
        fits.then_some(registration)
    }

    /// A client chose its name, and the kernel takes a comma for the end of it.
    fn can_be_told(&self) -> bool {
        let plain = |it: u8| it.is_ascii_graphic() && it != b',';
        let names = [&self.initiator, &self.target];
        names
            .into_iter()
            .all(|it| is_iscsi_name(it) && it.bytes().all(plain))
    }
}

/// As the kernel takes it, one a write (`target_pr_res_aptpl_metadata_store` in target_core_configfs.c).
impl fmt::Display for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "initiator_fabric=iSCSI,initiator_node={}",
            self.initiator
        )?;
        if let Some(isid) = &self.isid {
            write!(f, ",initiator_sid={isid}")?;
        }
        let holder = u8::from(self.holds.is_some());
        write!(f, ",sa_res_key={},res_holder={holder}", self.key)?;
        if let Some((kind, scope)) = self.holds {
            write!(f, ",res_type={kind},res_scope={scope}")?;
        }
        write!(
            f,
            ",res_all_tg_pt={},mapped_lun={},target_fabric=iSCSI,target_node={},tpgt={},port_rtpi={},target_lun={}",
            u8::from(self.all_ports),
            self.mapped_lun,
            self.target,
            self.group,
            self.port,
            self.lun
        )
    }
}

/// The kernel's files of a pool's units.
#[derive(Clone, Debug)]
pub struct Files {
    /// Where the kernel writes them.
    kernel: PathBuf,
    /// Where they are.
    pool: PathBuf,
}

impl Files {
    /// `database` is what the kernel says of its root.
    pub fn of(database: &str, root: &Path) -> Self {
        Self {
            kernel: Path::new(database.trim()).join("pr"),
            pool: root.join(FOLDER),
        }
    }

    /// The units whose files are the pool's.
    fn there(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(&self.kernel).into_iter().flatten().flatten();
        let serial = |path: PathBuf| {
            let serial = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.to_owned();
            (fs::read_link(path).ok()? == self.pool.join(&serial)).then_some(serial)
        };
        entries.filter_map(|entry| serial(entry.path())).collect()
    }

    /// Whether these units have their files on the pool, and no others.
    pub fn are(&self, serials: &BTreeSet<&str>) -> bool {
        self.there()
            .iter()
            .map(String::as_str)
            .eq(serials.iter().copied())
    }

    /// Has these units, and no others, have their files on the pool. What the kernel wrote on the disk of the head goes to the
    /// pool if the unit is `served`, and is of no use else.
    ///
    /// # Errors
    /// The kernel's folder cannot be changed. That the pool's cannot, a client is told: it cannot register to stay so.
    pub fn make(
        &self,
        serials: &BTreeSet<&str>,
        served: impl Fn(&str) -> bool,
    ) -> Result<(), FileError> {
        let there = self.there();
        for gone in there.iter().filter(|it| !serials.contains(it.as_str())) {
            unlinked(&self.at(gone))?;
        }
        if serials.is_empty() {
            return Ok(());
        }
        let _full = fs::create_dir(&self.pool);
        fs::create_dir_all(&self.kernel).map_err(FileError::io("create", &self.kernel))?;
        for serial in serials.iter().filter(|it| !there.contains(**it)) {
            let (at, on_pool) = (self.at(serial), self.pool.join(serial));
            // The kernel would follow it, and write as root.
            if fs::symlink_metadata(&on_pool).is_ok_and(|about| !about.is_file()) {
                hawser_files::remove(&on_pool)?;
            }
            let before = fs::read(&at).ok().filter(|_| served(serial));
            if let Some(bytes) = before {
                hawser_files::replace(&on_pool, &bytes, 0o600)?;
            }
            unlinked(&at)?;
            symlink(&on_pool, &at).map_err(FileError::io("make a link", &at))?;
        }
        Ok(())
    }

    fn at(&self, serial: &str) -> PathBuf {
        self.kernel.join(format!("{PREFIX}{serial}"))
    }
}

/// Without waiting for the disk, which hundreds of units would do one after the other: a link that comes back does no harm.
fn unlinked(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(FileError::io("remove", path)(e)),
        _ => Ok(()),
    }
}

/// Has what the kernel wrote on the disk, where it does not wait for that, and a copy beside it: the kernel cuts a file before it
/// writes it again.
///
/// # Errors
/// The pool cannot be read or written.
pub fn flush<'a>(root: &Path, serials: impl Iterator<Item = &'a String>) -> Result<(), FileError> {
    for serial in serials {
        let path = root.join(FOLDER).join(serial);
        let Some(bytes) = hawser_files::read(&path, Expected::OF_ROOT)? else {
            continue;
        };
        let (folder, name) = Folder::of(&path)?;
        if let Some(file) = folder.own(name)? {
            file.sync_all().map_err(FileError::io("flush", &path))?;
        }
        let whole = parse(&String::from_utf8_lossy(&bytes)).is_ok() && !bytes.is_empty();
        let kept = kept(&path);
        if whole && hawser_files::read(&kept, Expected::OF_ROOT)?.as_ref() != Some(&bytes) {
            hawser_files::replace(&kept, &bytes, 0o600)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
