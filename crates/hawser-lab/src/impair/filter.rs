//! A firewall rule in a node that drops a share of its incoming UDP packets.

use serde_json::Value;

use super::share::Share;
use crate::error::LabError;
use crate::process::ProcessId;
use crate::tool;

/// The table that holds the rule, and nothing else.
const TABLE: &str = "inet hawser_lab";

/// Puts the rule in, in the place of an earlier one.
pub(super) fn apply(init: ProcessId, share: Share) -> Result<(), LabError> {
    tool::feed(init, &["nft", "-f", "-"], &rules(share)).map(drop)
}

/// Takes the rule away.
pub(super) fn remove(init: ProcessId) -> Result<(), LabError> {
    // Declared first, so that deleting it cannot fail because it is not there.
    tool::feed(
        init,
        &["nft", "-f", "-"],
        &format!("table {TABLE}\ndelete table {TABLE}\n"),
    )
    .map(drop)
}

/// How many packets the rule has dropped; `None` when it is not there.
pub(crate) fn dropped(init: ProcessId) -> Option<u64> {
    let argv = ["nft", "-j", "list", "table", "inet", "hawser_lab"];
    let json: Value = serde_json::from_str(&tool::run(init, &argv).ok()?).ok()?;
    let items = json.get("nftables")?.as_array()?;
    items
        .iter()
        .filter_map(|item| item.pointer("/rule/expr")?.as_array())
        .flatten()
        .find_map(|part| part.pointer("/counter/packets")?.as_u64())
}

fn rules(share: Share) -> String {
    // nft compares with a number below the modulus only.
    let chance = match share.per_million() {
        1_000_000 => String::new(),
        share => format!("numgen random mod 1000000 < {share} "),
    };
    format!(
        "table {TABLE}\ndelete table {TABLE}\ntable {TABLE} {{\n\
         \tchain input {{\n\
         \t\ttype filter hook input priority filter; policy accept;\n\
         \t\tmeta l4proto udp {chance}counter drop\n\
         \t}}\n}}\n"
    )
}
