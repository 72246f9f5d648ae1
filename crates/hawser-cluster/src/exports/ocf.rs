//! `ocf:hawser:exports`, the resource agent: Pacemaker's words for starting, stopping and watching the
//! exports of a pool (OCF Resource Agent API 1.1).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_model::cluster_file::Backend;
use hawser_model::visible::one_line;
use hawser_tool::Deadline;

use super::desired::Desired;
use super::host::Parameters;
use super::lio::KernelError;
use super::nfs::server::NfsError;
use super::service::keep::{TAKES as KEEPS, keep};
use super::service::server::{NFS, iscsi};
use super::service::{self, Health, ServiceError};

/// Where Pacemaker looks for the agent.
pub const PATH: &str = "/usr/lib/ocf/resource.d/hawser/exports";

/// Where `hawser apply` puts the program that the agent runs, on a node that has no agent yet.
pub const PROGRAM: &str = "/usr/local/lib/hawser/hawser";

/// What an action ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Code {
    Success = 0,
    Generic = 1,
    Unimplemented = 3,
    Installed = 5,
    Configured = 6,
    NotRunning = 7,
}

/// What an action ends with, and what it has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The exit code.
    pub code: Code,
    /// For stdout.
    pub output: String,
    /// For stderr, which Pacemaker logs.
    pub log: Vec<String>,
}

/// How a reason is told from what is only logged: Pacemaker keeps it with the failed action and shows it
/// (`ocf_exit_reason` of resource-agents' ocf-shellfuncs).
const REASON: &str = "ocf-exit-reason:";

/// A reason as Pacemaker takes it: one line, and nothing in it that a terminal obeys.
fn reason(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let one: Vec<&str> = lines.collect();
    format!("{REASON}{}", one_line(&one.join("; ")))
}

/// The agent's name, as Pacemaker's configuration has it.
pub const AGENT: &str = "ocf:hawser:exports";

/// The words by which Hawser's program is the agent.
pub const WORDS: &str = "exports ocf";

/// The script that is put where Pacemaker looks for an agent: it runs the program at `hawser` with these words.
pub fn launcher(hawser: &Path, agent: &str, words: &str) -> String {
    let quoted = hawser.display().to_string().replace('\'', r"'\''");
    format!(
        "#!/bin/sh\n\
         # Made by hawser: the resource agent {agent}.\n\
         exec '{quoted}' {words} \"$@\"\n"
    )
}

/// Its own description.
pub fn meta_data() -> &'static str {
    include_str!("ocf.xml")
}

/// Runs an action. `environment` has the parameters as `OCF_RESKEY_…`.
pub fn run(action: Option<&str>, environment: &BTreeMap<String, String>) -> Outcome {
    let action = match action {
        Some("meta-data") => return said(meta_data()),
        Some("usage" | "help") => return said(USAGE),
        Some(
            action @ ("start" | "stop" | "monitor" | "status" | "reload" | "reload-agent"
            | "validate-all"),
        ) => action,
        Some(other) => {
            let why = format!("ocf:hawser:exports has no action {other}");
            return failed(Code::Unimplemented, Vec::new(), &why);
        }
        None => return failed(Code::Unimplemented, Vec::new(), "no action is named"),
    };
    let parameters = match parameters(environment) {
        Ok(parameters) => parameters,
        Err(why) => return failed(Code::Configured, Vec::new(), &why),
    };
    let mut log = Vec::new();
    let mut said = |what: &str| log.push(what.to_owned());
    let done = match action {
        "start" | "reload" | "reload-agent" => {
            service::start(&parameters, &mut said).map(|()| Health::Running)
        }
        "stop" => service::stop(&parameters, &mut said).map(|()| Health::Running),
        "monitor" | "status" => {
            let until = Deadline::after(allowed(environment));
            let health = service::health(&parameters, allowed(environment));
            if matches!(health, Ok(Health::Running)) && has_time_to_keep(until) {
                log.extend(keep(&parameters.pool));
            }
            health
        }
        _ => return validate(&parameters),
    };
    match done {
        Ok(Health::Running) => ended(Code::Success, log),
        Ok(Health::Stopped) => ended(Code::NotRunning, log),
        Ok(Health::Broken(what)) => failed(Code::Generic, log, &what.join("; ")),
        Err(error) => failed(code(&error), log, &error.to_string()),
    }
}

