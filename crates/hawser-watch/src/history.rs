//! What the heads' own logs tell of the past: the outages that nobody planned.

use std::collections::BTreeMap;
use std::convert::Infallible;

use hawser_account::incident::{LogFile, LogKind, Names, incidents, together};
use hawser_cluster::cib::services::services;
use hawser_cluster::corosync::Conf;
use hawser_cluster::host::questions::{ReadCib, ReadFile, ReadKeptLogs, ReadLogEnds};
use hawser_cluster::numbering::Numbering;
use hawser_cluster::plan::COROSYNC_CONF;
use hawser_cluster::xml::Element;
use hawser_host::{Host, HostError, Hosts, on_all};
use hawser_model::cluster_file::ClusterFile;
use hawser_model::drill::PoolFacts;
use hawser_model::names::HostName;
use hawser_model::output::incident::IncidentsReport;

/// How much of the end of a log is read, in bytes: some weeks of a quiet cluster.
pub(crate) const TAIL: u64 = 4 << 20;

/// What a head has said.
struct Said {
    logs: Logs,
    cib: Option<String>,
    conf: Option<Conf>,
}

/// What a head has of the past.
struct Logs {
    files: Vec<LogFile>,
    gaps: Vec<String>,
}

/// Asks all heads for their logs, all at the same time, and tells what they tell. A head that does not answer is a gap, and
/// so is one that was not reached. `file` has the names of the links, which the heads' corosync.conf has
/// numbered; `now`, seconds since 1970 UTC, tells the year of the
/// stamps.
pub fn history(
    heads: &mut Hosts,
    unreached: &BTreeMap<HostName, String>,
    file: Option<&ClusterFile>,
    now: u64,
) -> IncidentsReport {
    history_and_cib(heads, unreached, file, now).0
}

/// The same, and the CIB of the first head that told one: what Pacemaker runs together is known from it.
pub fn history_and_cib(
    heads: &mut Hosts,
    unreached: &BTreeMap<HostName, String>,
    file: Option<&ClusterFile>,
    now: u64,
) -> (IncidentsReport, Option<String>) {
    let Ok(answered) = on_all(heads, |name, head| Ok::<_, Infallible>(said(name, head)));
    let mut files = Vec::new();
    let mut gaps: Vec<String> = unreached
        .iter()
        .map(|(head, why)| format!("{head}: {why}"))
        .collect();
    let (mut cib, mut conf) = (None, None);
    for (name, answer) in answered {
        match answer {
            Ok(said) => {
                files.extend(said.logs.files);
                gaps.extend(said.logs.gaps);
                cib = cib.or(said.cib);
                conf = conf.or(said.conf);
            }
            Err(e) => gaps.push(format!("{name}: {e}")),
        }
    }
    let known = ClusterNames::of(cib.as_deref(), file, conf.as_ref());
    let mut report = incidents(&files, &known.services, &known.names, now);
    report.gaps.extend(gaps);
    (report, cib)
}

/// What one head's own logs and what its watch has kept tell. No program is started: `cib` is one that was read before.
///
/// # Errors
/// The head does not answer.
pub fn own_history(
    head: &mut dyn Host,
    cib: Option<&str>,
    file: &ClusterFile,
    now: u64,
) -> Result<IncidentsReport, HostError> {
    let logs = logs(&head.name().clone(), head)?;
    let known = ClusterNames::of(cib, Some(file), conf(head).as_ref());
    let mut report = incidents(&logs.files, &known.services, &known.names, now);
    report.gaps.extend(logs.gaps);
    Ok(report)
}

fn said(name: &HostName, head: &mut dyn Host) -> Result<Said, HostError> {
    Ok(Said {
        logs: logs(name, head)?,
        // Without Pacemaker the names in the logs tell which resources are one service.
        cib: head.ask(&ReadCib).ok().flatten(),
        conf: conf(head),
    })
}

/// The head's corosync.conf. Without it, links have the numbers that Corosync's log has.
fn conf(head: &mut dyn Host) -> Option<Conf> {
    let path = COROSYNC_CONF.to_owned();
    let file = head.ask(&ReadFile { path }).ok().flatten()?;
    Conf::parse(&String::from_utf8_lossy(&file.content.0)).ok()
}

fn logs(name: &HostName, head: &mut dyn Host) -> Result<Logs, HostError> {
    let logs = head.ask(&ReadLogEnds { bytes: TAIL })?;
    let mut gaps = Vec::new();
    for (log, length) in ["corosync.log", "pacemaker.log"]
        .into_iter()
        .zip(logs.lengths)
    {
        if length > TAIL {
            let mib = TAIL >> 20;
            gaps.push(format!(
                "{name}: only the last {mib} MiB of {log} were read"
            ));
        }
    }
    gaps.extend(logs.problem.map(|problem| format!("{name}: {problem}")));
    let mut all = files(name, logs.texts);
    match head.ask(&ReadKeptLogs) {
        Ok(kept) => all.extend(kept.into_iter().flat_map(|kept| {
            let texts = [kept.corosync, kept.pacemaker].map(|lines| lines.join("\n"));
            files(name, texts)
        })),
        Err(e) => gaps.push(format!(
            "{name}: what a watch has kept could not be read: {e}"
        )),
    }
    Ok(Logs { files: all, gaps })
}

/// The two logs of a head.
pub(crate) fn files(head: &HostName, texts: [String; 2]) -> Vec<LogFile> {
    let kinds = [LogKind::Corosync, LogKind::Pacemaker];
    let files = kinds.into_iter().zip(texts).map(|(kind, text)| LogFile {
        kind,
        folder: head.to_string(),
        text,
    });
    files.collect()
}

/// What is known of the cluster beside its logs.
#[derive(Debug, Default)]
pub struct ClusterNames {
    /// What Pacemaker runs together.
    pub services: Vec<PoolFacts>,
    /// Whose Corosync's numbers are.
    pub names: Names,
}

impl ClusterNames {
    /// By the live CIB, if there is one, and by the cluster file's names for what the live corosync.conf has numbered. The order
    /// of the file is no number: a cluster keeps those that it has given.
    fn of(cib: Option<&str>, file: Option<&ClusterFile>, conf: Option<&Conf>) -> Self {
        let mut known = Self::default();
        if let (Some(file), Some(conf)) = (file, conf) {
            let Numbering { nodes, links } = Numbering::running(file, conf);
            known.names.nodes = nodes.into_iter().map(|(name, id)| (id, name)).collect();
            known.names.links = links.into_iter().map(|(name, id)| (id, name)).collect();
        }
        if let Some(of_cib) = cib.and_then(of_cib) {
            known.services = of_cib.services;
            // What runs is nearer than what a file says.
            known.names.nodes.extend(of_cib.names.nodes);
        }
        known
    }
}

/// What a CIB tells; `None` for a text that is none.
pub fn of_cib(text: &str) -> Option<ClusterNames> {
    let cib = Element::parse(text, "a CIB").ok()?;
    let nodes = cib.at(&["configuration", "nodes"]);
    let nodes = nodes.iter().flat_map(|nodes| nodes.all("node"));
    let nodes = nodes.filter_map(|node| {
        let id = node.get("id")?.parse().ok()?;
        Some((id, HostName::from(node.get("uname")?)))
    });
    let found = services(&cib);
    let groups = found.groups.into_iter().map(|(name, resources)| PoolFacts {
        name,
        active_on: None,
        resources,
    });
    Some(ClusterNames {
        services: groups.chain(together(found.single)).collect(),
        names: Names {
            nodes: nodes.collect(),
            links: BTreeMap::new(),
        },
    })
}
