//! Which files hold logs, by their names, and whose they are.

use std::ffi::OsStr;
use std::path::Path;

use hawser_account::incident::LogKind;
use hawser_cluster::host::KeptLogs;

/// How a syslog is called.
const SYSLOGS: [&str; 4] = ["syslog", "messages", "daemon.log", "journal.log"];

/// What a file is taken for.
#[derive(Clone, Copy)]
pub enum What {
    Log(LogKind),
    /// What everything on a host has logged, or on several.
    Syslog,
    /// What a watch has kept of both logs.
    Kept,
    Cib,
}

/// By its name: `corosync.log`, `pacemaker.log.1`, `20261122-111412.json`, `cib.xml`; `syslog.2.gz`, `messages-20261101`,
/// `daemon.log` of Debian before 12, `journal.log` of a crm_report, `journalctl_--no-pager` of a sosreport.
pub fn wanted(path: &Path) -> Option<What> {
    let name = path.file_name()?.to_str()?;
    let of = |begin: &str| {
        name.strip_prefix(begin)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    };
    match () {
        () if is_archive(path) => None,
        () if of("corosync.log") => Some(What::Log(LogKind::Corosync)),
        () if of("pacemaker.log") => Some(What::Log(LogKind::Pacemaker)),
        () if SYSLOGS.into_iter().any(of) => Some(What::Syslog),
        () if name.starts_with("journalctl_") => Some(What::Syslog),
        () if name == "cib.xml" => Some(What::Cib),
        () if KeptLogs::id_of(name).is_some_and(is_id) => Some(What::Kept),
        () => None,
    }
}

/// The same of one that somebody has named: another log, or any text, is taken for a syslog.
pub fn named(path: &Path) -> Option<What> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let stem = [".gz", ".bz2", ".xz"]
        .iter()
        .find_map(|end| name.strip_suffix(end));
    let stem = stem.unwrap_or(name);
    let text = [".log", ".txt"].iter().any(|end| stem.ends_with(end));
    wanted(path).or_else(|| text.then_some(What::Syslog))
}

/// Whether an incident may be called so: by the second in which it began.
fn is_id(name: &str) -> bool {
    let parts = name.split_once('-');
    parts.is_some_and(|(day, time)| {
        let digits = day.chars().chain(time.chars()).all(|c| c.is_ascii_digit());
        digits && (day.len(), time.len()) == (8, 6)
    })
}

pub fn is_archive(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let ends = [
        ".tar", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tgz", ".tbz2", ".tbz", ".txz",
    ];
    ends.iter().any(|end| name.ends_with(end))
}

/// The folder that has a head's name, if any has: the innermost that is not one where logs lie on every head.
pub fn whose(path: &Path) -> String {
    let on_every_head = [
        "var",
        "log",
        "cluster",
        "corosync",
        "pacemaker",
        "lib",
        "hawser",
        "incidents",
    ];
    let mut folders = path.ancestors().skip(1).filter_map(Path::file_name);
    let own = folders.find(|name| !on_every_head.iter().any(|one| name == one));
    own.unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incident_of_links_alone_is_one_that_a_watch_has_kept() {
        let kept = |name: &str| matches!(wanted(Path::new(name)), Some(What::Kept));
        for name in [
            "20261122-111412",
            "20261122-111412-links",
            "20261122-111412-links.head2",
        ] {
            assert!(kept(&format!("incidents/{name}.json")), "{name}");
        }
        for other in ["20261122-111412-link", "-links", "20261122-links"] {
            assert!(!kept(&format!("incidents/{other}.json")), "{other}");
        }
    }

    #[test]
    fn a_syslog_is_known_by_its_name_and_any_text_if_somebody_names_it() {
        let is = |what: Option<What>| matches!(what, Some(What::Syslog));
        for name in [
            "var/log/syslog",
            "syslog.2.gz",
            "messages-20261101.xz",
            "head1/journal.log",
            "daemon.log.1",
            "sos_commands/logs/journalctl_--no-pager_--boot",
        ] {
            assert!(is(wanted(Path::new(name))), "{name}");
        }
        for name in ["central.log", "grep.txt", "central.log.gz"] {
            assert!(!is(wanted(Path::new(name))), "{name}");
            assert!(is(named(Path::new(name))), "{name}");
        }
        for name in ["syslogd", "report", "messages.tar.gz", "syslog.conf.tar"] {
            assert!(!is(named(Path::new(name))), "{name}");
        }
    }
}
