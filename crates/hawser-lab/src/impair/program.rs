//! The eBPF program of the impairments: loaded and pinned by aya, attached by `tc`.
//!
//! aya loads it and reads its maps, since nothing else here could read them back; `tc` attaches
//! the pinned program, so that the filter belongs to the port and outlives the command, and
//! everybody can see it with `tc filter show`. The pins live in a bpf file system of the switches'
//! own mount namespace: they are gone with the lab, and the counts outlive a node's power cycle.

use std::fs;
use std::path::PathBuf;

use aya::maps::{Array, Map, MapData};
use aya::programs::SchedClassifier;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::{Direction, Fault, Only};
use crate::error::LabError;
use crate::process::ProcessId;

/// Words of the program's configuration and counts, as `impair.bpf.c` numbers them.
const CONFIG_WORDS: usize = 16;
const COUNT_WORDS: usize = 8;

/// The folder of all pins, as the switches see it.
pub(super) const PINS: &str = "/sys/fs/bpf/hawser";

/// What the program has done to the packets of one direction of a port. A super-packet counts
/// as the packets it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Packets that came by and were subject to the faults.
    pub seen: u64,
    /// Dropped as lost.
    pub lost: u64,
    /// Dropped as too big.
    pub too_big: u64,
    /// Had a bit flipped.
    pub corrupted: u64,
    /// Were sent twice.
    pub duplicated: u64,
    /// Were taken aside to be reordered.
    pub held: u64,
    /// Were given back.
    pub released: u64,
    /// Of these, were overtaken by at least one later packet meanwhile.
    pub overtaken: u64,
}

/// The program of one direction of one port.
#[derive(Clone, Debug)]
pub(super) struct Program {
    switches: ProcessId,
    key: String,
    direction: Direction,
}

impl Program {
    /// `key` names the port among all of the lab, in letters and digits.
    pub fn of(switches: ProcessId, key: &str, direction: Direction) -> Self {
        Self {
            switches,
            key: key.to_owned(),
            direction,
        }
    }

    /// The pinned program as `tc` in the switches' namespace finds it.
    pub fn pin(&self) -> String {
        format!("{}/program", self.folder())
    }

    /// The pinned program that gives held packets back.
    pub fn release_pin(&self) -> String {
        format!("{}/release", self.folder())
    }

    /// Loads and pins the program unless it is there.
    pub fn load(&self) -> Result<(), LabError> {
        let folder = self.outside(&self.folder());
        if folder.join("release").exists() {
            return Ok(());
        }
        // Half of it, from a command that was killed.
        self.unload()?;
        fs::create_dir_all(&folder).map_err(|e| LabError::io("create the folder", &folder, e))?;
        let failed = |what: String| LabError::Tool {
            command: format!("load the impairment program of {}", self.key),
            what,
        };
        let object = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/impair.bpf.o"));
        let mut loaded = aya::Ebpf::load(object).map_err(|e| failed(chain(&e)))?;
        for name in ["config", "counts", "memory"] {
            let map = loaded
                .map(name)
                .ok_or_else(|| failed(format!("no map {name}")))?;
            map.pin(folder.join(name)).map_err(|e| failed(chain(&e)))?;
        }
        let (main, release) = match self.direction {
            Direction::ToNode => ("to_node", "to_node_release"),
            Direction::FromNode => ("from_node", "from_node_release"),
        };
        for (name, pin) in [(main, "program"), (release, "release")] {
            let program = loaded
                .program_mut(name)
                .ok_or_else(|| failed(format!("no program {name}")))?;
            let program: &mut SchedClassifier =
                program.try_into().map_err(|e| failed(chain(&e)))?;
            program.load().map_err(|e| failed(chain(&e)))?;
            program
                .pin(folder.join(pin))
                .map_err(|e| failed(chain(&e)))?;
        }
        Ok(())
    }

    /// Removes the pins, and with them the program once no filter uses it.
    pub fn unload(&self) -> Result<(), LabError> {
        let folder = self.outside(&self.folder());
        match fs::remove_dir_all(&folder) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(LabError::io("remove", &folder, e))
            }
            _ => Ok(()),
        }
    }

    /// Tells the program what to do. `hold` is the interface that holds packets to be reordered,
    /// `port` the one they came from, both by index.
    pub fn configure(&self, fault: &Fault, hold: u32, port: u32) -> Result<(), LabError> {
        let mut config: Array<_, [u64; CONFIG_WORDS]> = self.map("config")?;
        let words = words(fault, hold, port);
        config
            .set(0, words, 0)
            .map_err(|e| self.failed("config", &chain(&e)))
    }

    /// What it has done; `None` when it is not loaded.
    pub fn counts(&self) -> Result<Option<Counts>, LabError> {
        if !self.outside(&self.folder()).join("counts").exists() {
            return Ok(None);
        }
        let counts: Array<_, [u64; COUNT_WORDS]> = self.map("counts")?;
        let [
            seen,
            lost,
            too_big,
            corrupted,
            duplicated,
            held,
            released,
            overtaken,
        ] = counts
            .get(&0, 0)
            .map_err(|e| self.failed("counts", &chain(&e)))?;
        Ok(Some(Counts {
            seen,
            lost,
            too_big,
            corrupted,
            duplicated,
            held,
            released,
            overtaken,
        }))
    }

    fn map<V: aya::Pod>(&self, name: &str) -> Result<Array<MapData, V>, LabError> {
        let path = self.outside(&self.folder()).join(name);
        let map = MapData::from_pin(&path).map_err(|e| self.failed(name, &chain(&e)))?;
        Array::try_from(Map::Array(map)).map_err(|e| self.failed(name, &chain(&e)))
    }

    fn folder(&self) -> String {
        format!("{PINS}/{}-{}", self.key, self.direction.word())
    }

    fn outside(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.switches.pid))
    }

    fn failed(&self, map: &str, what: &str) -> LabError {
        LabError::Tool {
            command: format!(
                "use the map {map} of {}-{}",
                self.key,
                self.direction.word()
            ),
            what: what.to_owned(),
        }
    }
}

/// The configuration as `enum config_word` of `impair.bpf.c` lays it out.
fn words(fault: &Fault, hold: u32, port: u32) -> [u64; CONFIG_WORDS] {
    let share = |share: Option<super::share::Share>| share.map_or(0, |s| s.per_million().into());
    // Protocol numbers of IP.
    let only = match fault.only {
        None => 0,
        Some(Only::Tcp) => 6,
        Some(Only::Udp) => 17,
    };
    let mut words = [0; CONFIG_WORDS];
    words[..12].copy_from_slice(&[
        only,
        fault.mtu.map_or(0, |mtu| mtu.0.into()),
        share(fault.loss),
        fault.burst_loss.map_or(0, |b| b.lost.into()),
        fault.burst_loss.map_or(0, |b| b.every.into()),
        share(fault.gilbert.map(|g| g.worse)),
        share(fault.gilbert.map(|g| g.better)),
        share(fault.corrupt),
        share(fault.duplicate),
        share(fault.reorder),
        hold.into(),
        port.into(),
    ]);
    words
}

/// An error and its causes: aya keeps the operating system's answer in the last one.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
