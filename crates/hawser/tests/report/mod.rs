//! A check's JSON report, held against the published schema and taken apart for assertions.
#![allow(dead_code)] // Each test binary uses its own share.

use serde_json::Value;
use std::fmt;

use crate::support::{Ran, json};

/// What `hawser check --json` or `hawser explain --json` printed.
pub struct Report {
    pub value: Value,
    pub exit: i32,
}

/// One finding of a report.
pub struct Finding<'a>(&'a Value);

impl Report {
    /// Reads the report and holds it against docs/schema/check.schema.json.
    #[track_caller]
    pub fn of(ran: &Ran) -> Self {
        let value = json(ran, "check");
        let report = Self {
            value,
            exit: ran.code.unwrap_or(-1),
        };
        let missed = report.value.get("absent").is_some();
        let expected = i32::from(missed || !report.codes().is_empty());
        assert_eq!(
            report.exit, expected,
            "exit code 1 with findings or without a host, 0 otherwise: {report}"
        );
        report
    }

    /// The codes of all findings, each once, sorted.
    pub fn codes(&self) -> Vec<&str> {
        let mut codes: Vec<&str> = self
            .findings()
            .map(|f| f["code"].as_str().unwrap())
            .collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    fn findings(&self) -> impl Iterator<Item = &Value> {
        self.value["findings"].as_array().unwrap().iter()
    }

    /// A number of the account's total.
    #[track_caller]
    pub fn packets(&self, what: &str) -> u64 {
        self.value["packets"][what].as_u64().unwrap()
    }

    /// The accounts of the directed flows.
    pub fn flows(&self) -> &Vec<Value> {
        self.value["packets"]["flows"].as_array().unwrap()
    }

    /// Some packets were lost, all of them have a place, and the flows add up to the total.
    #[track_caller]
    pub fn balances(&self) {
        assert!(self.packets("lost") > 0, "the fault cost no packet: {self}");
        assert_eq!(self.packets("unattributed"), 0, "{self}");
        assert_eq!(
            self.packets("lost"),
            self.packets("sent") - self.packets("received")
        );
        for what in ["sent", "received", "lost", "attributed", "unattributed"] {
            let sum: u64 = self.flows().iter().map(|f| f[what].as_u64().unwrap()).sum();
            assert_eq!(self.packets(what), sum, "{what}: {self}");
        }
    }

    /// This is the one cause that is named.
    #[track_caller]
    pub fn only(&self, code: &str) {
        assert_eq!(self.codes(), [code], "{self}");
    }

    /// This cause is among those named.
    #[track_caller]
    pub fn has(&self, code: &str) {
        assert!(self.codes().contains(&code), "no {code}: {self}");
    }

    /// Every lost packet was lost in this layer.
    #[track_caller]
    pub fn lost_only_in(&self, layer: &str) {
        let layers = self.value["packets"]["layers"].as_array().unwrap();
        assert!(
            layers.iter().all(|l| l["layer"] == layer),
            "not only in {layer}: {self}"
        );
    }

    /// The account of one direction of a lab's one link.
    #[track_caller]
    pub fn flow(&self, from: &str, to: &str) -> &Value {
        let mut flows = self.flows().iter();
        let found = flows.find(|f| f["from"] == from && f["to"] == to);
        found.unwrap_or_else(|| panic!("no flow from {from} to {to}: {self}"))
    }

    /// All findings with this code.
    pub fn all(&self, code: &str) -> Vec<Finding<'_>> {
        let found = self.findings().filter(|f| f["code"] == code);
        found.map(Finding).collect()
    }

    /// The first finding with this code.
    #[track_caller]
    pub fn finding(&self, code: &str) -> Finding<'_> {
        let found = self.findings().find(|f| f["code"] == code);
        Finding(found.unwrap_or_else(|| panic!("no {code}: {self}")))
    }
}

impl<'a> Finding<'a> {
    /// A number of its evidence.
    #[track_caller]
    pub fn evidence(&self, key: &str) -> u64 {
        let number = self.0["evidence"][key].as_u64();
        number.unwrap_or_else(|| panic!("no number {key} in {}", self.0["evidence"]))
    }

    /// All of it.
    pub fn value(&self) -> &'a Value {
        self.0
    }

    /// A name of its evidence; empty when it has none there.
    pub fn name(&self, key: &str) -> &'a str {
        self.0["evidence"][key].as_str().unwrap_or_default()
    }

    /// `error`, `warning` or `info`.
    pub fn severity(&self) -> &'a str {
        self.0["severity"].as_str().unwrap_or_default()
    }

    /// A part of where it applies; empty when it names none.
    pub fn place(&self, key: &str) -> &'a str {
        self.0["where"][key].as_str().unwrap_or_default()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit {} {:#}", self.exit, self.value)
    }
}
