//! A node that loses what its interface merged: GRO on, real segments to merge, and an eBPF program
//! behind the interface that drops merged segments once a connection has brought so many bytes.
//!
//! Turning GRO off on the node cures it, and nothing else does: single segments always pass. The
//! port of the switch hands over segments one by one (its TSO and GSO are off), since a veth would
//! pass a super-packet of the sender on as it is, and the receiver would have nothing to merge.

use std::fs;
use std::path::PathBuf;

use aya::maps::{Array, Map, MapData};
use aya::programs::SchedClassifier;
use hawser_model::units::Bytes;

use super::program::chain;
use crate::error::LabError;
use crate::process::ProcessId;
use crate::tool;

/// Where a fault of this kind is.
pub(super) struct Merged<'a> {
    pub(super) switches: ProcessId,
    /// The node's first process; absent while the node is off.
    pub(super) node: Option<ProcessId>,
    /// The node's own interface.
    pub(super) interface: &'a str,
    /// The switch's port.
    pub(super) port: &'a str,
    /// Names the port among all of the lab.
    pub(super) key: &'a str,
}

impl Merged<'_> {
    /// Makes it so that merged segments are lost after so many bytes of each connection, or that
    /// there is nothing of the kind.
    pub(super) fn apply(&self, after: Option<Bytes>) -> Result<(), LabError> {
        let planted = self.outside().exists();
        match (after, self.node) {
            (None, _) if !planted => Ok(()),
            (None, node) => {
                if let Some(node) = node {
                    self.tc(node, &["qdisc", "del", "dev", self.interface, "clsact"])
                        .or_else(not_there)?;
                    tool::run(node, &["ethtool", "-K", self.interface, "gro", "off"])?;
                    self.segments("on")?;
                }
                self.unload()
            }
            (Some(_), None) => Ok(()),
            (Some(after), Some(node)) => {
                self.load(after)?;
                self.segments("off")?;
                tool::run(node, &["ethtool", "-K", self.interface, "gro", "on"])?;
                self.tc(node, &["qdisc", "del", "dev", self.interface, "clsact"])
                    .or_else(not_there)?;
                self.tc(node, &["qdisc", "add", "dev", self.interface, "clsact"])?;
                let pin = format!("{}/program", self.folder());
                self.tc(
                    node,
                    &[
                        "filter",
                        "add",
                        "dev",
                        self.interface,
                        "ingress",
                        "prio",
                        "1",
                        "protocol",
                        "all",
                        "bpf",
                        "direct-action",
                        "object-pinned",
                        &pin,
                    ],
                )
            }
        }
    }

    /// Whether the switch's port hands over super-packets, `on` or `off`.
    fn segments(&self, state: &str) -> Result<(), LabError> {
        let argv = ["ethtool", "-K", self.port, "tso", state, "gso", state];
        tool::run(self.switches, &argv).map(drop)
    }

    /// `tc` in the node's network namespace, where the switches' pins can be seen.
    fn tc(&self, node: ProcessId, argv: &[&str]) -> Result<(), LabError> {
        let all: Vec<&str> = [&["tc"], argv].concat();
        tool::run_mixed(node, self.switches, &all).map(drop)
    }

    fn load(&self, after: Bytes) -> Result<(), LabError> {
        self.unload()?;
        let folder = self.outside();
        fs::create_dir_all(&folder).map_err(|e| LabError::io("create the folder", &folder, e))?;
        let failed = |what: String| LabError::Tool {
            command: format!(
                "load the program that loses merged segments of {}",
                self.key
            ),
            what,
        };
        let object = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/merged.bpf.o"));
        let mut loaded = aya::Ebpf::load(object).map_err(|e| failed(chain(&e)))?;
        let map = loaded
            .map("after")
            .ok_or_else(|| failed("no map after".to_owned()))?;
        map.pin(folder.join("after"))
            .map_err(|e| failed(chain(&e)))?;
        let pinned = MapData::from_pin(folder.join("after")).map_err(|e| failed(chain(&e)))?;
        let mut limit: Array<_, u64> =
            Array::try_from(Map::Array(pinned)).map_err(|e| failed(chain(&e)))?;
        limit
            .set(0, after.get(), 0)
            .map_err(|e| failed(chain(&e)))?;
        let program: &mut SchedClassifier = loaded
            .program_mut("lose_merged")
            .ok_or_else(|| failed("no program lose_merged".to_owned()))?
            .try_into()
            .map_err(|e| failed(chain(&e)))?;
        program.load().map_err(|e| failed(chain(&e)))?;
        program
            .pin(folder.join("program"))
            .map_err(|e| failed(chain(&e)))
    }

    fn unload(&self) -> Result<(), LabError> {
        let folder = self.outside();
        match fs::remove_dir_all(&folder) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(LabError::io("remove", &folder, e))
            }
            _ => Ok(()),
        }
    }

    fn folder(&self) -> String {
        format!("{}/{}-merged", super::program::PINS, self.key)
    }

    fn outside(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{}", self.switches.pid, self.folder()))
    }
}

/// There is no such queueing discipline: a node that was off and on has none.
fn not_there(error: LabError) -> Result<(), LabError> {
    match &error {
        LabError::Tool { what, .. }
            if what.contains("Invalid handle")
                || what.contains("No such file")
                || what.contains("Cannot find") =>
        {
            Ok(())
        }
        _ => Err(error),
    }
}