/// Whether a monitor operation may still write down what clients keep. One that ends late is a failure, for which the pool would be
/// started anew; what is not written now is due at the next one.
fn has_time_to_keep(until: Deadline) -> bool {
    until.left() >= KEEPS
}

/// How long Pacemaker lets the operation take, if that is longer than a look takes at most.
fn allowed(environment: &BTreeMap<String, String>) -> Duration {
    let timeout = Given(environment).get("CRM_meta_timeout");
    let timeout = timeout.and_then(|millis| millis.parse().ok());
    timeout.map_or(service::LOOK, |millis| {
        Duration::from_millis(millis).clamp(service::LOOK, Duration::from_secs(3600))
    })
}

/// The actions of an agent.
pub(crate) const USAGE: &str = "start stop monitor reload reload-agent validate-all meta-data\n";

/// An action that only says something.
pub(crate) fn said(output: &str) -> Outcome {
    Outcome {
        code: Code::Success,
        output: output.to_owned(),
        log: Vec::new(),
    }
}

/// An action that ended so.
pub(crate) fn ended(code: Code, log: Vec<String>) -> Outcome {
    let output = String::new();
    Outcome { code, output, log }
}

/// An action that failed, and why.
pub(crate) fn failed(code: Code, mut log: Vec<String>, why: &str) -> Outcome {
    log.push(reason(why));
    ended(code, log)
}

fn validate(parameters: &Parameters) -> Outcome {
    let lacking = iscsi(parameters.backend).ready().err();
    let wanted = service::wanted(parameters);
    let needs = |all: fn(&Desired) -> bool| wanted.as_ref().map(|it| all(&it.desired));
    if let (Some(lacking), true) = (lacking, needs(|it| !it.targets.is_empty()).unwrap_or(true)) {
        return failed(Code::Installed, Vec::new(), &lacking.to_string());
    }
    let nfs = needs(|it| !it.nfs.is_empty()).unwrap_or(false);
    if let (true, Err(error)) = (nfs, NFS.ready()) {
        return failed(Code::Installed, Vec::new(), &error.to_string());
    }
    match wanted {
        // Nothing is wrong with a pool that is on the other head.
        Ok(_) | Err(ServiceError::NotMounted { .. }) => ended(Code::Success, Vec::new()),
        Err(error) => failed(Code::Configured, Vec::new(), &error.to_string()),
    }
}

fn code(error: &ServiceError) -> Code {
    match error {
        ServiceError::Kernel(KernelError::Missing { .. })
        | ServiceError::Nfs(NfsError::Missing(_)) => Code::Installed,
        // Not `Configured`: that would bar the resource from every head until somebody cleans it
        // up by hand, although the file is mended with an editor.
        _ => Code::Generic,
    }
}

/// The parameters as Pacemaker hands them over (`OCF_RESKEY_…`, OCF Resource Agent API 1.1). An empty one is none.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a>(pub(crate) &'a BTreeMap<String, String>);

impl<'a> Given<'a> {
    /// The one of that name.
    pub(crate) fn get(self, name: &str) -> Option<&'a str> {
        let value = self.0.get(&format!("OCF_RESKEY_{name}"))?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// The same, which must be there.
    pub(crate) fn needed(self, name: &str) -> Result<&'a str, String> {
        self.get(name)
            .ok_or_else(|| format!("the parameter {name} is missing"))
    }

    /// The name of the pool.
    pub(crate) fn pool(self) -> Result<&'a str, String> {
        let pool = self.needed("pool")?;
        match Parameters::is_name(pool) {
            true => Ok(pool),
            false => Err(format!("pool: \"{pool}\" is no name of a pool")),
        }
    }
}

