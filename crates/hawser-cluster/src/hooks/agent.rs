//! `ocf:hawser:hooks`, the resource agent (OCF Resource Agent API 1.1).
//!
//! A hook of a start that fails fails the start, unless the file says that it is not needed: the pool is not imported, or not
//! offered, on this head. A hook of a stop that fails is logged, since a stop that fails gets the head fenced.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use hawser_model::cluster_file::{HookMoment, HookPlace, Period};
use hawser_tool::Tool;
use nix::unistd::gethostname;

use super::mark::{FOLDER, Mark, MarkFile};
use super::program::Owned;
use super::run::Wanted;
use crate::exports::ocf::{Code, Given, Outcome, USAGE, ended, failed, said};
use crate::xml::Element;

/// Its own description.
const META_DATA: &str = include_str!("ocf.xml");

/// How long the cluster's configuration is waited for.
const CONFIGURATION: Duration = Duration::from_secs(10);

/// What Pacemaker asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The resource.
    resource: String,
    pool: String,
    place: HookPlace,
    start: Option<Wanted>,
    stop: Option<Wanted>,
    node: String,
}

/// What the agent has around it.
struct Around<'a> {
    marks: PathBuf,
    owned: Owned,
    /// Whether the configuration still has this resource.
    configured: &'a dyn Fn(&str) -> Result<bool, String>,
}

/// Runs an action. `environment` has the parameters as `OCF_RESKEY_…`.
pub fn ocf(action: Option<&str>, environment: &BTreeMap<String, String>) -> Outcome {
    let around = Around {
        marks: FOLDER.into(),
        owned: Owned::default(),
        configured: &configured,
    };
    around.run(action, environment)
}

/// Asks the cluster on this head. It answers until Pacemaker ends here, which is after the last stop.
fn configured(resource: &str) -> Result<bool, String> {
    let cibadmin = Tool::new("cibadmin").args(["--query", "--scope", "resources"]);
    let text = cibadmin.limit(CONFIGURATION).text();
    let text = text.map_err(|error| error.to_string())?;
    let resources = Element::parse(&text, "the live CIB").map_err(|error| error.to_string())?;
    let all = resources.walk();
    let is = |it: &&Element| it.name == "primitive" && it.get("id") == Some(resource);
    Ok(all.iter().any(is))
}

