//! What tgtd answers, as far as no client can write into it: accounts, portals, and numbers.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::visible::one_line;

use crate::exports::desired::Portal;

/// Output that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tgtd's answer, line {line}: {text:?} is not understood")]
pub struct ShowError {
    /// The line, from 1.
    pub line: usize,
    /// What it says, its first 200 characters.
    pub text: String,
}

/// As much of a line is shown; an answer may be one of megabytes.
const SHOWN: usize = 200;

impl ShowError {
    fn of(index: usize, line: &str) -> Self {
        Self {
            line: index + 1,
            text: line.chars().take(SHOWN).collect(),
        }
    }
}

/// Reads the answer about accounts: their names.
pub fn accounts(text: &str) -> BTreeSet<String> {
    let names = text.lines().filter(|line| line.starts_with(' '));
    names.map(|name| name.trim().to_owned()).collect()
}

/// Reads the answer about portals.
pub fn portals(text: &str) -> Result<BTreeSet<Portal>, ShowError> {
    let one = |(i, line): (usize, &str)| {
        let address = line
            .strip_prefix("Portal: ")
            .and_then(|rest| rest.rsplit_once(','));
        let portal = address.and_then(|(address, _)| address.parse().ok());
        portal.ok_or_else(|| ShowError::of(i, line))
    };
    text.lines().enumerate().map(one).collect()
}

/// Reads what is counted of a unit: the sessions that see it.
pub fn sessions(text: &str) -> Result<BTreeSet<u64>, ShowError> {
    numbers(text, "tgt lun sid", 2)
}

/// Reads what is counted of a session: its connections.
pub fn connections(text: &str) -> Result<BTreeSet<u64>, ShowError> {
    let from = text.find("sid cid ").unwrap_or(text.len());
    numbers(&text[from..], "sid cid", 1)
}

/// A column of a table below a head.
fn numbers(text: &str, head: &str, column: usize) -> Result<BTreeSet<u64>, ShowError> {
    let lines = text.lines().enumerate();
    let rows = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with(head));
    rows.map(|(i, line)| {
        let mut words = line.split_whitespace().map(str::parse::<u64>);
        let all_numbers = words.clone().all(|word| word.is_ok());
        let number = words.nth(column).and_then(Result::ok);
        let number = number.filter(|_| all_numbers);
        number.ok_or_else(|| ShowError::of(i, line))
    })
    .collect()
}

/// What sessions call themselves, by their numbers. This is for people and for nothing else: a client may
/// send any text, another session's number included, and what it sends is made visible here.
pub fn initiators(text: &str, sessions: &BTreeSet<u64>) -> BTreeMap<u64, String> {
    let mut names = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(number) = line.strip_prefix("Session: ") {
            current = number.parse().ok().filter(|id| sessions.contains(id));
        } else if let (Some(id), Some(name)) =
            (current, line.trim_start().strip_prefix("Initiator: "))
        {
            names
                .entry(id)
                .or_insert_with(|| one_line(name).into_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_and_portals_are_read() {
        let names = accounts("Account list:\n    joe\n    out\n");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["joe", "out"]);
        assert!(accounts("").is_empty());
        let shown = portals("Portal: [::]:3260,1\nPortal: 0.0.0.0:3261,1\n").unwrap();
        let shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["0.0.0.0:3261", "[::]:3260"]);
        assert!(portals("Portal: everywhere\n").is_err());
    }

    /// From tgtd 1.0.85: `tgtadm --op stat --mode lun --tid 1 --lun 0`, `--mode session --sid 3`.
    const UNIT: &str = "tgt lun sid rd_subm(bytes,cmds) rd_done(bytes,cmds) wr_subm(bytes,cmds) wr_done(bytes,cmds) errs\n\
        \u{20} 1   0   3            0      0            0      0            0      0            0      0    0\n\
        31026   0  12            0      0            0      0            0      0            0      0    0\n";
    const SESSION: &str = "tgt lun sid rd_subm(bytes,cmds) rd_done(bytes,cmds) wr_subm(bytes,cmds) wr_done(bytes,cmds) errs\n\
        \u{20} 1   0   3            0      0            0      0            0      0            0      0    0\n\n\
        sid cid rxdata_octets txdata_octets dataout_pdus datain_pdus cmd_pdus rsp_pdus\n\
        \u{20} 3   0          1234          5678            0           1        2        2\n";

    #[test]
    fn sessions_and_their_connections_are_numbers() {
        assert_eq!(Vec::from_iter(sessions(UNIT).unwrap()), [3, 12]);
        assert_eq!(Vec::from_iter(connections(SESSION).unwrap()), [0]);
        assert!(sessions("").unwrap().is_empty() && connections("").unwrap().is_empty());
        assert_eq!(sessions("tgt lun sid\n 1 0 x\n").unwrap_err().line, 2);
        let long = sessions(&"x".repeat(1 << 20)).unwrap_err();
        assert_eq!(long.text.len(), SHOWN);
    }

    #[test]
    fn names_of_clients_are_made_visible_and_cannot_be_another_s() {
        let text = "Session: 3\n    Connection: 0\n        Initiator: iqn.a\u{1b}[2J\u{202e}\u{200b}\nSession: 99\n        Initiator: iqn.b\n";
        let names = initiators(text, &BTreeSet::from([3, 4]));
        assert_eq!(names.len(), 1);
        assert_eq!(names[&3], "iqn.a\\u001b[2J\\u202e\\u200b");
    }
}