/// The parameters that Pacemaker hands over.
///
/// # Errors
/// One sentence that names the parameter.
pub fn parameters(environment: &BTreeMap<String, String>) -> Result<Parameters, String> {
    let given = Given(environment);
    let get = |name| given.get(name);
    let pool = given.pool()?;
    let called = |name: &str| {
        Backend::named(name).ok_or_else(|| format!("backend: \"{name}\" is neither tgt nor lio"))
    };
    let backend = get("backend").map_or(Ok(Backend::default()), called)?;
    let portal = |text: &str| {
        text.parse()
            .map_err(|_| format!("portals: \"{text}\" is no address"))
    };
    let portals = get("portals").unwrap_or_default().split_whitespace();
    let usual = Parameters::of(pool);
    Ok(Parameters {
        root: get("root").map_or(usual.root, PathBuf::from),
        authority: get("iqn").unwrap_or_default().to_owned(),
        portals: portals.map(portal).collect::<Result<_, _>>()?,
        volume_group: get("volume_group").map(str::to_owned),
        backend,
        pool: usual.pool,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::Element;

    fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let named = pairs.iter();
        named
            .map(|(name, value)| (format!("OCF_RESKEY_{name}"), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn what_clients_keep_is_not_written_by_a_monitor_that_would_end_late() {
        assert!(has_time_to_keep(Deadline::after(service::LOOK)));
        let late = service::LOOK - Duration::from_millis(2100);
        assert!(!has_time_to_keep(Deadline::after(late)));
    }

    #[test]
    fn what_is_wrong_with_the_parameters_is_said() {
        let said = |pairs: &[(&str, &str)]| {
            let outcome = run(Some("monitor"), &environment(pairs));
            assert_eq!(outcome.code, Code::Configured);
            outcome.log.join("\n")
        };
        assert_eq!(said(&[]), "ocf-exit-reason:the parameter pool is missing");
        let pool = ("pool", "tank");
        let iqn = ("iqn", "iqn.2026-01.lab");
        assert!(said(&[pool, iqn, ("backend", "scst")]).contains("neither tgt nor lio"));
        assert!(said(&[pool, iqn, ("portals", "192.0.2.1 san01")]).contains("\"san01\""));
        assert!(said(&[("pool", "../tank"), iqn]).contains("no name of a pool"));
    }

    #[test]
    fn a_look_may_take_as_long_as_pacemaker_waits_for_it_and_never_less_than_its_own() {
        let timeout = |millis: &str| {
            let pair = ("OCF_RESKEY_CRM_meta_timeout".to_owned(), millis.to_owned());
            allowed(&BTreeMap::from([pair])).as_secs()
        };
        assert_eq!(allowed(&BTreeMap::new()).as_secs(), 6);
        for (millis, seconds) in [
            ("120000", 120),
            ("10", 6),
            ("x", 6),
            ("18446744073709551615", 3600),
        ] {
            assert_eq!(timeout(millis), seconds, "{millis}");
        }
    }

    #[test]
    fn a_reason_is_one_line_that_says_no_more_than_it_shows() {
        assert_eq!(
            reason(
                "/tank/exports.toml:2:1: \"volum\" is not known\n\n  also \u{1b}[2J\u{2028}\u{202e}\n"
            ),
            "ocf-exit-reason:/tank/exports.toml:2:1: \"volum\" is not known; also \\u001b[2J\\u2028\\u202e"
        );
    }

    #[test]
    fn what_it_does_not_know_it_says_with_the_code_for_it() {
        assert_eq!(
            run(Some("promote"), &BTreeMap::new()).code,
            Code::Unimplemented
        );
        assert_eq!(run(None, &BTreeMap::new()).code, Code::Unimplemented);
    }

    #[test]
    fn portals_can_change_under_a_running_target() {
        let xml = Element::parse(meta_data(), "the metadata").unwrap();
        let parameters = xml.first("parameters").unwrap();
        let reloadable: Vec<&str> = parameters
            .all("parameter")
            .filter(|parameter| parameter.get("reloadable") == Some("1"))
            .filter_map(|parameter| parameter.get("name"))
            .collect();
        assert_eq!(reloadable, ["portals"]);
        let actions = xml.first("actions").unwrap();
        let names: Vec<&str> = actions
            .all("action")
            .filter_map(|a| a.get("name"))
            .collect();
        assert!(names.contains(&"reload-agent"));
    }
}
