//! Lines of Corosync and Pacemaker among others' in a syslog, or in what `journalctl` printed: `Nov 27 03:12:01 head1
//! corosync[812]:   [TOTEM ] A processor failed, …`. Each line names its host, so several heads may be in one file.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use hawser_model::names::HostName;
use hawser_model::output::incident::LogKind;

use super::heard::is_name;
use super::lines::{LogFile, after_stamp};

/// Heads whose lines are taken; a cluster of Corosync has some tens, and a line may name any host.
const HEADS: usize = 256;

/// What the form of a line costs, whatever wrote it.
pub(super) const COARSE: &str = "syslog, whose stamps here are of whole seconds: each step may be off by one, and one that took \
    less may not show. corosync.log and pacemaker.log have milliseconds";

/// What Pacemaker writes to syslog by default (`PCMK_logpriority`), and without what stands behind ` | ` in its own log.
pub(super) const NOTICES: &str = "syslog has of Pacemaker only what it calls a notice or worse: who changed the \
    configuration, and when a transition began, is not in it";

/// Takes the cluster's lines of syslogs, file after file.
#[derive(Debug, Default)]
pub struct Syslog {
    /// All heads so far.
    names: BTreeSet<HostName>,
    /// Of the files that have ended.
    logs: Vec<LogFile>,
    /// Of the file that is being read.
    heads: BTreeMap<HostName, [String; 2]>,
    left_out: u64,
}

impl Syslog {
    /// Looks at a line, and keeps it if Corosync or Pacemaker wrote it. Returns how many bytes it keeps.
    pub fn line(&mut self, line: &str) -> usize {
        // A syslog has a thousand lines of others for one of the cluster's.
        if !line.contains(" corosync[") && !line.contains(" pacemaker") {
            return 0;
        }
        let Some(text) = after_stamp(line) else {
            return 0;
        };
        let Some((host, kind)) = wrote(&text) else {
            return 0;
        };
        let host = HostName::from(host);
        if !self.names.contains(&host) {
            if self.names.len() >= HEADS {
                self.left_out += 1;
                return 0;
            }
            self.names.insert(host.clone());
        }
        let logs = self.heads.entry(host).or_default();
        let log = &mut logs[kind as usize];
        log.push_str(line);
        log.push('\n');
        line.len() + 1
    }

    /// A file has ended: what the next one has is a log of its own, for two files may tell the same.
    pub fn file_ends(&mut self) {
        let heads = mem::take(&mut self.heads);
        let heads = heads.into_iter().flat_map(|(host, logs)| {
            let kinds = [LogKind::Corosync, LogKind::Pacemaker].into_iter();
            kinds.zip(logs).map(move |(kind, text)| LogFile {
                kind,
                folder: host.to_string(),
                text,
            })
        });
        self.logs.extend(heads.filter(|log| !log.text.is_empty()));
    }

    /// The logs of each file and head, and what was too much, in words.
    pub fn logs(mut self) -> (Vec<LogFile>, Option<String>) {
        self.file_ends();
        let left_out = (self.left_out > 0).then(|| {
            let lines = self.left_out;
            format!("{lines} lines of syslog are left out: they name more than {HEADS} heads")
        });
        (self.logs, left_out)
    }
}

/// Who wrote a line of syslog, without its stamp: `head1 corosync[812]: …`, `head2 pacemaker-controld[40]: …`.
pub(super) fn wrote(text: &str) -> Option<(&str, LogKind)> {
    let (host, rest) = text.split_once(' ')?;
    let (program, rest) = rest.split_once('[')?;
    let (pid, message) = rest.split_once("]: ")?;
    let kind = match program {
        "corosync" => LogKind::Corosync,
        "pacemakerd" => LogKind::Pacemaker,
        _ if program.starts_with("pacemaker-") => LogKind::Pacemaker,
        _ => return None,
    };
    let digits = !pid.is_empty() && pid.len() <= 10 && pid.bytes().all(|b| b.is_ascii_digit());
    // rsyslog puts what comes again into one line, later than it was written.
    let again = message.trim_start().starts_with("message repeated ");
    (digits && is_name(host) && !again).then_some((host, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_corosync_or_pacemaker_wrote_are_taken() {
        let mut syslog = Syslog::default();
        let taken = [
            "Nov 27 03:12:01 head1 corosync[812]:   [TOTEM ] A processor failed",
            "2026-11-27T03:12:01.123456+01:00 head2 corosync[9]:   [KNET  ] link: host: 1 link: 0 is down",
            "2026-11-27T03:12:01+0100 head1 pacemaker-controld[40]:  notice: Requesting fencing (off) of node head2",
            "2026-11-27 03:12:01 head1 pacemakerd[3]:  notice: Starting Pacemaker 2.1.5",
            "Nov 27 03:12:01.123456 head1 pacemaker-fenced[4]:  notice: x",
            "Fri 2026-11-27 03:12:01 CET head1 pacemaker-execd[4]:  notice: x",
        ];
        for line in taken {
            assert_eq!(syslog.line(line), line.len() + 1, "{line}");
        }
        for line in [
            "",
            "corosync[1]: ",
            "Nov 27 03:12:01 head1 sshd[7]: head2 corosync[8]: [TOTEM ] A processor failed",
            "Nov 27 03:12:01 head1 corosync[x]: [TOTEM ] A processor failed",
            "Nov 27 03:12:01 head1 corosync[8]: message repeated 2 times: [ [TOTEM ] A processor failed]",
            "Nov 27 03:12:01 \u{1b}[2J corosync[8]: [TOTEM ] A processor failed",
            "Nov 27 03:12:01 head1 corosync-qdevice[8]: x",
            "Nov 27 03:12:01 head1 Filesystem(vmpool01)[888]: INFO: pacemaker-controld[1]: x",
            "an hour ago head1 corosync[8]: [TOTEM ] A processor failed",
        ] {
            assert_eq!(syslog.line(line), 0, "{line}");
        }
        let (logs, left_out) = syslog.logs();
        let of = |log: &LogFile| (log.folder.clone(), log.kind, log.text.lines().count());
        assert_eq!(
            logs.iter().map(of).collect::<Vec<_>>(),
            [
                ("head1".to_owned(), LogKind::Corosync, 1),
                ("head1".to_owned(), LogKind::Pacemaker, 4),
                ("head2".to_owned(), LogKind::Corosync, 1),
            ]
        );
        assert_eq!(left_out, None);
    }

    #[test]
    fn a_syslog_names_no_more_heads_than_a_cluster_can_have() {
        let mut syslog = Syslog::default();
        for n in 0..HEADS + 3 {
            syslog.line(&format!("Nov 27 03:12:01 h{n} corosync[1]: x"));
        }
        let (logs, left_out) = syslog.logs();
        assert_eq!(logs.len(), HEADS);
        let said = "3 lines of syslog are left out: they name more than 256 heads";
        assert_eq!(left_out.as_deref(), Some(said));
    }
}
