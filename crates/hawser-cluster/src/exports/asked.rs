//! The exports of a pool as a person asks for them: on this host, or of another one's agent.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;
use std::path::PathBuf;

use hawser_model::cluster_file::Backend;
use hawser_model::output::exports::{
    ExportedDirectory, ExportedTarget, ExportedTo, ExportedUnit, ExportsReport,
};
use serde::{Deserialize, Serialize};

use super::desired::{Desired, DesiredDirectory, DesiredTarget, naa};
use super::host::{Parameters, Saved, parameters_from_cib, pools_in_cib};
use super::nfs::Found;
pub use super::service::Said;
use super::service::{self, ServiceError};

/// A pool and what the person says of it. What is not given is what the last start on the host was told, else what
/// Pacemaker has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolGiven {
    /// The pool.
    pub pool: String,
    /// Where it is mounted.
    pub root: Option<PathBuf>,
    /// The naming authority of its targets.
    pub iqn: Option<String>,
    /// Its addresses.
    pub portals: Vec<IpAddr>,
    /// The target's implementation.
    pub backend: Option<Backend>,
    /// The volume group, when its volumes are LVM's.
    pub volume_group: Option<String>,
}

/// What a start or a stop did, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// What was done, line by line; also by one that failed later.
    pub done: Vec<String>,
    /// Whether it ended well.
    pub outcome: Result<(), ExportsRefused>,
}

/// Why a host does not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportsRefused {
    /// Why.
    pub words: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The pool's `exports.toml`, when a mistake in it is why.
    pub file: Option<BadExportsFile>,
}

/// An `exports.toml` with mistakes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadExportsFile {
    /// Where it is.
    pub path: String,
    /// What is in it.
    pub text: String,
    /// The mistakes, in the file's order.
    pub wrong: Vec<Mistake>,
}

/// A mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mistake {
    /// What was found and what is allowed.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// Where in the file, in bytes.
    pub span: Range<usize>,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

impl ExportsRefused {
    fn new(words: String, help: Option<&str>) -> Self {
        Self {
            words,
            help: help.map(str::to_owned),
            file: None,
        }
    }
}

impl<E: Into<ServiceError>> From<E> for ExportsRefused {
    fn from(error: E) -> Self {
        let error = error.into();
        let mut refused = Self::new(error.to_string(), None);
        if let ServiceError::File(file) = error {
            let mistakes = file.errors.iter().map(|e| Mistake {
                message: e.problem.to_string(),
                help: e.problem.help(),
                span: e.span.clone(),
                line: e.line,
                column: e.column,
            });
            refused.file = Some(BadExportsFile {
                wrong: mistakes.collect(),
                path: file.path,
                text: file.text,
            });
        }
        refused
    }
}

/// Makes the target offer what the pool says. `said` hears each thing when it is done.
pub fn start(given: &PoolGiven, said: Said<'_>) -> Changed {
    change(given, service::start, said)
}

/// Takes everything of the pool away from the target. `said` hears each thing when it is done.
pub fn stop(given: &PoolGiven, said: Said<'_>) -> Changed {
    change(given, service::stop, said)
}