impl Around<'_> {
    fn run(&self, action: Option<&str>, environment: &BTreeMap<String, String>) -> Outcome {
        let work: fn(&Self, &Asked) -> Outcome = match action {
            Some("meta-data") => return said(META_DATA),
            Some("usage" | "help") => return said(USAGE),
            Some("start") => Self::start,
            Some("stop") => Self::stop,
            Some("monitor" | "status") => Self::monitor,
            // The next start or stop has the new parameters.
            Some("reload" | "reload-agent") => |_, _| ended(Code::Success, Vec::new()),
            Some("validate-all") => Self::validate,
            other => {
                let other = other.unwrap_or("without a name");
                let why = format!("{} has no action {other}", super::AGENT);
                return failed(Code::Unimplemented, Vec::new(), &why);
            }
        };
        match asked(environment) {
            Ok(asked) => work(self, &asked),
            Err(why) => failed(Code::Configured, Vec::new(), &why),
        }
    }

    fn mark(&self, asked: &Asked) -> MarkFile {
        let name = format!("{}{}", asked.pool, asked.place.suffix());
        MarkFile::of(&self.marks, self.owned.owner, &name)
    }

    fn start(&self, asked: &Asked) -> Outcome {
        let mark = self.mark(asked);
        match mark.read() {
            Ok(Some(Mark::Started)) => return ended(Code::Success, Vec::new()),
            Ok(_) => {}
            Err(error) => return failed(Code::Generic, Vec::new(), &error.to_string()),
        }
        // Before the hook: what it has begun is ended by the hook of the stop, also if it fails or the agent is killed.
        if let Err(error) = mark.write(Mark::Begun) {
            return failed(Code::Generic, Vec::new(), &error.to_string());
        }
        let mut log = Vec::new();
        if let Some(why) = self.hook(asked, asked.start.as_ref(), &mut log) {
            return failed(Code::Generic, log, &why);
        }
        match mark.write(Mark::Started) {
            Ok(()) => ended(Code::Success, log),
            Err(error) => failed(Code::Generic, log, &error.to_string()),
        }
    }

    fn stop(&self, asked: &Asked) -> Outcome {
        let mark = self.mark(asked);
        match mark.read() {
            // It was never started here, or it is stopped.
            Ok(None) => return ended(Code::Success, Vec::new()),
            Ok(Some(_)) => {}
            Err(error) => return failed(Code::Generic, Vec::new(), &error.to_string()),
        }
        let mut log = Vec::new();
        if let Some(wanted) = &asked.stop {
            let why = match (self.configured)(&asked.resource) {
                Ok(true) => self.hook(asked, Some(wanted), &mut log),
                // Pacemaker stops what was removed, while the pool itself goes on.
                Ok(false) => {
                    let moment = wanted.moment.name();
                    log.push(format!(
                        "the {moment} hook was removed from the configuration, and is not run"
                    ));
                    None
                }
                Err(why) => {
                    let moment = wanted.moment.name();
                    let why = format!(
                        "{moment} hook is not run: whether it was removed is not known: {why}"
                    );
                    self.unless_needed(wanted, why, &mut log)
                }
            };
            if let Some(why) = why {
                return failed(Code::Generic, log, &why);
            }
        }
        match mark.remove() {
            Ok(()) => ended(Code::Success, log),
            Err(error) => failed(Code::Generic, log, &error.to_string()),
        }
    }

    /// Runs a hook; why the action fails, if it does.
    fn hook(
        &self,
        asked: &Asked,
        wanted: Option<&Wanted>,
        log: &mut Vec<String>,
    ) -> Option<String> {
        let wanted = wanted?;
        let ran = wanted.run(&asked.pool, &asked.node, &self.owned);
        log.extend(ran.log);
        self.unless_needed(wanted, ran.failed?, log)
    }

    /// A failure of what is not needed is only logged.
    fn unless_needed(&self, wanted: &Wanted, why: String, log: &mut Vec<String>) -> Option<String> {
        if wanted.required {
            return Some(why);
        }
        log.push(format!("{why}; it is not required, and the pool goes on"));
        None
    }

    fn monitor(&self, asked: &Asked) -> Outcome {
        match self.mark(asked).read() {
            Ok(None) => ended(Code::NotRunning, Vec::new()),
            Ok(Some(Mark::Started)) => ended(Code::Success, Vec::new()),
            Ok(Some(Mark::Begun)) => {
                let why = "a hook was begun here and has not ended well";
                failed(Code::Generic, Vec::new(), why)
            }
            Err(error) => failed(Code::Generic, Vec::new(), &error.to_string()),
        }
    }

    fn validate(&self, asked: &Asked) -> Outcome {
        for wanted in asked.start.iter().chain(&asked.stop) {
            if let Err(why) = self.owned.program(&wanted.program) {
                let why = format!("{} {why}", wanted.program);
                return failed(Code::Installed, Vec::new(), &why);
            }
        }
        ended(Code::Success, Vec::new())
    }
}

/// The parameters that Pacemaker hands over, or one sentence that names the wrong one.
fn asked(environment: &BTreeMap<String, String>) -> Result<Asked, String> {
    let given = Given(environment);
    let pool = given.pool()?;
    let place = given.needed("place")?;
    let place = HookPlace::named(place)
        .ok_or_else(|| format!("place: \"{place}\" is neither before nor after"))?;
    let wanted = |moment: HookMoment| -> Result<Option<Wanted>, String> {
        let key = moment.key();
        let Some(program) = given.get(key) else {
            return Ok(None);
        };
        let limit = given.needed(&format!("{key}_timeout"))?;
        let limit: Period = limit
            .parse()
            .map_err(|_| format!("{key}_timeout: \"{limit}\" is no time such as 10s"))?;
        let required = match given.get(&format!("{key}_required")) {
            None => moment.is_required(),
            Some("true") => true,
            Some("false") => false,
            Some(other) => {
                return Err(format!(
                    "{key}_required: \"{other}\" is neither true nor false"
                ));
            }
        };
        Ok(Some(Wanted {
            moment,
            program: program.to_owned(),
            limit: limit.0,
            required,
        }))
    };
    let (start, stop) = place.moments();
    let resource = environment.get("OCF_RESOURCE_INSTANCE");
    let node = given.get("CRM_meta_on_node").map(str::to_owned);
    let here = || gethostname().ok().and_then(|name| name.into_string().ok());
    Ok(Asked {
        resource: resource.cloned().unwrap_or_default(),
        pool: pool.to_owned(),
        place,
        start: wanted(start)?,
        stop: wanted(stop)?,
        node: node.or_else(here).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests;