fn change(
    given: &PoolGiven,
    change: fn(&Parameters, Said<'_>) -> Result<(), ServiceError>,
    said: Said<'_>,
) -> Changed {
    let mut done = Vec::new();
    let outcome = given.parameters().and_then(|parameters| {
        Ok(change(&parameters, &mut |what| {
            said(what);
            done.push(what.to_owned());
        })?)
    });
    Changed { done, outcome }
}

/// Compares the target with what the pool says, and changes nothing.
///
/// # Errors
/// What keeps the host from knowing.
pub fn report(given: &PoolGiven) -> Result<ExportsReport, ExportsRefused> {
    let parameters = given.parameters()?;
    let (desired, pool_is_here) = match service::wanted(&parameters) {
        Ok(wanted) => (wanted.desired, true),
        Err(ServiceError::NotMounted { .. }) => {
            let saved = Saved::read(&parameters.pool)?;
            (saved.map(|saved| saved.desired).unwrap_or_default(), false)
        }
        Err(error) => return Err(error.into()),
    };
    let compared = service::compare(&parameters, &desired)?;
    let there = &compared.sessions;
    let exported = &compared.exported;
    Ok(ExportsReport {
        pool: parameters.pool,
        pool_is_here,
        running: desired.targets.keys().any(|iqn| there.contains_key(iqn)) || !exported.is_empty(),
        targets: targets(&desired, there),
        nfs: directories(&desired, exported),
        pending: compared.pending,
    })
}

impl PoolGiven {
    fn parameters(&self) -> Result<Parameters, ExportsRefused> {
        let pool = &self.pool;
        if !Parameters::is_name(pool) {
            let words = format!("\"{pool}\" is no name of a pool");
            return Err(ExportsRefused::new(words, None));
        }
        let known = match Saved::read(pool)? {
            Some(saved) => Some(saved.parameters),
            None if self.iqn.is_some() => None,
            None => parameters_from_cib(pool).map_err(|e| {
                let words = format!("cannot read pool {pool}'s settings from Pacemaker: {e}");
                let help = "without Pacemaker, name the authority: --iqn iqn.2013-06.com.example";
                ExportsRefused::new(words, Some(help))
            })?,
        };
        let mut told = match (known, &self.iqn) {
            (Some(known), _) => known,
            (None, Some(_)) => Parameters::of(pool),
            (None, None) => {
                let words = format!("Pacemaker has no resource ocf:hawser:exports for pool {pool}");
                let known = pools_in_cib().unwrap_or_default().join(", ");
                let known = match known.as_str() {
                    "" => String::new(),
                    pools => format!("there is: {pools}. "),
                };
                let help = format!(
                    "{known}For a pool that Pacemaker does not offer, name the authority: --iqn iqn.2013-06.com.example, \
                     or --iqn \"\" if it is offered by NFS alone"
                );
                return Err(ExportsRefused::new(words, Some(&help)));
            }
        };
        told.authority = self.iqn.clone().unwrap_or(told.authority);
        told.root = self.root.clone().unwrap_or(told.root);
        told.backend = self.backend.unwrap_or(told.backend);
        told.volume_group = self.volume_group.clone().or(told.volume_group);
        if !self.portals.is_empty() {
            told.portals.clone_from(&self.portals);
        }
        Ok(told)
    }
}

fn targets(desired: &Desired, sessions: &BTreeMap<String, Vec<String>>) -> Vec<ExportedTarget> {
    let one = |(iqn, target): (&String, &DesiredTarget)| {
        let units = desired
            .units_of(target)
            .map(|(lun, exposure, unit)| ExportedUnit {
                lun,
                volume: unit.name.clone(),
                path: unit.path.clone(),
                bytes: unit.bytes,
                block_size: unit.block_size,
                write_cache: unit.write_cache,
                unmap: unit.unmap,
                ats: unit.ats,
                xcopy: unit.xcopy,
                read_only: unit.read_only,
                serial: exposure.serial.clone(),
                naa: naa(&exposure.serial, unit.company.as_deref()),
            });
        let mutual = target.chap.as_ref().and_then(|chap| chap.mutual.as_ref());
        ExportedTarget {
            iqn: iqn.clone(),
            portals: target.portals.iter().map(ToString::to_string).collect(),
            chap_user: target.chap.as_ref().map(|chap| chap.user.clone()),
            mutual_chap_user: mutual.map(|(user, _)| user.clone()),
            hosts: target
                .hosts()
                .map(|hosts| hosts.into_iter().map(str::to_owned).collect()),
            sessions: sessions.get(iqn).cloned().unwrap_or_default(),
            units: units.collect(),
        }
    };
    desired.targets.iter().map(one).collect()
}

fn directories(desired: &Desired, exported: &Found) -> Vec<ExportedDirectory> {
    let one = |(path, directory): (&String, &DesiredDirectory)| {
        let clients = directory
            .clients
            .iter()
            .map(|(client, options)| ExportedTo {
                client: client.clone(),
                options: options.brief(),
                exported: exported.get(&(path.clone(), client.clone())) == Some(options),
            });
        ExportedDirectory {
            directory: path.clone(),
            fsid: directory.fsid.clone(),
            clients: clients.collect(),
        }
    };
    desired.nfs.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use hawser_host::Host;
    use hawser_host::sim::{Simulated, Wire};

    use super::*;
    use crate::exports::parse;
    use crate::host::Machine;
    use crate::host::questions::{QUESTIONS, ReportExports, StartExports, StopExports};

    #[test]
    fn a_host_refuses_what_is_no_name_of_a_pool_and_can_be_asked_again() {
        let wire = Wire::default();
        let mut head = Simulated::new("head1".into(), Machine, QUESTIONS, &wire);
        let head: &mut dyn Host = &mut head;
        for pool in ["a/b", ".x"] {
            let given = PoolGiven {
                pool: pool.into(),
                root: None,
                iqn: Some("iqn.2026-01.lab".into()),
                portals: vec![[192, 0, 2, 1].into()],
                backend: None,
                volume_group: None,
            };
            let words = format!("\"{pool}\" is no name of a pool");
            let refused = Err(ExportsRefused::new(words, None));
            let outcome = refused.clone().map(drop);
            let changed = Changed {
                done: Vec::new(),
                outcome,
            };
            assert_eq!(head.ask(&StartExports(given.clone())).unwrap(), changed);
            assert_eq!(head.ask(&StopExports(given.clone())).unwrap(), changed);
            assert_eq!(head.ask(&ReportExports(given)).unwrap(), refused);
        }
    }

    #[test]
    fn a_mistake_in_a_file_keeps_its_place_on_the_wire() {
        let text = "[[unit]]\nvolume = \"a\"\nluns = 1\n";
        let errors = parse(text, "/tank/exports.toml").unwrap_err();
        let refused = ExportsRefused::from(ServiceError::File(Box::new(errors)));
        let sent = serde_json::to_string(&refused).unwrap();
        assert_eq!(
            serde_json::from_str::<ExportsRefused>(&sent).unwrap(),
            refused
        );
        let file = refused.file.unwrap();
        let first = &file.wrong[0];
        assert_eq!((first.line, first.column), (3, 1));
        assert_eq!(&file.text[first.span.clone()], "luns");
    }

    #[test]
    fn a_misspelt_key_is_one_mistake_with_what_was_meant() {
        let text = "[[target]]\nnmae = \"a\"\n";
        let errors = parse(text, "/tank/exports.toml").unwrap_err();
        let refused = ExportsRefused::from(ServiceError::File(Box::new(errors)));
        let file = refused.file.unwrap();
        let [only] = &file.wrong[..] else {
            panic!("{:?}", file.wrong);
        };
        assert_eq!((only.line, only.column), (2, 1));
        assert_eq!(only.message, "[[target]] has no key \"nmae\"");
        let help = only.help.as_deref().unwrap();
        assert!(help.starts_with("did you mean \"name\"?"), "{help}");
    }
}
